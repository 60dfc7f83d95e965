/* The plainest mixed search there is: every set of groups, every strategy of the product, every
 * order of the groups and number of stages of each, every split of the layers, each judged from
 * scratch by all rules on every group and a whole evaluation. The judge of the real one. */
#pragma once

#include "base/arena.h"
#include "cluster/cluster.h"
#include "order_reference.h"
#include "strategy/mesh_check.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct mixed_reference {
    const struct mixed_query *query;
    int groups; /* of the set at hand */
    const struct node_group *group[MIX_MAX];
    double values[MIX_MAX][SLOTS];
    struct space space;
    struct strategy strategy;
    bool per_type_meshes; /* each type has its own, below */
    struct mesh own[MIX_MAX];
    struct mesh_list meshes;
    int layers[LAYOUT_MAX_STAGES]; /* by rank */
    struct layout layout;
    struct arena mem, scratch;
    const struct limits *limits; /* NULL: speed alone */
    struct choices choices;      /* owned, their plans in `mem` */
    double plans, fitting;
    double gpus;  /* of the set */
    double limit; /* give up after so many plans; 0 = never */
};

static bool reference_gave_up(const struct mixed_reference *r)
{
    return r->limit > 0 && r->plans >= r->limit;
}

static struct scene reference_scene(const struct mixed_query *q, const struct mesh_list *meshes)
{
    struct scene sc = q->scene;
    sc.group = meshes->mesh[0].group;
    sc.meshes = meshes;
    sc.cluster = q->cluster;
    return sc;
}

/* Values that differ are those of the first mesh. */
static struct strategy reference_first(const struct mixed_reference *r)
{
    const struct mesh *m = &r->meshes.mesh[0];
    struct strategy s = r->strategy;
    if (r->per_type_meshes) {
#define X(name) s.name = m->name;
        MESH_TABLE(X)
#undef X
    }
    return s;
}

/* Cautions that hold on any group; the values are there. */
static int reference_cautions(const struct mixed_reference *r)
{
    const struct rules *cautions = r->query->cautions;
    int met = 0;
    for (int i = 0; cautions && i < cautions->count; i++) {
        bool holds = false;
        for (int g = 0; g < r->groups; g++)
            holds = holds || rule_holds(&cautions->rule[i], r->values[g]);
        met += holds;
    }
    return met;
}

/* GPUs of all groups, as a job rents them. */
static struct rental reference_rental(const struct mixed_reference *r)
{
    struct rental h = {0};
    for (int i = 0; i < r->meshes.count; i++) {
        const struct mesh *m = &r->meshes.mesh[i];
        rental_add(&h, r->limits, r->query->scene.rent, m->group,
                   mesh_stage_gpus(m, &r->strategy) * m->stages);
    }
    rental_finish(&h, r->limits);
    return h;
}

static void reference_keep(struct mixed_reference *r, const struct plan *p)
{
    struct mixed_found plan = {.step = llround(p->step_s * TICKS_PER_S),
                               .gpus = mesh_list_gpus(&r->meshes, &r->strategy),
                               .strategy = reference_first(r),
                               .meshes = r->meshes,
                               .layout = r->layout};
    struct found x = {.step = plan.step,
                      .gpus = plan.gpus,
                      .strategy = plan.strategy,
                      .group = r->meshes.mesh[0].group,
                      .mixed = &plan};
    struct rental h = reference_rental(r);
    int complexity = 0;
    for (int i = 0; i < r->meshes.count; i++) {
        struct strategy room;
        int own = strategy_complexity(mesh_strategy(&r->meshes.mesh[i], &r->strategy, &room));
        complexity = own > complexity ? own : complexity;
    }
    x.trouble =
        choices_trouble(r->limits, p, reference_cautions(r), complexity + 3 * (r->groups - 1));
    found_judge(&x, r->limits, &h);
    struct found *kept = choices_add(&r->choices, &x, r->limits->row);
    if (kept) {
        struct mixed_found *own = arena_alloc(&r->mem, sizeof *own);
        *own = plan;
        kept->mixed = own;
    }
}

/* Chunks of a rank as even as possible, the first ones larger. */
static void reference_layout(struct mixed_reference *r)
{
    int pp = r->strategy.pp, vpp = r->strategy.vpp, first = 0;
    struct layout *l = &r->layout;
    memset(l, 0, sizeof *l);
    l->stages = pp * vpp;
    for (int i = 0; i < l->stages; i++) {
        int own = r->layers[i % pp];
        l->first[i] = (uint16_t)first;
        l->layers[i] = (uint16_t)(own / vpp + (i / pp < own % vpp));
        first += l->layers[i];
    }
    l->mtp_stage = l->loss_stage = l->stages - 1;
}

static void reference_judge(struct mixed_reference *r)
{
    struct scene sc = reference_scene(r->query, &r->meshes);
    struct plan p;
    reference_layout(r);
    r->plans++;
    plan_evaluate(&sc, &r->strategy, &r->layout, &r->scratch, &p);
    if (p.computed && p.feasible) {
        r->fitting++;
        reference_keep(r, &p);
    }
    arena_clear(&r->scratch);
}

