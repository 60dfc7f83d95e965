/* One arrangement under each state: bounded, solved where it may be of use, and kept. */
#include "search/mixed/mixed_problem.h"

#include "strategy/mesh_check.h"

#include <math.h>
#include <string.h>

/* Values that differ between meshes are the first one's. */
static struct strategy first_strategy(const struct problem *p)
{
    const struct mesh *m = &p->meshes.mesh[0];
    struct strategy s = p->c->s;
    if (m->own) {
#define X(name) s.name = m->name;
        MESH_TABLE(X)
#undef X
    }
    return s;
}

/* What is known of a plan before its layers are. */
static void set_plan(struct problem *p)
{
    p->plan.gpus = mesh_list_gpus(&p->meshes, &p->c->s);
    p->plan.strategy = first_strategy(p);
    p->plan.meshes = p->meshes;
    p->found = (struct found){.gpus = p->plan.gpus,
                              .strategy = p->plan.strategy,
                              .trouble = p->c->trouble,
                              .group = p->meshes.mesh[0].group,
                              .mixed = &p->plan};
}

static void keep_front(struct mixed_cell *c, const struct found *x)
{
    struct structure *st = c->st;
    st->front = arena_room(&c->w->keep, st->front, st->fronts, &st->capacity, sizeof *st->front);
    st->front[st->fronts++] = *x;
}

/* A split that was found joins what its structure has. */
static void keep_found(struct problem *p, int64_t step, bool crowded)
{
    struct mixed_cell *c = p->c;
    struct found x = p->found;
    x.step = p->plan.step = step;
    p->plan.layout = p->layout;
    if (crowded)
        x.trouble |= trouble_of(0, true, 0);
    found_judge(&x, c->w->results->limits, &c->rental);
    bool front = cell_front_of_use(c, &x), list = !shortlist_refuses(&c->st->best, &x);
    if (!front && !list)
        return;
    struct mixed_found *kept = arena_alloc(&c->w->keep, sizeof *kept);
    *kept = p->plan;
    x.mixed = kept;
    shortlist_add(&c->st->best, &x);
    if (front)
        keep_front(c, &x);
}

/* Cautions that hold on any of the types. The values are there: cell_rules_allow(). */
static int cautions_of(struct mixed_cell *c)
{
    const struct rules *r = c->w->query->cautions;
    const struct walk *w = mixed_walk(c->w, c->set);
    int met = 0;
    for (int i = 0; r && i < r->count; i++)
        met += walk_holds(w, &r->rule[i]);
    return met;
}

static unsigned state_trouble(struct mixed_cell *c)
{
    struct mesh_list all = {.count = c->set->groups};
    if (c->w->results->limits->resolution <= 0)
        return 0;
    for (int g = 0; g < c->set->groups; g++)
        all.mesh[g] = c->alone[g].mesh[0];
    return trouble_of(cautions_of(c), false, mesh_list_complexity(&all, &c->s));
}

/* The same, asked once for each pp, pass times and state. */
static bool state_allowed(struct mixed_cell *c)
{
    struct room *x = &c->room[c->state];
    if (x->rules_pp != c->s.pp || x->rules_pass_times != c->w->table[0].pass_times) {
        x->rules_pp = c->s.pp;
        x->rules_pass_times = c->w->table[0].pass_times;
        x->rules_allow = cell_rules_allow(c);
        x->trouble = state_trouble(c);
    }
    return x->rules_allow;
}

/* The optimizer of the stage that has most: at least the average, on the type that is done
 * first. */
static double least_behind(struct mixed_cell *c)
{
    double least = INFINITY;
    int layers = (c->layers + c->s.pp - 1) / c->s.pp;
    for (int g = 0; g < c->set->groups; g++)
        for (int i = 0; i < c->w->starts && c->w->first_with[i] + layers <= c->layers; i++)
            least = fmin(least, (double)stage_behind(&c->w->table[g], c->state, STAGE_MIDDLE,
                                                     c->w->first_with[i], layers));
    return least < INFINITY ? least : 0;
}

double cell_least_behind(struct mixed_cell *c)
{
    double *known = &c->at->behind[c->state];
    if (*known < 0)
        *known = least_behind(c);
    return *known;
}

/* Of a rank with several chunks both grow with its layers and do not depend on passes: of one layer a
 * chunk. With one chunk what is hidden depends on its passes. */
static double least_ends_of_chunks(struct mixed_cell *c)
{
    struct problem *p = arena_alloc(&c->w->problem, sizeof *p);
    struct strategy kept = c->s;
    double least = INFINITY;
    option_take(c->state_list, c->state, &c->s);
    p->c = c;
    p->pp = c->s.pp;
    for (p->type[0] = 0; p->type[0] < c->set->groups; p->type[0]++) {
        struct rank_cost x;
        problem_set_cost(p, 0, 0, c->s.vpp, &x);
        least = fmin(least, (double)(x.delay + x.after));
    }
    c->s = kept;
    arena_clear(&c->w->problem);
    return least;
}

double cell_least_ends(struct mixed_cell *c)
{
    double *known = &c->at->ends[c->state];
    if (c->s.vpp == 1)
        return 0;
    if (*known < 0)
        *known = least_ends_of_chunks(c);
    return *known;
}

