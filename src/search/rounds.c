#include "search/rounds.h"

#include "base/arena.h"
#include "base/parallel.h"
#include "search/stop.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void *rounds_add(struct rounds *r)
{
    if (r->listed == r->capacity) {
        r->capacity = r->capacity ? 2 * r->capacity : 1024;
        r->list = memory_grow(r->list, (size_t)r->capacity * r->work->size);
    }
    return memset(rounds_at(r, r->listed++), 0, r->work->size);
}

void *rounds_at(const struct rounds *r, long i)
{
    return r->list + (size_t)i * r->work->size;
}

static void bound_one(void *context, int worker, long i)
{
    struct rounds *r = context;
    r->work->bound(r->search, worker, r->item[i]);
}

void rounds_order(struct rounds *r)
{
    r->item = memory_grow(r->item, (size_t)(r->listed + 1) * sizeof *r->item);
    r->round = memory_grow(r->round, (size_t)r->work->largest * sizeof *r->round);
    r->count = r->listed;
    r->taken = 0;
    for (long i = 0; i < r->count; i++)
        r->item[i] = rounds_at(r, i);
    parallel_for(r->workers, r->count, bound_one, r);
    qsort(r->item, (size_t)r->count, sizeof *r->item, r->work->compare);
}

static void search_one(void *context, int worker, long i)
{
    struct rounds *r = context;
    r->work->search(r->search, worker, r->round[i]);
}

/* The next items, as many as are not cut, and those between them; returns how many of all. */
static long fill_round(struct rounds *r, long size)
{
    const struct round_work *w = r->work;
    long end = r->taken;
    r->searched = 0;
    while (end < r->count && r->searched < size) {
        void *item = r->item[end++];
        if (w->cut && w->cut(r->search, item))
            w->search(r->search, 0, item);
        else
            r->round[r->searched++] = item;
    }
    return end - r->taken;
}

static void run_round(struct rounds *r, long size)
{
    long count = fill_round(r, size);
    assert(count > 0 && r->taken + count <= r->count);
    parallel_for(r->workers, r->searched, search_one, r);
    for (long i = 0; i < count; i++)
        r->work->merge(r->search, r->item[r->taken + i]);
    r->taken += count;
}

/* What an item has taken, or may still take, as the cuts are now: those far below them take long,
 * those above nothing. */
static double weight_of(const struct rounds *r, const void *item)
{
    const struct round_work *w = r->work;
    double limit = w->limit(r->search, item);
    double least = w->least_key(r->search, item);
    return limit > least ? 1 - least / limit : 0;
}

/* By the bounds that are passed, of those that are not cut. */
static double share_done(const struct rounds *r)
{
    double taken = 0, left = 0;
    for (long i = 0; i < r->count; i++)
        *(i < r->taken ? &taken : &left) += weight_of(r, r->item[i]);
    return taken + left > 0 ? taken / (taken + left) : (double)r->taken / (double)r->count;
}

/* Now and then: to look at all items takes longer than a round of few. */
static void tell_progress(struct rounds *r)
{
    double now = stop_clock_s();
    if (!r->progress || now < r->told_s)
        return;
    double share = r->share > 0 ? r->share : 1;
    r->progress(r->progress_context, r->done_before + share * share_done(r));
    double took = stop_clock_s() - now;
    r->told_s = now + fmax(0.1, 50 * took);
}

void rounds_run(struct rounds *r)
{
    const struct round_work *w = r->work;
    long size = w->first;
    for (int round = 1; r->taken < r->count; size *= round < w->steady ? 1 : 2, round++) {
        if (stop_now(r->stop, true) || (w->done && w->done(r->search, r->item[r->taken])))
            return;
        size = size < w->largest ? size : w->largest;
        run_round(r, size);
        tell_progress(r);
    }
}

/* Of an item that was taken or not. */
static bool is_open(const struct rounds *r, long i)
{
    const struct round_work *w = r->work;
    if (i < r->taken && !w->left(r->item[i]))
        return false;
    return !(w->cut && w->cut(r->search, r->item[i])) &&
           !(w->done && w->done(r->search, r->item[i]));
}

struct rounds_open rounds_open(const struct rounds *r)
{
    struct rounds_open open = {0, INFINITY};
    for (long i = 0; i < r->count; i++)
        if (is_open(r, i)) {
            open.count++;
            open.key = fmin(open.key, r->work->least_key(r->search, r->item[i]));
        }
    return open;
}

void rounds_release(struct rounds *r)
{
    free(r->list);
    free(r->item);
    free(r->round);
}
