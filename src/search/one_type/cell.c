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
#include "search/one_type/cell_parts.h"

#include "search/one_type/bounds.h"

#include <assert.h>
#include <math.h>
#include <string.h>

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
        known->hosted = t->hosted;
        known->too_much = partition_fullness(&w->partition, t, &w->smallest) > 1;
    }
    t->activations = known->activations;
    t->hosted = known->hosted;
    if (s->cuda_graph != GRAPH_NONE) {
        t->activations = arena_array(&w->scratch, 2 * classes, sizeof *t->activations);
        memcpy(t->activations, known->activations, 2 * classes * sizeof *t->activations);
    }
    t->temporary = t->activations + classes;
    pass_times_graph(&w->partition, s, t);
}

/* Whether the same recompute was found not to fit before, graphs or not: they only need more. The
 * times without recompute are taken all the same, and while nothing is found it is asked how near
 * each comes. */
static bool known_too_much(const struct worker *w, const struct strategy *s)
{
    if (w->query->exhaustive || !w->cell->fits || s->recompute == RECOMPUTE_NONE)
        return false;
    for (int least = 0; least < 2; least++) {
        const struct known_memory *known =
            &w->known_memory[least][2 * s->tp_overlap + s->p2p_overlap];
        if (known->activations && known->too_much && same_recompute(&known->s, s))
            return true;
    }
    return false;
}

/* Whether these pass times are the last ones with CUDA graphs: of no use where none of those waited
 * for the host, for they take as long and need more memory. */
static bool graphs_in_vain(struct worker *w, struct strategy s)
{
    if (s.cuda_graph == GRAPH_NONE || w->waited || w->query->exhaustive || w->graphs_decide)
        return false;
    s.cuda_graph = GRAPH_NONE;
    return memcmp(&s, &w->without_graphs, sizeof s) == 0;
}

/* Whether `b` redoes all that `a` does. */
static bool redoes_no_less(const struct strategy *b, const struct strategy *a)
{
    if (a->recompute == RECOMPUTE_NONE || same_recompute(a, b))
        return true;
    if (a->recompute != b->recompute)
        return false;
    if (a->recompute == RECOMPUTE_SELECTIVE)
        return (effective_modules(a) & ~effective_modules(b)) == 0;
    return b->recompute_method == METHOD_UNIFORM ||
           (a->recompute_method == METHOD_BLOCK && a->recompute_layers <= b->recompute_layers);
}

/* Whether no pass of `b` is shorter than that of `a`, where pass_times_grow() of `a`: the same but for
 * overlap switched off, graphs of less than the step and more recompute. doc/evidence/bounds.md */
static bool is_no_faster(const struct strategy *b, const struct strategy *a)
{
    return a->tp_overlap >= b->tp_overlap && a->p2p_overlap == b->p2p_overlap &&
           a->moe_overlap == b->moe_overlap && a->delay_wgrad == b->delay_wgrad &&
           (a->cuda_graph == b->cuda_graph || a->cuda_graph == GRAPH_STEP) && redoes_no_less(b, a);
}

static void drop_slow(struct worker *w, const struct strategy *s, const struct pass_times *t)
{
    count_fixed(w, DROP_SLOWER, w->state_count);
    if (w->slows < SLOW_PASS_TIMES && pass_times_grow(&w->partition, s, t))
        w->slow[w->slows++] = (struct slow_pass_times){*s, t->bound};
}

/* Whether others that are no slower are too slow already. */
static bool known_too_slow(const struct worker *w, const struct strategy *s, int64_t cut)
{
    for (int i = 0; i < w->slows; i++)
        if (w->slow[i].bound + w->least_beside > cut && is_no_faster(s, &w->slow[i].s))
            return true;
    return false;
}

