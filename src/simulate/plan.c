/* Everything predicted of one strategy, for people: the same partition, pass times and state as the
 * search. */
#include "simulate/plan.h"

#include "base/arena.h"
#include "base/units.h"
#include "cluster/cluster.h"
#include "simulate/partition.h"
#include "simulate/plan_error.h"
#include "simulate/score.h"
#include "simulate/trust.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static const char *const BREAKDOWN[BREAKDOWN_PARTS] = {
#define X(name) #name,
    BREAKDOWN_TABLE(X)
#undef X
};

const char *breakdown_name(enum breakdown_part part)
{
    return BREAKDOWN[part];
}

/* Seconds of a rank in one step by where they go, bubble left out. */
static void rank_breakdown(const struct partition *f, const struct strategy *s, int rank,
                           double out[BREAKDOWN_PARTS])
{
    double m = (double)f->micro_batches;
    memset(out, 0, BREAKDOWN_PARTS * sizeof *out);
    for (int stage = rank; stage < f->layout.stages; stage += s->pp) {
        struct pass fw, bw;
        shape_passes(f, s, f->shape_of[stage], &fw, &bw);
        out[BREAKDOWN_compute] += m * (fw.compute_s + bw.compute_s);
        out[BREAKDOWN_recompute] += m * bw.recompute_s;
        out[BREAKDOWN_tp] += m * (fw.comm_s[AXIS_TP] + bw.comm_s[AXIS_TP]);
        out[BREAKDOWN_cp] += m * (fw.comm_s[AXIS_CP] + bw.comm_s[AXIS_CP]);
        out[BREAKDOWN_ep] += m * (fw.comm_s[AXIS_EP] + bw.comm_s[AXIS_EP]);
        out[BREAKDOWN_pp] += 2 * m * transfer_fixed_s(f, s);
        if (!s->p2p_overlap && stage < f->layout.stages - 1)
            out[BREAKDOWN_pp] += m * (double)f->send[rank] / TICKS_PER_S;
        if (!s->p2p_overlap && stage > 0)
            out[BREAKDOWN_pp] +=
                m * (double)f->send[rank == 0 ? s->pp - 1 : rank - 1] / TICKS_PER_S;
    }
}

static double sum_of(const double parts[BREAKDOWN_PARTS])
{
    double sum = 0;
    for (int i = 0; i < BREAKDOWN_PARTS; i++)
        sum += parts[i];
    return sum;
}

/* What a rank's passes compute longer than their kernels: the host issues them late. */
static double rank_late(const struct partition *f, int rank)
{
    double sum = 0;
    for (int stage = rank; stage < f->layout.stages; stage += f->strategy.pp)
        sum += (double)f->micro_batches * shape_late_s(f, f->shape_of[stage]);
    return sum;
}

static double host_waits(const struct partition *f, const struct strategy *s, int rank,
                         const double parts[BREAKDOWN_PARTS])
{
    double kernels = 0;
    for (int stage = rank; stage < f->layout.stages; stage += s->pp) {
        const struct stage_sums *x = &f->sums[f->shape_of[stage]];
        kernels += x->layers.forward_s + x->layers.backward_s + x->ends.forward_s +
                   x->ends.backward_s + shape_late_s(f, f->shape_of[stage]);
    }
    kernels = (double)f->micro_batches * kernels + rank_late(f, rank);
    return fmax(0, parts[BREAKDOWN_compute] - kernels);
}

/* What is left of a step. Its passes were rounded to ticks, a thousand of them are a nanosecond: less
 * than that is rounding, which differs from one mathematical library to the next. */
static double rest_of(double step_s, double parts_s)
{
    double rest = step_s - parts_s;
    return rest < 1e-9 ? 0 : rest;
}

/* The busiest rank's account. Data parallelism gets what the step is longer than without it; the
 * rest of the rank's time is bubble. */
