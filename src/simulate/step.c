/* One step: the pipeline between the gather of parameters before it and reduction and optimizer
 * behind it.
 *
 *     | gather | forward and backward of all micro-batches | reduce | tied | optimizer | gather |
 *       exposed part with overlap_param_gather               exposed                     without it
 *
 * The optimizer waits for all ranks (gradient norm). What is exposed is what simulate/events.h finds
 * when every collective is an event of its own (tests/unit/test_events.c compares):
 *   one chunk a rank   buckets of the first rank go as its first forward, or last backward, goes
 *                      through its layers. Other ranks have one bucket, launched when the first
 *                      micro-batch has arrived, or when their last backward is over;
 *   virtual stages     collectives of a chunk are launched as pipeline_marks says, and run one
 *                      behind the other while other chunks compute. */
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

double stage_buckets(const struct partition *f, int stage)
{
    if (stage > 0)
        return 1;
    return rank_buckets(f, f->mesh_of[0], &f->sums[f->shape_of[0]].params);
}

static const struct company UNSHARED = {OVERLAP_TAX, 1};

struct company company_of(const struct pass_times *t, const struct state *st, int c)
{
    bool crosses = st->crossing[c] > 0;
    return company_at(crosses ? SENDING_TAX : OVERLAP_TAX, crosses ? t->sending[c] : 0);
}

/* FSDP: every layer is a piece, every micro-batch anew. */
static double shards_exposed(const struct partition *f, double forward_s, double backward_s,
                             const struct rank_times *t)
{
    const struct company by = {t->shard_tax, 1};
    double units = fmax(1, (double)f->scene->model->layers / f->strategy.pp);
    double both[] = {t->shard_s, t->shard_back_s}, beside[] = {forward_s, backward_s}, sum = 0;
    for (int i = 0; i < 2; i++)
        sum += with_tax(both[i], pieces_shown(both[i], beside[i], units, by), by);
    return (double)f->micro_batches * sum;
}

struct edges rank_edges(const struct partition *f, const struct strategy *s, double forward_s,
                        double backward_s, const struct rank_times *chunk, double buckets,
                        const struct rank_times *all)
{
    bool one = s->vpp == 1;
    struct edges e = {.after = all->reduce_s, .behind = all->optimizer_s};
    if (s->overlap_grad_reduce) {
        double shown = pieces_shown(chunk->reduce_s, one ? backward_s : 0, buckets, UNSHARED);
        e.after = with_tax(all->reduce_s, shown, UNSHARED);
    }
    if (s->overlap_param_gather) {
        double shown = pieces_shown(chunk->gather_s, one ? forward_s : 0, buckets, UNSHARED);
        e.delay = one ? with_tax(chunk->gather_s, shown, UNSHARED) : shown;
    } else {
        e.behind += all->gather_s;
    }
    e.after += shards_exposed(f, forward_s, backward_s, all);
    return e;
}

static const double S_PER_TICK = 1 / TICKS_PER_S;

static int64_t to_ticks(double seconds)
{
    return llround(seconds * TICKS_PER_S);
}

/* The last chunk first, from the end of the rank's passes. */
double reductions_shown(const struct partition *f, const struct pass_times *t,
                        const struct state *st, int rank, struct company by,
                        const struct collective_visit *visit)
{
    int pp = f->strategy.pp;
    int64_t end = t->end[rank];
    struct queue q = {-INFINITY, -INFINITY, 0, company_pace(by)};
    for (int stage = f->layout.stages - pp + rank; stage >= 0; stage -= pp) {
        double launched = (double)(t->marks.reduced[stage] - end) * S_PER_TICK;
        double start = queue_add(&q, launched, st->reduce_s[f->shape_of[stage]]);
        if (visit)
            visit->call(visit->context,
                        &(struct collective){rank, stage / pp, 0, true, end + to_ticks(start),
                                             end + to_ticks(q.done)});
    }
    return q.done;
}

