/* From a cell to its best strategies.
 *
 *   cell    tp cp pp dp ep etp micro_batch      bound: all compute, spread evenly over the stages
 *   frame   vpp split sequence parallel ...     bound: no recompute, everything overlapped;
 *                                               memory: everything recomputed, smallest states
 *   timing  recompute, overlap of tp and p2p    bound of its pipeline; memory with the smallest states
 *   pair    timing x optimizer state            memory, and the bound of its step; what survives is
 *                                               decided by the exact recurrence, run once per timing
 *
 * A bound is never above any step under it, and only what is strictly slower than the cut is dropped:
 * the result is that of trying everything. */
#include "search/cell.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void worker_init(struct worker *w, const struct search_question *q, struct costs_table *costs,
                 const struct space *space, const struct rule_plan *plan, const double fixed[SLOTS])
{
    memset(w, 0, sizeof *w);
    w->question = q;
    w->costs = costs;
    w->walk.space = space;
    w->walk.plan = plan;
    strategy_init(&w->walk.strategy);
    memcpy(w->walk.values, fixed, sizeof w->walk.values);
    arena_init(&w->keep);
    arena_init(&w->scratch);
    w->dropped = arena_array(&w->keep, (size_t)q->rules->count + DROP_FIXED, sizeof *w->dropped);
}

void worker_release(struct worker *w)
{
    free(w->timing);
    free(w->state);
    arena_release(&w->keep);
    arena_release(&w->scratch);
}

static void count_fixed(struct worker *w, int reason, double count)
{
    w->dropped[w->question->rules->count + reason] += (int64_t)count;
}

void count_dropped(struct worker *w, const struct rule *rule, int axis)
{
    w->dropped[rule - w->question->rules->rule] += (int64_t)w->walk.space->size_from[axis + 1];
}

static void enter_cell(struct worker *w, struct cell *c)
{
    w->cell = c;
    for (int axis = 0; axis < w->walk.space->first_frame; axis++)
        walk_set(&w->walk, axis, c->option[axis]);
}

/* Compute of all layers, forward and backward, of one micro-batch. */
static double layer_seconds(const struct model *m, const struct layer_costs *costs)
{
    double per_kind[MODEL_MAX_KINDS], sum = 0;
    for (int k = 0; k < m->kinds; k++)
        per_kind[k] = costs->kind[k].forward_s + costs->kind[k].backward_s;
    for (int i = 0; i < m->layers; i++)
        sum += per_kind[m->layer[i]];
    return sum;
}

/* Least over the options of the frame axes that change compute. */
static double least_seconds(struct worker *w, int axis)
{
    const struct space *s = w->walk.space;
    double least = INFINITY;
    if (axis == s->first_timing)
        return layer_seconds(w->question->scene.model, costs_table_get(w->costs, &w->walk, &w->keep));
    int options = w->costs->stride[axis] && s->axis[axis].param[0] != PARAM_cp_comm ? s->axis[axis].options : 1;
    for (int i = 0; i < options; i++) {
        walk_set(&w->walk, axis, i);
        least = fmin(least, least_seconds(w, axis + 1));
    }
    return least;
}

void cell_bound(struct worker *w, struct cell *c)
{
    enter_cell(w, c);
    const struct strategy *s = &w->walk.strategy;
    double rounds = (double)s->global_batch / ((double)s->micro_batch * s->dp);
    double seconds = rounds * least_seconds(w, w->walk.space->first_frame) / s->pp;
    c->bound = (int64_t)(seconds * TICKS_PER_S * (1 - 1e-9)); /* sums of rounded ticks may be a hair less */
}

