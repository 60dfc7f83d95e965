/* From a cell to its best strategies.
 *
 *   cell        tp cp pp dp                        bound: least compute, spread evenly over the stages
 *   part        ep etp micro_batch                 the same, and what must be recomputed to fit
 *   partition   vpp split sequence parallel ...    bound: no recompute, everything overlapped;
 *                                                  memory: everything recomputed, smallest states
 *   pass times  recompute, overlap of tp and p2p   bound of the pipeline; memory with smallest states
 *   pair        pass times x optimizer state       memory, and the bound of its step; what survives
 *                                                  is decided by the exact recurrence, once per
 *                                                  pass times
 *
 * A bound is never above any step under it, and only what is strictly slower than the cut is
 * dropped: the result is that of trying everything. */
#include "search/one_type/cell.h"

#include "search/one_type/bounds.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct rules NO_RULES;

/* Parameters whose switches decide between plans that are as good: none may be left out unseen. */
static uint64_t weighed(const struct search_query *q, const struct limits *limits)
{
    return limits->resolution > 0 ? trouble_depends(q->cautions) : 0;
}

void worker_init(struct worker *w, const struct search_query *q, const struct limits *limits,
                 struct costs_table *costs, const struct least_table *table,
                 const struct space *space, const struct rule_plan *plan, const double fixed[SLOTS])
{
    const struct model *m = q->scene.model;
    memset(w, 0, sizeof *w);
    w->query = q;
    w->limits = limits;
    w->costs = costs;
    w->table = table;
    for (int i = 0; i < m->layers; i++)
        w->kind_layers[m->layer[i]]++;
    walk_init(&w->walk, space, plan, fixed);
    arena_init(&w->keep);
    arena_init(&w->scratch);
    if (weighed(q, limits))
        rule_plan_init(&w->cautions, space, q->cautions ? q->cautions : &NO_RULES, &w->keep);
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
    option_cache_release(&w->pass_times);
    option_cache_release(&w->states);
    arena_release(&w->keep);
    arena_release(&w->scratch);
}

static void count_fixed(struct worker *w, int reason, double count)
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

/* Whether a caution holds that can be told once these axes are bound. */
static bool cautioned_at(const struct worker *w, int first, int end)
{
    const struct rule_plan *plan = &w->cautions;
    if (!plan->order)
        return false;
    for (int i = plan->first[first]; i < plan->first[end]; i++)
        if (rule_holds(plan->order[i], w->walk.values))
            return true;
    return false;
}

/* Steps longer than this are of no use to the front. */
static int64_t front_cut(const struct cell *c)
{
    return c->fastest ? smaller(c->cut_front, c->fastest->step) : c->cut_front;
}

/* ... and none to the list either. */
static int64_t cut_of(const struct worker *w)
{
    const struct cell *c = w->cell;
    const struct found here = {.strategy = w->walk.strategy,
                               .trouble = trouble_of(w->cautioned, false, 0)};
    if (w->query->exhaustive)
        return INT64_MAX;
    int64_t list =
        smaller(c->cut_list[w->cautioned], shortlist_limit(&c->best, &c->rental, here.trouble));
    list = smaller(list, shortlist_row_limit(&c->best, &c->rental, &here));
    int64_t front = front_cut(c);
    return list > front ? list : front;
}

/* Whether a strategy with such a step, or one that is not shorter, has no use. */
static bool is_useless(const struct worker *w, struct found *x, int64_t step)
{
    const struct cell *c = w->cell;
    x->step = step;
    found_judge(x, w->limits, &c->rental);
    bool cautioned = trouble_cautions(x->trouble) > 0;
    return step > front_cut(c) && (step > c->cut_list[cautioned] || shortlist_refuses(&c->best, x));
}

/* False when there are better ones. */
static bool keep_found(struct worker *w, const struct found *x)
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
    w->kept += faster || listed;
    return faster || listed;
}

static void note_fullness(struct worker *w, const struct strategy *s, double fullness)
{
    struct cell *c = w->cell;
    if (fullness < c->fullness) {
        c->fullness = fullness;
        if (!c->nearest)
            c->nearest = arena_alloc(&w->keep, sizeof *c->nearest);
        *c->nearest = *s;
    }
}

/* The values that rules and cautions look at. */
static void set_values(struct worker *w, const struct strategy *s, int first, int end)
{
    for (int p = first; p < end; p++)
        w->walk.values[p] = strategy_get(s, (enum param)p);
}

