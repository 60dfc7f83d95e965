/* One plan: predicted, held to the rules, and probed for what would be better. */
#include "run/commands.h"

#include "probe/answer.h"
#include "query/defaults.h"
#include "query/query_file.h"
#include "report/chart/trace_out.h"
#include "simulate/drawn_step.h"

#include <math.h>
#include <string.h>

/* Where a rule does not hold, to stand before its reason: "" for every group, otherwise the types
 * of those where it does not; NULL when it holds everywhere. */
static const char *where_broken(const struct estimate_query *e, const struct rule *rule,
                                double (*values)[SLOTS], struct arena *mem)
{
    int groups = estimate_groups(e), broken = 0;
    const char *where = "";
    for (int g = 0; g < groups; g++) {
        const struct gpu *gpu = estimate_group(e, g)->gpu;
        bool said = false;
        if (rule_allows(rule, values[g]))
            continue;
        for (int h = 0; h < g; h++)
            said = said || (estimate_group(e, h)->gpu == gpu && !rule_allows(rule, values[h]));
        if (!said)
            where = arena_format(mem, "%s%s%s", where, *where ? ", " : "on ", gpu->name);
        broken++;
    }
    return broken == 0 ? NULL : broken == groups ? "" : where;
}

void run_judge_rules(const struct estimate_query *e, struct arena *mem, struct plan *p)
{
    int groups = estimate_groups(e);
    double(*values)[SLOTS] = arena_array(mem, (size_t)groups, sizeof *values);
    for (int g = 0; g < groups; g++)
        estimate_slots(e, g, values[g]);
    for (int i = 0; i < e->reasons.count; i++)
        plan_add_reason(p, mem, e->reasons.text[i]);
    for (int i = 0; i < e->rules.count; i++) {
        const struct rule *rule = &e->rules.rule[i];
        const char *where = where_broken(e, rule, values, mem);
        if (where)
            plan_add_reason(p, mem,
                            arena_format(mem, "%s%s%s (%s:%d)", where, *where ? ": " : "",
                                         rule->reason, rule->file, rule->line));
    }
}

/* Guesses are independent of each other and of the model's own error: their squares add up. */
static void widen_error(const struct query *q, struct plan *p)
{
    const struct flags_result *f = q->flags;
    double sum = p->expected_error * p->expected_error;
    for (int i = 0; f && i < f->assumptions; i++)
        if (q->terms.precision < 0 || strcmp(f->assumption[i].what, "precision") != 0)
            sum += f->assumption[i].error * f->assumption[i].error;
    if (f && f->assumptions > 0)
        p->expected_error = sqrt(sum);
}

/* Why stages cannot be placed is among the query's reasons: the simulation only sees that they
 * are not. */
void run_evaluate(const struct query *q, const struct estimate_query *e, struct arena *mem,
                  struct plan *p)
{
    plan_evaluate(&e->scene, &e->strategy, e->layout, mem, p);
    widen_error(q, p);
    p->flagscale = q->flags && q->flags->hetero;
    plan_mind(p, &e->cautions, mem);
    p->expert_room = expert_room_of(p);
    if (!e->placed) {
        p->gpus = e->gpus;
        p->reasons = 0;
    }
    run_judge_rules(e, mem, p);
}

/* What probes say of the plan. Those that search do so for a reader of the whole answer, not of one
 * stage. */
static void ask_probes(struct astra *a, const struct estimate_query *e, bool explain)
{
    struct plan_answer *x = &a->answer;
    const struct plan *p = &a->plan;
    *x = (struct plan_answer){.plan = p, .defaults = defaults_used(a->query.given, &a->mem)};
    for (int i = 0; i < PARAM_FIRST_CELL; i++)
        x->assumed[i] = query_assumes(&a->query, (enum param)i);
    x->source = query_source(&a->query, imported_source(&a->query, &a->mem), &a->mem);
    x->fix = fix_of(&a->query, e, p, &a->mem);
    if (explain && !a->options.output.stage) {
        x->speedups = speedups_of(&a->query, e, p, x->fix, &a->mem);
        x->comparison = comparison_of(&a->query, e, p, &a->mem);
    }
    bool megatron =
        !strategy_on_hf(&p->strategy); /* whose flags hints and better plans are about */
    if (!x->speedups && megatron)      /* which say with figures what hints can only guess */
        x->hints = hints_of(p, x->hint);
    if (!explain && a->query.flags && megatron)
        x->better = better_of(&a->query, e, p, &a->mem);
    if (explain && p->computed)
        x->step = drawn_step_new(p, &a->mem);
}

bool run_estimate(struct astra *a, bool explain)
{
    const struct output_options *out = &a->options.output;
    struct query *q = &a->query;
    struct estimate_query *e = &a->asked;
    if (!outputs_check(out, &a->error) ||
        !query_resolve(&a->options, QUERY_ESTIMATE, &a->resources, &a->mem, q, &a->error) ||
        !query_estimate(q, &a->mem, e, &a->error))
        return false;
    run_evaluate(q, e, &a->mem, &a->plan);
    ask_probes(a, e, explain);
    if ((out->trace && !trace_write(&a->plan, out->trace, &a->error)) ||
        (out->report && !page_of_plan(q, &a->answer, &a->mem, &a->error)))
        return false;
    a->kind = explain ? ANSWER_EXPLAIN : ANSWER_PLAN;
    if (!a->plan.feasible)
        fail(&a->error, ERROR_INFEASIBLE, "not feasible: %s", a->plan.reason[0]);
    return a->plan.feasible;
}
