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

/* All layers on the type that is fastest for each, and how much more a layer takes at least
 * elsewhere. */
void cell_find_work(struct mixed_cell *c)
{
    const struct model *m = c->w->query->scene.model;
    double least[MODEL_MAX_KINDS];
    for (int g = 0; g < c->set->groups; g++)
        c->more[g] = INFINITY;
    for (int k = 0; k < m->kinds; k++) {
        double one[MIX_MAX];
        least[k] = INFINITY;
        for (int g = 0; g < c->set->groups; g++) {
            one[g] = (double)bound_ticks(block_least_s(&c->costs[g]->kind[k]));
            least[k] = fmin(least[k], one[g]);
        }
        for (int g = 0; g < c->set->groups; g++)
            c->more[g] = fmin(c->more[g], one[g] - least[k]);
    }
    c->work = 0;
    for (int i = 0; i < m->layers; i++)
        c->work += least[m->layer[i]];
}

/* Work of all layers in units of the first type's seconds, and the units a second that one stage of
 * each type does: it is credited with the kind of layer it is best at. */
void cell_find_rates(struct mixed_cell *c)
{
    const struct model *m = c->w->query->scene.model;
    double unit[MODEL_MAX_KINDS];
    c->units = 0;
    c->backward = 1;
    for (int k = 0; k < m->kinds; k++)
        unit[k] = block_least_s(&c->costs[0]->kind[k]);
    for (int i = 0; i < m->layers; i++)
        c->units += unit[m->layer[i]];
    for (int g = 0; g < c->set->groups; g++) {
        c->rate[g] = 0;
        for (int k = 0; k < m->kinds; k++) {
            const struct block_cost *b = &c->costs[g]->kind[k];
            c->rate[g] = fmax(c->rate[g], unit[k] / block_least_s(b));
            c->backward = fmin(c->backward, block_least_backward_s(b) / block_least_s(b));
        }
    }
}

/* The bounds of cell_allowed() for pp stages that do `rate` units a second together. */
static double rate_bound(const struct mixed_cell *c, int pp, double rate)
{
    double m = (double)c->micro_batches, t = c->units / rate, once = c->work / TICKS_PER_S;
    double bound = m * t;
    if (c->s.vpp == 1)
        bound = fmax(bound, once + (m - 1) * c->backward * t);
    if (c->s.vpp == 1 && m - 1 > pp)
        bound = fmax(bound, 2 * once + (m - 1 - pp) * t);
    return bound;
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

static double filled_bound(const struct mixed_cell *c)
{
    double power[MIX_MAX], base = 1 - 1 / (c->s.vpp * (double)c->micro_batches);
    for (int g = 0; g < c->set->groups; g++)
        power[g] = pow(base, c->stages[g]);
    return c->units / filled_most(c, power, (1u << c->set->groups) - 1, 0);
}

bool stages_of_use(const struct mixed_cell *c, int pp, int64_t cut)
{
    double rate = 0;
    for (int g = 0; g < c->set->groups; g++)
        rate += c->stages[g] * c->rate[g];
    return bound_ticks(rate_bound(c, pp, rate)) < cut && bound_ticks(filled_bound(c)) < cut;
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

/* For the best number of stages, each as fast as the fastest left. */
static double best_rate_bound(struct mixed_cell *c)
{
    double best = INFINITY, sum = 0, left[MIX_MAX] = {1, 1, 1, 1};
    int used[MIX_MAX] = {0};
    cell_find_work(c);
    cell_find_rates(c);
    for (int pp = 1; pp <= c->layers + 2; pp++) {
        int fastest = -1;
        for (int g = 0; g < c->set->groups; g++)
            if (used[g] < c->most[g] && (fastest < 0 || c->rate[g] > c->rate[fastest]))
                fastest = g;
        if (fastest < 0)
            break;
        used[fastest]++;
        left[fastest] *= 1 - 1 / (c->s.vpp * (double)c->micro_batches);
        sum += c->rate[fastest];
        if (pp_asked(c, pp))
            best = fmin(best, fmax(rate_bound(c, pp, sum), filled_least(c, left)));
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
    double bound = possible(&c) ? best_rate_bound(&c) : INFINITY;
    st->bound = bound < INFINITY ? bound_ticks(bound) : INT64_MAX;
    assert(st->bound >= 0);
}
