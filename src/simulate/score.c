#include "simulate/score.h"

#include "cluster/cluster.h"

#include <math.h>

const struct wanted WANT_SPEED = {
    .objective = OBJECTIVE_SPEED, .most_time = INFINITY, .most_usd = INFINITY, .by_gpus = true};

double run_steps(const struct run_terms *r, double tokens_per_step)
{
    return ceil(r->tokens / tokens_per_step);
}

void holding_add(struct holding *h, const struct wanted *w, const struct node_group *g,
                 int64_t gpus)
{
    double nodes = (double)((gpus + g->per_node - 1) / g->per_node);
    double price = g->usd_per_hour > 0 ? g->usd_per_hour : w->by_gpus ? 1 : INFINITY;
    h->usd_per_h += nodes * g->per_node * price;
    h->outages_per_h += nodes * g->outages_per_h;
}

void holding_finish(struct holding *h, const struct wanted *w)
{
    static const double never = 1e6; /* longer than that is no run */
    h->slowdown = outage_slowdown(&w->outage, h->outages_per_h / 3600);
    if (h->slowdown > never)
        h->slowdown = INFINITY;
}

struct holding holding_of(const struct wanted *w, const struct node_group *g, int64_t gpus)
{
    struct holding h = {0};
    holding_add(&h, w, g, gpus);
    holding_finish(&h, w);
    return h;
}

struct worth worth_of(const struct holding *h, int64_t step)
{
    double time = (double)step * h->slowdown;
    return (struct worth){time, time * h->usd_per_h};
}

bool worth_allowed(const struct wanted *w, const struct worth *x)
{
    return x->time < INFINITY && x->time <= w->most_time && x->usd <= w->most_usd;
}

double worth_key(const struct wanted *w, const struct worth *x)
{
    return w->objective == OBJECTIVE_COST ? x->usd : x->time;
}

int64_t step_within_worth(const struct holding *h, double time, double usd)
{
    if (usd < INFINITY) /* of which nothing is left where a price is not known */
        time = fmin(time, usd / h->usd_per_h);
    double step = time / h->slowdown;
    return step < 9e18 ? (int64_t)step + 1 : INT64_MAX;
}
