/* The last step to a strategy: pass times with each state of the optimizer. */
#include "search/one_type/cell_parts.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* The values that rules and cautions look at. */
void worker_set_values(struct worker *w, const struct strategy *s, int first, int end)
{
    const int *value = (const int *)s;
    for (int p = first; p < end; p++)
        w->walk.values[p] = value[p];
}

enum { NOT_ASKED = -1 };

static void make_room(struct worker *w, int count)
{
    if (count <= w->state_capacity)
        return;
    w->state_capacity = 2 * count;
    w->state = memory_grow(w->state, (size_t)w->state_capacity * sizeof *w->state);
    w->state_cautioned =
        memory_grow(w->state_cautioned, (size_t)w->state_capacity * sizeof *w->state_cautioned);
}

/* Everything is forgotten where it may not be of this part. */
static void check_known(struct worker *w)
{
    struct known_states *k = &w->known_states;
    const struct strategy *s = &w->walk.strategy;
    if (k->cell == w->cell && k->list == w->state_list && k->ep == s->ep && k->etp == s->etp &&
        k->forgotten == w->states.forgotten)
        return;
    arena_clear(&k->mem);
    k->cell = w->cell;
    k->list = w->state_list;
    k->ep = s->ep;
    k->etp = s->etp;
    k->forgotten = w->states.forgotten;
    k->ranks = 0;
}

/* All states of a class, the least behind them. */
static void list_of_rank(struct worker *w, int class, struct rank_state *out)
{
    const struct option_list *l = w->state_list;
    struct rank_state least = {INFINITY, INFINITY, INFINITY, INFINITY};
    struct strategy whole = w->walk.strategy;
    for (int i = 0; i < l->count; i++) {
        option_take(l, i, &whole);
        out[i] = rank_state_of(&w->partition, w->partition.class[class].mesh,
                               &w->partition.class[class].params, &whole);
        least.bytes = fmin(least.bytes, out[i].bytes);
        least.step_bytes = fmin(least.step_bytes, out[i].step_bytes);
        least.setup_bytes = fmin(least.setup_bytes, out[i].setup_bytes);
        least.host_bytes = fmin(least.host_bytes, out[i].host_bytes);
    }
    out[l->count] = least;
}

static const struct rank_state *states_of_rank(struct worker *w, int class)
{
    struct known_states *k = &w->known_states;
    const struct rank_params *p = &w->partition.class[class].params;
    for (int i = 0; i < k->ranks; i++)
        if (memcmp(&k->rank[i].params, p, sizeof *p) == 0)
            return k->rank[i].state;
    if (k->ranks == KNOWN_RANKS) {
        arena_clear(&k->mem);
        k->ranks = 0;
    }
    struct known_rank *x = &k->rank[k->ranks++];
    x->params = *p;
    x->state = arena_array(&k->mem, (size_t)w->state_list->count + 1, sizeof *x->state);
    list_of_rank(w, class, x->state);
    return x->state;
}

static void set_class(struct state *st, int c, const struct rank_state *x)
{
    st->bytes[c] = x->bytes;
    st->step_bytes[c] = x->step_bytes;
    st->setup_bytes[c] = x->setup_bytes;
    st->host_bytes[c] = x->host_bytes;
}

void count_list(struct worker *w, const struct option_list *l, double beside)
{
    for (int i = 0; i < l->drops; i++)
        w->dropped[l->drop[i].rule - w->query->rules->rule] += (int64_t)(l->drop[i].count * beside);
    count_fixed(w, DROP_SLOWER, l->slower * beside);
}

void list_states(struct worker *w, double pass_times)
{
    struct walk here = w->walk;
    const struct option_list *l = options_get(&w->states, &w->walk);
    w->walk = here;
    count_list(w, l, pass_times);
    w->state_list = l;
    w->state_count = l->count;
    w->smallest = state_bytes(&w->partition, &w->scratch);
    make_room(w, l->count);
    check_known(w);
    for (int i = 0; i < l->count; i++) {
        struct strategy whole = w->walk.strategy;
        option_take(l, i, &whole);
        w->state_cautioned[i] = NOT_ASKED;
        w->state[i] = state_bytes(&w->partition, &w->scratch);
        w->state[i].stretch = state_stretch(&w->partition, &whole);
    }
    for (int c = 0; c < w->partition.classes; c++) {
        const struct rank_state *x = states_of_rank(w, c);
        for (int i = 0; i < l->count; i++)
            set_class(&w->state[i], c, &x[i]);
        set_class(&w->smallest, c, &x[l->count]);
    }
}

/* What no step of the partition is without. Takes as long as a few pass times: asked for where it
 * cuts often enough, as far as this cell has shown. */
void time_states(struct worker *w)
{
    struct strategy s = w->walk.strategy;
    bool ask = w->asked_beside < 2 || 3 * w->cut_beside >= w->asked_beside;
    w->least_beside = ask && cut_of(w) < INT64_MAX ? INT64_MAX : 0;
    w->asked_beside += ask;
    for (int i = 0; i < w->state_count && w->least_beside > 0; i++) {
        struct state *x = &w->state[i];
        option_take(w->state_list, i, &s);
        state_times(&w->partition, &s, &w->scratch, x);
        x->beside = step_beside(&w->partition, &s, x);
        w->least_beside = x->beside < w->least_beside ? x->beside : w->least_beside;
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
    if (x->timed && t->bound + x->beside > cut_of(w)) {
        count_fixed(w, DROP_SLOWER, 1);
        return;
    }
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
    if (!x->timed) {
        state_times(&w->partition, s, &w->scratch, x);
        x->beside = step_beside(&w->partition, s, x);
    }
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