/* Every rank has a layer for each chunk; not interleaved, the ends may have none. */
static void reference_split(struct mixed_reference *r, int rank, int left)
{
    int pp = r->strategy.pp, vpp = r->strategy.vpp;
    int least = vpp > 1 ? vpp : (rank > 0 && rank < pp - 1) || r->per_type_meshes;
    if (reference_gave_up(r))
        return;
    if (rank == pp - 1) {
        r->layers[rank] = left;
        if (left >= least)
            reference_judge(r);
        return;
    }
    for (int n = least; n <= left; n++) {
        r->layers[rank] = n;
        reference_split(r, rank + 1, left - n);
    }
}

static struct mesh reference_mesh(const struct mixed_reference *r, int g)
{
    return r->per_type_meshes ? r->own[g] : (struct mesh){.group = r->group[g]};
}

static bool reference_may_have(const struct mixed_reference *r, int at, int stages)
{
    const struct node_group *g = r->group[at];
    struct mesh mesh = reference_mesh(r, at);
    int64_t gpus = mesh_stage_gpus(&mesh, &r->strategy) * stages;
    bool any = false;
    for (int i = 0; i < r->groups; i++)
        any = any || r->query->gpus % r->group[i]->per_node != 0;
    if (g->nodes_min < g->nodes_max && gpus < (int64_t)g->nodes_min * g->per_node)
        return false;
    return gpus <= (int64_t)g->nodes_max * g->per_node && (any || gpus % g->per_node == 0);
}

/* As many GPUs as asked for, and an engine that runs it. */
static bool reference_runs(struct mixed_reference *r)
{
    int64_t gpus = r->query->gpus;
    struct strategy first = reference_first(r);
    if (gpus && mesh_list_gpus(&r->meshes, &r->strategy) != gpus)
        return false;
    return !r->per_type_meshes ||
           !meshes_refused(&r->meshes, &first, r->query->scene.model, &r->scratch);
}

/* Every order of the groups with every number of stages of each. */
static void reference_place(struct mixed_reference *r, int used, int left)
{
    int *count = &r->meshes.count;
    if (*count == r->groups) {
        if (left == 0 && reference_runs(r))
            reference_split(r, 0, r->query->scene.model->layers);
        return;
    }
    for (int g = 0; g < r->groups; g++)
        for (int stages = 1; stages <= left && !(used >> g & 1); stages++)
            if (reference_may_have(r, g, stages)) {
                r->meshes.mesh[*count] = reference_mesh(r, g);
                r->meshes.mesh[(*count)++].stages = stages;
                reference_place(r, used | 1 << g, left - stages);
                --*count;
            }
}

static bool reference_allowed(struct mixed_reference *r)
{
    const struct rules *rules = r->query->rules;
    for (int g = 0; g < r->groups; g++) {
        struct mesh mesh = reference_mesh(r, g);
        struct strategy room;
        slots_set_strategy(r->values[g], mesh_strategy(&mesh, &r->strategy, &room));
        r->values[g][SLOT_cluster_max_gpus] = r->per_type_meshes ? 1e18 : r->gpus;
        for (int i = 0; i < rules->count; i++)
            if (!rule_allows(&rules->rule[i], r->values[g]))
                return false;
    }
    return true;
}

static const struct axis *reference_axis(const struct mixed_reference *r, enum param p)
{
    const struct axis *a = r->space.axis;
    while (a->param[0] != p)
        a++;
    return a;
}

/* All layers again, one by one, or none. */
static bool reference_lists_recompute(const struct mixed_reference *r, bool full)
{
    const struct axis *a = reference_axis(r, PARAM_recompute);
    for (int i = 0; i < a->options; i++) {
        const int *v = &a->value[i * a->params];
        if (full ? v[0] == RECOMPUTE_FULL && v[1] == METHOD_UNIFORM && v[2] == 1
                 : v[0] == RECOMPUTE_NONE)
            return true;
    }
    return false;
}

static void reference_place_all(struct mixed_reference *r)
{
    if (!reference_allowed(r))
        return;
    memset(&r->meshes, 0, sizeof r->meshes);
    reference_place(r, 0, r->strategy.pp);
}

/* Every tp and dp of the types behind the first, and recompute of all layers or none for each. */
static void reference_choose(struct mixed_reference *r, int g)
{
    const struct strategy *s = &r->strategy;
    int samples = s->dp * s->micro_batch;
    bool alike = true;
    for (int i = 1; i < g; i++)
        alike = alike && r->own[i].tp == r->own[0].tp && r->own[i].dp == r->own[0].dp &&
                r->own[i].recompute == r->own[0].recompute;
    if (g == r->groups) {
        if (!alike)
            reference_place_all(r);
        return;
    }
    assert(g < MIX_MAX);
    for (int tp = 1; tp <= 64; tp *= 2)
        for (int dp = 1; dp <= samples; dp++)
            for (int full = 0; full < 2; full++) {
                bool listed = space_lists(&r->space, PARAM_tp, tp) &&
                              space_lists(&r->space, PARAM_dp, dp) &&
                              space_lists(&r->space, PARAM_micro_batch, samples / dp) &&
                              reference_lists_recompute(r, full);
                if (!listed || samples % dp != 0 || (g == 0 && (tp != s->tp || dp != s->dp)))
                    continue;
                r->own[g] = (struct mesh){.group = r->group[g],
                                          .own = true,
                                          .tp = tp,
                                          .dp = dp,
                                          .ep = s->ep,
                                          .etp = s->etp,
                                          .micro_batch = samples / dp,
                                          .recompute = full ? RECOMPUTE_FULL : RECOMPUTE_NONE,
                                          .recompute_method = full ? METHOD_UNIFORM : METHOD_NONE,
                                          .recompute_layers = full};
                reference_choose(r, g + 1);
            }
}

