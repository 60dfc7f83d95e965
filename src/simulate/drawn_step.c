#include "simulate/drawn_step.h"

#include "base/arena.h"

#include <assert.h>
#include <math.h>

struct drawn_step *drawn_step_new(const struct plan *p, struct arena *mem)
{
    struct drawn_step *d = arena_alloc(mem, sizeof *d);
    const struct strategy *s = d->strategy = &p->strategy;
    const struct scene whole = plan_scene(p);
    d->scene = scene_unreserved(&whole);
    d->partition = partition_new(&d->scene, s, &p->layout, mem, NULL);
    assert(d->partition);
    pass_times_of(d->partition, s, mem, &d->pass_times);
    pass_times_stages(d->partition, s, mem, &d->pass_times);
    pass_times_run(d->partition, s, mem, &d->pass_times);
    state_of(d->partition, s, mem, &d->state);
    state_times(d->partition, s, mem, &d->state);
    d->pipeline = pass_times_pipeline(d->partition, s, &d->pass_times);
    d->parts = partition_parts(d->partition, s, &d->pass_times, &d->state);
    d->edges = arena_array(mem, (size_t)s->pp, sizeof *d->edges);
    for (int r = 0; r < s->pp; r++) {
        struct edges e = partition_edges(d->partition, s, &d->pass_times, &d->state, r);
        d->edges[r] =
            (struct drawn_ticks){drawn_ticks(e.delay), drawn_ticks(e.after), drawn_ticks(e.behind)};
    }
    return d;
}

int64_t drawn_ticks(double seconds)
{
    return llround(seconds * TICKS_PER_S);
}

/* When a rank's wait for its gathers begins and ends. Without virtual stages it begins when the first
 * micro-batch is there: ranks wait one after the other. */
static void draw_wait(const struct drawn_step *d, int rank, int64_t *start, int64_t *end)
{
    const struct pass_times *t = &d->pass_times;
    int64_t reach = 0, before = 0;
    for (int r = 0; r < rank; r++) {
        reach += t->forward[d->partition->shape_of[r]] + d->partition->send[r];
        before += d->edges[r].delay;
    }
    *start = d->pipeline.vpp == 1 ? before + reach : 0;
    *end = d->edges[rank].delay > 0 ? d->edges[rank].delay + before * (d->pipeline.vpp == 1) + reach
                                    : *start;
}

/* What partition_step adds to the passes. */
int drawn_step_edges(const struct drawn_step *d, int rank, struct drawn_edge out[DRAWN_EDGES])
{
    const struct partition *f = d->partition;
    const struct state *st = &d->state;
    const struct drawn_ticks *e = &d->edges[rank];
    int pp = d->pipeline.pp, c = f->class_of[rank], count = 0;
    bool tied_here = rank == 0 || rank == f->layout.loss_stage % pp;
    int64_t last = d->parts.delay + d->pass_times.end[rank], wait, waited;
    int64_t tied = d->parts.delay + d->parts.pipeline, step = tied + d->parts.tied;
    int64_t gather = step + drawn_ticks(st->optimizer_s[c]);
    draw_wait(d, rank, &wait, &waited);
    const struct drawn_edge all[DRAWN_EDGES] = {
        {wait, waited, "parameter gather"},
        {last, last + e->after,
         st->shard_back_s[c] > 0 ? "FSDP collectives" : "gradient reduction"},
        {tied, tied_here ? step : tied, "tied embeddings"},
        {step, gather, "optimizer"},
        {gather, step + e->behind, "parameter gather"},
    };
    for (int i = 0; i < DRAWN_EDGES; i++)
        if (all[i].end > all[i].start)
            out[count++] = all[i];
    return count;
}

struct telling {
    const struct drawn_step *step;
    const struct collective_visit *visit;
};

/* Reductions count from the pipeline's beginning. */
static void tell_shifted(void *context, const struct collective *c)
{
    const struct telling *t = context;
    int64_t by = c->reduction ? t->step->parts.delay : 0;
    struct collective x = *c;
    x.start += by;
    x.end += by;
    if (x.end > x.start)
        t->visit->call(t->visit->context, &x);
}

/* Buckets of a rank with one chunk: each is needed before its part of the first forward and launched
 * while the part before it runs; each is ready after its part of the last backward. */
static void tell_buckets(const struct drawn_step *d, int rank, struct company by, bool reduction,
                         const struct collective_visit *to)
{
    const struct partition *f = d->partition;
    const struct pass_times *t = &d->pass_times;
    int shape = f->shape_of[rank];
    double n = stage_buckets(f, rank), at = 0;
    double each = (reduction ? d->state.reduce_s : d->state.gather_s)[shape] * TICKS_PER_S / n;
    double part = (double)(reduction ? t->backward : t->forward)[shape] / n;
    struct queue q = {-INFINITY, reduction ? -INFINITY : each, reduction ? 0 : INFINITY,
                      company_pace(by)};
    int64_t zero = t->end[rank], end;
    if (!reduction)
        draw_wait(d, rank, &zero, &end);
    for (int64_t i = 0; i < (int64_t)n; i++) {
        double launched = reduction ? ((double)i + 1 - n) * part : at;
        double start = queue_add(&q, launched, each);
        at = fmax(q.done, at + (i > 0 ? part : 0));
        to->call(to->context, &(struct collective){rank, 0, i, reduction, zero + llround(start),
                                                   zero + llround(q.done)});
    }
}

void drawn_collectives(const struct drawn_step *d, int rank, const struct collective_visit *visit)
{
    const struct strategy *s = d->strategy;
    struct company by = company_of(&d->pass_times, &d->state, d->partition->class_of[rank]);
    struct telling shifted = {d, visit};
    const struct collective_visit to = {tell_shifted, &shifted};
    if (s->overlap_param_gather && s->vpp > 1)
        gathers_late(d->partition, &d->pass_times, &d->state, rank, by, &to);
    else if (s->overlap_param_gather)
        tell_buckets(d, rank, by, false, &to);
    if (s->overlap_grad_reduce && s->vpp > 1)
        reductions_shown(d->partition, &d->pass_times, &d->state, rank, by, &to);
    else if (s->overlap_grad_reduce)
        tell_buckets(d, rank, by, true, &to);
}

int64_t drawn_step_end(const struct drawn_step *d)
{
    return d->parts.delay + d->parts.pipeline + d->parts.tied + d->parts.behind;
}