static void fill_breakdown(const struct partition *f, const struct strategy *s,
                           const struct pass_times *t, const struct state *st, struct plan *p)
{
    double busiest = -1, parts[BREAKDOWN_PARTS];
    int64_t latest = 0;
    for (int r = 0; r < s->pp; r++) {
        rank_breakdown(f, s, r, parts);
        p->stage[r].idle_s = rest_of(p->step_s, sum_of(parts) + st->optimizer_s[f->class_of[r]]);
        if (sum_of(parts) > busiest) {
            busiest = sum_of(parts);
            p->busiest = r;
            p->host_s = host_waits(f, s, r, parts);
            p->late_s = rank_late(f, r);
            memcpy(p->breakdown, parts, sizeof parts);
        }
        latest = t->end[r] > latest ? t->end[r] : latest;
    }
    assert(busiest >= 0 && latest <= llround(p->step_s * TICKS_PER_S) + 1);
    double pipeline = (double)latest / TICKS_PER_S, optimizer = 0;
    for (int c = 0; c < f->classes; c++)
        optimizer = fmax(optimizer, st->optimizer_s[c]);
    p->breakdown[BREAKDOWN_optimizer] = optimizer;
    p->breakdown[BREAKDOWN_dp] = rest_of(p->step_s, pipeline + optimizer);
    p->breakdown[BREAKDOWN_bubble] = rest_of(p->step_s, sum_of(p->breakdown));
}

static void fill_stages(const struct partition *f, const struct strategy *s, const struct state *st,
                        struct arena *mem, struct plan *p)
{
    p->stages = s->pp;
    p->stage = arena_array(mem, (size_t)s->pp, sizeof *p->stage);
    for (int r = 0; r < s->pp; r++)
        partition_stage(f, s, st, r, mem, &p->stage[r]);
}

/* What experts that are fuller than those of the run take beside it. */
static void fill_reserves(const struct scene *sc, const struct strategy *s, struct arena *scratch,
                          struct plan *p)
{
    bool any = !sc->meshes && scene_reserves(sc, s);
    for (int i = 0; sc->meshes && i < sc->meshes->count && !any; i++) {
        struct strategy room;
        any = scene_reserves(sc, mesh_strategy(&sc->meshes->mesh[i], s, &room));
    }
    if (!any)
        return;
    const struct partition *f = partition_new(sc, s, &p->layout, scratch, NULL);
    for (int r = 0; f && r < s->pp; r++)
        partition_stage_reserve(f, s, r, scratch, &p->stage[r]);
}

/* A step and what is generated for it. */
static double plan_cycle_s(const struct plan *p)
{
    return p->step_s + task_generation_s(p->task);
}

static struct step_content plan_content(const struct plan *p)
{
    return step_content_of(p->dataset, p->task, p->strategy.global_batch, p->strategy.seq_len);
}

static void fill_rates(struct plan *p)
{
    const struct strategy *s = &p->strategy;
    struct step_content step = plan_content(p);
    double tokens = step.tokens, peak = 0, gpus = 0;
    for (int r = 0; r < p->stages; r++) {
        gpus += p->stage[r].gpus;
        peak += p->stage[r].gpus * peak_flops(p->stage[r].group->gpu, s->precision) / 1e12;
    }
    assert(p->step_s > 0 && p->gpus == (int64_t)gpus); /* those of the strategy, stage by stage */
    p->tokens_per_s = tokens / plan_cycle_s(p);
    p->samples_per_s = step.samples / plan_cycle_s(p);
    p->tokens_per_s_per_gpu = p->tokens_per_s / gpus;
    double segment = p->dataset ? s->seq_len * p->dataset->segment : s->seq_len;
    p->tflops_per_gpu = model_flops(p->model, tokens / segment, segment) / p->step_s / gpus / 1e12;
    p->mfu = peak > 0 ? p->tflops_per_gpu * gpus / peak : 0;
}

