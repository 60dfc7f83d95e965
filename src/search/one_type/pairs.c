/* The last step to a strategy: pass times with each state of the optimizer. */
#include "search/one_type/cell_parts.h"

#include <assert.h>
#include <math.h>

/* The values that rules and cautions look at. */
void worker_set_values(struct worker *w, const struct strategy *s, int first, int end)
{
    const int *value = (const int *)s;
    for (int p = first; p < end; p++)
        w->walk.values[p] = value[p];
}

enum { NOT_ASKED = -1 };

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
    w->state_cautioned[w->state_count] = NOT_ASKED;
    state_of(&w->partition, &whole, &w->scratch, &w->state[w->state_count++]);
}

void count_list(struct worker *w, const struct option_list *l, double beside)
{
    for (int i = 0; i < l->drops; i++)
        w->dropped[l->drop[i].rule - w->query->rules->rule] += (int64_t)(l->drop[i].count * beside);
    count_fixed(w, DROP_SLOWER, l->slower * beside);
}

void list_states(struct worker *w, double pass_times)
{
    size_t n = STATE_ARRAYS * (size_t)w->partition.classes;
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
    worker_set_values(w, s, PARAM_FIRST_PASS_TIMES, PARAMS);
    for (int i = first; i < first + plan->pairs; i++)
        if (!rule_allows(plan->order[i], w->walk.values))
            return plan->order[i];
    return NULL;
}

/* Cautions of a state, whatever the pass times or beside them. */
static int cautioned_pair(const struct worker *w)
{
    const struct space *s = w->walk.space;
    int met = cautioned_at(w, s->first_state, s->axes);
    for (int i = 0; i < w->cautions.pairs; i++)
        met += rule_holds(w->cautions.order[w->cautions.first[s->axes] + i], w->walk.values);
    return met;
}

static unsigned pair_trouble(struct worker *w, const struct strategy *s, const struct pass_times *t,
                             const struct state *st)
{
    if (w->limits->resolution <= 0)
        return 0;
    worker_set_values(w, s, PARAM_FIRST_PASS_TIMES, PARAMS);
    return trouble_of(w->cautioned + cautioned_pair(w), partition_crowded(&w->partition, t, st),
                      strategy_complexity(s));
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

/* What too full a partition has too little of. */
int memory_shortage(const struct worker *w, double fullness, const struct pass_times *t,
                    const struct state *st)
{
    return fullness <= partition_host_fullness(&w->partition, t, st) ? DROP_HOST : DROP_MEMORY;
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
        count_fixed(w, memory_shortage(w, fullness, t, x), 1);
        return;
    }
    if (!x->timed)
        state_times(&w->partition, s, &w->scratch, x);
    if (!judge_step(w, s, t, x))
        count_fixed(w, DROP_SLOWER, 1);
}

/* Whether a caution holds under a state, whatever the pass times. */
static bool state_cautioned(struct worker *w, struct strategy *s, int option)
{
    if (w->state_cautioned[option] == NOT_ASKED) {
        option_take(w->state_list, option, s);
        worker_set_values(w, s, PARAM_FIRST_STATE, PARAMS);
        w->state_cautioned[option] =
            cautioned_at(w, w->walk.space->first_state, w->walk.space->axes) > 0;
    }
    return w->state_cautioned[option];
}

/* Where a state alone brings a caution, the bound of the pass times may be enough. */
void judge_pairs(struct worker *w, struct strategy *s, struct pass_times *t)
{
    int before = w->cautioned;
    w->cautioned = before + 1;
    bool slow = !before && t->bound > cut_of(w);
    w->cautioned = before;
    for (int i = 0; i < w->state_count; i++)
        if (slow && state_cautioned(w, s, i))
            count_fixed(w, DROP_SLOWER, 1);
        else
            judge_pair(w, s, t, i);
}

/* `smallest` is of no one state: the one that comes nearest. */
void note_nearest(struct worker *w, struct strategy s, const struct pass_times *t)
{
    for (int i = 0; i < w->state_count; i++) {
        option_take(w->state_list, i, &s);
        note_fullness(w, &s, partition_fullness(&w->partition, t, &w->state[i]));
    }
}
