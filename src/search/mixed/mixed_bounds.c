/* Bounds of a structure, and of numbers of stages, before its pass times are known: by the least times
 * of its layers on each type. */
#include "search/mixed/mixed_parts.h"

#include "search/stop.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* Sums of rounded ticks may be a hair less than rounded sums. */
static int64_t bound_ticks(double seconds)
{
    return (int64_t)fmin(seconds * TICKS_PER_S * (1 - 1e-9), 9e18);
}

static int64_t floor_ticks(double ticks)
{
    return (int64_t)fmin(ticks * (1 - 1e-9), 9e18);
}

/* Passes of a pipeline are combined between virtual stages alone. */
static double least_ticks(const struct mixed_cell *c, const struct block_cost *b)
{
    return (double)bound_ticks(block_least_s(b, c->s.vpp > 1));
}

/* Of each type: layers by kind, the cheapest behind them, and what ends have beside layers. */
static void find_least(struct mixed_cell *c)
{
    const struct model *m = c->w->query->scene.model;
    for (int i = 0; i < m->layers; i++)
        c->of_kind[m->layer[i]]++;
    c->of_kind[m->kinds] = m->layers;
    for (int g = 0; g < c->set->groups; g++) {
        const struct layer_costs *costs = c->costs[g];
        double *cheapest = &c->least[m->kinds][g];
        *cheapest = INFINITY;
        for (int k = 0; k < m->kinds; k++) {
            c->least[k][g] = least_ticks(c, &costs->kind[k]);
            *cheapest = fmin(*cheapest, c->least[k][g]);
        }
        c->embedding[g] = least_ticks(c, &costs->embedding);
        c->head[g] = least_ticks(c, &costs->head) + m->mtp * least_ticks(c, &costs->mtp);
    }
}

static double smallest(const struct mixed_cell *c, const double of_type[MIX_MAX])
{
    double least = INFINITY;
    for (int g = 0; g < c->set->groups; g++)
        least = fmin(least, of_type[g]);
    return least;
}

/* All layers on the type that is fastest for each, and how much more a layer takes at least
 * elsewhere. */
void cell_find_work(struct mixed_cell *c)
{
    const struct model *m = c->w->query->scene.model;
    find_least(c);
    for (int g = 0; g < c->set->groups; g++)
        c->more[g] = INFINITY;
    c->work = smallest(c, c->embedding) + smallest(c, c->head);
    for (int k = 0; k < m->kinds; k++) {
        double least = smallest(c, c->least[k]);
        for (int g = 0; g < c->set->groups; g++)
            c->more[g] = fmin(c->more[g], c->least[k][g] - least);
        c->work += c->of_kind[k] * least;
    }
}

/* Work of all layers in units of the first type's ticks, and the units a tick that one stage of each
 * type does: it is credited with the kind of layer it is best at. */
void cell_find_rates(struct mixed_cell *c)
{
    const struct model *m = c->w->query->scene.model;
    bool hides = c->s.vpp > 1;
    c->units = 0;
    c->backward = 1;
    for (int k = 0; k < m->kinds; k++)
        c->units += c->of_kind[k] * c->least[k][0];
    for (int g = 0; g < c->set->groups; g++) {
        c->rate[g] = 0;
        for (int k = 0; k < m->kinds; k++) {
            const struct block_cost *b = &c->costs[g]->kind[k];
            c->rate[g] = fmax(c->rate[g], c->least[k][0] / c->least[k][g]);
            c->backward =
                fmin(c->backward, block_least_backward_s(b, hides) / block_least_s(b, hides));
        }
    }
}

/* The bounds of cell_allowed() for pp stages of which one has `least` ticks or more for a micro-batch. */
static double longest_bound(const struct mixed_cell *c, int pp, double least)
{
    double m = (double)c->micro_batches, bound = m * least;
    if (c->s.vpp > 1)
        return bound;
    bound = fmax(bound, c->work + (m - 1 - (fmin(pp, m) - 1) / 2) * least);
    return m - 1 > pp ? fmax(bound, 2 * c->work + (m - 1 - pp) * least) : bound;
}

/* The same where the stages do `rate` units a tick together. */
static double rate_bound(const struct mixed_cell *c, int pp, double rate)
{
    double least = c->units / rate, bound = longest_bound(c, pp, least);
    if (c->s.vpp > 1)
        return bound;
    return fmax(bound, c->work + ((double)c->micro_batches - 1) * c->backward * least);
}

/* Whole layers on a stage that has so many ticks; below 0: not even what is beside them. */
static double layers_in(double ticks, double beside, double each)
{
    return ticks < beside ? -1 : floor((ticks - beside) / each);
}

/* How many layers fewer a stage holds for what the end has beside them: the least of any type. */
static double taken_by_end(const struct mixed_cell *c, const double beside[], const double each[],
                           double ticks)
{
    int fewest = c->s.vpp > 1 ? c->s.vpp : 0;
    double least = INFINITY;
    for (int g = 0; g < c->set->groups; g++) {
        double n = layers_in(ticks, beside[g], each[g]);
        if (n >= fewest)
            least = fmin(least, layers_in(ticks, 0, each[g]) - n);
    }
    return least;
}

