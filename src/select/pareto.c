#include "select/select.h"

#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

bool found_before(const struct found *a, const struct found *b)
{
    if (a->step != b->step)
        return a->step < b->step;
    return strategy_compare(&a->strategy, &b->strategy) < 0;
}

void shortlist_init(struct shortlist *l, int limit, struct arena *mem)
{
    l->count = 0;
    l->limit = limit;
    l->entry = arena_array(mem, (size_t)limit, sizeof *l->entry);
}

static int same_kind_index(const struct shortlist *l, const struct found *x)
{
    for (int i = 0; i < l->count; i++)
        if (search_same_kind(&l->entry[i].strategy, &x->strategy))
            return i;
    return -1;
}

static void remove_at(struct shortlist *l, int i)
{
    l->count--;
    memmove(&l->entry[i], &l->entry[i + 1], (size_t)(l->count - i) * sizeof *l->entry);
}

void shortlist_add(struct shortlist *l, const struct found *x)
{
    int same = same_kind_index(l, x);
    if (same >= 0) {
        if (!found_before(x, &l->entry[same]))
            return;
        remove_at(l, same);
    }
    int at = l->count;
    while (at > 0 && found_before(x, &l->entry[at - 1]))
        at--;
    if (at == l->limit)
        return;
    if (l->count == l->limit)
        l->count--;
    memmove(&l->entry[at + 1], &l->entry[at], (size_t)(l->count - at) * sizeof *l->entry);
    l->entry[at] = *x;
    l->count++;
}

int64_t shortlist_threshold(const struct shortlist *l)
{
    return l->count < l->limit ? INT64_MAX : l->entry[l->limit - 1].step;
}

void front_init(struct front *f)
{
    *f = (struct front){0};
}

void front_release(struct front *f)
{
    free(f->entry);
    front_init(f);
}

static double spent(int64_t gpus, int64_t step)
{
    return (double)gpus * (double)step;
}

static bool dominates(const struct found *a, int64_t gpus, int64_t step)
{
    double mine = spent(a->gpus, a->step), other = spent(gpus, step);
    return a->step <= step && mine <= other && (a->step < step || mine < other);
}

static bool admits(const struct front *f, int64_t gpus, int64_t step)
{
    for (int i = 0; i < f->count; i++)
        if (dominates(&f->entry[i], gpus, step))
            return false;
    return true;
}

/* An entry dominates every step above the larger of its own and that which costs as much. */
int64_t front_limit(const struct front *f, int64_t gpus)
{
    int64_t limit = INT64_MAX;
    for (int i = 0; i < f->count; i++) {
        const struct found *e = &f->entry[i];
        double as_dear = spent(e->gpus, e->step) / (double)gpus;
        int64_t step = as_dear > (double)e->step ? (int64_t)as_dear + 1 : e->step;
        limit = step < limit ? step : limit;
    }
    return limit;
}

/* Equal in both: the first in the total order stays. */
static bool replaced(const struct found *old, const struct found *x)
{
    bool equal = old->step == x->step && old->gpus == x->gpus;
    return dominates(x, old->gpus, old->step) || (equal && found_before(x, old));
}

void front_add(struct front *f, const struct found *x)
{
    if (!admits(f, x->gpus, x->step))
        return;
    int kept = 0;
    for (int i = 0; i < f->count; i++) {
        const struct found *old = &f->entry[i];
        if (old->step == x->step && old->gpus == x->gpus && !replaced(old, x))
            return;
        if (!replaced(old, x))
            f->entry[kept++] = *old;
    }
    f->count = kept;
    if (f->count == f->capacity) {
        f->capacity = f->capacity ? 2 * f->capacity : 16;
        f->entry = memory_grow(f->entry, (size_t)f->capacity * sizeof *f->entry);
    }
    int at = f->count++;
    for (; at > 0 && f->entry[at - 1].gpus > x->gpus; at--)
        f->entry[at] = f->entry[at - 1];
    f->entry[at] = *x;
}
