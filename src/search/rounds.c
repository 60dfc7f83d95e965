#include "search/rounds.h"

#include "base/arena.h"
#include "base/parallel.h"

#include <assert.h>
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
    r->work->search(r->search, worker, r->item[r->taken + i]);
}

static void run_round(struct rounds *r, long count)
{
    assert(count > 0 && r->taken + count <= r->count);
    parallel_for(r->workers, count, search_one, r);
    for (long i = 0; i < count; i++)
        r->work->merge(r->search, r->item[r->taken + i]);
    r->taken += count;
}

void rounds_run(struct rounds *r)
{
    const struct round_work *w = r->work;
    long size = w->first;
    for (int round = 1; r->taken < r->count; size *= round < w->steady ? 1 : 2, round++) {
        long left = r->count - r->taken;
        if (w->done && w->done(r->search, r->item[r->taken]))
            return;
        size = size < w->largest ? size : w->largest;
        run_round(r, size < left ? size : left);
        if (r->progress)
            r->progress(r->progress_context, (double)r->taken / (double)r->count);
    }
}

void rounds_release(struct rounds *r)
{
    free(r->list);
    free(r->item);
}
