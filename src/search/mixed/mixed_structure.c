/* What a structure costs on each type of GPU. */
#include "search/mixed/mixed_parts.h"

#include "base/units.h"
#include "cluster/cluster.h"
#include "search/stop.h"

#include <assert.h>
#include <math.h>
#include <string.h>

void mixed_worker_init(struct mixed_worker *w, const struct mixed_query *q,
                       const struct results *results, const struct mixed_set *sets, int count)
{
    const struct model *m = q->scene.model;
    uint64_t weighed = results->limits->resolution > 0 ? trouble_depends(q->cautions) : 0;
    memset(w, 0, sizeof *w);
    w->query = q;
    w->results = results;
    w->ceiling = INT64_MAX;
    w->counts.open_key = INFINITY;
    w->sets = count;
    arena_init(&w->keep);
    w->counts.refused =
        arena_array(&w->keep, (size_t)q->rules->count + 1, sizeof *w->counts.refused);
    w->first_set = sets;
    arena_init(&w->scratch);
    arena_init(&w->problem);
    w->set = arena_array(&w->keep, (size_t)count, sizeof *w->set);
    for (int i = 0; i < count; i++) {
        struct set_worker *x = &w->set[i];
        const struct space *s = &sets[i].space;
        walk_init(&x->walk, s, &sets[i].plan, sets[i].fixed[0]);
        for (int g = 1; g < sets[i].groups; g++)
            walk_add_group(&x->walk, x->other, sets[i].fixed[g]);
        option_cache_init(&x->pass_times, s, &sets[i].plan, s->first_pass_times, s->first_state,
                          true, weighed);
        option_cache_init(&x->states, s, &sets[i].plan, s->first_state, s->axes - 1, true, weighed);
        option_cache_init(&x->per_type_pass_times, s, &sets[i].plan, s->first_pass_times,
                          s->first_state, false, 0);
        option_cache_init(&x->per_type_states, s, &sets[i].plan, s->first_state, s->axes - 1, false,
                          0);
    }
    w->start_of = arena_array(&w->keep, 2 * ((size_t)m->layers + 1), sizeof *w->start_of);
    w->first_with = w->start_of + m->layers + 1;
    w->starts = stage_starts(m, w->start_of, w->first_with);
    for (int g = 0; g < MIX_MAX; g++)
        stage_table_init(&w->table[g], m->layers, w->starts, w->start_of, w->first_with, &w->keep);
    w->partition = arena_alloc(&w->keep, sizeof *w->partition);
}

void mixed_worker_release(struct mixed_worker *w)
{
    for (int i = 0; i < w->sets; i++) {
        option_cache_release(&w->set[i].pass_times);
        option_cache_release(&w->set[i].states);
        option_cache_release(&w->set[i].per_type_pass_times);
        option_cache_release(&w->set[i].per_type_states);
    }
    arena_release(&w->keep);
    arena_release(&w->scratch);
    arena_release(&w->problem);
}

struct walk *mixed_walk(struct mixed_worker *w, const struct mixed_set *set)
{
    return &w->set[set - w->first_set].walk;
}

void mixed_note_refused(struct mixed_worker *w, const struct rule *r)
{
    w->counts.refused[r - w->query->rules->rule] = true;
}

bool structure_stopped(const struct mixed_cell *c)
{
    bool stopped = stop_now(c->w->query->stop, c->w->calling);
    c->st->left |= stopped;
    return stopped;
}

/* Stages that together fill whole nodes. */
static int64_t stage_step(const struct node_group *g, int64_t block, bool any)
{
    return any ? 1 : g->per_node / common_divisor(g->per_node, block);
}

int most_stages(const struct node_group *g, int64_t block, bool any)
{
    int64_t step = stage_step(g, block, any);
    assert(block >= 1 && step >= 1);
    return (int)((int64_t)g->nodes_max * g->per_node / block / step * step);
}

static void enter(struct mixed_worker *w, const struct structure *st)
{
    struct walk *walk = mixed_walk(w, st->set);
    for (int axis = 0; axis < st->set->space.first_pass_times; axis++)
        walk_set(walk, axis, st->option[axis]);
}

static void walk_to(struct walk *w, enum param p, int value)
{
    for (int axis = 0; axis < w->space->first_pass_times; axis++) {
        const struct axis *a = &w->space->axis[axis];
        for (int i = 0; a->param[0] == p && i < a->options; i++)
            if (a->value[i] == value)
                walk_set(w, axis, i);
    }
}

