/* The same query to the search. Unlike the speedups of explain, also for a plan that is refused or
 * does not fit: then anything that runs is better. */
#include "probe/answer.h"

#include "import/megatron/flags.h"
#include "probe/probe.h"
#include "query/query.h"

static void look(const struct query_terms *terms, const struct query *q,
                 const struct estimate_query *e, const struct plan *p, struct better_plan *i,
                 struct arena *mem)
{
    const struct plan *best = probe_best(q, terms, 0, &e->scene, mem);
    i->found = best;
    if (!best)
        return;
    i->better = !p->feasible || best->step_s <= (1 - LEAST_SPEEDUP) * p->step_s;
    change_fill(&i->change, q, p, best, mem);
    better_environment(p, i, mem);
    if (i->better && !better_flags(q, e, p, i, mem)) {
        i->better = false;
        i->why_not = "the flags cannot be changed such that they say the plan that a search finds";
    }
}

const struct better_plan *better_of(const struct query *q, const struct estimate_query *e,
                                    const struct plan *p, struct arena *mem)
{
    struct query_terms terms = probe_terms(q, &e->strategy);
    struct better_plan *i = arena_alloc(mem, sizeof *i);
    *i = (struct better_plan){.env = "", .unset = ""};
    if (e->scene.meshes) {
        i->why_not = "the job is on several groups of nodes: search with the same pool finds the "
                     "best one there";
        return i;
    }
    terms.gpus = e->gpus; /* of a strategy that is refused, the product may be another */
    rules_init(&terms.rules);
    rules_append(&terms.rules, &q->terms.rules, mem);
    i->why_not = flag_limits(q->flags, &e->strategy, terms.settings, &terms.rules, mem);
    if (!i->why_not)
        look(&terms, q, e, p, i, mem);
    return i;
}
