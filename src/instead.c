/* The same question to the search. Unlike the gains of explain, also for a plan that is refused or
 * does not fit: then anything that runs is better. */
#include "instead.h"

#include "question.h"
#include "remedy_change.h"
#include "remedy_trials.h"

/* Less is not worth a change, and less than estimates can tell apart. */
static const double LEAST_GAIN = 0.01;

const struct instead *instead_of(const struct question *q, const struct estimate_question *e,
                                 const struct plan *p, struct arena *mem)
{
    struct question anew = question_anew(q, &e->strategy);
    struct instead *i = arena_alloc(mem, sizeof *i);
    struct found x;
    if (e->scene.meshes)
        return NULL;
    anew.gpus = e->gpus; /* of a strategy that is refused, the product may be another */
    i->found = search_anew(&anew, 0, &x, NULL);
    if (!i->found)
        return i;
    struct plan *best = arena_alloc(mem, sizeof *best);
    plan_evaluate(&e->scene, &x.strategy, NULL, mem, best);
    i->better = !p->feasible || best->step_s <= (1 - LEAST_GAIN) * p->step_s;
    change_fill(&i->change, q, p, best, mem);
    return i;
}
