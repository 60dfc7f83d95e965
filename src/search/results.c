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

enum { COMPLEXITY_BITS = 16 };

unsigned trouble_of(int cautions, bool crowded, int complexity)
{
    assert(cautions >= 0 && complexity >= 0 && complexity < 1 << COMPLEXITY_BITS);
    return ((unsigned)cautions << 1 | crowded) << COMPLEXITY_BITS | (unsigned)complexity;
}

int trouble_cautions(unsigned trouble)
{
    return (int)(trouble >> (COMPLEXITY_BITS + 1));
}

uint64_t trouble_depends(const struct rules *cautions)
{
    uint64_t depends = 0;
    for (int p = 0; p < PARAMS; p++)
        if (param_info((enum param)p)->complexity != 0)
            depends |= 1ull << p;
    for (int i = 0; cautions && i < cautions->count; i++)
        depends |= cautions->rule[i].depends;
    return depends;
}

/* What is added to what the objective looks at. */
static double weight(unsigned trouble)
{
    return trouble_cautions(trouble) ? 1 + CAUTION_SHARE : 1;
}

void found_judge(struct found *x, const struct limits *w, const struct rental *h)
{
    x->score = score_of(h, x->step);
    x->key = score_key(w, &x->score) * weight(x->trouble);
}

bool found_before(const struct found *a, const struct found *b)
{
    if (a->key != b->key)
        return a->key < b->key;
    if (a->score.time != b->score.time)
        return a->score.time < b->score.time;
    if (a->score.usd != b->score.usd)
        return a->score.usd < b->score.usd;
    int order = strategy_compare(&a->strategy, &b->strategy);
    if (order == 0 && a->mixed && b->mixed)
        order = compare_meshes(&a->mixed->meshes, &b->mixed->meshes);
    return order != 0 ? order < 0 : a->group < b->group;
}

/* Plans that are alternatives on the same GPUs. */
static bool same_row(const struct found *a, const struct found *b, enum row_of row)
{
    if (a->mixed || b->mixed)
        return a->mixed && b->mixed && mixed_same_row(a->mixed, b->mixed, row);
    return a->group == b->group && strategy_same_row(&a->strategy, &b->strategy, row);
}

/* The largest key that is as good as this one. */
static double reach(const struct shortlist *l, double key)
{
    return key * (1 + l->limits->resolution);
}

/* Nothing with a larger key can be listed: even when the last row is chosen, one with a key that is
 * not above that of row `top` is left. */
static double largest_key(const struct shortlist *l)
{
    return l->count < l->top ? INFINITY : reach(l, l->row[l->top - 1].variant[0].key);
}

void shortlist_init(struct shortlist *l, const struct limits *w, int top, struct arena *mem)
{
    assert(top >= 1);
    *l = (struct shortlist){.limits = w, .top = top, .mem = mem};
}

static int row_index(const struct shortlist *l, const struct found *x)
{
    for (int i = 0; i < l->count; i++)
        if (same_row(&l->row[i].variant[0], x, l->limits->row))
            return i;
    return -1;
}

/* Whenever `b` could be chosen of a row, `a` is. */
static bool beats(const struct found *a, const struct found *b)
{
    return a->trouble <= b->trouble && !found_before(b, a);
}

static bool row_refuses(const struct shortlist *l, const struct plan_row *row,
                        const struct found *x)
{
    if (x->key > reach(l, row->variant[0].key))
        return true;
    for (int i = 0; i < row->count; i++)
        if (beats(&row->variant[i], x))
            return true;
    return false;
}

bool shortlist_refuses(const struct shortlist *l, const struct found *x)
{
    if (!score_allowed(l->limits, &x->score) || x->key > largest_key(l))
        return true;
    int i = row_index(l, x);
    return i >= 0 && row_refuses(l, &l->row[i], x);
}