/* The nodes of all groups, each of which has its stages side by side. */
static struct rental plan_rental(const struct plan *p, const struct limits *w)
{
    struct rental h = {0};
    for (int r = 0, next; r < p->stages; r = next) {
        int64_t gpus = 0;
        for (next = r; next < p->stages && p->stage[next].group == p->stage[r].group; next++)
            gpus += (int64_t)p->stage[next].gpus;
        rental_add(&h, w, p->rent, p->stage[r].group, gpus);
    }
    rental_finish(&h, w);
    return h;
}

/* What becomes of the step in a run: what it costs, and how much longer it takes with outages. */
static void fill_run(struct plan *p)
{
    static const struct run_terms none = {0};
    const struct run_terms *run = p->run ? p->run : &none;
    struct limits w = {.outage = run->outage};
    struct rental h = plan_rental(p, &w);
    struct step_content step = plan_content(p);
    p->outages_per_h = h.outages_per_h;
    p->slowdown = h.slowdown;
    assert(p->slowdown >= 1);
    p->checkpoint_s = run->outage.interval_s > 0
                          ? run->outage.interval_s
                          : outage_interval(&run->outage, h.outages_per_h / 3600);
    p->net_tokens_per_s = p->tokens_per_s / h.slowdown;
    p->usd_per_hour = h.usd_per_h < INFINITY ? h.usd_per_h : 0;
    p->usd_per_mtoken = p->usd_per_hour / 3600 * plan_cycle_s(p) * h.slowdown / step.tokens * 1e6;
    p->hours = run_steps(run, step) * plan_cycle_s(p) * h.slowdown / 3600;
    p->hours_per_epoch = run->epoch / step.samples * plan_cycle_s(p) * h.slowdown / 3600;
    p->usd_total = p->hours * p->usd_per_hour;
}

static const struct {
    const char *name, *words;
} MOMENT[MOMENTS] = {
#define X(name, words) {#name, words},
    MOMENT_TABLE(X)
#undef X
};

const char *moment_name(enum memory_moment m)
{
    return MOMENT[m].name;
}

const char *moment_words(enum memory_moment m)
{
    return MOMENT[m].words;
}

void plan_add_reason(struct plan *p, struct arena *mem, const char *text)
{
    const char **more = arena_array(mem, (size_t)p->reasons + 1, sizeof *more);
    for (int i = 0; i < p->reasons; i++)
        more[i] = p->reason[i];
    more[p->reasons++] = text;
    p->reason = more;
    p->feasible = false;
}

static void check_memory(struct plan *p, struct arena *mem)
{
    int fullest = 0;
    for (int r = 1; r < p->stages; r++)
        if (p->stage[r].device_bytes * p->stage[fullest].limit_bytes >
            p->stage[fullest].device_bytes * p->stage[r].limit_bytes)
            fullest = r;
    const struct plan_stage *s = &p->stage[fullest];
    assert(s->limit_bytes > 0);
    p->limit_bytes = s->limit_bytes;
    p->spare_bytes = round(s->limit_bytes) - round(s->device_bytes);
    if (s->fullness <= 1)
        return;
    double spared = s->device_bytes - s->memory.part[MEMORY_expert_reserve];
    const char *why = "";
    if (spared <= s->limit_bytes)
        why = arena_format(mem, " with experts %.4g times as full as balanced ones; balanced %.1f",
                           p->memory_imbalance, spared / GIB);
    plan_add_reason(p, mem,
                    arena_format(mem, "stage %d needs %.1f GiB%s, each %s has %.1f GiB to use",
                                 fullest, s->device_bytes / GIB, why, s->group->gpu->name,
                                 s->limit_bytes / GIB));
}

static void check_host(struct plan *p, struct arena *mem)
{
    const struct plan_stage *s = plan_fullest_host(p);
    if (s->host_fullness > 1)
        plan_add_reason(
            p, mem,
            arena_format(mem, "a node of %s needs %.1f GiB of host memory, it has %.1f GiB",
                         s->group->gpu->name, s->host_bytes / GIB, s->group->host_bytes / GIB));
}

