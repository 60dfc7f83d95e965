/* Runs the events and goes back from the last one: a pass starts when its rank was free or when its
 * input had arrived, whichever was later, so one of the two is its cause. */
#include "simulate/critical_path.h"

#include "base/arena.h"
#include "simulate/events.h"

#include <assert.h>

struct record {
    struct event event;
    int64_t input;  /* of the events: what it waited for, -1 = nothing */
    int64_t before; /* the one before it on its rank, -1 = none */
};

struct history {
    const struct pipeline *p;
    int64_t count;
    struct record *record;
    int64_t *latest;             /* [pp] of each rank */
    int64_t *forward, *backward; /* [vpp * pp * micro_batches] records */
};

static int stage_of(const struct pipeline *p, const struct event *e)
{
    return e->chunk * p->pp + e->rank;
}

/* The record of the pass whose output this one needs, -1 = none. */
static int64_t input_of(const struct history *h, const struct event *e)
{
    int64_t m = h->p->micro_batches;
    int stage = stage_of(h->p, e), last = h->p->pp * h->p->vpp - 1;
    if (!e->backward)
        return stage == 0 ? -1 : h->forward[(stage - 1) * m + e->micro_batch];
    if (stage == last)
        return h->forward[stage * m + e->micro_batch];
    return h->backward[(stage + 1) * m + e->micro_batch];
}

static void note(void *context, const struct event *e)
{
    struct history *h = context;
    int64_t i = h->count++;
    h->record[i] = (struct record){*e, input_of(h, e), h->latest[e->rank]};
    h->latest[e->rank] = i;
    (e->backward ? h->backward
                 : h->forward)[stage_of(h->p, e) * h->p->micro_batches + e->micro_batch] = i;
}

/* When the rank of a pass was free for the next one. */
static int64_t free_at(const struct pipeline *p, const struct event *e)
{
    return p->blocking_send ? e->sent : e->end;
}

static int64_t last_record(const struct history *h, const int64_t after[])
{
    int64_t found = -1, latest = -1;
    for (int r = 0; r < h->p->pp; r++) {
        int64_t end = free_at(h->p, &h->record[h->latest[r]].event) + after[r];
        if (end > latest) {
            latest = end;
            found = h->latest[r];
        }
    }
    assert(found >= 0);
    return found;
}

static void walk_back(const struct history *h, int64_t at, struct path *out)
{
    const struct pipeline *p = h->p;
    const struct event *e = &h->record[at].event;
    out->end_rank = e->rank;
    out->constant = free_at(p, e) - e->end;
    while (at >= 0) {
        const struct record *x = &h->record[at];
        e = &x->event;
        (e->backward ? out->backward : out->forward)[stage_of(p, e)]++;
        const struct event *input = x->input >= 0 ? &h->record[x->input].event : NULL;
        const struct event *before = x->before >= 0 ? &h->record[x->before].event : NULL;
        if (before && free_at(p, before) == e->start) {
            out->constant += free_at(p, before) - before->end;
            at = x->before;
        } else if (input && input->sent == e->start) {
            out->constant += input->sent - input->end;
            at = x->input;
        } else {
            assert(e->start == 0);
            return;
        }
    }
}

void critical_path(const struct pipeline *p, const int64_t after[], struct arena *mem,
                   struct path *out)
{
    struct arena work = {0};
    size_t stages = (size_t)p->pp * (size_t)p->vpp, cells = stages * (size_t)p->micro_batches;
    struct history h = {.p = p};
    h.record = arena_array(&work, 2 * cells, sizeof *h.record);
    h.latest = arena_array(&work, (size_t)p->pp, sizeof *h.latest);
    h.forward = arena_array(&work, cells, sizeof *h.forward);
    h.backward = arena_array(&work, cells, sizeof *h.backward);
    for (int r = 0; r < p->pp; r++)
        h.latest[r] = -1;
    out->forward = arena_array(mem, 2 * stages, sizeof *out->forward);
    out->backward = out->forward + stages;
    int64_t end = events_run(p, note, &h);
    assert(end >= 0);
    (void)end;
    walk_back(&h, last_record(&h, after), out);
    arena_release(&work);
}