/* The first chunk first; nothing computes yet beside its own gather. */
double gathers_late(const struct partition *f, const struct pass_times *t, const struct state *st,
                    int rank, struct company by, const struct collective_visit *visit)
{
    int pp = f->strategy.pp;
    struct queue q = {0, INFINITY, INFINITY, company_pace(by)};
    double late = 0;
    for (int stage = rank; stage < f->layout.stages; stage += pp) {
        double asked = (double)t->marks.asked[stage] * S_PER_TICK;
        double needed = (double)t->marks.needed[stage] * S_PER_TICK;
        double launched = stage < 2 * pp ? 0 : late + asked;
        double start = queue_add(&q, launched, st->gather_s[f->shape_of[stage]]);
        late = q.done - needed > late ? q.done - needed : late;
        if (stage == rank)
            q.from = late + needed;
        if (visit)
            visit->call(visit->context, &(struct collective){rank, stage / pp, 0, false,
                                                             to_ticks(start), to_ticks(q.done)});
    }
    return late;
}

/* What ranks of a class have in common. */
struct class_view {
    struct company by;
    double forward_s, backward_s, shards_s;
    double buckets; /* of chunk 0 */
};

static struct class_view view_of(const struct partition *f, const struct pass_times *t,
                                 const struct state *st, int c)
{
    struct class_view v = {.by = company_of(t, st, c),
                           .forward_s = (double)t->rank_forward[c] / TICKS_PER_S,
                           .backward_s = (double)t->rank_backward[c] / TICKS_PER_S,
                           .buckets = stage_buckets(f, f->class[c].rank)};
    struct rank_times shards = {.shard_s = st->shard_s[c],
                                .shard_back_s = st->shard_back_s[c],
                                .shard_tax = st->shard_tax[c]};
    if (shards.shard_back_s > 0)
        v.shards_s = shards_exposed(f, v.forward_s, v.backward_s, &shards);
    return v;
}

/* Between the last backward of a rank and the optimizer. */
static double after_of(const struct partition *f, const struct strategy *s,
                       const struct pass_times *t, const struct state *st,
                       const struct class_view *v, int rank)
{
    double total = st->reduce_all_s[f->class_of[rank]], shown;
    if (!s->overlap_grad_reduce || total == 0)
        return total + v->shards_s;
    if (s->vpp == 1)
        shown = pieces_shown(total, v->backward_s, v->buckets, v->by);
    else if (t->exact)
        shown = reductions_shown(f, t, st, rank, v->by, NULL);
    else
        shown = st->reduce_s[f->shape_of[rank]]; /* of chunk 0, launched at the end */
    return with_tax(total, shown, v->by) + v->shards_s;
}

/* Before the first forward of a rank, beside what the pipeline needs to reach it. */
static double delay_of(const struct partition *f, const struct strategy *s,
                       const struct pass_times *t, const struct state *st,
                       const struct class_view *v, int rank)
{
    int c = f->class_of[rank];
    double total = st->gather_all_s[c];
    if (!s->overlap_param_gather || total == 0)
        return 0;
    if (s->vpp == 1)
        return with_tax(total, pieces_shown(total, v->forward_s, v->buckets, v->by), v->by);
    double fill_s = (double)(t->exact ? t->marks.needed[rank] : t->fill[c]) / TICKS_PER_S;
    double late = t->exact ? gathers_late(f, t, st, rank, v->by, NULL)
                           : fmax(0, st->gather_s[f->shape_of[rank]] - fill_s);
    return with_tax(total - fill_s, late, v->by);
}

static double behind_of(const struct strategy *s, const struct state *st, int c)
{
    return st->optimizer_s[c] + (s->overlap_param_gather ? 0 : st->gather_all_s[c]);
}

