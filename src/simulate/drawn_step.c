#include "simulate/drawn_step.h"

#include "base/arena.h"

#include <assert.h>
#include <math.h>

struct drawn_step *drawn_step_new(const struct plan *p, struct arena *mem)
{
    struct drawn_step *d = arena_alloc(mem, sizeof *d);
    const struct strategy *s = d->strategy = &p->strategy;
    d->scene = plan_scene(p);
    d->partition = partition_new(&d->scene, s, &p->layout, mem, NULL);
    assert(d->partition);
    pass_times_of(d->partition, s, mem, &d->pass_times);
    pass_times_stages(d->partition, s, mem, &d->pass_times);
    pass_times_run(d->partition, s, mem, &d->pass_times);
    state_of(d->partition, s, mem, &d->state);
    state_times(d->partition, s, mem, &d->state);
    d->pipeline = pass_times_pipeline(d->partition, s, &d->pass_times);
    d->parts = partition_parts(d->partition, s, &d->pass_times, &d->state);
    return d;
}

int64_t drawn_ticks(double seconds)
{
    return llround(seconds * TICKS_PER_S);
}

/* What partition_step adds to the passes. */
int drawn_step_edges(const struct drawn_step *d, int rank, struct drawn_edge out[DRAWN_EDGES])
{
    const struct partition *f = d->partition;
    const struct state *st = &d->state;
    int pp = d->pipeline.pp, c = f->class_of[rank], count = 0;
    struct edges e = partition_edges(f, d->strategy, &d->pass_times, st, c);
    bool tied_here = rank == 0 || rank == f->layout.loss_stage % pp;
    int64_t last = d->parts.delay + d->pass_times.end[rank];
    int64_t tied = d->parts.delay + d->parts.pipeline, step = tied + d->parts.tied;
    int64_t gather = step + drawn_ticks(st->optimizer_s[c]);
    const struct drawn_edge all[DRAWN_EDGES] = {
        {0, drawn_ticks(e.delay), "parameter gather"},
        {last, last + drawn_ticks(e.after),
         st->shard_back_s[c] > 0 ? "FSDP collectives" : "gradient reduction"},
        {tied, tied_here ? step : tied, "tied embeddings"},
        {step, gather, "optimizer"},
        {gather, step + drawn_ticks(e.behind), "parameter gather"},
    };
    for (int i = 0; i < DRAWN_EDGES; i++)
        if (all[i].end > all[i].start)
            out[count++] = all[i];
    return count;
}

int64_t drawn_step_end(const struct drawn_step *d)
{
    return d->parts.delay + d->parts.pipeline + d->parts.tied + d->parts.behind;
}
