/* Steps of this class of run that were published say how far ours lie from the truth
 * (cost/step_errors.h). What they cannot say is added: kernels of families that nobody measured on
 * this GPU, each by its share of the step, all wrong to the same side. */
#include "simulate/plan_error.h"

#include "cluster/cluster.h"
#include "cost/group_costs.h"
#include "simulate/partition.h"

#include <math.h>
#include <string.h>

static const double NO_MODEL = 0.25; /* a guess, on the safe side */

/* Of a scan, whose parts are priced as products and passes and which nobody measured as a whole: a guess too. */
static const double SCAN_ERROR = 0.5;

/* Of steps of transformers' layers under FSDP2 and ZeRO: data/published_hf.csv, on which nothing was chosen. */
static const double HF_ERROR = 0.35;

/* Of a step with scans: four of five of the 41 published runs of hybrids lie within, all of them longer than predicted
 * (data/published_hybrid.csv, 2026-11-19). */
static const double HYBRID_ERROR = 0.37;

/* Of a step with adapters, which none of the steps is that other errors come from: five of the six published LoRA runs lie
 * within (data/published_lora.csv, 2026-11-20). */
static const double ADAPTER_ERROR = 0.15;

/* Waits of so much of a step make it one that the host sets the pace of. */
static const double HOST_SHARE = 0.10;

/* Of collectives over links that no source measured: the worst mean error of a source left out as a
 * whole (doc/collectives.md). All of NVIDIA's generations were measured. */
static const double COMM_ERROR = 0.44;

/* Products of 4 bits: a single table of times, of one GPU (cost/predict.c). */
static bool is_measured_nowhere(int precision, enum family f)
{
    return precision == PRECISION_NVFP4 && (f == FAMILY_GEMM || f == FAMILY_GROUPED);
}

/* Seconds of one micro-batch's passes through the model, by family of kernels. */
struct family_times {
    double s[FAMILIES], scan_s;
};

static void add_block(const struct scene *sc, const struct costing *on, const struct block_shape *b,
                      double times, struct family_times *out)
{
    static const int FAMILY[] = {[OP_GEMM] = FAMILY_GEMM,
                                 [OP_GROUPED] = FAMILY_GROUPED,
                                 [OP_ATTENTION] = FAMILY_ATTENTION,
                                 [OP_SCORES] = FAMILY_ATTENTION,
                                 [OP_MEMORY] = FAMILY_MEMORY,
                                 [OP_COMM] = FAMILIES,
                                 [OP_SCAN] = FAMILIES};
    struct op ops[OPS_MAX];
    struct op_time time[OPS_MAX];
    if (b->kind == BLOCK_NONE)
        return;
    int n = block_ops(b, ops);
    cost_predict(on, b->precision, sc->te, ops, (size_t)n, time);
    for (int i = 0; i < n; i++) {
        double both_s = times * (time[i].forward_s + time[i].backward_s);
        if (FAMILY[ops[i].kind] < FAMILIES)
            out->s[FAMILY[ops[i].kind]] += both_s;
        out->scan_s += ops[i].kind == OP_SCAN ? both_s : 0;
    }
}

static struct family_times families_of(const struct scene *sc, const struct strategy *s)
{
    const struct model *m = sc->model;
    const struct costing on = placed_costing(sc, sc->group, s);
    struct family_times out = {0};
    struct block_shape b = block_shape_of(sc, s, BLOCK_ATTENTION);
    for (int k = 0; k < m->kinds; k++) {
        double layers = 0;
        for (int i = 0; i < m->layers; i++)
            layers += m->layer[i] == k;
        b.kind = mixer_block(m->kind[k].mixer);
        b.precision = layer_precision(s->precision, m->kind[k].wide);
        b.window = m->kind[k].window;
        add_block(sc, &on, &b, layers, &out);
        b.kind = feed_block(m->kind[k].feed);
        b.window = 0;
        add_block(sc, &on, &b, layers, &out);
    }
    b.kind = BLOCK_HEAD;
    b.precision = layer_precision(s->precision, true);
    add_block(sc, &on, &b, 1, &out);
    return out;
}

/* What the kernels of a group add to the error of a step, and the provenance that most of their
 * seconds have, or a better one. */
struct kernel_error {
    double error;
    enum provenance provenance;
    bool scans; /* there are kernels that are measured on no GPU */
};