static void set_uncrowded(struct problem *p, bool uncrowded)
{
    p->uncrowded = uncrowded;
    for (int g = 0; g < p->c->set->groups; g++) {
        struct stage_table *t = &p->c->w->table[g];
        t->most = uncrowded ? t->partition->mesh[0].crowded : 1;
    }
}

/* No split of it is below the bound. */
static void note_given_up(struct mixed_cell *c, int64_t bound)
{
    struct mixed_result *counts = &c->w->counts;
    struct score least = score_of(&c->rental, bound);
    if (c->w->scouting) {
        c->st->deferred = true;
        return;
    }
    counts->unproven++;
    counts->open_key = fmin(counts->open_key, score_key(c->w->results->limits, &least));
}

/* The fastest split below the cut joins what was found. Whether it is crowded. */
static bool solve_below(struct problem *p, int64_t cut)
{
    struct mixed_cell *c = p->c;
    struct assign_problem a;
    struct assign_result r;
    if (!problem_pose(p, cut, &a))
        return false;
    c->w->counts.problems++;
    assign_run(&a, cut, &c->w->problem, &r);
    if (!r.proven && !c->st->left)
        note_given_up(c, r.bound);
    if (r.step == INT64_MAX)
        return false;
    bool crowded = problem_split_crowded(p, r.layers);
    keep_found(p, r.step, crowded);
    return crowded;
}

/* Where the fastest split is crowded, one that is not may be as good. */
static void solve_state(struct problem *p)
{
    struct mixed_cell *c = p->c;
    p->found.trouble = c->room[c->state].trouble;
    p->found.strategy = p->plan.strategy = first_strategy(p);
    if (!solve_below(p, cell_cut_of(c, &p->found)))
        return;
    set_uncrowded(p, true);
    solve_below(p, cell_cut_of(c, &p->found));
    set_uncrowded(p, false);
}

/* Whether FlagScale does not run such meshes, under the current state or whatever it is. */
static bool refused(const struct problem *p)
{
    struct strategy s = first_strategy(p);
    if (p->c->state <= ANY_STATE) { /* all that is asked of states */
        s.dist_opt = 0;
        s.optimizer_instances = 1;
    }
    bool flagscale = p->c->st->per_type || !p->c->w->query->layouts;
    return flagscale &&
           meshes_refused(&p->meshes, &s, p->c->w->query->scene.model, &p->c->w->problem);
}

/* Least delay and reduction of a first rank of type g under c->state, of the layers that any may have.
 * Ticks. */
static double find_least_ends(struct problem *p)
{
    struct mixed_cell *c = p->c;
    double least = INFINITY;
    for (int n = p->least[0]; n <= c->longest[p->type[0]]; n++) {
        struct rank_cost x;
        problem_set_cost(p, 0, 0, n, &x);
        least = fmin(least, (double)(x.delay + x.after));
    }
    return least;
}

/* The same, asked once for all arrangements of these pass times and stages. */
static double least_ends(struct problem *p)
{
    struct mixed_cell *c = p->c;
    struct room *x = &c->room[c->state];
    int g = p->type[0];
    if (x->ends_asked[g] != c->asked) {
        x->ends_asked[g] = c->asked;
        x->ends[g] = find_least_ends(p);
    }
    return x->ends[g];
}

/* Whether c->state may be fast enough for a cut: `bound` is of any. */
static bool state_of_use(struct problem *p, int64_t bound, int64_t cut)
{
    struct mixed_cell *c = p->c;
    double least = (double)bound - floor(c->behind) + cell_least_behind(c);
    return least < (double)cut && state_allowed(c) && !refused(p) &&
           least + least_ends(p) < (double)cut;
}

static void note_dive(struct mixed_cell *c, int64_t bound)
{
    if (bound >= c->dive.bound)
        return;
    c->dive.bound = bound;
    c->dive.at = c->at;
    memcpy(c->dive.stages, c->stages, sizeof c->stages);
    memcpy(c->dive.order, c->order, sizeof c->order);
}

/* First whatever the state, then each that may be fast enough. */
bool cell_solve(struct mixed_cell *c)
{
    struct problem *p = arena_alloc(&c->w->problem, sizeof *p);
    struct assign_problem a;
    p->weighs = c->w->results->limits->resolution > 0;
    problem_place(p, c);
    c->state = c->any_state;
    if (refused(p)) {
        arena_clear(&c->w->problem);
        return false;
    }
    c->w->counts.judged++;
    set_plan(p);
    int64_t cut = cell_cut_of(c, &p->found), bound = INT64_MAX;
    if (problem_pose(p, cut, &a))
        bound = assign_bound(&a, cut, &c->w->problem);
    note_dive(c, bound);
    bool of_use = bound < cut, solve = of_use && !c->relaxed;
    for (c->state = 0; c->state < c->states && solve && bound < cut && !structure_stopped(c);
         c->state++) {
        if (!state_at_hand(c))
            continue;
        option_take(c->state_list, c->state, &c->s);
        p->found.trouble = c->trouble;
        cut = cell_cut_of(c, &p->found);
        if (state_of_use(p, bound, cut))
            solve_state(p);
    }
    c->state = c->any_state;
    arena_clear(&c->w->problem);
    return of_use;
}