/* Most layers of a kind on pp stages that have so many ticks each: with `stages` of each type, or with
 * its fewest and the others on those that hold most. */
static double room_of(const struct mixed_cell *c, int pp, const int *stages, const double each[],
                      double ticks)
{
    double room =
        -taken_by_end(c, c->embedding, each, ticks) - taken_by_end(c, c->head, each, ticks);
    double most = 0;
    int left = pp, next = -1;
    for (int g = 0; g < c->set->groups; g++) {
        int own = stages ? stages[g] : c->fewest[g];
        room += own * layers_in(ticks, 0, each[g]);
        left -= own;
    }
    for (unsigned taken = 0; left > 0; taken |= 1u << next) {
        next = -1;
        for (int g = 0; g < c->set->groups; g++)
            if (!(taken >> g & 1) && (next < 0 || layers_in(ticks, 0, each[g]) > most)) {
                most = layers_in(ticks, 0, each[g]);
                next = g;
            }
        if (next < 0)
            break;
        int own = c->most[next] - c->fewest[next] < left ? c->most[next] - c->fewest[next] : left;
        room += own * most;
        left -= own;
    }
    return room;
}

/* Whether every stage that there is holds as many layers as it must: one, or of several chunks each
 * one. Both ends may do without. */
static bool all_in_use(const struct mixed_cell *c, const int *stages, double ticks)
{
    const double *each = c->least[c->w->query->scene.model->kinds];
    for (int g = 0; g < c->set->groups; g++) {
        int own = stages ? stages[g] : c->fewest[g];
        if (own > (c->s.vpp > 1 ? 0 : 2) && layers_in(ticks, 0, each[g]) < c->s.vpp)
            return false;
    }
    return true;
}

/* Whether all layers, and those of each kind, find room in whole numbers. */
static bool whole_layers_fit(const struct mixed_cell *c, int pp, const int *stages, double ticks)
{
    int kinds = c->w->query->scene.model->kinds;
    for (int k = kinds > 1 ? 0 : 1; k <= kinds; k++)
        if (room_of(c, pp, stages, c->least[k], ticks) < c->of_kind[k])
            return false;
    return all_in_use(c, stages, ticks);
}

/* Least ticks of the longest of pp stages, from below: not less than `least`. */
static double longest_of_whole(const struct mixed_cell *c, int pp, double least)
{
    enum { HALVINGS = 6 };
    double low = fmax(least, 1), high;
    if (whole_layers_fit(c, pp, NULL, low))
        return low;
    for (high = 2 * low; !whole_layers_fit(c, pp, NULL, high) && high < 1e18; high *= 2)
        low = high;
    for (int i = 0; i < HALVINGS; i++) {
        double middle = (low + high) / 2;
        if (whole_layers_fit(c, pp, NULL, middle))
            high = middle;
        else
            low = middle;
    }
    return low;
}

/* The longest that a stage of pp may be for a step below the cut: longest_bound() the other way
 * round. */
static double longest_below(const struct mixed_cell *c, int pp, int64_t cut)
{
    double m = (double)c->micro_batches, all = (double)cut, most = all / m;
    double times = m - 1 - (fmin(pp, m) - 1) / 2;
    if (c->s.vpp > 1)
        return most;
    if (times > 0)
        most = fmin(most, (all - c->work) / times);
    return m - 1 > pp ? fmin(most, (all - 2 * c->work) / (m - 1 - pp)) : most;
}

/* Multipliers of the stages of type g before those that have `sum` of them: see filled_bound().
 * `left` is what n stages leave of the way to the most, (1 - 1 / (vpp M))^n. */
static double multipliers(const struct mixed_cell *c, double sum, int g, double left)
{
    double all = c->s.vpp * c->rate[g]; /* of any number of ranks */
    return sum >= all ? sum : all + (sum - all) * left;
}

/* A rank with t_i of passes is idle while the first micro-batch comes to it and the last one goes
 * back through the ranks before it: M t_i + sum over j < i of t_j / vpp <= step. What the ranks do,
 * sum of r_i t_i, is then at most step x sum of x_i, for any x_i >= 0 with M x_i + sum over k > i
 * of x_k / vpp >= r_i: the smallest, from the last rank on. The types may be in any order. */
static double filled_most(const struct mixed_cell *c, const double power[], unsigned left,
                          double sum)
{
    double most = sum;
    for (int g = 0; g < c->set->groups; g++)
        if (left >> g & 1) {
            double more = multipliers(c, sum, g, power[g]);
            double all = filled_most(c, power, left & ~(1u << g), more);
            most = all > most ? all : most;
        }
    return most;
}