static struct kernel_error kernels_of(const struct scene *sc, const struct costing *on,
                                      const struct strategy *s, const struct plan *p)
{
    const struct gpu *g = on->group->gpu;
    struct family_times f = {.s = {[FAMILY_GEMM] = 1}};
    double all = 0, by[DATASHEET + 1] = {0}, wrong = 0;
    if (p->computed)
        f = families_of(sc, s);
    for (int i = 0; i < FAMILIES; i++) {
        struct coverage c = learned_coverage(group_costs_models(on->costs), g, (enum family)i);
        if (is_measured_nowhere(s->precision, (enum family)i))
            c = (struct coverage){.provenance = DATASHEET, .error = NO_MODEL};
        all += f.s[i];
        by[c.provenance] += f.s[i];
        wrong += c.provenance == MEASURED ? 0 : f.s[i] * c.error;
    }
    all += f.scan_s;
    wrong += f.scan_s * SCAN_ERROR;
    const double *part = p->breakdown;
    double compute = part[BREAKDOWN_compute] + part[BREAKDOWN_recompute];
    double comm = part[BREAKDOWN_tp] + part[BREAKDOWN_cp] + part[BREAKDOWN_ep] +
                  part[BREAKDOWN_pp] + part[BREAKDOWN_dp];
    struct kernel_error k = {.provenance = DATASHEET, .scans = f.scan_s > 0};
    if (by[MEASURED] >= all / 2)
        k.provenance = MEASURED;
    else if (by[MEASURED] + by[TRANSFERRED] >= all / 2)
        k.provenance = TRANSFERRED;
    if (p->computed && all > 0)
        k.error = compute / p->step_s * wrong / all;
    if (p->computed && strcmp(g->vendor, "NVIDIA") != 0)
        k.error += comm / p->step_s * COMM_ERROR;
    return k;
}

static enum pace pace_of(const struct plan *p)
{
    const struct strategy *s = &p->strategy;
    const struct node_group *g = p->group;
    int reach = g->domain > g->per_node ? g->domain : g->per_node;
    if (p->computed && p->host_s > HOST_SHARE * p->step_s)
        return PACE_host;
    if (s->fsdp > FSDP_NO_SHARD)
        return PACE_fsdp;
    return s->pp > 1 ? PACE_pipeline : p->gpus > reach ? PACE_nodes : PACE_node;
}

static void fill_group(const struct scene *sc, const struct node_group *g, const struct strategy *s,
                       struct plan *p)
{
    static const char *const KERNELS[] = {
        [MEASURED] = "measured kernels", [TRANSFERRED] = "transferred", [DATASHEET] = "datasheet"};
    const struct scene here = scene_on(sc, g);
    const struct costing on = scene_costing(sc, g);
    struct plan_evidence e = {.class = {.gpu = g->gpu,
                                        .experts = model_has_feed(sc->model, FEED_MOE),
                                        .format = precision_is_narrow(p->strategy.precision)
                                                      ? p->strategy.precision
                                                      : PRECISION_BF16,
                                        .pace = pace_of(p)}};
    struct step_evidence of = {.error = NO_MODEL};
    const char *provenance = KERNELS[DATASHEET];
    if (on.costs) {
        struct kernel_error k = kernels_of(&here, &on, s, p);
        e.kernels = k.error;
        of = step_error_of(&group_costs_models(on.costs)->steps, &e.class, k.error);
        bool adapters = sc->model->lora > 0, widened = sc->model->frozen_bits > 0;
        bool hf = strategy_on_hf(s);
        bool own_steps =
            !k.scans && !hf && !adapters && !widened && of.scope == SCOPE_precision && of.runs > 0;
        if (!own_steps && is_measured_nowhere(s->precision, FAMILY_GEMM))
            of.error = hypot(of.error, k.error); /* steps in other formats do not have it */
        if (hf)
            of.error = fmax(of.error, HF_ERROR);
        if (k.scans)
            of.error = fmax(of.error, HYBRID_ERROR);
        if (adapters)
            of.error = fmax(of.error, ADAPTER_ERROR);
        if (widened) /* nobody measured the passes that widen 4-bit weights */
            of.error = fmax(of.error, NO_MODEL);
        provenance =
            own_steps ? "measured steps" : KERNELS[k.scans || widened ? DATASHEET : k.provenance];
    }
    e.steps = of;
    if (of.error > p->expected_error) {
        p->expected_error = of.error;
        p->provenance = provenance;
        p->evidence = e;
    }
}

void plan_error_fill(const struct scene *sc, struct plan *p)
{
    struct strategy room;
    if (!sc->meshes)
        fill_group(sc, sc->group, &p->strategy, p);
    for (int i = 0; sc->meshes && i < sc->meshes->count; i++) {
        const struct mesh *m = &sc->meshes->mesh[i];
        fill_group(sc, m->group, mesh_strategy(m, &p->strategy, &room), p);
    }
}
