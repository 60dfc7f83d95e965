/* What the run may cost and last: --tokens, --budget, --deadline, --objective, and what they make
 * of plans. */
#include "query/query.h"

#include "base/str.h"
#include "base/units.h"
#include "query/query_parts.h"

#include <math.h>
#include <string.h>

/* Beyond all runs: what is larger is a slip. */
static const double MOST_USD = 1e15;

/* When all is given: rates of currencies may come behind it. */
bool query_set_budget(struct query *q, struct error *err)
{
    const struct money_options *m = &q->given->money;
    struct error cause = {0};
    if (!m->budget)
        return true;
    if (!money_parse(m->budget, &m->rates, &q->budget_usd, &cause))
        return fail(err, ERROR_INPUT, "--budget: %s", cause.text);
    if (!(q->budget_usd >= 0.01 && q->budget_usd <= MOST_USD))
        return fail(err, ERROR_INPUT,
                    "--budget is '%s', expected USD for the whole run, as in 2.5M", m->budget);
    return true;
}

/* The words of --objective in their order. Two of them ask for the same: a run's time follows from
 * its speed, its cost from that of a token. */
static const enum objective OBJECTIVES[] = {OBJECTIVE_SPEED, OBJECTIVE_SPEED, OBJECTIVE_COST,
                                            OBJECTIVE_COST};

/* A deadline alone asks for the cheapest that meets it; all else for the fastest. */
enum objective query_objective(const struct query *q)
{
    if (q->given->money.objective >= 0)
        return OBJECTIVES[q->given->money.objective];
    return q->deadline_s > 0 && !(q->budget_usd > 0) ? OBJECTIVE_COST : OBJECTIVE_SPEED;
}

static bool asks_money(const struct query *q)
{
    return q->budget_usd > 0 || query_objective(q) == OBJECTIVE_COST;
}

/* Where money decides, every type must have a price. */
static bool has_prices(const struct query *q, struct error *err)
{
    for (int g = 0; g < q->cluster.groups; g++)
        if (q->rent[g].usd_per_hour <= 0)
            return fail(err, ERROR_INPUT,
                        "no price of %s is known, which %s needs: add --price %s=USD per GPU-hour",
                        q->cluster.group[g].gpu->name,
                        q->budget_usd > 0 ? "--budget"
                        : q->given->money.objective >= 0
                            ? "the cheapest plan"
                            : "the cheapest by a --deadline (--objective time does not)",
                        q->cluster.group[g].gpu->name);
    return true;
}

bool query_limits(const struct query *q, struct limits *out, struct error *err)
{
    double steps = run_steps(
        &q->run, step_content_of(q->dataset, q->task, query_global_batch(q), query_seq_len(q)));
    const char *needs = q->budget_usd > 0 ? "budget" : q->deadline_s > 0 ? "deadline" : NULL;
    if (needs && !(q->run.tokens > 0))
        return fail(
            err, ERROR_INPUT,
            "--%s is for a whole run: add --tokens, how many it trains on, as in --tokens 1T (or "
            "--samples)",
            needs);
    if (asks_money(q) && !has_prices(q, err))
        return false;
    *out = (struct limits){.objective = query_objective(q),
                           .most_time = INFINITY,
                           .most_usd = INFINITY,
                           .by_gpus = q->cluster.groups == 1,
                           .resolution = q->search.resolution,
                           .row = q->search.variants ? ROW_KIND : ROW_LAYOUT,
                           .outage = q->run.outage,
                           .generation = task_generation_s(q->task) * TICKS_PER_S};
    if (q->deadline_s > 0)
        out->most_time = q->deadline_s / steps * TICKS_PER_S;
    if (q->budget_usd > 0) /* totals are rounded to the cent */
        out->most_usd = (q->budget_usd + 0.005) / steps * 3600 * TICKS_PER_S;
    return true;
}
