/* Tries every single change of moves.c that saves memory, then every pair of them, and keeps
 * the fastest that fits. Where that is not enough the search is asked for the best plan on these
 * GPUs, if they are of one type; only then come changes of the numbers themselves. */
#include "probe/fix.h"

#include "probe/change.h"
#include "probe/moves.h"
#include "probe/trials.h"

#include <math.h>

/* The fastest that fits so far. */
struct fix_pick {
    struct trials trials;
    bool found;
    int64_t step; /* ticks */
    struct plan best;
};

static bool beats(const struct fix_pick *t, int64_t step, const struct strategy *s)
{
    if (!t->found || step != t->step)
        return !t->found || step < t->step;
    return strategy_compare(s, &t->best.strategy) < 0;
}

static void keep_if_best(struct fix_pick *t, int64_t step, const struct strategy *s)
{
    struct plan p;
    if (!beats(t, step, s))
        return;
    plan_evaluate(&t->trials.asked->scene, s, t->trials.asked->layout, t->trials.mem, &p);
    if (!p.feasible) /* full to the last bit */
        return;
    t->found = true;
    t->step = step;
    t->best = p;
}

static void try_strategy(struct fix_pick *t, const struct strategy *s)
{
    int64_t step;
    if (trials_try(&t->trials, s, &step))
        keep_if_best(t, step, s);
}

static void try_pairs(struct fix_pick *t, const struct strategy *changed, size_t first,
                      bool numerics)
{
    size_t count;
    const struct move *move = moves(&count);
    for (size_t j = first + 1; j < count; j++)
        for (int k = 0; k < move[j].options && move[j].saves; k++) {
            struct strategy s = *changed;
            if ((move[first].numerics || move[j].numerics) == numerics &&
                move_apply(&move[j], t->trials.asked->scene.model, &s, k))
                try_strategy(t, &s);
        }
}

/* All changes, or all pairs of them, that change the numerics or all that do not. */
static bool try_moves(struct fix_pick *t, bool pairs, bool numerics)
{
    size_t count;
    const struct move *move = moves(&count);
    for (size_t i = 0; i < count; i++)
        for (int k = 0; k < move[i].options && move[i].saves; k++) {
            struct strategy s = t->trials.asked->strategy;
            if (!move_apply(&move[i], t->trials.asked->scene.model, &s, k))
                continue;
            if (pairs)
                try_pairs(t, &s, i, numerics);
            else if (move[i].numerics == numerics)
                try_strategy(t, &s);
        }
    return t->found;
}

static bool try_search(struct fix_pick *t, const struct query *q, const struct query_terms *anew)
{
    struct found x;
    struct strategy nearest = t->trials.asked->strategy;
    if (repeat_search(q, anew, NULL, 0, &x, &nearest))
        keep_if_best(t, x.step, &x.strategy);
    else
        trials_note(&t->trials, &nearest);
    return t->found;
}

/* GPUs of this type with which there is a plan: the nodes doubled until there is; 0 when three
 * times do not help. */
static int64_t gpus_needed(const struct query *q, const struct query_terms *anew)
{
    struct query_terms terms = *anew;
    struct cluster cluster = q->cluster;
    struct node_group *g = &cluster.group[0];
    struct found x;
    int64_t gpus = (anew->gpus + g->per_node - 1) / g->per_node * g->per_node;
    for (int doubled = 0; doubled < 3; doubled++) {
        gpus *= 2;
        if (gpus / g->per_node > CLUSTER_MAX_NODES)
            return 0;
        g->nodes_max = (int)(gpus / g->per_node);
        g->nodes_min = g->nodes_max < g->nodes_min ? g->nodes_max : g->nodes_min;
        terms.gpus = gpus;
        if (repeat_search(q, &terms, &cluster, 0, &x, NULL))
            return gpus;
    }
    return 0;
}

/* The plan that needs least, where nothing fits. */
static const struct plan *nearest_plan(const struct trials *t)
{
    struct plan *p = arena_alloc(t->mem, sizeof *p);
    const struct strategy *s =
        isfinite(t->fullness) ? &t->nearest : &t->asked->strategy; /* no trial was allowed */
    plan_evaluate(&t->asked->scene, s, t->asked->layout, t->mem, p);
    return p;
}

const struct fix *fix_of(const struct query *q, const struct estimate_query *e,
                         const struct plan *p, struct arena *mem)
{
    if (!p->computed || plan_fits(p) || p->reasons != 1)
        return NULL;
    struct fix_pick *t = arena_alloc(mem, sizeof *t);
    struct fix *r = arena_alloc(mem, sizeof *r);
    struct query_terms anew = query_repeat(q, &e->strategy);
    trials_init(&t->trials, e, mem);
    bool mixed = e->scene.meshes; /* then searching is a query of its own */
    if (!try_moves(t, false, false) && !try_moves(t, true, false)) {
        r->searched = !mixed && try_search(t, q, &anew);
        r->numerics = !r->searched && (try_moves(t, false, true) || try_moves(t, true, true));
    }
    r->fits = t->found;
    change_fill(&r->change, q, p, t->found ? &t->best : nearest_plan(&t->trials), mem);
    r->gpus = t->found || mixed ? 0 : gpus_needed(q, &anew);
    trials_release(&t->trials);
    return r;
}
