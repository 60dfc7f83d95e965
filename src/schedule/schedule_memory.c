/* The fullest moment of a rank, from the order of its passes. Passes are taken in stretches in
 * which the forward and the backward chunk stay the same: what is alive grows or shrinks evenly
 * there, so that the fullest pair is the first or the last. Whole periods of the steady part are
 * skipped. */
#include "schedule/schedule.h"

#include <assert.h>

static void note(struct fullest *f, double saved, double beside, int chunk)
{
    if (saved + beside > f->bytes)
        *f = (struct fullest){saved + beside, saved, chunk};
}

/* Passes until the last forward, less whole periods that repeat what was seen. */
static int64_t passes_to_see(const struct pipeline *p, int64_t warmup, int64_t total)
{
    int64_t period = (int64_t)p->group * p->vpp, steady = total - warmup;
    if (p->micro_batches % p->group != 0 || steady <= 3 * period)
        return total;
    return warmup + steady % period + 2 * period;
}

static int64_t shorter(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

struct walk_state {
    const struct pipeline *p;
    const struct chunk_bytes *chunk;
    struct schedule_cursor forward, backward;
    double alive;
    struct fullest fullest;
};

/* Forward `length` times, a backward after each where `pairs`. */
static void run_stretch(struct walk_state *w, int64_t length, bool pairs)
{
    int f = w->forward.chunk, b = w->p->vpp - 1 - w->backward.chunk;
    double more = w->chunk[f].saved, less = pairs ? w->chunk[b].saved : 0;
    double ends[] = {w->alive, w->alive + (double)(length - 1) * (more - less)};
    for (int i = 0; i < 2; i++) {
        note(&w->fullest, ends[i] + more, w->chunk[f].forward - more, f);
        if (pairs)
            note(&w->fullest, ends[i] + more, w->chunk[b].peak - less, b);
    }
    w->alive += (double)length * (more - less);
    schedule_advance(w->p, &w->forward, length);
    if (pairs)
        schedule_advance(w->p, &w->backward, length);
}

/* The cool-down: only backward, fullest at the start of each stretch. */
static void run_down(struct walk_state *w, int64_t left)
{
    while (left > 0) {
        int b = w->p->vpp - 1 - w->backward.chunk;
        int64_t length = shorter(left, w->backward.size - w->backward.index);
        note(&w->fullest, w->alive, w->chunk[b].peak - w->chunk[b].saved, b);
        w->alive -= (double)length * w->chunk[b].saved;
        schedule_advance(w->p, &w->backward, length);
        left -= length;
    }
}

static struct fullest walk(const struct pipeline *p, int rank, const struct chunk_bytes chunk[])
{
    int64_t total = p->micro_batches * p->vpp, warmup = shorter(pipeline_warmup(p, rank), total);
    int64_t last = passes_to_see(p, warmup, total);
    assert(rank >= 0 && rank < p->pp && last <= total);
    struct walk_state w = {p, chunk, schedule_begin(p), schedule_begin(p), 0, {0, 0, 0}};
    for (int64_t k = 0, length; k < last; k += length) {
        bool pairs = k >= warmup;
        length = shorter(w.forward.size - w.forward.index, (pairs ? last : warmup) - k);
        if (pairs)
            length = shorter(length, w.backward.size - w.backward.index);
        run_stretch(&w, length, pairs);
    }
    run_down(&w, warmup);
    assert(w.alive <= 1 + 1e-6 * w.fullest.bytes); /* but for rounding, nothing is kept */
    return w.fullest;
}

static bool alike(const struct chunk_bytes *a, const struct chunk_bytes *b)
{
    return a->saved == b->saved && a->forward == b->forward && a->peak == b->peak;
}

struct fullest pipeline_fullest(const struct pipeline *p, int rank,
                                const struct chunk_bytes chunk[])
{
    int64_t total = p->micro_batches * p->vpp, alive = pipeline_warmup(p, rank) + 1;
    for (int c = 1; c < p->vpp; c++)
        if (!alike(&chunk[c], &chunk[0]))
            return walk(p, rank, chunk);
    double saved = (double)shorter(alive, total) * chunk[0].saved;
    return (struct fullest){saved + chunk[0].peak - chunk[0].saved, saved, 0};
}
