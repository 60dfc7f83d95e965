/* What the rules leave of a structure: numbers of stages, pass times and states. */
#include "search/mixed/mixed_parts.h"

#include "base/arena.h"
#include "strategy/names.h"

#include <string.h>

/* Rules on the number of stages that look at neither pass times nor state. Where types differ, the walk
 * has what the first one runs, which is no measure of the job's GPUs: cell_rules_allow() asks. */
static bool pp_allowed(struct mixed_cell *c, int option)
{
    struct walk *w = mixed_walk(c->w, c->set);
    int axis = c->set->space.axes - 1;
    if (c->st->per_type)
        return true;
    walk_set(w, axis, option);
    for (int i = w->plan->first[axis]; i < w->plan->first[axis + 1]; i++)
        if (w->plan->order[i]->depends >> PARAM_FIRST_PASS_TIMES == 0 &&
            !walk_allows(w, w->plan->order[i])) {
            mixed_note_refused(c->w, w->plan->order[i]);
            return false;
        }
    return true;
}

void cell_list_pps(struct mixed_cell *c)
{
    const struct axis *a = &c->set->space.axis[c->set->space.axes - 1];
    int64_t gpus = c->w->query->gpus;
    int least = 0, most = 0;
    for (int g = 0; g < c->set->groups; g++) {
        least += c->fewest[g];
        most += c->most[g];
    }
    c->pp = arena_array(&c->w->scratch, (size_t)a->options, sizeof *c->pp);
    for (int i = a->options - 1; i >= 0 && !structure_stopped(c); i--) {
        int pp = a->value[i];
        if (pp >= least && pp <= most && pp <= SCHEDULE_MAX_RANKS &&
            (gpus == 0 || c->st->per_type || pp * c->block[0] == gpus) &&
            pp * c->s.vpp <= c->layers + 2 && pp_allowed(c, i) &&
            cell_pp_of_use(c, pp, &c->pp[c->pps]))
            c->pps++;
    }
    c->alive_max = c->pps > 0 ? cell_alive(c, 0, c->pp[0].pp) : 1;
    if (c->pps > 0) /* the walk has what it was asked of last: of fewer stages no pass is longer */
        c->s.pp = c->pp[c->pps - 1].pp;
}

/* Whether a caution holds on some type, whatever stages, pass times and state are. Where types differ
 * the walk has what the first one runs: unknown. */
bool cell_cautioned(struct mixed_cell *c)
{
    const struct walk *w = mixed_walk(c->w, c->set);
    const struct rule_plan *plan = &c->set->cautions;
    if (!plan->order || c->st->per_type)
        return false;
    for (int i = plan->first[0]; i < plan->first[c->set->space.first_pass_times]; i++)
        if (walk_holds(w, plan->order[i]))
            return true;
    return false;
}

/* Where types differ, all stages with one type's GPUs each are more or fewer than the job has: the
 * pool's rules are kept by most_stages() and judge_stages(). */
static void hold_pool(const struct mixed_cell *c, struct walk *w, bool hold)
{
    for (int g = 0; g <= w->others && c->st->per_type; g++) {
        double *values = g == 0 ? w->values : w->other[g - 1];
        const double *fixed = c->set->fixed[g];
        values[SLOT_cluster_max_gpus] = hold ? 1e18 : fixed[SLOT_cluster_max_gpus];
    }
}

/* Parameters [first, end) of c->s, as each type has them. */
static void put_values(struct mixed_cell *c, struct walk *w, int first, int end)
{
    for (int g = 0; g <= w->others; g++) {
        struct strategy room;
        const struct strategy *own = mesh_strategy(&c->alone[g].mesh[0], &c->s, &room);
        double *values = g == 0 ? w->values : w->other[g - 1];
        for (int p = first; p < end; p++)
            values[SLOT_PARAM + p] = strategy_get(own, (enum param)p);
        slots_set_derived(values);
    }
}

/* Rules that are still to be asked when pass times, state and the number of stages are known: those that
 * look at one of the parameters `at` and at none of `open`. The values are there. */
static bool rules_hold(struct mixed_cell *c, struct walk *w, uint64_t at, uint64_t open)
{
    const struct rule_plan *plan = w->plan;
    int axes = w->space->axes;
    int first = c->st->per_type ? 0 : plan->first[axes - 1]; /* own values: all again */
    int end = plan->first[axes] + plan->pairs;
    const struct rule *refused = NULL;
    bool allow = true;
    hold_pool(c, w, true);
    for (int i = first; i < end && allow; i++)
        if (plan->order[i]->depends & at && !(plan->order[i]->depends & open))
            allow = walk_allows(w, refused = plan->order[i]);
    hold_pool(c, w, false);
    if (!allow)
        mixed_note_refused(c->w, refused);
    return allow;
}