/* Megatron refuses such schedules, and they cannot be computed. */
static bool schedulable(const struct partition *f, const struct strategy *s)
{
    int64_t group = s->micro_batch_group > 0 ? s->micro_batch_group : s->pp;
    int64_t rest = f->micro_batches % group;
    if (s->vpp == 1)
        return true;
    return s->pp > 1 && group >= s->pp && group <= f->micro_batches && (rest == 0 || rest >= s->pp);
}

static void evaluate(const struct scene *sc, const struct strategy *s, const struct layout *layout,
                     struct arena *scratch, struct arena *mem, struct plan *p)
{
    struct error why = {0};
    const struct scene run = scene_unreserved(sc);
    struct partition *f = partition_new(&run, s, layout, scratch, &why);
    struct pass_times t;
    struct state st;
    if (!f) {
        plan_add_reason(p, mem, arena_string(mem, why.text));
        return;
    }
    p->layout = f->layout;
    if (!schedulable(f, s)) {
        plan_add_reason(p, mem,
                        arena_format(mem,
                                     "%lld micro-batches cannot run interleaved over %d stages",
                                     (long long)f->micro_batches, s->pp));
        return;
    }
    pass_times_of(f, s, scratch, &t);
    pass_times_memory(f, s, scratch, &t);
    pass_times_stages(f, s, scratch, &t);
    pass_times_run(f, s, scratch, &t);
    state_of(f, s, scratch, &st);
    state_times(f, s, scratch, &st);
    p->computed = true;
    p->step_s = (double)partition_step(f, s, &t, &st) / TICKS_PER_S;
    fill_stages(f, s, &st, mem, p);
    fill_reserves(sc, s, scratch, p);
    fill_breakdown(f, s, &t, &st, p);
    fill_rates(p);
    fill_run(p);
    check_memory(p, mem);
    check_host(p, mem);
}

struct scene plan_scene(const struct plan *p)
{
    return (struct scene){.model = p->model,
                          .group = p->group,
                          .te = p->te,
                          .stock = p->stock,
                          .memory_margin = p->memory_margin,
                          .imbalance = p->imbalance,
                          .memory_imbalance = p->memory_imbalance,
                          .attention_dropout = p->attention_dropout,
                          .hidden_dropout = p->hidden_dropout,
                          .switches = p->switches,
                          .meshes = p->meshes,
                          .cluster = p->cluster,
                          .dataset = p->dataset,
                          .task = p->task,
                          .run = p->run,
                          .costing = p->costing,
                          .rent = p->rent};
}

void plan_evaluate(const struct scene *sc, const struct strategy *s, const struct layout *layout,
                   struct arena *mem, struct plan *p)
{
    struct arena scratch = {0};
    memset(p, 0, sizeof *p);
    p->model = sc->model;
    p->group = sc->group;
    p->meshes = sc->meshes;
    p->cluster = sc->cluster;
    p->dataset = sc->dataset;
    p->task = sc->task;
    p->run = sc->run;
    p->costing = sc->costing;
    p->rent = sc->rent;
    p->strategy = *s;
    p->gpus = sc->meshes ? mesh_list_gpus(sc->meshes, s) : strategy_gpus(s);
    p->complexity = sc->meshes ? mesh_list_complexity(sc->meshes, s) : strategy_complexity(s);
    p->te = sc->te;
    p->stock = sc->stock;
    p->feasible = true;
    p->memory_margin = sc->memory_margin;
    p->imbalance = sc->imbalance;
    p->memory_imbalance = sc->memory_imbalance;
    p->attention_dropout = sc->attention_dropout;
    p->hidden_dropout = sc->hidden_dropout;
    p->switches = sc->switches;
    p->limit_bytes = scene_limit(sc);
    evaluate(sc, s, layout, &scratch, mem, p);
    plan_error_fill(sc, p);
    if (p->computed)
        plan_note_seats(sc, p, mem);
    if (p->computed)
        trust_residuals(sc, layout, &scratch, p);
    arena_release(&scratch);
}
