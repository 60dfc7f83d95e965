/* What the GPUs of a structure's stages cost, and the step at which a plan on them is of no use any
 * more: it has no place among the results, nor among what the structure has found itself. */
#include "search/mixed/mixed_parts.h"

#include "cluster/cluster.h"

#include <math.h>
#include <string.h>

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

/* Of a stage of type g, at least: where stages share nodes, whole ones are billed. */
static struct rental stage_rent(const struct mixed_cell *c, int g)
{
    const struct node_group *group = c->set->group[g];
    double part = (double)c->block[g] / group->per_node;
    struct rental one = {0};
    rental_add(&one, limits(c), c->w->query->scene.rent, group, group->per_node);
    return (struct rental){.usd_per_h = one.usd_per_h * part,
                           .outages_per_h = one.outages_per_h * part};
}

/* c->stages of the types before `g`; each type from there on has its fewest, and what then is left
 * of `left` stages is of the type where one more takes least. Dollars and outages may be least on
 * different types. */
static void rent_rest(struct mixed_cell *c, int g, int left)
{
    double usd = INFINITY, outages = INFINITY;
    c->rental = (struct rental){0};
    for (int i = 0; i < c->set->groups; i++) {
        struct rental one = stage_rent(c, i);
        int stages = i < g ? c->stages[i] : c->fewest[i];
        usd = i < g ? usd : fmin(usd, one.usd_per_h);
        outages = i < g ? outages : fmin(outages, one.outages_per_h);
        c->rental.usd_per_h += stages * one.usd_per_h;
        c->rental.outages_per_h += stages * one.outages_per_h;
        left -= i < g ? 0 : stages;
    }
    c->rental.usd_per_h += left > 0 ? left * usd : 0;
    c->rental.outages_per_h += left > 0 ? left * outages : 0;
    rental_finish(&c->rental, limits(c));
}

