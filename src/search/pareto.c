/* The front of speed and money: sorted by time, along which the cost falls. */
#include "search/results.h"

#include "base/arena.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
