#include "run/commands.h"

#include "base/arena.h"
#include "base/str.h"
#include "base/units.h"
#include "query/query.h"
#include "report/plan_words.h"
#include "report/report.h"

#include <math.h>

static const double MORE = 1.1;        /* of a limit, to see what it buys */
static const double SLACK = 1 + 1e-12; /* the search rounds otherwise */

/* Limits of a run; INFINITY where there are none. */
struct run_limits {
    double usd, seconds;
};

static struct run_limits run_limits_of(const struct query *q)
{
    return (struct run_limits){q->budget_usd > 0 ? q->budget_usd : INFINITY,
                               q->deadline_s > 0 ? q->deadline_s : INFINITY};
}

static bool keeps(const struct plan *p, const struct run_limits *l)
{
    return p->usd_total < (l->usd + 0.005) * SLACK && p->hours * 3600 <= l->seconds * SLACK;
}

/* The front has the cheapest first, the fastest last. NULL: none keeps the limits. */
static const struct plan *cheapest(const struct plan *front, int count, const struct run_limits *l)
{
    for (int i = 0; i < count; i++)
        if (keeps(&front[i], l))
            return &front[i];
    return NULL;
}

static const struct plan *fastest(const struct plan *front, int count, const struct run_limits *l)
{
    for (int i = count; i > 0; i--)
        if (keeps(&front[i - 1], l))
            return &front[i - 1];
    return NULL;
}

/* What the limits allow, to the cent and the second; the plan that was chosen may be a little slower or
 * dearer, and better in other ways. */
static const struct plan *reached(const struct money *m)
{
    const struct plan *p = m->objective == OBJECTIVE_COST ? m->cheapest : m->fastest;
    return p ? p : m->chosen;
}

/* With 10 % more of one limit; NULL when that is no better. */
static const struct plan *with_more(const struct money *m, struct run_limits l,
                                    const struct plan *front, int count)
{
    bool cost = m->objective == OBJECTIVE_COST;
    const struct plan *p = cost ? cheapest(front, count, &l) : fastest(front, count, &l);
    bool better = p && (cost ? p->usd_total < reached(m)->usd_total : p->hours < reached(m)->hours);
    return better ? p : NULL;
}

/* What is beyond that on the front breaks a limit: the budget where the fastest is asked
 * for, the deadline where the cheapest is. */
static enum limit binding(const struct money *m, const struct plan *front, int count)
{
    if (m->objective == OBJECTIVE_COST)
        return m->deadline_s > 0 && front[0].usd_total < reached(m)->usd_total ? LIMIT_DEADLINE
                                                                               : LIMIT_NONE;
    return m->budget_usd > 0 && front[count - 1].hours < reached(m)->hours ? LIMIT_BUDGET
                                                                           : LIMIT_NONE;
}

static bool asks_more_than_speed(const struct query *q, const struct plan *best)
{
    return query_objective(q) == OBJECTIVE_COST || options_ask_prices(q->given) ||
           best->slowdown > 1;
}

const struct money *money_answer(const struct query *q, const struct plan *best,
                                 const struct plan *front, int count, struct arena *mem)
{
    struct money *m = arena_alloc(mem, sizeof *m);
    struct run_limits l = run_limits_of(q), more = l;
    *m = (struct money){.objective = query_objective(q),
                        .tokens = q->run.tokens,
                        .samples = q->run.samples,
                        .budget_usd = q->budget_usd,
                        .deadline_s = q->deadline_s,
                        .chosen = best};
    m->steps = run_steps(&q->run, step_content_of(q->dataset, q->task, best->strategy.global_batch,
                                                  best->strategy.seq_len));
    if (!(m->tokens > 0) || count == 0 || !(front[0].usd_total > 0))
        return m->tokens > 0 || asks_more_than_speed(q, best) ? m : NULL;
    m->cheapest = cheapest(front, count, &l);
    m->fastest = fastest(front, count, &l);
    m->binds = binding(m, front, count);
    more.usd = MORE * l.usd;
    m->more_budget = q->budget_usd > 0 ? with_more(m, more, front, count) : NULL;
    more = l;
    more.seconds = MORE * l.seconds;
    m->more_time = q->deadline_s > 0 ? with_more(m, more, front, count) : NULL;
    return m;
}

static void add_run(struct str *s, const struct plan *p)
{
    add_gpus(p, s);
    str_add(s, ", ");
    add_seconds(s, 3600 * p->hours);
    if (p->usd_total > 0) {
        str_add(s, ", ");
        add_cents(s, p->usd_total);
    }
}

bool money_refuse(const struct query *q, const struct plan *front, int count, struct error *err)
{
    struct run_limits none = {INFINITY, INFINITY}, budget = none, deadline = none;
    struct str s = {0};
    budget.usd = run_limits_of(q).usd;
    deadline.seconds = run_limits_of(q).seconds;
    const struct plan *in_budget = fastest(front, count, &budget);
    const struct plan *in_time = cheapest(front, count, &deadline);
    if (!in_budget) {
        str_add(&s, "no plan stays within the budget of ");
        add_cents(&s, q->budget_usd);
        str_add(&s, ": the cheapest is ");
        add_run(&s, &front[0]);
    } else if (!in_time || !(q->budget_usd > 0)) {
        str_add(&s, "no plan meets the deadline of ");
        add_seconds(&s, q->deadline_s);
        str_add(&s, ": the fastest is ");
        add_run(&s, &front[count - 1]);
    } else {
        str_add(&s,
                "no plan stays within the budget and meets the deadline: the fastest within the "
                "budget is ");
        add_run(&s, in_budget);
        str_add(&s, ", the cheapest within the deadline ");
        add_run(&s, in_time);
    }
    fail(err, ERROR_INFEASIBLE, "%s", str_text(&s));
    str_release(&s);
    return false;
}