void cell_rent_least(struct mixed_cell *c, int pp)
{
    rent_rest(c, 0, pp);
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Beyond it something found here is faster and cheaper. */
static int64_t limit_of_front(const struct mixed_cell *c)
{
    double time = INFINITY;
    for (int i = 0; i < c->st->fronts; i++) {
        const struct score *x = &c->st->front[i].score;
        time = fmin(time, fmax(x->time, x->usd / c->rental.usd_per_h));
    }
    return step_within_score(&c->rental, time, INFINITY);
}

static int64_t front_cut(const struct mixed_cell *c)
{
    if (!c->w->query->front || !(c->rental.usd_per_h < INFINITY))
        return 0;
    return smaller(front_limit(&c->w->results->front, &c->rental), limit_of_front(c));
}

static int64_t list_cut(const struct mixed_cell *c, unsigned trouble)
{
    return smaller(shortlist_limit(&c->w->results->best, &c->rental, trouble),
                   shortlist_limit(&c->st->best, &c->rental, trouble));
}

int64_t cell_cut(const struct mixed_cell *c)
{
    int64_t list = list_cut(c, c->trouble), front = front_cut(c);
    return smaller(list > front ? list : front, c->w->ceiling);
}

int64_t cell_cut_of(const struct mixed_cell *c, const struct found *x)
{
    const struct shortlist *all = &c->w->results->best, *own = &c->st->best;
    int64_t front = front_cut(c), list = list_cut(c, x->trouble);
    list = smaller(list, shortlist_row_limit(own, &c->rental, x));
    list = smaller(list, shortlist_row_limit(all, &c->rental, x));
    list = smaller(list, shortlist_beaten_from(own, &c->rental, x));
    list = smaller(list, shortlist_beaten_from(all, &c->rental, x));
    return smaller(list > front ? list : front, c->w->ceiling);
}

bool cell_front_of_use(const struct mixed_cell *c, const struct found *x)
{
    return x->step < front_cut(c);
}

/* What work costs at least, in a time: the types that do it for least come first. */
struct cheapest {
    int order[MIX_MAX];
    double usd[MIX_MAX], power[MIX_MAX]; /* of a unit, and units a tick of all its stages; by type */
    double fewest_usd;                   /* an hour, of the fewest stages of each type */
};

static struct cheapest find_cheapest(const struct mixed_cell *c)
{
    struct cheapest x = {.fewest_usd = 0};
    for (int g = 0; g < c->set->groups; g++) {
        int at = g;
        double stage_usd = stage_rent(c, g).usd_per_h;
        x.usd[g] = stage_usd / c->rate[g];
        x.power[g] = c->most[g] * c->rate[g];
        x.fewest_usd += c->fewest[g] * stage_usd;
        for (; at > 0 && x.usd[x.order[at - 1]] > x.usd[g]; at--)
            x.order[at] = x.order[at - 1];
        x.order[at] = g;
    }
    return x;
}

/* Least USD an hour times ticks of any plan that takes no longer; INFINITY: none does. */
static double least_usd(const struct mixed_cell *c, const struct cheapest *x, double time)
{
    double all = (double)c->micro_batches * c->units, left = all / time, usd = 0;
    for (int i = 0; i < c->set->groups && left > 0; i++) {
        int g = x->order[i];
        double own = x->power[g] < left ? x->power[g] : left;
        usd += own * x->usd[g] / (all / time);
        left -= own;
    }
    return left > all / time * 1e-9 ? INFINITY : usd * all;
}

/* Whether a plan of the structure may be on the front: between two of its entries it is cheaper than
 * the faster one. It costs most where it is fastest, and no type goes unused. */
static bool front_within_reach(const struct mixed_cell *c)
{
    static const double exact = 1 - 1e-9;
    const struct front *f = &c->w->results->front;
    struct cheapest x = find_cheapest(c);
    double bound = (double)c->st->bound;
    if (!c->w->query->front || !(x.fewest_usd < INFINITY))
        return false;
    if (f->count == 0 || bound <= f->entry[0].score.time)
        return true;
    for (int i = 0; i < f->count; i++) {
        double from = fmax(bound, f->entry[i].score.time);
        double to = i + 1 < f->count ? f->entry[i + 1].score.time : 9e18;
        if (to >= bound && from * x.fewest_usd * exact <= f->entry[i].score.usd &&
            least_usd(c, &x, to) * exact <= f->entry[i].score.usd)
            return true;
    }
    return false;
}

bool cell_within_reach(const struct mixed_cell *c)
{
    static const struct rental free_of_charge = {.usd_per_h = 0, .slowdown = 1};
    return c->st->bound <= shortlist_limit(&c->w->results->best, &free_of_charge, c->trouble) ||
           front_within_reach(c);
}

int64_t cell_enter_pp(struct mixed_cell *c, const struct stage_count *x)
{
    memcpy(c->most, x->most, sizeof c->most);
    cell_rent_least(c, x->pp);
    return smaller(cell_cut(c), x->cut);
}

bool cell_gpus_asked(const struct mixed_cell *c)
{
    int64_t gpus = 0;
    for (int g = 0; g < c->set->groups; g++)
        gpus += c->stages[g] * c->block[g];
    return !c->w->query->gpus || gpus == c->w->query->gpus;
}

/* c->stages of each type join those of use, if they are. */
static void note_stages(struct mixed_cell *c, struct stage_count *out)
{
    cell_rent(c);
    int64_t cut = cell_cut(c);
    if (!cell_gpus_asked(c) || !stages_of_use(c, out->pp, cut))
        return;
    out->cut = cut > out->cut ? cut : out->cut;
    for (int g = 0; g < c->set->groups; g++)
        out->most[g] = c->stages[g] > out->most[g] ? c->stages[g] : out->most[g];
}

/* With what is left as fast as the fastest type from `g` on, and as cheap as the cheapest. */
static bool rest_of_use(struct mixed_cell *c, int g, int left, int pp)
{
    int fastest = g;
    for (int i = g; i < c->set->groups; i++) {
        fastest = c->rate[i] > c->rate[fastest] ? i : fastest;
        c->stages[i] = 0;
    }
    c->stages[fastest] = left;
    rent_rest(c, g, left);
    return stages_of_use(c, pp, cell_cut(c));
}

/* Every number of stages of each type from `g` on that adds up to what is left. */
static void note_all_stages(struct mixed_cell *c, int g, int left, struct stage_count *out)
{
    if (g == c->set->groups - 1) {
        c->stages[g] = left;
        if (left >= c->fewest[g] && left <= c->most[g] && left % c->step[g] == 0)
            note_stages(c, out);
        return;
    }
    if (!rest_of_use(c, g, left, out->pp) || structure_stopped(c))
        return;
    int most = c->most[g] < left ? c->most[g] : left;
    for (int n = c->fewest[g]; n <= most; n += (int)c->step[g]) {
        c->stages[g] = n;
        note_all_stages(c, g + 1, left - n, out);
    }
}

bool cell_pp_of_use(struct mixed_cell *c, int pp, struct stage_count *out)
{
    *out = (struct stage_count){.pp = pp};
    note_all_stages(c, 0, pp, out);
    return out->cut > 0;
}