static void add_state(struct worker *w, int option)
{
    if (w->state_count == w->state_capacity) {
        w->state_capacity = w->state_capacity ? 2 * w->state_capacity : 64;
        w->state = memory_grow(w->state, (size_t)w->state_capacity * sizeof *w->state);
        w->state_cautioned =
            memory_grow(w->state_cautioned, (size_t)w->state_capacity * sizeof *w->state_cautioned);
    }
    struct strategy whole = w->walk.strategy;
    option_take(w->state_list, option, &whole);
    set_values(w, &whole, PARAM_FIRST_STATE, PARAMS);
    w->state_cautioned[w->state_count] =
        cautioned_at(w, w->walk.space->first_state, w->walk.space->axes);
    state_of(&w->partition, &whole, &w->scratch, &w->state[w->state_count++]);
}

static void count_list(struct worker *w, const struct option_list *l, double beside)
{
    for (int i = 0; i < l->drops; i++)
        w->dropped[l->drop[i].rule - w->query->rules->rule] += (int64_t)(l->drop[i].count * beside);
    count_fixed(w, DROP_SLOWER, l->slower * beside);
}

static void list_states(struct worker *w, double pass_times)
{
    size_t n = 3 * (size_t)w->partition.classes; /* a state's three arrays, one behind the other */
    struct walk here = w->walk;
    const struct option_list *l = options_get(&w->states, &w->walk);
    w->walk = here;
    count_list(w, l, pass_times);
    w->state_list = l;
    w->state_count = 0;
    w->smallest = state_bytes(&w->partition, &w->scratch);
    for (size_t c = 0; c < n; c++)
        w->smallest.bytes[c] = INFINITY;
    for (int i = 0; i < l->count; i++) {
        add_state(w, i);
        for (size_t c = 0; c < n; c++)
            w->smallest.bytes[c] = fmin(w->smallest.bytes[c], w->state[i].bytes[c]);
    }
}

/* Rules that look at parameters of pass times and state. */
static const struct rule *pair_dropped(struct worker *w, const struct strategy *s)
{
    const struct rule_plan *plan = w->walk.plan;
    int first = plan->first[w->walk.space->axes];
    if (plan->pairs == 0)
        return NULL;
    set_values(w, s, PARAM_FIRST_PASS_TIMES, PARAMS);
    for (int i = first; i < first + plan->pairs; i++)
        if (!rule_allows(plan->order[i], w->walk.values))
            return plan->order[i];
    return NULL;
}

static unsigned pair_trouble(struct worker *w, const struct strategy *s, const struct pass_times *t,
                             const struct state *st)
{
    if (w->limits->resolution <= 0)
        return 0;
    set_values(w, s, PARAM_FIRST_PASS_TIMES, PARAMS);
    return trouble_of(cautions_met(w->query->cautions, w->walk.values),
                      partition_crowded(&w->partition, t, st), strategy_complexity(s));
}

static bool judge_step(struct worker *w, const struct strategy *s, struct pass_times *t,
                       const struct state *st)
{
    struct found x = {.gpus = w->cell->gpus, .strategy = *s};
    int64_t step = partition_step(&w->partition, s, t, st);
    if (step > cut_of(w))
        return false;
    x.trouble = pair_trouble(w, s, t, st);
    if (is_useless(w, &x, step) && !w->query->exhaustive)
        return false;
    if (!t->exact) {
        pass_times_run(&w->partition, s, &w->scratch, t);
        w->simulated++;
        int64_t bound = step;
        step = partition_step(&w->partition, s, t, st);
        assert(step >= bound);
    }
    return (!is_useless(w, &x, step) || w->query->exhaustive) && keep_found(w, &x);
}

static void judge_pair(struct worker *w, struct strategy *s, struct pass_times *t, int option)
{
    struct state *x = &w->state[option];
    option_take(w->state_list, option, s);
    const struct rule *rule = pair_dropped(w, s);
    if (rule) {
        w->dropped[rule - w->query->rules->rule]++;
        return;
    }
    w->judged++;
    double fullness = partition_fullness(&w->partition, t, x);
    if (fullness > 1) {
        note_fullness(w, s, fullness);
        count_fixed(w, DROP_MEMORY, 1);
        return;
    }
    if (!x->timed)
        state_times(&w->partition, s, &w->scratch, x);
    if (!judge_step(w, s, t, x))
        count_fixed(w, DROP_SLOWER, 1);
}

