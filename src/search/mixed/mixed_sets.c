/* Sets of types and their structures; those like the best plans on one type are seeds. */
#include "search/mixed/mixed_sets.h"

#include "base/arena.h"
#include "search/stop.h"

#include <assert.h>
#include <string.h>

static int64_t gpus_of(const struct node_group *g)
{
    return (int64_t)g->nodes_max * g->per_node;
}

/* The type whose kernels know least decides what all can run. */
static const struct node_group *least_able(const struct mixed_set *set)
{
    const struct node_group *found = set->group[0];
    for (int g = 1; g < set->groups; g++)
        if (gpu_capability(set->group[g]->gpu) < gpu_capability(found->gpu))
            found = set->group[g];
    return found;
}

static void set_init(struct mixed *m, struct mixed_set *set)
{
    const struct mixed_query *q = m->query;
    struct setting settings[PARAMS];
    int64_t gpus = 0;
    memcpy(settings, q->settings, sizeof settings);
    settings[PARAM_split] = (struct setting){1, {SPLIT_LAYOUT}};
    for (int g = 0; g < set->groups; g++)
        gpus += gpus_of(set->group[g]);
    if (settings[PARAM_cuda_graph].count == 0) /* hosts differ: --set has them */
        settings[PARAM_cuda_graph] = (struct setting){1, {GRAPH_NONE}};
    if (!q->layouts || q->scene.model->kinds > 1) /* where a chunk begins depends on all others */
        settings[PARAM_vpp] = (struct setting){1, {1}};
    else if (settings[PARAM_vpp].count == 0) /* as many as matter: --set has the others */
        settings[PARAM_vpp] = (struct setting){3, {1, 2, 4}};
    space_init(&set->space, q->scene.model, least_able(set), &q->base, settings, gpus,
               (struct space_terms){scene_stack(&q->scene), scene_release(&q->scene), q->production,
                                    q->scene.switches.newton_steps > 0},
               m->mem);
    if (q->usual)
        space_narrow(&set->space, q->usual);
    space_put_pp_last(&set->space);
    rule_plan_init(&set->plan, &set->space, q->rules, m->mem);
    if (q->cautions && m->results->limits->resolution > 0)
        rule_plan_init(&set->cautions, &set->space, q->cautions, m->mem);
    for (int g = 0; g < set->groups; g++) {
        const struct node_group *group = set->group[g];
        set->scene[g] = m->scene[group - q->cluster->group];
        set->costs[g] = &m->costs[group - q->cluster->group];
        slots_set_fixed(set->fixed[g], q->scene.model, group, group->nodes_max,
                        scene_stack(&q->scene));
        set->fixed[g][SLOT_release] = scene_release(&q->scene);
        set->fixed[g][SLOT_cluster_max_gpus] = (double)gpus;
        set->fixed[g][SLOT_cluster_min_gpus] = 1;
        set->fixed[g][SLOT_cluster_granule] = 1;
    }
}

static void set_types(struct mixed *m)
{
    const struct cluster *c = m->query->cluster;
    for (int g = 0; g < c->groups; g++) {
        m->scene[g] = scene_on(&m->query->scene, &c->group[g]);
        m->scene[g].part = true;
        mixed_costs_init(&m->costs[g], &m->scene[g], m->mem);
    }
}

/* Every set of two types and more. */
static void list_sets(struct mixed *m)
{
    const struct cluster *c = m->query->cluster;
    int mix = m->query->mix < MIX_MAX ? m->query->mix : MIX_MAX;
    m->set = arena_array(m->mem, (size_t)1 << c->groups, sizeof *m->set);
    for (int bits = (1 << c->groups) - 1; bits > 0; bits--) {
        struct mixed_set *set = &m->set[m->sets];
        set->groups = 0;
        int types = __builtin_popcount((unsigned)bits);
        if (types > mix || types < 2 || !cluster_one_maker(c, (unsigned)bits))
            continue;
        for (int g = 0; g < c->groups; g++)
            if (bits >> g & 1)
                set->group[set->groups++] = &c->group[g];
        set_init(m, set);
        m->sets++;
    }
}

void mixed_list_sets(struct mixed *m)
{
    set_types(m);
    list_sets(m);
}

/* Like a good plan on one type: a good start, whatever its bound. */
static bool is_like(const struct strategy *s, const struct found *x)
{
    const struct strategy *k = &x->strategy;
    return !x->mixed && s->tp == k->tp && s->cp == k->cp && s->ep == k->ep && s->etp == k->etp &&
           s->micro_batch == k->micro_batch && s->seq_parallel == k->seq_parallel;
}

static bool is_seed(const struct mixed *m, const struct strategy *s)
{
    const struct shortlist *best = &m->results->best;
    const struct front *front = &m->results->front;
    for (int i = 0; i < best->count; i++)
        if (is_like(s, &best->row[i].variant[0]))
            return true;
    for (int i = 0; i < front->count; i++)
        if (is_like(s, &front->entry[i]))
            return true;
    return false;
}

static void add_structure(struct mixed *m, const struct mixed_set *set, const struct walk *w,
                          struct rounds *to)
{
    assert(w->strategy.split == SPLIT_LAYOUT);
    struct structure *st = rounds_add(to);
    st->set = set;
    st->seed = is_seed(m, &w->strategy) ? w->strategy.dp : 0;
    for (int i = 0; i < set->space.first_pass_times; i++)
        st->option[i] = (uint16_t)w->option[i];
}

/* A stage must find room on every type that the walk is of. */
static bool too_many_gpus(const struct mixed_set *set, const struct walk *w)
{
    const struct strategy *s = &w->strategy;
    for (int g = 0; g <= w->others; g++)
        if ((int64_t)s->tp * s->cp * s->dp > gpus_of(set->group[g]))
            return true;
    return false;
}

/* Whether no number of stages has the GPUs that are asked for, where all types run the same. */
static bool gpus_missed(const struct mixed *m, const struct mixed_set *set, const struct walk *w)
{
    const struct strategy *s = &w->strategy;
    int64_t gpus = m->query->gpus, block = (int64_t)s->tp * s->cp * s->dp;
    if (gpus == 0 || w->others == 0)
        return false;
    return gpus % block != 0 || gpus / block < set->groups || gpus / block > SCHEDULE_MAX_RANKS ||
           gpus / block > m->query->scene.model->layers + 2;
}

bool mixed_stopped(struct mixed *m)
{
    return stop_now(m->query->stop, true);
}

void mixed_list_structures(struct mixed *m, const struct mixed_set *set, struct walk *w, int axis,
                           struct rounds *to)
{
    if (axis == set->space.first_pass_times) {
        add_structure(m, set, w, to);
        return;
    }
    if (axis == set->space.first_part && (too_many_gpus(set, w) || gpus_missed(m, set, w)))
        return;
    for (int i = 0; i < set->space.axis[axis].options && !mixed_stopped(m); i++) {
        const struct rule *refused = walk_bind(w, axis, i);
        if (refused)
            mixed_note_refused(&m->worker[0], refused);
        else
            mixed_list_structures(m, set, w, axis + 1, to);
    }
}
