/* What a structure costs on each type of GPU, and a bound of all its plans. */
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
    w->first_set = sets;
    arena_init(&w->keep);
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

/* Sums of rounded ticks may be a hair less than rounded sums. */
static int64_t bound_ticks(double seconds)
{
    return (int64_t)fmin(seconds * TICKS_PER_S * (1 - 1e-9), 9e18);
}

/* All layers on the type that is fastest for each, and how much more a layer takes at least
 * elsewhere. */
void cell_find_work(struct mixed_cell *c)
{
    const struct model *m = c->w->query->scene.model;
    double least[MODEL_MAX_KINDS];
    for (int g = 0; g < c->set->groups; g++)
        c->more[g] = INFINITY;
    for (int k = 0; k < m->kinds; k++) {
        double one[MIX_MAX];
        least[k] = INFINITY;
        for (int g = 0; g < c->set->groups; g++) {
            one[g] = (double)bound_ticks(block_least_s(&c->costs[g]->kind[k]));
            least[k] = fmin(least[k], one[g]);
        }
        for (int g = 0; g < c->set->groups; g++)
            c->more[g] = fmin(c->more[g], one[g] - least[k]);
    }
    c->work = 0;
    for (int i = 0; i < m->layers; i++)
        c->work += least[m->layer[i]];
}

/* Work of all layers in units of the first type's seconds, and the units a second that one stage of
 * each type does: it is credited with the kind of layer it is best at. */
void cell_find_rates(struct mixed_cell *c)
{
    const struct model *m = c->w->query->scene.model;
    double unit[MODEL_MAX_KINDS];
    c->units = 0;
    c->backward = 1;
    for (int k = 0; k < m->kinds; k++)
        unit[k] = block_least_s(&c->costs[0]->kind[k]);
    for (int i = 0; i < m->layers; i++)
        c->units += unit[m->layer[i]];
    for (int g = 0; g < c->set->groups; g++) {
        c->rate[g] = 0;
        for (int k = 0; k < m->kinds; k++) {
            const struct block_cost *b = &c->costs[g]->kind[k];
            c->rate[g] = fmax(c->rate[g], unit[k] / block_least_s(b));
            c->backward = fmin(c->backward, block_least_backward_s(b) / block_least_s(b));
        }
    }
}

/* The bounds of cell_allowed() for pp stages that do `rate` units a second together. */
static double rate_bound(const struct mixed_cell *c, int pp, double rate)
{
    double m = (double)c->micro_batches, t = c->units / rate, once = c->work / TICKS_PER_S;
    double bound = m * t;
    if (c->s.vpp == 1)
        bound = fmax(bound, once + (m - 1) * c->backward * t);
    if (c->s.vpp == 1 && m - 1 > pp)
        bound = fmax(bound, 2 * once + (m - 1 - pp) * t);
    return bound;
}

/* Multipliers of the stages of type g before those that have `sum` of them: see filled_bound().
 * `left` is what n stages leave of the way to the most, (1 - 1 / (vpp M))^n. */
static double multipliers(const struct mixed_cell *c, double sum, int g, double left)
{
    double all = c->s.vpp * c->rate[g]; /* of any number of ranks */
    return sum >= all ? sum : all + (sum - all) * left;
}

/* A rank with t_i of passes is idle while the first micro-batch comes to it and the last one goes
 * back through the ranks before it: M t_i + sum over j < i of t_j / vpp <= step. What the ranks do,
 * sum of r_i t_i, is then at most step x sum of x_i, for any x_i >= 0 with M x_i + sum over k > i
 * of x_k / vpp >= r_i: the smallest, from the last rank on. The types may be in any order. */
static double filled_most(const struct mixed_cell *c, const double power[], unsigned left,
                          double sum)
{
    double most = sum;
    for (int g = 0; g < c->set->groups; g++)
        if (left >> g & 1) {
            double more = multipliers(c, sum, g, power[g]);
            double all = filled_most(c, power, left & ~(1u << g), more);
            most = all > most ? all : most;
        }
    return most;
}