/* The best of this kind so far, or NULL. Within a cell only vpp tells kinds apart. */
static struct found *kind_of(struct cell *c, const struct strategy *s)
{
    for (int i = 0; i < c->kinds; i++)
        if (c->kind[i].strategy.vpp == s->vpp)
            return &c->kind[i];
    return NULL;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Steps longer than this are of no use to the shortlist and none to the front. */
static int64_t cut_of(const struct worker *w)
{
    struct cell *c = w->cell;
    const struct found *same = kind_of(c, &w->walk.strategy);
    int64_t best = INT64_MAX;
    if (w->question->exhaustive)
        return INT64_MAX;
    for (int i = 0; i < c->kinds; i++)
        best = least(best, c->kind[i].step);
    int64_t kind = same ? least(c->cut_kind, same->step) : c->cut_kind;
    int64_t front = least(c->cut_front, best);
    return kind > front ? kind : front;
}

static void keep_found(struct worker *w, const struct strategy *s, int64_t step)
{
    struct cell *c = w->cell;
    struct found x = {step, strategy_gpus(s), *s}, *same = kind_of(c, s);
    if (!same) {
        struct found *more = arena_array(&w->keep, (size_t)c->kinds + 1, sizeof *more);
        if (c->kinds > 0)
            memcpy(more, c->kind, (size_t)c->kinds * sizeof *more);
        c->kind = more;
        same = &c->kind[c->kinds++];
    } else if (step > same->step || (step == same->step && strategy_compare(s, &same->strategy) >= 0)) {
        return;
    }
    *same = x;
    w->kept++;
}

static void note_fullness(struct worker *w, const struct strategy *s, double fullness)
{
    struct cell *c = w->cell;
    if (fullness < c->fullness) {
        c->fullness = fullness;
        c->nearest = *s;
    }
}

static struct timing_option *next_timing(struct worker *w)
{
    if (w->timings == w->timing_capacity) {
        w->timing_capacity = w->timing_capacity ? 2 * w->timing_capacity : 64;
        w->timing = memory_grow(w->timing, (size_t)w->timing_capacity * sizeof *w->timing);
    }
    return &w->timing[w->timings++];
}

static struct state_option *next_state(struct worker *w)
{
    if (w->states == w->state_capacity) {
        w->state_capacity = w->state_capacity ? 2 * w->state_capacity : 64;
        w->state = memory_grow(w->state, (size_t)w->state_capacity * sizeof *w->state);
    }
    return &w->state[w->states++];
}

/* Walks the axes [axis, end) and lists what the rules let pass. A dropped option stands for all that
 * lies behind it on its own side, times `beside`, the options of the other side. */
static void list_timings(struct worker *w, int axis)
{
    const struct space *s = w->walk.space;
    if (axis == s->first_state) {
        struct timing_option *t = next_timing(w);
        t->strategy = w->walk.strategy;
        if (w->walk.plan->pairs > 0)
            memcpy(t->values, w->walk.values, sizeof t->values);
        return;
    }
    for (int i = 0; i < s->axis[axis].options; i++) {
        const struct rule *rule = walk_bind(&w->walk, axis, i);
        if (rule)
            count_dropped(w, rule, axis);
        else
            list_timings(w, axis + 1);
    }
}

static void list_states(struct worker *w, int axis, double timings)
{
    const struct space *s = w->walk.space;
    if (axis == s->axes) {
        struct state_option *x = next_state(w);
        x->strategy = w->walk.strategy;
        state_of(&w->frame, &x->strategy, &w->scratch, &x->state);
        return;
    }
    for (int i = 0; i < s->axis[axis].options; i++) {
        const struct rule *rule = walk_bind(&w->walk, axis, i);
        if (rule)
            w->dropped[rule - w->question->rules->rule] += (int64_t)(timings * s->size_from[axis + 1]);
        else
            list_states(w, axis + 1, timings);
    }
}

/* The parameters from `first` on stand at the end of the struct, in table order. */
static void take_state(struct strategy *s, const struct strategy *state)
{
    for (int p = PARAM_FIRST_STATE; p < PARAMS; p++)
        strategy_set(s, (enum param)p, strategy_get(state, (enum param)p));
}

static const struct rule *pair_dropped(const struct worker *w, struct timing_option *t, const struct strategy *s)
{
    const struct rule_plan *plan = w->walk.plan;
    int first = plan->first[w->walk.space->axes];
    if (plan->pairs == 0)
        return NULL;
    for (int p = PARAM_FIRST_STATE; p < PARAMS; p++)
        t->values[p] = strategy_get(s, (enum param)p);
    for (int i = first; i < first + plan->pairs; i++)
        if (!rule_allows(plan->order[i], t->values))
            return plan->order[i];
    return NULL;
}

static void judge_pair(struct worker *w, struct timing_option *t, const struct state_option *x)
{
    struct strategy s = t->strategy;
    take_state(&s, &x->strategy);
    const struct rule *rule = pair_dropped(w, t, &s);
    if (rule) {
        w->dropped[rule - w->question->rules->rule]++;
        return;
    }
    w->judged++;
    double fullness = frame_fullness(&w->frame, &s, &t->timing, &x->state);
    if (fullness > 1) {
        note_fullness(w, &s, fullness);
        count_fixed(w, DROP_MEMORY, 1);
        return;
    }
    if (!t->timing.exact && frame_step(&w->frame, &s, &t->timing, &x->state) <= cut_of(w)) {
        timing_run(&w->frame, &s, &t->timing);
        w->simulated++;
    }
    int64_t step = frame_step(&w->frame, &s, &t->timing, &x->state);
    if (!t->timing.exact || step > cut_of(w))
        count_fixed(w, DROP_SLOWER, 1);
    else
        keep_found(w, &s, step);
}

/* The least bytes of any state, class by class, as a state of its own. */
static struct state smallest_state(struct worker *w)
{
    size_t n = (size_t)w->frame.classes;
    struct state least_of = {.bytes = arena_array(&w->scratch, n, sizeof(double))};
    for (size_t c = 0; c < n; c++) {
        least_of.bytes[c] = INFINITY;
        for (int i = 0; i < w->states; i++)
            least_of.bytes[c] = fmin(least_of.bytes[c], w->state[i].state.bytes[c]);
    }
    return least_of;
}

static void judge_timing(struct worker *w, struct timing_option *t, const struct state *smallest)
{
    timing_of(&w->frame, &t->strategy, &w->scratch, &t->timing);
    double fullness = frame_fullness(&w->frame, &t->strategy, &t->timing, smallest);
    if (fullness > 1) {
        note_fullness(w, &t->strategy, fullness);
        count_fixed(w, DROP_MEMORY, w->states);
        return;
    }
    if (t->timing.bound > cut_of(w)) {
        count_fixed(w, DROP_SLOWER, w->states);
        return;
    }
    for (int i = 0; i < w->states; i++)
        judge_pair(w, t, &w->state[i]);
}

/* No timing of the frame has a shorter pipeline than this one ... */
static void fastest_timing(struct worker *w, struct timing *t)
{
    struct strategy s = w->walk.strategy;
    s.recompute = RECOMPUTE_NONE;
    s.tp_overlap = s.p2p_overlap = s.moe_overlap = 1;
    timing_of(&w->frame, &s, &w->scratch, t);
}

/* ... and none keeps fewer activations than this one (its one live layer apart). */
static void smallest_timing(struct worker *w, struct timing *t)
{
    struct strategy s = w->walk.strategy;
    s.recompute = RECOMPUTE_FULL;
    s.recompute_method = METHOD_UNIFORM;
    s.recompute_layers = w->question->scene.model->layers;
    timing_of(&w->frame, &s, &w->scratch, t);
    for (int c = 0; c < w->frame.classes; c++)
        t->temporary[c] = 0;
}

static void search_frame(struct worker *w)
{
    const struct space *s = w->walk.space;
    struct timing limit;
    w->timings = w->states = 0;
    fastest_timing(w, &limit);
    if (limit.bound > cut_of(w)) {
        count_fixed(w, DROP_SLOWER, s->size_from[s->first_timing]);
        return;
    }
    struct walk here = w->walk;
    list_timings(w, s->first_timing);
    w->walk = here;
    list_states(w, s->first_state, w->timings);
    w->walk = here;
    struct state smallest = smallest_state(w);
    smallest_timing(w, &limit);
    double fullness = frame_fullness(&w->frame, &here.strategy, &limit, &smallest);
    if (w->states == 0 || fullness > 1) {
        if (w->states > 0)
            note_fullness(w, &here.strategy, fullness);
        count_fixed(w, DROP_MEMORY, (double)w->timings * w->states);
        return;
    }
    for (int i = 0; i < w->timings; i++)
        judge_timing(w, &w->timing[i], &smallest);
}

static void walk_frames(struct worker *w, int axis)
{
    const struct space *s = w->walk.space;
    const struct scene *scene = &w->question->scene;
    if (axis == s->first_timing) {
        const struct layer_costs *costs = costs_table_get(w->costs, &w->walk, &w->keep);
        if (frame_init(&w->frame, scene, costs, &w->walk.strategy, NULL, NULL))
            search_frame(w);
        else
            count_fixed(w, DROP_SPLIT, s->size_from[axis]);
        arena_clear(&w->scratch);
        return;
    }
    for (int i = 0; i < s->axis[axis].options; i++) {
        const struct rule *rule = walk_bind(&w->walk, axis, i);
        if (rule)
            count_dropped(w, rule, axis);
        else
            walk_frames(w, axis + 1);
    }
}

void cell_search(struct worker *w, struct cell *c)
{
    const struct space *s = w->walk.space;
    enter_cell(w, c);
    c->kinds = 0;
    c->fullness = INFINITY;
    int64_t cut = c->cut_kind > c->cut_front ? c->cut_kind : c->cut_front;
    if (!w->question->exhaustive && c->bound > cut)
        count_fixed(w, DROP_SLOWER, s->size_from[s->first_frame]);
    else
        walk_frames(w, s->first_frame);
}
