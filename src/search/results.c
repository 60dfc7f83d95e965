#include "search/results.h"

#include "base/arena.h"
#include "search/mixed/mixed.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Jobs that take as long to the tick differ in their meshes: groups are those of one array. */
static int compare_meshes(const struct mesh_list *a, const struct mesh_list *b)
{
    if (a->count != b->count)
        return a->count - b->count;
    for (int i = 0; i < a->count; i++) {
        const struct mesh *x = &a->mesh[i], *y = &b->mesh[i];
        if (x->group != y->group)
            return x->group < y->group ? -1 : 1;
        int order = x->stages - y->stages;
#define X(name) order = order != 0 ? order : x->name - y->name;
        MESH_TABLE(X)
#undef X
        if (order != 0)
            return order;
    }
    return 0;
}

bool found_before(const struct limits *w, const struct found *a, const struct found *b)
{
    double x = score_key(w, &a->score), y = score_key(w, &b->score);
    if (x != y)
        return x < y;
    if (a->score.time != b->score.time)
        return a->score.time < b->score.time;
    if (a->score.usd != b->score.usd)
        return a->score.usd < b->score.usd;
    int order = strategy_compare(&a->strategy, &b->strategy);
    if (order == 0 && a->mixed && b->mixed)
        order = compare_meshes(&a->mixed->meshes, &b->mixed->meshes);
    return order != 0 ? order < 0 : a->group < b->group;
}

/* Plans that differ only in recompute, overlap, optimizer and split, on the same GPUs. */
static bool same_kind(const struct found *a, const struct found *b)
{
    if (a->mixed || b->mixed)
        return a->mixed && b->mixed && mixed_same_kind(a->mixed, b->mixed);
    return a->group == b->group && strategy_same_kind(&a->strategy, &b->strategy);
}

void shortlist_init(struct shortlist *l, int limit, struct arena *mem)
{
    assert(limit >= 1);
    l->count = 0;
    l->limit = limit;
    l->entry = arena_array(mem, (size_t)limit, sizeof *l->entry);
}

static int same_kind_index(const struct shortlist *l, const struct found *x)
{
    for (int i = 0; i < l->count; i++)
        if (same_kind(&l->entry[i], x))
            return i;
    return -1;
}

static void remove_at(struct shortlist *l, int i)
{
    l->count--;
    memmove(&l->entry[i], &l->entry[i + 1], (size_t)(l->count - i) * sizeof *l->entry);
}

void shortlist_add(struct shortlist *l, const struct limits *w, const struct found *x)
{
    if (!score_allowed(w, &x->score) ||
        (l->count == l->limit && !found_before(w, x, &l->entry[l->limit - 1])))
        return;
    int same = same_kind_index(l, x);
    if (same >= 0) {
        if (!found_before(w, x, &l->entry[same]))
            return;
        remove_at(l, same);
    }
    int at = l->count;
    while (at > 0 && found_before(w, x, &l->entry[at - 1]))
        at--;
    if (l->count == l->limit)
        l->count--;
    memmove(&l->entry[at + 1], &l->entry[at], (size_t)(l->count - at) * sizeof *l->entry);
    l->entry[at] = *x;
    l->count++;
    assert(l->count <= l->limit && (at == 0 || found_before(w, &l->entry[at - 1], x)));
}

int64_t shortlist_limit(const struct shortlist *l, const struct limits *w, const struct rental *h)
{
    double time = w->most_time, usd = w->most_usd;
    if (l->count == l->limit) {
        const struct score *last = &l->entry[l->limit - 1].score;
        if (w->objective == OBJECTIVE_COST)
            usd = fmin(usd, last->usd);
        else
            time = fmin(time, last->time);
    }
    return step_within_score(h, time, usd);
}

/* The front is sorted by time, along which the cost falls. */
void front_init(struct front *f)
{
    *f = (struct front){0};
}

void front_release(struct front *f)
{
    free(f->entry);
    front_init(f);
}

/* How many entries are faster than this, or as fast. */
static int count_within(const struct front *f, double time)
{
    int low = 0, high = f->count;
    while (low < high) {
        int middle = (low + high) / 2;
        if (f->entry[middle].score.time <= time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void make_room(struct front *f)
{
    if (f->count < f->capacity)
        return;
    f->capacity = f->capacity ? 2 * f->capacity : 16;
    f->entry = memory_grow(f->entry, (size_t)f->capacity * sizeof *f->entry);
}

void front_add(struct front *f, const struct limits *w, const struct found *x)
{
    int at = count_within(f, x->score.time);
    if (!(x->score.usd < INFINITY))
        return;
    if (at > 0) { /* the cheapest of those that are as fast */
        const struct found *old = &f->entry[at - 1];
        bool equal = old->score.time == x->score.time && old->score.usd == x->score.usd;
        if (equal ? !found_before(w, x, old) : old->score.usd <= x->score.usd)
            return;
        at -= old->score.time == x->score.time;
    }
    int end = at;
    while (end < f->count && f->entry[end].score.usd >= x->score.usd)
        end++;
    make_room(f);
    memmove(&f->entry[at + 1], &f->entry[end], (size_t)(f->count - end) * sizeof *f->entry);
    f->count += at + 1 - end;
    f->entry[at] = *x;
    for (int i = at > 0 ? at - 1 : 0; i < at + 1 && i + 1 < f->count; i++)
        assert(f->entry[i].score.time < f->entry[i + 1].score.time &&
               f->entry[i].score.usd > f->entry[i + 1].score.usd);
}

/* An entry dominates every time above the larger of its own and that which costs as much. Along the
 * front the first grows and the second falls: the least is where they cross. */
int64_t front_limit(const struct front *f, const struct rental *h)
{
    int low = 0, high = f->count;
    double least = INFINITY;
    if (!(h->usd_per_h < INFINITY))
        return 0;
    while (low < high) {
        int middle = (low + high) / 2;
        const struct score *x = &f->entry[middle].score;
        if (x->time >= x->usd / h->usd_per_h)
            high = middle;
        else
            low = middle + 1;
    }
    if (low < f->count)
        least = f->entry[low].score.time;
    if (low > 0)
        least = fmin(least, f->entry[low - 1].score.usd / h->usd_per_h);
    return step_within_score(h, least, INFINITY);
}

void results_init(struct results *s, const struct limits *w, int top, struct arena *mem)
{
    s->limits = w;
    shortlist_init(&s->best, top, mem);
    front_init(&s->front);
}

struct results *results_join(struct results *given, struct results *own, const struct limits *w,
                             int top, struct arena *mem)
{
    if (given)
        return given;
    results_init(own, w ? w : &SPEED_ALONE, top, mem);
    return own;
}

void results_release(struct results *s)
{
    front_release(&s->front);
}

void results_add(struct results *s, const struct found *x)
{
    shortlist_add(&s->best, s->limits, x);
    front_add(&s->front, s->limits, x);
}