static const struct layer_costs *costs_of(struct mixed_worker *w, const struct structure *st, int g)
{
    struct walk *walk = mixed_walk(w, st->set);
    if (!st->per_type)
        return mixed_costs_get(st->set->costs[g], &walk->strategy, &w->keep);
    struct walk here = *walk;
    const struct mesh *own = &st->per_type->mesh[g];
    assert(own->ep == here.strategy.ep && own->etp == here.strategy.etp);
    walk_to(walk, PARAM_tp, own->tp);
    walk_to(walk, PARAM_micro_batch, own->micro_batch);
    if (own->tp == 1 || here.strategy.tp == 1)
        walk_to(walk, PARAM_seq_parallel, own->tp > 1);
    const struct layer_costs *costs = mixed_costs_get(st->set->costs[g], &walk->strategy, &w->keep);
    *walk = here;
    return costs;
}

/* What a type runs, and on how many GPUs a stage. */
static void set_type(struct mixed_cell *c, int g)
{
    c->scene[g] = c->set->scene[g];
    c->alone[g] = (struct mesh_list){1, {{.group = c->set->group[g]}}};
    if (c->st->per_type) {
        c->alone[g].mesh[0] = c->st->per_type->mesh[g];
        c->scene[g].meshes = &c->alone[g];
    }
    c->alone[g].mesh[0].stages = 2; /* of the partition that stages are asked of */
    c->block[g] = mesh_stage_gpus(&c->alone[g].mesh[0], &c->s);
    c->costs[g] = costs_of(c->w, c->st, g);
}

void cell_init(struct mixed_cell *c, struct mixed_worker *w, struct structure *st)
{
    const struct mixed_query *q = w->query;
    memset(c, 0, sizeof *c);
    c->w = w;
    c->st = st;
    c->set = st->set;
    enter(w, st);
    c->s = mixed_walk(w, st->set)->strategy;
    c->s.split = SPLIT_LAYOUT;
    if (st->per_type && c->s.tp == 1 && space_lists(&c->set->space, PARAM_seq_parallel, 1))
        c->s.seq_parallel = 1; /* of the others: where tp is 1 it is off, mesh_strategy() */
    c->micro_batches = strategy_micro_batches(&c->s);
    c->layers = q->scene.model->layers;
    for (int g = 0; g < c->set->groups; g++)
        c->any |= q->gpus && q->gpus % c->set->group[g]->per_node != 0;
    for (int g = 0; g < c->set->groups; g++) {
        set_type(c, g);
        const struct node_group *group = c->set->group[g];
        bool range = group->nodes_min < group->nodes_max;
        int64_t least = range ? (int64_t)group->nodes_min * group->per_node : 1;
        c->step[g] = stage_step(group, c->block[g], c->any);
        c->most[g] = most_stages(group, c->block[g], c->any);
        c->fewest[g] = (int)((least + c->block[g] - 1) / c->block[g]);
        c->fewest[g] = (int)((c->fewest[g] + c->step[g] - 1) / c->step[g] * c->step[g]);
    }
}

struct strategy structure_strategy(struct mixed_worker *w, const struct structure *st)
{
    enter(w, st);
    return mixed_walk(w, st->set)->strategy;
}

/* Least seconds of each kind of layer on the first type, as the structure says without own values:
 * the unit of rates. FlagScale has no virtual stages, thus no combined passes. */
static void find_units(struct mixed_worker *w, const struct structure *st,
                       double unit[MODEL_MAX_KINDS])
{
    const struct model *m = w->query->scene.model;
    struct structure uniform = *st;
    uniform.per_type = NULL;
    const struct layer_costs *costs = costs_of(w, &uniform, 0);
    for (int k = 0; k < m->kinds; k++)
        unit[k] = block_least_s(&costs->kind[k], false);
}

double type_rate(struct mixed_worker *w, const struct structure *st, int g)
{
    const struct model *m = w->query->scene.model;
    double unit[MODEL_MAX_KINDS], best = 0;
    enter(w, st);
    struct strategy s = mixed_walk(w, st->set)->strategy;
    find_units(w, st, unit);
    const struct layer_costs *costs = costs_of(w, st, g);
    int64_t gpus = w->query->gpus;
    bool any = gpus && gpus % st->set->group[g]->per_node != 0;
    for (int k = 0; k < m->kinds; k++)
        best = fmax(best, unit[k] / block_least_s(&costs->kind[k], false));
    return best * most_stages(st->set->group[g], mesh_stage_gpus(&st->per_type->mesh[g], &s), any);
}

double rate_needed(struct mixed_worker *w, const struct structure *st, int64_t cut)
{
    const struct model *m = w->query->scene.model;
    double unit[MODEL_MAX_KINDS], work = 0;
    enter(w, st);
    find_units(w, st, unit);
    for (int i = 0; i < m->layers; i++)
        work += unit[m->layer[i]];
    int64_t rounds = strategy_micro_batches(&mixed_walk(w, st->set)->strategy);
    return (double)rounds * work / ((double)cut / TICKS_PER_S);
}