/* Where a state alone brings a caution, the bound of the pass times may be enough. */
static void judge_pairs(struct worker *w, struct strategy *s, struct pass_times *t)
{
    bool before = w->cautioned;
    w->cautioned = true;
    bool slow = !before && t->bound > cut_of(w);
    w->cautioned = before;
    for (int i = 0; i < w->state_count; i++)
        if (slow && w->state_cautioned[i])
            count_fixed(w, DROP_SLOWER, 1);
        else
            judge_pair(w, s, t, i);
}

/* `smallest` is of no one state: the one that comes nearest. */
static void note_nearest(struct worker *w, struct strategy s, const struct pass_times *t)
{
    for (int i = 0; i < w->state_count; i++) {
        option_take(w->state_list, i, &s);
        note_fullness(w, &s, partition_fullness(&w->partition, t, &w->state[i]));
    }
}

static bool same_recompute(const struct strategy *a, const struct strategy *b)
{
    return a->recompute == b->recompute && a->recompute_method == b->recompute_method &&
           a->recompute_layers == b->recompute_layers &&
           a->recompute_modules == b->recompute_modules;
}

/* Fills the memory of `t`, once for all that keep the same. */
static void find_memory(struct worker *w, const struct strategy *s, bool least,
                        struct pass_times *t)
{
    struct known_memory *known = &w->known_memory[least][2 * s->tp_overlap + s->p2p_overlap];
    size_t classes = (size_t)w->partition.classes;
    if (!known->activations || !same_recompute(&known->s, s)) {
        known->s = *s;
        known->s.cuda_graph = GRAPH_NONE;
        (least ? pass_times_least_memory : pass_times_memory)(&w->partition, &known->s, &w->scratch,
                                                              t);
        known->activations = t->activations;
    }
    t->activations = known->activations;
    if (s->cuda_graph != GRAPH_NONE) {
        t->activations = arena_array(&w->scratch, 2 * classes, sizeof *t->activations);
        memcpy(t->activations, known->activations, 2 * classes * sizeof *t->activations);
    }
    t->temporary = t->activations + classes;
    pass_times_graph(&w->partition, s, t);
}

/* Whether these pass times are the last ones with CUDA graphs: of no use where none of those waited
 * for the host, for they take as long and need more memory. */
static bool graphs_in_vain(struct worker *w, struct strategy s)
{
    if (s.cuda_graph == GRAPH_NONE || w->waited || w->query->exhaustive)
        return false;
    s.cuda_graph = GRAPH_NONE;
    return strategy_compare(&s, &w->without_graphs) == 0;
}

static void judge_pass_times(struct worker *w, struct strategy s)
{
    struct pass_times t;
    pass_times_of(&w->partition, &s, &w->scratch, &t);
    if (s.cuda_graph == GRAPH_NONE) {
        w->without_graphs = s;
        w->waited = t.waits;
    }
    if (t.bound > cut_of(w)) {
        count_fixed(w, DROP_SLOWER, w->state_count);
        return;
    }
    find_memory(w, &s, true, &t);
    double fullness = partition_fullness(&w->partition, &t, &w->smallest);
    if (fullness <= 1 && s.vpp > 1) {
        find_memory(w, &s, false, &t);
        fullness = partition_fullness(&w->partition, &t, &w->smallest);
    }
    if (fullness > 1) {
        if (fullness < w->cell->fullness)
            note_nearest(w, s, &t);
        count_fixed(w, DROP_MEMORY, w->state_count);
        return;
    }
    pass_times_stages(&w->partition, &s, &w->scratch, &t);
    if (t.bound > cut_of(w)) {
        count_fixed(w, DROP_SLOWER, w->state_count);
        return;
    }
    judge_pairs(w, &s, &t);
}

/* Drops everything behind `axis` if no strategy there is as fast as the cut. INT64_MAX: none
 * fits. */
static bool dropped_by_bound(struct worker *w, int64_t bound, int axis)
{
    if (bound <= cut_of(w))
        return false;
    count_fixed(w, bound == INT64_MAX ? DROP_MEMORY : DROP_SLOWER, w->walk.space->size_from[axis]);
    return true;
}