bool cell_rules_allow(struct mixed_cell *c)
{
    struct walk *w = mixed_walk(c->w, c->set);
    put_values(c, w, 0, PARAMS);
    return rules_hold(c, w, UINT64_MAX, 0);
}

/* Bits of the parameters [first, end). */
static uint64_t params_of(int first, int end)
{
    return (UINT64_MAX >> (64 - end)) & (UINT64_MAX << first);
}

/* Whether parameters [first, end) of c->s go with some number of stages of use, whatever the others
 * behind the structure are. All of its values are there. */
static bool goes_with_stages(struct mixed_cell *c, int first, int end)
{
    struct walk *w = mixed_walk(c->w, c->set);
    uint64_t at = params_of(first, end), open = params_of(PARAM_FIRST_PASS_TIMES, PARAMS) & ~at;
    int pp = c->s.pp;
    bool goes = false;
    put_values(c, w, first, end);
    for (int i = 0; i < c->pps && !goes; i++) {
        c->s.pp = c->pp[i].pp;
        put_values(c, w, PARAM_pp, PARAM_pp + 1);
        goes = rules_hold(c, w, at, open);
    }
    c->s.pp = pp;
    return goes;
}

/* Of a list, the options that go with some number of stages. */
static const struct option_list *going_of(struct mixed_cell *c, const struct option_list *l)
{
    struct option_list *out = arena_alloc(&c->w->scratch, sizeof *out);
    size_t width = (size_t)(l->end - l->first);
    struct strategy kept = c->s;
    *out = (struct option_list){.first = l->first, .end = l->end};
    out->value = arena_array(&c->w->scratch, (size_t)l->count * width, sizeof *out->value);
    put_values(c, mixed_walk(c->w, c->set), 0, PARAMS);
    for (int i = 0; i < l->count; i++) {
        option_take(l, i, &c->s);
        if (goes_with_stages(c, l->first, l->end))
            memcpy(&out->value[(size_t)out->count++ * width], &l->value[(size_t)i * width],
                   width * sizeof *l->value);
    }
    c->s = kept;
    return out;
}

bool cell_uniform_goes(struct mixed_cell *c)
{
    const uint64_t at = 1ull << PARAM_recompute_method | 1ull << PARAM_recompute_layers;
    struct walk *w = mixed_walk(c->w, c->set);
    struct strategy kept = c->s;
    bool goes = true;
    c->s.recompute_method = METHOD_UNIFORM;
    c->s.recompute_layers = 1;
    for (int i = 0; i < c->pps * c->states && goes; i++) {
        c->s.pp = c->pp[i / c->states].pp;
        option_take(c->state_list, i % c->states, &c->s);
        put_values(c, w, 0, PARAMS);
        goes = rules_hold(c, w, at, 0);
    }
    c->s = kept;
    return goes;
}

static void note_drops(struct mixed_cell *c, const struct option_list *l)
{
    for (int i = 0; i < l->drops; i++)
        mixed_note_refused(c->w, l->drop[i].rule);
}

/* What the rules let pass, of the first type alone where types differ, and then with some number of
 * stages: a bound over what no pipeline can have (FSDP of parameters) would be of no use. */
void cell_list_options(struct mixed_cell *c, const struct option_list **pass_times,
                       const struct option_list **states)
{
    struct mixed_worker *w = c->w;
    struct set_worker *sw = &w->set[c->set - w->first_set];
    bool own = c->st->per_type;
    int others = sw->walk.others;
    sw->walk.others = own ? 0 : others;
    struct walk here = sw->walk;
    *pass_times = options_get(own ? &sw->per_type_pass_times : &sw->pass_times, &sw->walk);
    sw->walk = here;
    *states = options_get(own ? &sw->per_type_states : &sw->states, &sw->walk);
    sw->walk = here;
    sw->walk.others = others;
    note_drops(c, *pass_times);
    note_drops(c, *states);
    *states = going_of(c, *states);
    if (!own) /* most of them are left out anyway: each mesh says itself what it recomputes */
        *pass_times = going_of(c, *pass_times);
}
