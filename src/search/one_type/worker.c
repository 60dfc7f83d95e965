/* One thread of a search: what it has found, what is still of use, and what was dropped why. */
#include "search/one_type/cell_parts.h"

#include "search/stop.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Parameters whose switches decide between plans that are as good: none may be left out unseen. */
static uint64_t weighed(const struct search_query *q, const struct limits *limits)
{
    return limits->resolution > 0 ? trouble_depends(q->cautions) : 0;
}

/* Whether some of these rules or cautions speak of plans without CUDA graphs, but not of the same with
 * them. */
static bool speaks_of_no_graph(const struct rule *const *rule, int count, struct arena *mem)
{
    bool known[SLOTS] = {[PARAM_cuda_graph] = true};
    double none[SLOTS] = {[PARAM_cuda_graph] = GRAPH_NONE};
    for (int i = 0; i < count; i++) {
        struct rules one = {.count = 1, .rule = (struct rule *)rule[i]}, without;
        rules_known(&one, known, none, mem, &without);
        if (rule[i]->depends >> PARAM_cuda_graph & 1 && !rule_is_idle(&without.rule[0]))
            return true;
    }
    return false;
}

void worker_init(struct worker *w, const struct search_query *q, const struct limits *limits,
                 struct costs_table *costs, const struct least_table *table,
                 const struct space *space, const struct rule_plan *plan, const double fixed[SLOTS])
{
    memset(w, 0, sizeof *w);
    w->query = q;
    w->limits = limits;
    w->costs = costs;
    w->table = table;
    walk_init(&w->walk, space, plan, fixed);
    arena_init(&w->keep);
    arena_init(&w->scratch);
    arena_init(&w->known_states.mem);
    w->graphs_decide =
        speaks_of_no_graph(plan->order + plan->first[space->axes], plan->pairs, &w->keep);
    if (weighed(q, limits))
        rule_plan_init(&w->cautions, space, q->cautions, &w->keep);
    if (w->cautions.order)
        w->graphs_decide |= speaks_of_no_graph(
            w->cautions.order, w->cautions.first[space->axes] + w->cautions.pairs, &w->keep);
    option_cache_init(&w->partitions, space, plan, space->first_partition, space->first_pass_times,
                      false, 0);
    option_cache_init(&w->pass_times, space, plan, space->first_pass_times, space->first_state,
                      !q->exhaustive, weighed(q, limits));
    option_cache_init(&w->states, space, plan, space->first_state, space->axes, !q->exhaustive,
                      weighed(q, limits));
    w->dropped = arena_array(&w->keep, (size_t)q->rules->count + DROP_FIXED, sizeof *w->dropped);
}

void worker_release(struct worker *w)
{
    free(w->state);
    free(w->state_cautioned);
    option_cache_release(&w->partitions);
    option_cache_release(&w->pass_times);
    option_cache_release(&w->states);
    arena_release(&w->keep);
    arena_release(&w->scratch);
    arena_release(&w->known_states.mem);
}

bool cell_stopped(struct worker *w)
{
    if (w->query->any && w->cell->fastest)
        return true;
    bool stopped = stop_now(w->query->stop, w->calling);
    w->cell->left |= stopped;
    return stopped;
}

void count_fixed(struct worker *w, int reason, double count)
{
    assert(reason >= 0 && reason < DROP_FIXED && count >= 0);
    w->dropped[w->query->rules->count + reason] += (int64_t)count;
}

void count_dropped(struct worker *w, const struct rule *rule, int axis)
{
    w->dropped[rule - w->query->rules->rule] += (int64_t)w->walk.space->size_from[axis + 1];
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Cautions that hold, of those that can be told once these axes are bound. */
int cautioned_at(const struct worker *w, int first, int end)
{
    const struct rule_plan *plan = &w->cautions;
    int met = 0;
    if (!plan->order)
        return 0;
    for (int i = plan->first[first]; i < plan->first[end]; i++)
        met += rule_holds(plan->order[i], w->walk.values);
    return met;
}

/* Steps longer than this are of no use to the front. */
static int64_t front_cut(const struct cell *c)
{
    return c->fastest ? smaller(c->cut_front, c->fastest->step) : c->cut_front;
}

/* ... and none to the list either. */
static int64_t find_cut(const struct worker *w)
{
    const struct cell *c = w->cell;
    unsigned trouble = trouble_of(w->cautioned, false, 0);
    int64_t list =
        smaller(c->cut_list[w->cautioned > 0], shortlist_limit(&c->best, &c->rental, trouble));
    const struct found here = {.strategy = w->walk.strategy, .trouble = trouble};
    list = smaller(list, shortlist_row_limit(&c->best, &c->rental, &here));
    int64_t front = front_cut(c);
    return list > front ? list : front;
}

/* The same until a plan is kept or another row is walked. */
int64_t cut_of(struct worker *w)
{
    int64_t *cut = &w->cut[w->cautioned > 0];
    if (w->query->exhaustive)
        return INT64_MAX;
    if (*cut == 0)
        *cut = find_cut(w);
    return *cut;
}

void forget_cut(struct worker *w)
{
    w->cut[0] = w->cut[1] = 0;
}

/* Whether a strategy with such a step, or one that is not shorter, has no use. */
bool is_useless(const struct worker *w, struct found *x, int64_t step)
{
    const struct cell *c = w->cell;
    x->step = step;
    found_judge(x, w->limits, &c->rental);
    bool cautioned = trouble_cautions(x->trouble) > 0;
    return step > front_cut(c) && (step > c->cut_list[cautioned] || shortlist_refuses(&c->best, x));
}

/* False when there are better ones. */
bool keep_found(struct worker *w, const struct found *x)
{
    struct cell *c = w->cell;
    assert(x->step >= 0 && (x->step >= c->bound || c->bound == INT64_MAX));
    assert(x->gpus == c->gpus && strategy_gpus(&x->strategy) == c->gpus);
    bool faster = !c->fastest || x->step < c->fastest->step ||
                  (x->step == c->fastest->step && found_before(x, c->fastest));
    bool listed = !shortlist_refuses(&c->best, x);
    if (faster && !c->fastest)
        c->fastest = arena_alloc(&w->keep, sizeof *c->fastest);
    if (faster)
        *c->fastest = *x;
    shortlist_add(&c->best, x);
    forget_cut(w);
    w->kept += faster || listed;
    return faster || listed;
}

void note_fullness(struct worker *w, const struct strategy *s, double fullness)
{
    struct cell *c = w->cell;
    if (fullness < c->fullness) {
        c->fullness = fullness;
        if (!c->nearest)
            c->nearest = arena_alloc(&w->keep, sizeof *c->nearest);
        *c->nearest = *s;
    }
}
