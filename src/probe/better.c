/* The same query to the search. Unlike the speedups of explain, also for a plan that is refused or
 * does not fit: then anything that runs is better. */
#include "probe/better.h"

#include "import/megatron/flag_limits.h"
#include "probe/change.h"
#include "probe/trials.h"
#include "query/query.h"

/* Less is not worth a change, and less than estimates can tell apart. */
static const double LEAST_GAIN = 0.01;

static void look(const struct query_terms *anew, const struct query *q,
                 const struct estimate_query *e, const struct plan *p, struct better_plan *i,
                 struct arena *mem)
{
    struct found x;
    i->found = repeat_search(q, anew, NULL, 0, &x, NULL);
    if (!i->found)
        return;
    struct plan *best = arena_alloc(mem, sizeof *best);
    plan_evaluate(&e->scene, &x.strategy, NULL, mem, best);
    i->better = !p->feasible || best->step_s <= (1 - LEAST_GAIN) * p->step_s;
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
    struct query_terms anew = query_repeat(q, &e->strategy);
    struct better_plan *i = arena_alloc(mem, sizeof *i);
    *i = (struct better_plan){.env = "", .unset = ""};
    if (e->scene.meshes) {
        i->why_not = "the job is on several groups of nodes: search with the same pool finds the "
                     "best one there";
        return i;
    }
    anew.gpus = e->gpus; /* of a strategy that is refused, the product may be another */
    rules_init(&anew.rules);
    rules_append(&anew.rules, &q->terms.rules, mem);
    i->why_not = flag_limits(q->flags, &e->strategy, anew.settings, &anew.rules, mem);
    if (!i->why_not)
        look(&anew, q, e, p, i, mem);
    return i;
}
