#include "simulate/score.h"

#include "dataset/dataset.h"
#include "dataset/task.h"
#include "price/rent.h"

#include <assert.h>
#include <math.h>

const struct limits SPEED_ALONE = {
    .objective = OBJECTIVE_SPEED, .most_time = INFINITY, .most_usd = INFINITY, .by_gpus = true};

struct step_content step_content_of(const struct dataset *d, const struct task *t,
                                    double global_batch, double seq_len)
{
    double sequences = task_sequences(t);
    bool packs = d && d->packing;
    return (struct step_content){global_batch * (d ? d->samples : 1) / (packs ? sequences : 1),
                                 global_batch * seq_len * (d ? d->tokens : 1) *
                                     (packs ? 1 : sequences)};
}

double run_steps(const struct run_terms *r, struct step_content step)
{
    return r->samples > 0 ? ceil(r->samples / step.samples) : ceil(r->tokens / step.tokens);
}

void rental_add(struct rental *h, const struct limits *w, const struct rent *rent,
                const struct node_group *g, int64_t gpus)
{
    assert(gpus >= 1 && g->per_node >= 1);
    const struct rent *own = rent_of(rent, g);
    double nodes = (double)((gpus + g->per_node - 1) / g->per_node);
    double price = own->usd_per_hour > 0 ? own->usd_per_hour : w->by_gpus ? 1 : INFINITY;
    h->usd_per_h += nodes * g->per_node * price;
    h->outages_per_h += nodes * own->outages_per_h;
}

void rental_finish(struct rental *h, const struct limits *w)
{
    static const double never = 1e6; /* longer than that is no run */
    h->generation = w->generation;
    h->slowdown = outage_slowdown(&w->outage, h->outages_per_h / 3600);
    assert(h->slowdown >= 1);
    if (h->slowdown > never)
        h->slowdown = INFINITY;
}

struct rental rental_of(const struct limits *w, const struct rent *rent, const struct node_group *g,
                        int64_t gpus)
{
    struct rental h = {0};
    rental_add(&h, w, rent, g, gpus);
    rental_finish(&h, w);
    return h;
}

struct score score_of(const struct rental *h, int64_t step)
{
    assert(step >= 0 && h->slowdown >= 1);
    double time = ((double)step + h->generation) * h->slowdown;
    return (struct score){time, time * h->usd_per_h};
}

bool score_allowed(const struct limits *w, const struct score *x)
{
    return x->time < INFINITY && x->time <= w->most_time && x->usd <= w->most_usd;
}

double score_key(const struct limits *w, const struct score *x)
{
    return w->objective == OBJECTIVE_COST ? x->usd : x->time;
}

int64_t step_within_score(const struct rental *h, double time, double usd)
{
    if (usd < INFINITY) /* of which nothing is left where a price is not known */
        time = fmin(time, usd / h->usd_per_h);
    double step = fmax(0, time / h->slowdown - h->generation);
    return step < 9e18 ? (int64_t)step + 1 : INT64_MAX;
}

int64_t step_within_key(const struct limits *w, const struct rental *h, double key)
{
    bool cost = w->objective == OBJECTIVE_COST;
    return step_within_score(h, cost ? w->most_time : fmin(w->most_time, key),
                             cost ? fmin(w->most_usd, key) : w->most_usd);
}