/* The host may be left out, or has more to do where expert communication overlaps. */
static bool host_varies(const struct worker *w)
{
    const struct space *s = w->walk.space;
    for (int i = s->first_pass_times; i < s->first_state; i++)
        if (s->axis[i].param[0] == PARAM_cuda_graph && s->axis[i].options > 1)
            return true;
    return w->query->scene.model->experts > 0;
}

/* No pass times of the partition have a shorter pipeline than this one. */
static int64_t partition_bound(struct worker *w, const struct strategy *fastest)
{
    struct strategy s = *fastest;
    struct pass_times t;
    s.tp_overlap = s.p2p_overlap = 1;
    s.moe_overlap = s.delay_wgrad = w->query->scene.model->experts > 0;
    if (host_varies(w))
        s.cuda_graph = GRAPH_STEP;
    pass_times_of(&w->partition, &s, &w->scratch, &t);
    if (t.bound <= cut_of(w))
        pass_times_stages(&w->partition, &s, &w->scratch, &t);
    return t.bound;
}

/* Fullness under a recompute setting with the smallest states, temporaries left out: from below. */
static double least_fullness(struct worker *w, int recompute, int method, int layers, int modules)
{
    struct strategy s = w->walk.strategy;
    struct pass_times t;
    s.recompute = recompute;
    s.recompute_method = method;
    s.recompute_layers = layers;
    s.recompute_modules = modules;
    pass_times_least_memory(&w->partition, &s, &w->scratch, &t);
    for (int c = 0; c < w->partition.classes; c++)
        t.temporary[c] = 0;
    return partition_fullness(&w->partition, &t, &w->smallest);
}

/* Fewest layers that block recompute must redo for the partition to fit; more keep less. 0: no full
 * recompute is needed, for dropping every module fits; -1: nothing fits, one input for all
 * layers is too much. */
static int least_layers_again(struct worker *w)
{
    int layers = w->query->scene.model->layers, low = 0, high = 1;
    if (least_fullness(w, RECOMPUTE_SELECTIVE, METHOD_NONE, 0, (1 << MODULES) - 1) <= 1)
        return 0;
    if (least_fullness(w, RECOMPUTE_FULL, METHOD_UNIFORM, layers, 0) > 1)
        return -1;
    for (int i = 0; i < w->partition.shapes; i++)
        high = w->partition.shape[i].has.layers > high ? w->partition.shape[i].has.layers : high;
    while (high - low > 1) {
        int middle = (low + high) / 2;
        if (least_fullness(w, RECOMPUTE_FULL, METHOD_BLOCK, middle, 0) > 1)
            low = middle;
        else
            high = middle;
    }
    assert(high >= 1 && high <= layers);
    return high;
}

/* Nothing fits: the pass times that keep least, of those that were asked for. None keep less than
 * one input for all layers of a chunk. */
static void note_least(struct worker *w, const struct option_list *pass_times)
{
    struct pass_times t;
    struct strategy s = w->walk.strategy, nearest = s;
    double least = w->cell->fullness;
    if (least_fullness(w, RECOMPUTE_FULL, METHOD_UNIFORM, w->query->scene.model->layers, 0) >=
        least)
        return;
    for (int i = 0; i < pass_times->count; i++) {
        option_take(pass_times, i, &s);
        find_memory(w, &s, true, &t);
        double fullness = partition_fullness(&w->partition, &t, &w->smallest);
        if (fullness < least) {
            least = fullness;
            nearest = s;
        }
    }
    if (least == w->cell->fullness)
        return;
    pass_times_memory(&w->partition, &nearest, &w->scratch, &t);
    note_nearest(w, nearest, &t);
}

/* Whether these pass times cannot fit, by least_layers_again. */
static bool keeps_too_much(const struct strategy *t, int least_layers)
{
    if (least_layers == 0)
        return false;
    return t->recompute != RECOMPUTE_FULL ||
           (t->recompute_method == METHOD_BLOCK && t->recompute_layers < least_layers);
}

static void judge_all_pass_times(struct worker *w, const struct option_list *pass_times,
                                 int least_layers)
{
    const struct space *space = w->walk.space;
    bool before = w->cautioned;
    w->waited = true;
    for (int i = 0; i < pass_times->count; i++) {
        struct strategy s = w->walk.strategy;
        option_take(pass_times, i, &s);
        set_values(w, &s, PARAM_FIRST_PASS_TIMES, PARAM_FIRST_STATE);
        w->cautioned = before || cautioned_at(w, space->first_pass_times, space->first_state);
        if (keeps_too_much(&s, least_layers))
            count_fixed(w, DROP_MEMORY, w->state_count);
        else if (graphs_in_vain(w, s))
            count_fixed(w, DROP_SLOWER, w->state_count);
        else
            judge_pass_times(w, s);
    }
    w->cautioned = before;
}