static double filled_bound(const struct mixed_cell *c)
{
    double power[MIX_MAX], base = 1 - 1 / (c->s.vpp * (double)c->micro_batches);
    for (int g = 0; g < c->set->groups; g++)
        power[g] = pow(base, c->stages[g]);
    return c->units / filled_most(c, power, (1u << c->set->groups) - 1, 0);
}

bool stages_of_use(const struct mixed_cell *c, int pp, int64_t cut)
{
    double rate = 0;
    for (int g = 0; g < c->set->groups; g++)
        rate += c->stages[g] * c->rate[g];
    return bound_ticks(rate_bound(c, pp, rate)) < cut && bound_ticks(filled_bound(c)) < cut;
}

/* Whether --gpus leaves so many stages, where all types run the same. */
static bool pp_asked(const struct mixed_cell *c, int pp)
{
    int64_t gpus = c->w->query->gpus;
    return gpus == 0 || c->st->per_type || pp * c->block[0] == gpus;
}

/* filled_bound() of stages as fast as these: of all orders of ranks, those that end with the slowest
 * have most. `left` as there, of the stages of each type. */
static double filled_least(const struct mixed_cell *c, const double left[])
{
    double sum = 0;
    bool taken[MIX_MAX] = {0};
    for (int i = 0; i < c->set->groups; i++) {
        int slowest = -1;
        for (int g = 0; g < c->set->groups; g++)
            if (!taken[g] && (slowest < 0 || c->rate[g] < c->rate[slowest]))
                slowest = g;
        taken[slowest] = true;
        sum = multipliers(c, sum, slowest, left[slowest]);
    }
    return c->units / sum;
}

/* For the best number of stages, each as fast as the fastest left. */
static double best_rate_bound(struct mixed_cell *c)
{
    double best = INFINITY, sum = 0, left[MIX_MAX] = {1, 1, 1, 1};
    int used[MIX_MAX] = {0};
    cell_find_work(c);
    cell_find_rates(c);
    for (int pp = 1; pp <= c->layers + 2; pp++) {
        int fastest = -1;
        for (int g = 0; g < c->set->groups; g++)
            if (used[g] < c->most[g] && (fastest < 0 || c->rate[g] > c->rate[fastest]))
                fastest = g;
        if (fastest < 0)
            break;
        used[fastest]++;
        left[fastest] *= 1 - 1 / (c->s.vpp * (double)c->micro_batches);
        sum += c->rate[fastest];
        if (pp_asked(c, pp))
            best = fmin(best, fmax(rate_bound(c, pp, sum), filled_least(c, left)));
    }
    return best;
}

struct strategy structure_strategy(struct mixed_worker *w, const struct structure *st)
{
    enter(w, st);
    return mixed_walk(w, st->set)->strategy;
}

/* Least seconds of each kind of layer on the first type, as the structure says without own values:
 * the unit of rates. */
static void find_units(struct mixed_worker *w, const struct structure *st,
                       double unit[MODEL_MAX_KINDS])
{
    const struct model *m = w->query->scene.model;
    struct structure uniform = *st;
    uniform.per_type = NULL;
    const struct layer_costs *costs = costs_of(w, &uniform, 0);
    for (int k = 0; k < m->kinds; k++)
        unit[k] = block_least_s(&costs->kind[k]);
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
        best = fmax(best, unit[k] / block_least_s(&costs->kind[k]));
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

static bool possible(const struct mixed_cell *c)
{
    int least = 0;
    for (int g = 0; g < c->set->groups; g++) {
        if (c->most[g] < 1 || c->fewest[g] > c->most[g])
            return false;
        least += c->fewest[g];
    }
    return least <= c->layers + 2;
}

void structure_bound(struct mixed_worker *w, struct structure *st)
{
    struct mixed_cell c;
    if (stop_now(w->query->stop, w->calling)) {
        st->bound = 0;
        return;
    }
    cell_init(&c, w, st);
    double bound = possible(&c) ? best_rate_bound(&c) : INFINITY;
    st->bound = bound < INFINITY ? bound_ticks(bound) : INT64_MAX;
    assert(st->bound >= 0);
}
