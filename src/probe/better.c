/* The same query to the search. Unlike the speedups of explain, also for a plan that is refused or
 * does not fit: then anything that runs is better. */
#include "probe/answer.h"

#include "import/megatron/flags.h"
#include "import/megatron/param_flags.h"
#include "import/shell/launch.h"
#include "probe/probe.h"
#include "query/query.h"
#include "query/query_file.h"

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
        i->why_not = "flags cannot express the plan that a search finds";
    }
}

static bool implies(const struct launch *l, enum param p)
{
    for (int i = 0; i < PARAMS; i++)
        if (PARAM_FLAGS[i].param == p)
            return PARAM_FLAGS[i].kind != NONE && launch_implies(l, PARAM_FLAGS[i].flag);
    return false;
}

/* Recomputation is one thing, whichever of its flags is there. */
static bool is_held(const struct launch *l, enum param p)
{
    bool of_recompute =
        p == PARAM_recompute_method || p == PARAM_recompute_layers || p == PARAM_recompute_modules;
    return implies(l, p) || (of_recompute && implies(l, PARAM_recompute));
}

static void hold_implied(const struct launch *l, const struct strategy *asked,
                         struct setting settings[PARAMS])
{
    for (int p = 0; p < PARAMS; p++)
        if (is_held(l, (enum param)p))
            settings[p] = (struct setting){1, {strategy_get(asked, (enum param)p)}};
}

/* What a release before HEAD has no flag for stays as it is. Sharding also needs models built without their weights,
 * which came later than its own flags. */
static void hold_newer(double release, const struct strategy *asked,
                       struct setting settings[PARAMS])
{
    enum { META_SINCE = 14 };
    for (int i = 0; i < PARAMS; i++) {
        enum param p = PARAM_FLAGS[i].param;
        int since = p == PARAM_fsdp ? META_SINCE : PARAM_FLAGS[i].since;
        if (release > 0 && since > release)
            settings[p] = (struct setting){1, {strategy_get(asked, p)}};
    }
}

static const struct better_plan *better(const struct query *q, const struct estimate_query *e,
                                        const struct plan *p, const struct launch *holds,
                                        struct arena *mem)
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
    if (holds && is_held(holds, PARAM_split))
        i->why_not = "its layers are laid out by another launcher's rules";
    else if (holds)
        hold_implied(holds, &e->strategy, terms.settings);
    hold_newer(q->terms.release, &e->strategy, terms.settings);
    if (!i->why_not)
        look(&terms, q, e, p, i, mem);
    return i;
}

const struct better_plan *better_of(const struct query *q, const struct estimate_query *e,
                                    const struct plan *p, struct arena *mem)
{
    return better(q, e, p, NULL, mem);
}

const struct better_plan *better_held(const struct query *q, const struct estimate_query *e,
                                      const struct plan *p, struct arena *mem)
{
    return better(q, e, p, imported_launch(q->given), mem);
}