/* By products alone: the last bits of pow() differ between C libraries, and with them what is cut. */
static double power_of(double base, int n)
{
    double power = 1;
    for (; n > 0; n /= 2, base *= base)
        power *= n % 2 ? base : 1;
    return power;
}

static double filled_bound(const struct mixed_cell *c)
{
    double power[MIX_MAX], base = 1 - 1 / (c->s.vpp * (double)c->micro_batches);
    for (int g = 0; g < c->set->groups; g++)
        power[g] = power_of(base, c->stages[g]);
    return c->units / filled_most(c, power, (1u << c->set->groups) - 1, 0);
}

static double rate_of_stages(const struct mixed_cell *c)
{
    double rate = 0;
    for (int g = 0; g < c->set->groups; g++)
        rate += c->stages[g] * c->rate[g];
    return rate;
}

double stages_bound(const struct mixed_cell *c, int pp)
{
    return fmax(rate_bound(c, pp, rate_of_stages(c)), filled_bound(c));
}

bool stages_of_use(const struct mixed_cell *c, int pp, int64_t cut)
{
    return floor_ticks(rate_bound(c, pp, rate_of_stages(c))) < cut &&
           floor_ticks(filled_bound(c)) < cut &&
           whole_layers_fit(c, pp, c->stages, longest_below(c, pp, cut));
}

/* Whether --gpus leaves so many stages, where all types run the same. */
static bool pp_asked(const struct mixed_cell *c, int pp)
{
    int64_t gpus = c->w->query->gpus;
    return gpus == 0 || c->st->per_type || pp * c->block[0] == gpus;
}

/* filled_bound() of stages as fast as these: of all orders of ranks, those that end with the slowest
 * have most. `left` as there, of the stages of each type. */
static double filled_least(const struct mixed_cell *c, const double left[])
{
    double sum = 0;
    bool taken[MIX_MAX] = {0};
    for (int i = 0; i < c->set->groups; i++) {
        int slowest = -1;
        for (int g = 0; g < c->set->groups; g++)
            if (!taken[g] && (slowest < 0 || c->rate[g] < c->rate[slowest]))
                slowest = g;
        taken[slowest] = true;
        sum = multipliers(c, sum, slowest, left[slowest]);
    }
    return c->units / sum;
}

/* filled_bound() and rate_bound() of the best stages: the fewest of each type, the others as fast as
 * the fastest left. Ticks. */
static double fastest_bound(const struct mixed_cell *c, int pp)
{
    double sum = 0, left[MIX_MAX] = {1, 1, 1, 1},
           base = 1 - 1 / (c->s.vpp * (double)c->micro_batches);
    int rest = pp, used[MIX_MAX];
    for (int g = 0; g < c->set->groups; g++)
        rest -= used[g] = c->fewest[g];
    for (unsigned taken = 0; rest > 0;) {
        int fastest = -1;
        for (int g = 0; g < c->set->groups; g++)
            if (!(taken >> g & 1) && (fastest < 0 || c->rate[g] > c->rate[fastest]))
                fastest = g;
        int own = c->most[fastest] - used[fastest];
        own = own < rest ? own : rest;
        used[fastest] += own;
        rest -= own;
        taken |= 1u << fastest;
    }
    for (int g = 0; g < c->set->groups; g++) {
        sum += used[g] * c->rate[g];
        left[g] = power_of(base, used[g]);
    }
    return fmax(rate_bound(c, pp, sum), filled_least(c, left));
}

/* Of the best number of stages. Ticks. */
static double best_bound(struct mixed_cell *c)
{
    int fewest = 0, most = 0;
    double best = INFINITY;
    cell_find_work(c);
    cell_find_rates(c);
    for (int g = 0; g < c->set->groups; g++) {
        fewest += c->fewest[g];
        most += c->most[g];
    }
    for (int pp = most < c->layers + 2 ? most : c->layers + 2; pp >= fewest && pp >= 1; pp--) {
        if (!pp_asked(c, pp))
            continue;
        double bound = fastest_bound(c, pp);
        if (bound >= best)
            continue;
        double least = longest_of_whole(c, pp, longest_below(c, pp, floor_ticks(bound)));
        best = fmin(best, fmax(bound, longest_bound(c, pp, least)));
    }
    return best;
}

static bool possible(const struct mixed_cell *c)
{
    int least = 0;
    for (int g = 0; g < c->set->groups; g++) {
        if (c->most[g] < 1 || c->fewest[g] > c->most[g])
            return false;
        least += c->fewest[g];
    }
    return least <= c->layers + 2;
}

void structure_bound(struct mixed_worker *w, struct structure *st)
{
    struct mixed_cell c;
    if (stop_now(w->query->stop, w->calling)) {
        st->bound = 0;
        return;
    }
    cell_init(&c, w, st);
    double bound = possible(&c) ? best_bound(&c) : INFINITY;
    st->bound = bound < INFINITY ? floor_ticks(bound) : INT64_MAX;
    assert(st->bound >= 0);
}