/* Once for each strategy but its recompute, which every mesh has of its own. */
static void reference_own(struct mixed_reference *r)
{
    const struct axis *a = reference_axis(r, PARAM_recompute);
    struct strategy kept = r->strategy;
    for (int j = 0; j < a->params; j++)
        if (strategy_get(&kept, a->param[j]) != a->value[j])
            return;
    if (kept.vpp > 1 || kept.cp > 1 || (kept.tp == 1 && kept.seq_parallel))
        return;
    if (kept.tp == 1 && space_lists(&r->space, PARAM_seq_parallel, 1))
        r->strategy.seq_parallel = 1; /* of the others */
    r->per_type_meshes = true;
    reference_choose(r, 0);
    r->per_type_meshes = false;
    r->strategy = kept;
}

static void reference_walk(struct mixed_reference *r, int axis)
{
    const struct axis *a = &r->space.axis[axis];
    if (axis == r->space.axes) {
        reference_place_all(r);
        if (r->query->per_type_meshes)
            reference_own(r);
        return;
    }
    for (int i = 0; i < a->options && !reference_gave_up(r); i++) {
        for (int j = 0; j < a->params; j++)
            strategy_set(&r->strategy, a->param[j], a->value[i * a->params + j]);
        reference_walk(r, axis + 1);
    }
}

/* The space of a set: what the least able of its types can run, stages laid out one by one, and
 * interleaved only where all layers are alike. */
static void reference_set(struct mixed_reference *r)
{
    const struct mixed_query *q = r->query;
    const struct node_group *least = r->group[0];
    struct setting settings[PARAMS];
    int64_t gpus = 0;
    memcpy(settings, q->settings, sizeof settings);
    settings[PARAM_split] = (struct setting){1, {SPLIT_LAYOUT}};
    if (settings[PARAM_cuda_graph].count == 0)
        settings[PARAM_cuda_graph] = (struct setting){1, {GRAPH_NONE}};
    if (q->scene.model->kinds > 1)
        settings[PARAM_vpp] = (struct setting){1, {1}};
    for (int g = 0; g < r->groups; g++) {
        gpus += (int64_t)r->group[g]->nodes_max * r->group[g]->per_node;
        if (gpu_capability(r->group[g]->gpu) < gpu_capability(least->gpu))
            least = r->group[g];
    }
    r->gpus = (double)gpus;
    for (int g = 0; g < r->groups; g++) {
        slots_set_fixed(r->values[g], q->scene.model, r->group[g], r->group[g]->nodes_max,
                        scene_stack(&q->scene));
        r->values[g][SLOT_cluster_max_gpus] = (double)gpus;
        r->values[g][SLOT_cluster_min_gpus] = r->values[g][SLOT_cluster_granule] = 1;
    }
    struct space_terms terms = {scene_stack(&q->scene), scene_release(&q->scene), q->production,
                                false};
    space_init(&r->space, q->scene.model, least, &q->base, settings, gpus, terms, &r->mem);
    strategy_init(&r->strategy);
    reference_walk(r, 0);
}

static void mixed_reference_run(struct mixed_reference *r, const struct mixed_query *q)
{
    const struct cluster *c = q->cluster;
    r->query = q;
    r->limits = r->limits ? r->limits : &SPEED_ALONE;
    arena_init(&r->mem);
    arena_init(&r->scratch);
    for (int bits = 1; bits < 1 << c->groups; bits++) {
        r->groups = 0;
        for (int g = 0; g < c->groups && r->groups <= q->mix && r->groups < MIX_MAX; g++)
            if (bits >> g & 1)
                r->group[r->groups++] = &c->group[g];
        bool one_maker = true;
        for (int g = 1; g < r->groups; g++)
            one_maker =
                one_maker && strcmp(r->group[g]->gpu->vendor, r->group[0]->gpu->vendor) == 0;
        if (r->groups >= 2 && r->groups == __builtin_popcount((unsigned)bits) &&
            r->groups <= q->mix && one_maker)
            reference_set(r);
    }
}

/* The first of them; NULL: there is none. */
static inline const struct found *mixed_reference_best(const struct mixed_reference *r)
{
    return choices_next(&r->choices, r->limits, NULL, 0);
}

static void mixed_reference_release(struct mixed_reference *r)
{
    choices_release(&r->choices);
    arena_release(&r->mem);
    arena_release(&r->scratch);
}