static void search_partition(struct worker *w)
{
    const struct space *s = w->walk.space;
    struct strategy fastest = w->walk.strategy;
    fastest.recompute = RECOMPUTE_NONE;
    if (dropped_by_bound(w, partition_bound(w, &fastest), s->first_pass_times))
        return;
    struct walk here = w->walk;
    const struct option_list *pass_times = options_get(&w->pass_times, &w->walk);
    w->walk = here;
    count_list(w, pass_times, s->size_from[s->first_state]);
    list_states(w, pass_times->count);
    if (w->state_count == 0)
        return;
    memset(w->known_memory, 0, sizeof w->known_memory);
    int least_layers = least_layers_again(w);
    double pairs = (double)pass_times->count * w->state_count;
    if (least_layers < 0) {
        note_least(w, pass_times);
        count_fixed(w, DROP_MEMORY, pairs);
        return;
    }
    fastest.recompute = least_layers ? RECOMPUTE_FULL : RECOMPUTE_NONE;
    fastest.recompute_method = METHOD_BLOCK;
    fastest.recompute_layers = least_layers;
    if (least_layers > 0 && partition_bound(w, &fastest) > cut_of(w))
        count_fixed(w, DROP_SLOWER, pairs);
    else
        judge_all_pass_times(w, pass_times, least_layers);
}

static void walk_partitions(struct worker *w, int axis)
{
    const struct space *s = w->walk.space;
    const struct scene *scene = &w->query->scene;
    if (axis == s->first_pass_times) {
        const struct layer_costs *costs = costs_table_get(w->costs, &w->walk, &w->keep);
        bool before = w->cautioned;
        w->cautioned |= cautioned_at(w, s->first_partition, s->first_pass_times);
        if (partition_init(&w->partition, scene, &costs, &w->walk.strategy, NULL, NULL))
            search_partition(w);
        else
            count_fixed(w, DROP_SPLIT, s->size_from[axis]);
        w->cautioned = before;
        arena_clear(&w->scratch);
        return;
    }
    for (int i = 0; i < s->axis[axis].options; i++) {
        walk_set(&w->walk, axis, i);
        if (axis == s->first_partition + 1 &&
            dropped_by_bound(w, split_bound(w), axis + 1)) /* of vpp and split */
            continue;
        const struct rule *rule = walk_bind(&w->walk, axis, i);
        if (rule)
            count_dropped(w, rule, axis);
        else
            walk_partitions(w, axis + 1);
    }
}

/* ep, etp and micro-batch are bound too. */
static void search_part(struct worker *w)
{
    const struct space *s = w->walk.space;
    bool before = w->cautioned;
    w->cautioned |= cautioned_at(w, s->first_part, s->first_partition);
    if (!dropped_by_bound(w, part_bound(w), s->first_partition)) {
        part_memory(w);
        if (!dropped_by_bound(w, any_split_bound(w), s->first_partition))
            walk_partitions(w, s->first_partition);
    }
    w->cautioned = before;
}

static void walk_parts(struct worker *w, int axis)
{
    const struct space *s = w->walk.space;
    if (axis == s->first_partition) {
        search_part(w);
        return;
    }
    for (int i = 0; i < s->axis[axis].options; i++) {
        const struct rule *rule = walk_bind(&w->walk, axis, i);
        if (rule)
            count_dropped(w, rule, axis);
        else
            walk_parts(w, axis + 1);
    }
}

void cell_search(struct worker *w, struct cell *c)
{
    const struct space *s = w->walk.space;
    assert(c->gpus >= w->query->gpus_min && c->gpus <= w->query->gpus_max);
    enter_cell(w, c);
    shortlist_init(&c->best, w->limits, w->query->top, &w->keep);
    c->fastest = NULL;
    c->fullness = c->answered ? 0 : INFINITY;
    w->cautioned = cautioned_at(w, 0, s->first_part);
    int64_t bound = c->bound == INT64_MAX ? 0 : c->bound; /* no cost known: let the rules speak */
    if (!dropped_by_bound(w, bound, s->first_part))
        walk_parts(w, s->first_part);
}
