/* Tries every single change of moves.c that saves memory, then every pair of them, and keeps
 * the fastest that fits. Where that is not enough the search is asked for the best plan on these
 * GPUs, if they are of one type; only then come changes of the numbers themselves. */
#include "probe/answer.h"

#include "probe/moves.h"
#include "probe/probe.h"

#include <math.h>

struct fixing {
    struct trials trials;
    struct pick best;
};

static void try_pairs(struct fixing *t, const struct strategy *changed, size_t first, bool numerics)
{
    size_t count;
    const struct move *move = moves(&count);
    for (size_t j = first + 1; j < count; j++)
        for (int k = 0; k < move[j].options && move[j].saves; k++) {
            struct strategy s = *changed;
            if ((move[first].numerics || move[j].numerics) == numerics &&
                move_apply(&move[j], t->trials.asked->scene.model, &s, k))
                trials_pick(&t->trials, &s, &t->best);
        }
}

/* All changes, or all pairs of them, that change the numerics or all that do not. */
static bool try_moves(struct fixing *t, bool pairs, bool numerics)
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
                trials_pick(&t->trials, &s, &t->best);
        }
    return t->best.found;
}

static bool try_search(struct fixing *t, const struct query *q, const struct query_terms *terms)
{
    struct probe_found x;
    struct arena scratch = {0};
    probe_search(q, terms, NULL, 0, &scratch, &x, NULL);
    arena_release(&scratch);
    if (x.found)
        trials_pick_known(&t->trials, x.best.step, &x.best.strategy, &t->best);
    else
        trials_note(&t->trials, isfinite(x.fullness) ? &x.nearest : &t->trials.asked->strategy);
    return t->best.found;
}

/* GPUs of this type with which there is a plan: the nodes doubled until there is; 0 when three
 * times do not help. */
static int64_t gpus_needed(const struct query *q, const struct query_terms *asked)
{
    struct query_terms terms = *asked;
    struct cluster cluster = q->cluster;
    struct node_group *g = &cluster.group[0];
    bool found = false;
    terms.gpus = (asked->gpus + g->per_node - 1) / g->per_node * g->per_node;
    for (int doubled = 0; doubled < 3 && !found; doubled++) {
        terms.gpus *= 2;
        if (terms.gpus / g->per_node > CLUSTER_MAX_NODES)
            break;
        g->nodes_max = (int)(terms.gpus / g->per_node);
        g->nodes_min = g->nodes_max < g->nodes_min ? g->nodes_max : g->nodes_min;
        found = probe_fits(q, &terms, &cluster, 0);
    }
    return found ? terms.gpus : 0;
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
    if (!p->computed || plan_fits(p) || p->reasons != plan_shortages(p))
        return NULL;
    struct fixing *t = arena_alloc(mem, sizeof *t);
    struct fix *r = arena_alloc(mem, sizeof *r);
    struct query_terms terms = probe_terms(q, &e->strategy);
    trials_init(&t->trials, e, mem);
    bool mixed = e->scene.meshes; /* then searching is a query of its own */
    if (!try_moves(t, false, false) && !try_moves(t, true, false)) {
        r->searched = !mixed && try_search(t, q, &terms);
        r->numerics = !r->searched && (try_moves(t, false, true) || try_moves(t, true, true));
    }
    r->fits = t->best.found;
    change_fill(&r->change, q, p, t->best.found ? &t->best.plan : nearest_plan(&t->trials), mem);
    r->gpus = t->best.found || mixed ? 0 : gpus_needed(q, &terms);
    trials_release(&t->trials);
    return r;
}