static void judge_pass_times(struct worker *w, struct strategy s)
{
    struct pass_times t;
    pass_times_of(&w->partition, &s, &w->scratch, &t);
    if (s.cuda_graph == GRAPH_NONE) {
        w->without_graphs = s;
        w->waited = t.waits;
    }
    if (t.bound + w->least_beside > cut_of(w)) {
        drop_slow(w, &s, &t);
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
        count_fixed(w, memory_shortage(w, fullness, &t, &w->smallest), w->state_count);
        return;
    }
    pass_times_stages(&w->partition, &s, &w->scratch, &t);
    if (t.bound + w->least_beside > cut_of(w))
        drop_slow(w, &s, &t);
    else
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

/* No step of the partition is shorter than the shorter of these pipelines and what is beside it:
 * transfers that overlap block nobody, but slow the passes beside them. */
static int64_t partition_bound(struct worker *w, const struct strategy *fastest)
{
    int64_t least = INT64_MAX;
    if (cut_of(w) == INT64_MAX || w->query->scene.switches.offload) /* nothing is known too slow */
        return 0;
    for (int overlap = 0; overlap <= (fastest->vpp > 1); overlap++) {
        struct strategy s = *fastest;
        struct pass_times t;
        s.tp_overlap = 1;
        s.p2p_overlap = overlap;
        s.moe_overlap = s.delay_wgrad = w->query->scene.model->experts > 0;
        if (host_varies(w))
            s.cuda_graph = GRAPH_STEP;
        pass_times_of(&w->partition, &s, &w->scratch, &t);
        if (t.bound + w->least_beside <= cut_of(w))
            pass_times_stages(&w->partition, &s, &w->scratch, &t);
        int64_t step = t.bound + w->least_beside;
        least = step < least ? step : least;
        if (least <= cut_of(w))
            break;
    }
    return least;
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
    bool found = w->cell->fits; /* then most fit: what is likely is asked first */
    if (!found && least_fullness(w, RECOMPUTE_FULL, METHOD_UNIFORM, layers, 0) > 1)
        return -1;
    if (least_fullness(w, RECOMPUTE_SELECTIVE, METHOD_NONE, 0, (1 << MODULES) - 1) <= 1)
        return 0;
    if (found && least_fullness(w, RECOMPUTE_FULL, METHOD_UNIFORM, layers, 0) > 1)
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
    int before = w->cautioned;
    w->waited = true;
    w->slows = 0;
    for (int i = 0; i < pass_times->count && !cell_stopped(w); i++) {
        struct strategy s = w->walk.strategy;
        option_take(pass_times, i, &s);
        if (keeps_too_much(&s, least_layers) || known_too_much(w, &s)) {
            count_fixed(w, DROP_MEMORY, w->state_count);
        } else if (graphs_in_vain(w, s)) {
            count_fixed(w, DROP_SLOWER, w->state_count);
        } else if (known_too_slow(w, &s, cut_of(w))) { /* cautions only lower the cut */
            count_fixed(w, DROP_SLOWER, w->state_count);
        } else {
            worker_set_values(w, &s, PARAM_FIRST_PASS_TIMES, PARAM_FIRST_STATE);
            w->cautioned = before + cautioned_at(w, space->first_pass_times, space->first_state);
            if (w->cautioned > before && known_too_slow(w, &s, cut_of(w)))
                count_fixed(w, DROP_SLOWER, w->state_count);
            else
                judge_pass_times(w, s);
            w->cautioned = before;
        }
    }
}

static void search_partition(struct worker *w)
{
    const struct space *s = w->walk.space;
    struct strategy fastest = w->walk.strategy;
    fastest.recompute = RECOMPUTE_NONE;
    w->least_beside = 0;
    if (dropped_by_bound(w, partition_bound(w, &fastest), s->first_pass_times))
        return;
    struct walk here = w->walk;
    const struct option_list *pass_times = options_get(&w->pass_times, &w->walk);
    w->walk = here;
    count_list(w, pass_times, s->size_from[s->first_state]);
    list_states(w, pass_times->count);
    if (w->state_count == 0)
        return;
    time_states(w);
    double pairs = (double)pass_times->count * w->state_count;
    if (w->least_beside > 0 && partition_bound(w, &fastest) > cut_of(w)) {
        w->cut_beside++;
        count_fixed(w, DROP_SLOWER, pairs);
        return;
    }
    memset(w->known_memory, 0, sizeof w->known_memory);
    int least_layers = least_layers_again(w);
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

static void lay_out(struct worker *w)
{
    const struct space *s = w->walk.space;
    const struct scene *scene = &w->query->scene;
    const struct known_costs *known = costs_table_get(w->costs, &w->walk, &w->keep);
    const struct layer_costs *costs = &known->costs;
    int before = w->cautioned;
    w->cautioned += cautioned_at(w, s->first_partition, s->first_pass_times);
    if (!dropped_by_bound(w, costs_bound(w, &known->least), s->first_pass_times)) {
        if (partition_init(&w->partition, scene, &costs, &w->walk.strategy, NULL, NULL))
            search_partition(w);
        else
            count_fixed(w, DROP_SPLIT, s->size_from[s->first_pass_times]);
        arena_clear(&w->scratch);
    }
    w->cautioned = before;
}

static void walk_partitions(struct worker *w)
{
    const struct space *s = w->walk.space;
    const struct option_list *l = options_get(&w->partitions, &w->walk);
    int64_t bound = 0; /* of vpp and split */
    count_list(w, l, s->size_from[s->first_pass_times]);
    for (int i = 0; i < l->count && !cell_stopped(w); i++) {
        int changed = option_bind(&w->partitions, l, i, &w->walk);
        if (i == 0 ||
            changed == s->first_partition) /* vpp: another row where variants are listed */
            forget_cut(w);
        if (i == 0 || changed <= s->first_partition + 1)
            bound = split_bound(w);
        if (!dropped_by_bound(w, bound, s->first_pass_times))
            lay_out(w);
    }
}

/* ep, etp and micro-batch are bound too. */
static void search_part(struct worker *w)
{
    const struct space *s = w->walk.space;
    int before = w->cautioned;
    forget_cut(w);
    w->cautioned += cautioned_at(w, s->first_part, s->first_partition);
    if (!dropped_by_bound(w, part_bound(w), s->first_partition)) {
        part_memory(w);
        int64_t bound = states_too_large(w) ? INT64_MAX : any_split_bound(w);
        if (!dropped_by_bound(w, bound, s->first_partition))
            walk_partitions(w);
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
    for (int i = 0; i < s->axis[axis].options && !cell_stopped(w); i++) {
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
    forget_cut(w);
    w->asked_beside = w->cut_beside = 0;
    c->fullness = c->fits ? 0 : c->fullness;
    w->cautioned = cautioned_at(w, 0, s->first_part);
    int64_t bound = c->bound == INT64_MAX ? 0 : c->bound; /* no cost known: let the rules speak */
    if (!dropped_by_bound(w, bound, s->first_part))
        walk_parts(w, s->first_part);
}
