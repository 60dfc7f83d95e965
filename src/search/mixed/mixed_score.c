/* What the GPUs of a structure's stages cost, and the step at which a plan on them is of no use any
 * more: it has no place among the standings, nor among what the structure has found itself. */
#include "search/mixed/mixed_parts.h"

#include "cluster/cluster.h"

#include <math.h>

static const struct wanted *wanted(const struct cell *c)
{
    return c->w->standings->wanted;
}

void cell_hold(struct cell *c)
{
    c->holding = (struct holding){0};
    for (int g = 0; g < c->set->groups; g++)
        holding_add(&c->holding, wanted(c), c->set->group[g], c->stages[g] * c->block[g]);
    holding_finish(&c->holding, wanted(c));
}

/* Every type has its fewest stages; the others are of the type where one more takes least. Dollars
 * and outages may be least on different types. */
void cell_hold_least(struct cell *c, int pp)
{
    double usd = INFINITY, outages = INFINITY;
    c->holding = (struct holding){0};
    for (int g = 0; g < c->set->groups; g++) {
        const struct node_group *group = c->set->group[g];
        struct holding one = {0};
        holding_add(&one, wanted(c), group, group->per_node);
        double stage = (double)c->block[g] / group->per_node;
        usd = fmin(usd, one.usd_per_h * stage);
        outages = fmin(outages, one.outages_per_h * stage);
        c->holding.usd_per_h += c->fewest[g] * one.usd_per_h * stage;
        c->holding.outages_per_h += c->fewest[g] * one.outages_per_h * stage;
        pp -= c->fewest[g];
    }
    c->holding.usd_per_h += pp > 0 ? pp * usd : 0;
    c->holding.outages_per_h += pp > 0 ? pp * outages : 0;
    holding_finish(&c->holding, wanted(c));
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The last of what was found here that has a place among the best: those beyond the limits of what
 * is wanted, which the front may have a use for, have none. NULL: places are left. */
static const struct worth *last_placed(const struct cell *c)
{
    int places = c->w->question->top;
    for (int i = 0; i < c->st->kinds; i++) {
        const struct worth *x = &c->st->kind[i].worth;
        places -= worth_allowed(wanted(c), x);
        if (places == 0)
            return x;
    }
    return NULL;
}

/* Places among the best that what was found here leaves. */
static int64_t limit_of_kinds(const struct cell *c)
{
    const struct wanted *w = wanted(c);
    const struct worth *last = last_placed(c);
    if (!last)
        return INT64_MAX;
    bool cost = w->objective == OBJECTIVE_COST;
    return step_within_worth(&c->holding, cost ? INFINITY : last->time,
                             cost ? last->usd : INFINITY);
}

/* Beyond it something found here is faster and cheaper. */
static int64_t limit_of_front(const struct cell *c)
{
    double time = INFINITY;
    for (int i = 0; i < c->st->kinds; i++) {
        const struct worth *x = &c->st->kind[i].worth;
        time = fmin(time, fmax(x->time, x->usd / c->holding.usd_per_h));
    }
    return step_within_worth(&c->holding, time, INFINITY);
}

int64_t cell_cut(const struct cell *c)
{
    const struct standings *s = c->w->standings;
    int64_t best = smaller(shortlist_limit(&s->best, s->wanted, &c->holding), limit_of_kinds(c));
    if (!c->w->question->front || !(c->holding.usd_per_h < INFINITY))
        return best;
    int64_t front = smaller(front_limit(&s->front, &c->holding), limit_of_front(c));
    return best > front ? best : front;
}

int64_t cell_loosest_cut(struct cell *c)
{
    int64_t loosest = 0;
    for (int i = 0; i < c->pps; i++) {
        cell_hold_least(c, c->pp[i]);
        int64_t cut = cell_cut(c);
        loosest = cut > loosest ? cut : loosest;
    }
    return loosest;
}

/* Every number of stages of each type that adds up to what is left. */
static bool shared_of_use(struct cell *c, int g, int left, int pp)
{
    if (g == c->set->groups - 1) {
        c->stages[g] = left;
        if (left < c->fewest[g] || left > c->most[g] || left % c->step[g] != 0)
            return false;
        cell_hold(c);
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
static bool fastest_of_use(struct cell *c, int pp)
{
    int fastest = 0;
    for (int g = 0; g < c->set->groups; g++) {
        fastest = c->rate[g] > c->rate[fastest] ? g : fastest;
        c->stages[g] = 0;
    }
    c->stages[fastest] = pp;
    cell_hold_least(c, pp);
    return stages_of_use(c, pp, cell_cut(c));
}

bool cell_pp_of_use(struct cell *c, int pp)
{
    return fastest_of_use(c, pp) && (c->set->groups > 2 || shared_of_use(c, 0, pp, pp));
}
