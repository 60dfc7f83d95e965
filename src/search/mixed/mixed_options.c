/* What the rules leave of a structure: numbers of stages, pass times and states. */
#include "search/mixed/mixed_parts.h"

#include "base/arena.h"

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
            !walk_allows(w, w->plan->order[i]))
            return false;
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

bool cell_rules_allow(struct mixed_cell *c)
{
    struct walk *w = mixed_walk(c->w, c->set);
    const struct space *s = w->space;
    int first = c->st->per_type ? 0 : w->plan->first[s->axes - 1]; /* own values: all again */
    int end = w->plan->first[s->axes] + w->plan->pairs;
    for (int g = 0; g <= w->others; g++) {
        struct strategy room;
        const struct strategy *own = mesh_strategy(&c->alone[g].mesh[0], &c->s, &room);
        slots_set_strategy(g == 0 ? w->values : w->other[g - 1], own);
    }
    hold_pool(c, w, true);
    bool allow = true;
    for (int i = first; i < end && allow; i++)
        allow = walk_allows(w, w->plan->order[i]);
    hold_pool(c, w, false);
    return allow;
}