struct edges partition_edges(const struct partition *f, const struct strategy *s,
                             const struct pass_times *t, const struct state *st, int rank)
{
    struct class_view v = view_of(f, t, st, f->class_of[rank]);
    return (struct edges){.delay = delay_of(f, s, t, st, &v, rank),
                          .after = after_of(f, s, t, st, &v, rank),
                          .behind = behind_of(s, st, f->class_of[rank])};
}

static int64_t longer(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Bounds and exact values are rounded on different ways. */
enum { ROUNDING_TICKS = 2 };

/* Own work and fill of each class's first rank; without virtual stages delays are exact. */
static void bound_parts(const struct partition *f, const struct strategy *s,
                        const struct pass_times *t, const struct state *st, struct step_parts *p)
{
    int64_t late[SCHEDULE_MAX_RANKS];
    p->pipeline = t->bound;
    for (int c = 0; c < f->classes; c++) {
        struct edges e = partition_edges(f, s, t, st, f->class[c].rank);
        int64_t own = t->fill[c] + f->micro_batches * (t->rank_forward[c] + t->rank_backward[c]);
        late[c] = to_ticks(e.delay);
        p->pipeline = longer(p->pipeline, own + to_ticks(e.after) - ROUNDING_TICKS);
        p->delay = longer(p->delay, late[c] - ROUNDING_TICKS);
        p->behind = longer(p->behind, to_ticks(e.behind));
    }
    if (s->vpp > 1)
        return;
    p->delay = 0;
    for (int r = 0; r < s->pp && s->overlap_param_gather; r++)
        p->delay += late[f->class_of[r]];
}

/* Without virtual stages ranks of a class are alike. */
static void exact_parts(const struct partition *f, const struct strategy *s,
                        const struct pass_times *t, const struct state *st, struct step_parts *p)
{
    int64_t after = 0, late = 0;
    struct class_view v;
    for (int r = 0, before = -1; r < s->pp; r++) {
        int c = f->class_of[r];
        if (c != before) {
            v = view_of(f, t, st, c);
            p->behind = longer(p->behind, to_ticks(behind_of(s, st, c)));
        }
        if (c != before || s->vpp > 1) {
            after = to_ticks(after_of(f, s, t, st, &v, r));
            late = to_ticks(delay_of(f, s, t, st, &v, r));
        }
        p->pipeline = longer(p->pipeline, t->end[r] + after);
        p->delay = s->vpp == 1 ? p->delay + late : longer(p->delay, late);
        before = c;
    }
}

/* Behind the pipeline. */
static int64_t step_behind(const struct partition *f, const struct strategy *s, const struct state *st)
{
    int64_t most = 0;
    for (int c = 0; c < f->classes; c++)
        most = longer(most, to_ticks(behind_of(s, st, c)));
    return to_ticks(st->tied_s) + most;
}

int64_t step_beside(const struct partition *f, const struct strategy *s, const struct state *st)
{
    static const double long_s = 1e9; /* passes that hide what can be hidden */
    int c = f->class_of[0], shape = f->shape_of[0];
    struct rank_times all = {.reduce_s = st->reduce_all_s[c],
                             .gather_s = st->gather_all_s[c],
                             .shard_s = st->shard_s[c],
                             .shard_back_s = st->shard_back_s[c],
                             .shard_tax = st->shard_tax[c]};
    struct rank_times chunk = {.reduce_s = st->reduce_s[shape], .gather_s = st->gather_s[shape]};
    struct edges e = rank_edges(f, s, long_s, long_s, &chunk, stage_buckets(f, 0), &all);
    return step_behind(f, s, st) +
           longer(0, to_ticks(e.delay) + to_ticks(e.after) - 2 * ROUNDING_TICKS);
}

struct step_parts partition_parts(const struct partition *f, const struct strategy *s,
                                  const struct pass_times *t, const struct state *st)
{
    struct step_parts p = {.tied = to_ticks(st->tied_s)};
    (t->exact ? exact_parts : bound_parts)(f, s, t, st, &p);
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
