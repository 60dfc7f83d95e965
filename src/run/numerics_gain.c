#include "run/numerics_gain.h"

#include "base/arena.h"
#include "query/query.h"
#include "schedule/schedule.h"
#include "search/mixed/mixed.h"
#include "search/results.h"
#include "simulate/plan.h"

#include <math.h>

/* One cell of a search, in which only what is faster than the plan is of use. */
static double on_one_type(const struct query *q, const struct found *x, struct arena *mem)
{
    static const enum param layout[] = {PARAM_tp, PARAM_cp, PARAM_pp,
                                        PARAM_dp, PARAM_ep, PARAM_etp};
    struct query_terms terms = q->terms;
    const struct limits fastest = {
        .objective = OBJECTIVE_SPEED, .most_time = INFINITY, .most_usd = INFINITY};
    struct search_query sq;
    struct search_result found;
    struct results results;
    for (size_t i = 0; i < sizeof layout / sizeof *layout; i++)
        terms.settings[layout[i]] = (struct setting){1, {strategy_get(&x->strategy, layout[i])}};
    terms.numerics = NUMERICS_PRODUCTION;
    terms.gpus = x->gpus;
    const struct query *asked = query_derive(q, &terms, NULL, mem, NULL);
    if (!asked || !query_search(asked, (int)(x->group - q->cluster.group), mem, &sq, NULL))
        return 0;
    struct found plain = *x; /* by its time alone */
    plain.trouble = 0;
    plain.key = plain.score.time;
    results_init(&results, &fastest, 1, mem);
    results_add(&results, &plain);
    sq.limits = &fastest;
    sq.results = &results;
    search_run(&sq, mem, &found);
    double step_s = (double)results.best.row[0].variant[0].step / TICKS_PER_S;
    results_release(&results);
    return step_s;
}

/* Gradients in 16 bits, and where the optimizer is sharded its moments too. */
static void halve(struct strategy *s, bool moments)
{
    s->grad_bf16 = 1;
    s->precision_aware |= moments;
    s->main_grads_bf16 = moments;
    s->moments_bytes = moments ? 2 : s->moments_bytes;
}

static double on_several(const struct found *x, const struct scene *sc, struct arena *mem)
{
    double least = 0;
    for (int moments = 0; moments <= x->strategy.dist_opt; moments++) {
        struct strategy s = x->strategy;
        struct plan p;
        halve(&s, moments);
        plan_evaluate(sc, &s, &x->mixed->layout, mem, &p);
        if (p.feasible && (least == 0 || p.step_s < least))
            least = p.step_s;
    }
    return least;
}

double numerics_gain(const struct query *q, const struct found *x, const struct scene *mixed,
                     struct arena *mem)
{
    return x->mixed ? on_several(x, mixed, mem) : on_one_type(q, x, mem);
}
