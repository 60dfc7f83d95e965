/* What the GPUs of a structure's stages cost, and the step at which a plan on them is of no use any
 * more: it has no place among the results, nor among what the structure has found itself. */
#include "search/mixed/mixed_parts.h"

#include "cluster/cluster.h"

#include <math.h>

static const struct limits *limits(const struct mixed_cell *c)
{
    return c->w->results->limits;
}

void cell_rent(struct mixed_cell *c)
{
    c->rental = (struct rental){0};
    for (int g = 0; g < c->set->groups; g++)
        rental_add(&c->rental, limits(c), c->w->query->scene.rent, c->set->group[g],
                   c->stages[g] * c->block[g]);
    rental_finish(&c->rental, limits(c));
}

/* Every type has its fewest stages; the others are of the type where one more takes least. Dollars
 * and outages may be least on different types. */
void cell_rent_least(struct mixed_cell *c, int pp)
{
    double usd = INFINITY, outages = INFINITY;
    c->rental = (struct rental){0};
    for (int g = 0; g < c->set->groups; g++) {
        const struct node_group *group = c->set->group[g];
        struct rental one = {0};
        rental_add(&one, limits(c), c->w->query->scene.rent, group, group->per_node);
        double stage = (double)c->block[g] / group->per_node;
        usd = fmin(usd, one.usd_per_h * stage);
        outages = fmin(outages, one.outages_per_h * stage);
        c->rental.usd_per_h += c->fewest[g] * one.usd_per_h * stage;
        c->rental.outages_per_h += c->fewest[g] * one.outages_per_h * stage;
        pp -= c->fewest[g];
    }
    c->rental.usd_per_h += pp > 0 ? pp * usd : 0;
    c->rental.outages_per_h += pp > 0 ? pp * outages : 0;
    rental_finish(&c->rental, limits(c));
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The last of what was found here that has a place among the best: those beyond the limits of
 * the query, which the front may have a use for, have none. NULL: places are left. */
static const struct score *last_placed(const struct mixed_cell *c)
{
    int places = c->w->query->top;
    for (int i = 0; i < c->st->kinds; i++) {
        const struct score *x = &c->st->kind[i].score;
        places -= score_allowed(limits(c), x);
        if (places == 0)
            return x;
    }
    return NULL;
}

/* Places among the best that what was found here leaves. */
static int64_t limit_of_kinds(const struct mixed_cell *c)
{
    const struct limits *w = limits(c);
    const struct score *last = last_placed(c);
    if (!last)
        return INT64_MAX;
    bool cost = w->objective == OBJECTIVE_COST;
    return step_within_score(&c->rental, cost ? INFINITY : last->time, cost ? last->usd : INFINITY);
}

/* Beyond it something found here is faster and cheaper. */
static int64_t limit_of_front(const struct mixed_cell *c)
{
    double time = INFINITY;
    for (int i = 0; i < c->st->kinds; i++) {
        const struct score *x = &c->st->kind[i].score;
        time = fmin(time, fmax(x->time, x->usd / c->rental.usd_per_h));
    }
    return step_within_score(&c->rental, time, INFINITY);
}

int64_t cell_cut(const struct mixed_cell *c)
{
    const struct results *s = c->w->results;
    int64_t best = smaller(shortlist_limit(&s->best, s->limits, &c->rental), limit_of_kinds(c));
    if (!c->w->query->front || !(c->rental.usd_per_h < INFINITY))
        return best;
    int64_t front = smaller(front_limit(&s->front, &c->rental), limit_of_front(c));
    return best > front ? best : front;
}

int64_t cell_loosest_cut(struct mixed_cell *c)
{
    int64_t loosest = 0;
    for (int i = 0; i < c->pps; i++) {
        cell_rent_least(c, c->pp[i]);
        int64_t cut = cell_cut(c);
        loosest = cut > loosest ? cut : loosest;
    }
    return loosest;
}

/* Every number of stages of each type that adds up to what is left. */
static bool shared_of_use(struct mixed_cell *c, int g, int left, int pp)
{
    if (g == c->set->groups - 1) {
        c->stages[g] = left;
        if (left < c->fewest[g] || left > c->most[g] || left % c->step[g] != 0)
            return false;
        cell_rent(c);
        return stages_of_use(c, pp, cell_cut(c));
    }
    int most = c->most[g] < left ? c->most[g] : left;
    for (int n = c->fewest[g]; n <= most; n++) {
        c->stages[g] = n;
        if (n % c->step[g] == 0 && shared_of_use(c, g + 1, left - n, pp))
            return true;
    }
    return false;
}

/* All stages as fast as the fastest type's. */
static bool fastest_of_use(struct mixed_cell *c, int pp)
{
    int fastest = 0;
    for (int g = 0; g < c->set->groups; g++) {
        fastest = c->rate[g] > c->rate[fastest] ? g : fastest;
        c->stages[g] = 0;
    }
    c->stages[fastest] = pp;
    cell_rent_least(c, pp);
    return stages_of_use(c, pp, cell_cut(c));
}

bool cell_pp_of_use(struct mixed_cell *c, int pp)
{
    return fastest_of_use(c, pp) && (c->set->groups > 2 || shared_of_use(c, 0, pp, pp));
}