/* What it beats, and what is too far behind it, leaves. */
static void row_add(struct shortlist *l, struct plan_row *row, const struct found *x)
{
    int kept = 0, at;
    for (int i = 0; i < row->count; i++)
        if (!beats(x, &row->variant[i]) && row->variant[i].key <= reach(l, x->key))
            row->variant[kept++] = row->variant[i];
    row->count = kept;
    row->variant =
        arena_room(l->mem, row->variant, row->count, &row->capacity, sizeof *row->variant);
    for (at = row->count++; at > 0 && found_before(x, &row->variant[at - 1]); at--)
        row->variant[at] = row->variant[at - 1];
    row->variant[at] = *x;
    for (int i = 1; i < row->count; i++)
        assert(found_before(&row->variant[i - 1], &row->variant[i]) &&
               row->variant[i - 1].trouble > row->variant[i].trouble);
}

void shortlist_add(struct shortlist *l, const struct found *x)
{
    if (shortlist_refuses(l, x))
        return;
    int i = row_index(l, x);
    if (i < 0) {
        l->row = arena_room(l->mem, l->row, l->count, &l->capacity, sizeof *l->row);
        i = l->count++;
        l->row[i] = (struct plan_row){0};
    }
    row_add(l, &l->row[i], x);
    for (; i > 0 && found_before(&l->row[i].variant[0], &l->row[i - 1].variant[0]); i--) {
        struct plan_row row = l->row[i];
        l->row[i] = l->row[i - 1];
        l->row[i - 1] = row;
    }
    while (l->row[l->count - 1].variant[0].key > largest_key(l))
        l->count--;
}

int64_t shortlist_limit(const struct shortlist *l, const struct rental *h, unsigned trouble)
{
    return step_within_key(l->limits, h, largest_key(l) / weight(trouble));
}

int64_t shortlist_row_limit(const struct shortlist *l, const struct rental *h,
                            const struct found *x)
{
    int i = row_index(l, x);
    return i < 0 ? INT64_MAX
                 : step_within_key(l->limits, h,
                                   reach(l, l->row[i].variant[0].key) / weight(x->trouble));
}

int64_t shortlist_beaten_from(const struct shortlist *l, const struct rental *h,
                              const struct found *x)
{
    int i = row_index(l, x);
    for (int k = 0; i >= 0 && k < l->row[i].count; k++)
        if (l->row[i].variant[k].trouble <= x->trouble)
            return step_within_key(l->limits, h, l->row[i].variant[k].key / weight(x->trouble));
    return INT64_MAX;
}

/* The one with least trouble that is as good as the best of all rows that are left. */
static const struct found *variant_within(const struct plan_row *row, double key)
{
    int i = row->count - 1;
    while (row->variant[i].key > key)
        i--;
    return &row->variant[i];
}

static int next_row(const struct shortlist *l, const bool *taken, const struct found **chosen)
{
    int best = -1;
    double within = 0;
    for (int i = 0; i < l->count; i++) {
        if (taken[i])
            continue;
        if (best < 0)
            within = reach(l, l->row[i].variant[0].key);
        if (l->row[i].variant[0].key > within)
            break;
        const struct found *x = variant_within(&l->row[i], within);
        if (best < 0 || x->trouble < (*chosen)->trouble ||
            (x->trouble == (*chosen)->trouble && found_before(x, *chosen))) {
            *chosen = x;
            best = i;
        }
    }
    return best;
}

int shortlist_rank(const struct shortlist *l, struct found out[])
{
    bool *taken = arena_array(l->mem, (size_t)l->count + 1, sizeof *taken);
    const struct found *chosen = NULL;
    int n = 0;
    for (int i; n < l->top && (i = next_row(l, taken, &chosen)) >= 0; n++) {
        taken[i] = true;
        out[n] = *chosen;
    }
    return n;
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

void front_add(struct front *f, const struct found *x)
{
    int at = count_within(f, x->score.time);
    if (!(x->score.usd < INFINITY))
        return;
    if (at > 0) { /* the cheapest of those that are as fast */
        const struct found *old = &f->entry[at - 1];
        bool equal = old->score.time == x->score.time && old->score.usd == x->score.usd;
        if (equal ? !found_before(x, old) : old->score.usd <= x->score.usd)
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
    shortlist_init(&s->best, w, top, mem);
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
    shortlist_add(&s->best, x);
    front_add(&s->front, x);
}
