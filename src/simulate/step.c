/* One step: the pipeline between the gather of parameters before it and reduction and optimizer
 * behind it.
 *
 *     | gather | forward and backward of all micro-batches | reduce | tied | optimizer | gather |
 *       exposed part with overlap_param_gather               exposed                     without it
 *
 * A rank's reduction starts when its own backward is over; the optimizer waits for all (gradient
 * norm). The gather of a rank is hidden by the time the pipeline needs to reach it. */
#include "simulate/partition.h"

#include "base/units.h"
#include "cluster/cluster.h"

#include <assert.h>
#include <math.h>

/* Bucket of the overlapped reduction, parameters: max(40 M, 1 M x ranks that share a gradient), which
 * are dp x cp; those of experts too (resolve_ddp_bucket_size in Megatron's training.py). */
static const double BUCKET_PARAMS = 40e6, BUCKET_PER_RANK = 1e6;

double rank_buckets(const struct partition *f, int mesh, const struct rank_params *p)
{
    const struct strategy *s = &f->mesh[mesh].strategy;
    double size = fmax(BUCKET_PARAMS, BUCKET_PER_RANK * s->dp * s->cp);
    return fmax(1, ceil((p->dense + p->experts) / size));
}

/* What shows of `total` seconds of communication that runs beside `window` seconds of compute:
 * at least one bucket. */
static double exposed(double total, double window, double pieces, double tax)
{
    double shown = fmin(total, fmax(total / pieces, total - window));
    return shown + tax * (total - shown);
}

struct edges rank_edges(const struct partition *f, const struct strategy *s, double forward_s,
                        double backward_s, const struct rank_times *t, double buckets)
{
    struct edges e = {.after = t->reduce_s, .behind = t->optimizer_s};
    if (s->overlap_grad_reduce)
        e.after = exposed(t->reduce_s, backward_s, buckets, OVERLAP_TAX);
    if (s->overlap_param_gather)
        e.delay = exposed(t->gather_s, forward_s, buckets, OVERLAP_TAX);
    else
        e.behind += t->gather_s;
    double units = fmax(1, (double)f->scene->model->layers / f->strategy.pp);
    e.after +=
        (double)f->micro_batches * (exposed(t->shard_s, forward_s, units, t->shard_tax) +
                                    exposed(t->shard_back_s, backward_s, units, t->shard_tax));
    return e;
}

struct edges partition_edges(const struct partition *f, const struct strategy *s,
                             const struct pass_times *t, const struct state *st, int c)
{
    struct rank_times times = {st->reduce_s[c], st->gather_s[c],     st->optimizer_s[c],
                               st->shard_s[c],  st->shard_back_s[c], st->shard_tax[c]};
    return rank_edges(f, s, (double)t->rank_forward[c] / TICKS_PER_S,
                      (double)t->rank_backward[c] / TICKS_PER_S, &times,
                      rank_buckets(f, f->class[c].mesh, &f->class[c].params));
}

static int64_t to_ticks(double seconds)
{
    return llround(seconds * TICKS_PER_S);
}

/* Latest end of the ranks' own reductions. */
static int64_t pipeline_end(const struct partition *f, const struct strategy *s,
                            const struct pass_times *t, const int64_t *after)
{
    int64_t latest = 0;
    if (!t->exact) {
        for (int c = 0; c < f->classes; c++) { /* own work and fill of the class's first rank */
            int64_t own = t->fill[c] +
                          f->micro_batches * (t->rank_forward[c] + t->rank_backward[c]) + after[c];
            latest = own > latest ? own : latest;
        }
        return latest > t->bound ? latest : t->bound;
    }
    for (int r = 0; r < s->pp; r++) {
        int64_t end = t->end[r] + after[f->class_of[r]];
        latest = end > latest ? end : latest;
    }
    return latest;
}

struct step_parts partition_parts(const struct partition *f, const struct strategy *s,
                                  const struct pass_times *t, const struct state *st)
{
    int64_t after[SCHEDULE_MAX_RANKS];
    struct step_parts p = {.tied = to_ticks(st->tied_s)};
    for (int c = 0; c < f->classes; c++) {
        struct edges e = partition_edges(f, s, t, st, c);
        int64_t late = to_ticks(e.delay) - t->fill[c], tail = to_ticks(e.behind);
        after[c] = to_ticks(e.after);
        p.delay = late > p.delay ? late : p.delay;
        p.behind = tail > p.behind ? tail : p.behind;
    }
    p.pipeline = pipeline_end(f, s, t, after);
    assert(p.pipeline >= t->bound && p.delay >= 0 && p.behind >= 0 && p.tied >= 0);
    return p;
}

int64_t partition_step(const struct partition *f, const struct strategy *s,
                       const struct pass_times *t, const struct state *st)
{
    struct step_parts p = partition_parts(f, s, t, st);
    return p.delay + p.pipeline + p.tied + p.behind;
}

void partition_stage(const struct partition *f, const struct strategy *s, const struct state *st,
                     int rank, struct arena *mem, struct plan_stage *out)
{
    assert(rank >= 0 && rank < s->pp && st->timed);
    int c = f->class_of[rank];
    const struct partition_mesh *m = &f->mesh[f->mesh_of[rank]];
    struct pass fw, bw;
    out->group = m->costing.group;
    out->limit_bytes = m->costing.group->usable_bytes * (1 - f->scene->memory_margin);
    out->gpus = m->strategy.tp * m->strategy.cp * m->strategy.dp;
    out->layers = 0;
    out->forward_s = out->backward_s = 0;
    for (int stage = rank; stage < f->layout.stages; stage += s->pp) {
        shape_passes(f, s, f->shape_of[stage], &fw, &bw);
        out->layers += f->layout.layers[stage];
        out->forward_s += fw.compute_s;
        out->backward_s += bw.compute_s + bw.recompute_s;
    }
    out->compute_step_s =
        (double)f->micro_batches * (out->forward_s + out->backward_s) + st->optimizer_s[c];
    partition_stage_memory(f, s, rank, mem, out);
}
