/* Tries every single change of moves.c, keeps the fastest of each kind that fits, and of
 * these the three that gain most. Kinds, because the second best of one kind (one layer more
 * recomputed) tells nothing that the best does not. Then the search is asked for the best plan on
 * the same GPUs, if they are of one type: single changes end where two would be needed at once. */
#include "probe/answer.h"

#include "probe/moves.h"
#include "probe/probe.h"

static void try_move(struct trials *t, const struct move *move, struct pick *best)
{
    for (int k = 0; k < move->options; k++) {
        struct strategy s = t->asked->strategy;
        if (move_apply(move, t->asked->scene.model, &s, k))
            trials_pick(t, &s, best);
    }
}

static bool faster(const struct plan *a, const struct plan *b)
{
    if (a->step_s != b->step_s)
        return a->step_s < b->step_s;
    return strategy_compare(&a->strategy, &b->strategy) < 0;
}

/* Whether `more` has all that `less` changes, and perhaps something else. */
static bool includes(const struct strategy *from, const struct strategy *more,
                     const struct strategy *less)
{
    for (int p = 0; p < PARAMS; p++) {
        int value = strategy_get(less, (enum param)p);
        if (value != strategy_get(from, (enum param)p) &&
            value != strategy_get(more, (enum param)p))
            return false;
    }
    return true;
}

/* Behind those that are faster. What includes one of them does more and gains less, what is
 * included has been said; two kinds may even come to the same plan. */
static void add_speedup(struct speedups *g, const struct plan *p)
{
    const struct strategy *from = &g->from->strategy, *s = &p->strategy;
    for (int i = 0; i < g->count; i++) {
        const struct strategy *listed = &g->speedup[i].change.plan->strategy;
        if (includes(from, s, listed) || includes(from, listed, s))
            return;
    }
    g->speedup[g->count++].change.plan = p;
}

static void pick_speedups(struct speedups *g, const struct pick *pick, size_t count)
{
    const struct plan *last = NULL;
    for (size_t n = 0; n < count && g->count < SPEEDUPS_MAX; n++) {
        const struct plan *next = NULL;
        for (size_t i = 0; i < count; i++)
            if (pick[i].found && pick[i].plan.step_s <= (1 - LEAST_SPEEDUP) * g->from->step_s &&
                (!last || faster(last, &pick[i].plan)) && (!next || faster(&pick[i].plan, next)))
                next = &pick[i].plan;
        if (!next)
            return;
        add_speedup(g, next);
        last = next;
    }
}

static void try_moves(struct speedups *g, const struct estimate_query *from, struct arena *mem)
{
    size_t count;
    const struct move *move = moves(&count);
    struct pick *best = arena_array(mem, count, sizeof *best); /* of each kind */
    struct trials trials;
    trials_init(&trials, from, mem);
    for (size_t i = 0; i < count; i++)
        if (!move[i].numerics)
            try_move(&trials, &move[i], &best[i]);
    trials_release(&trials);
    pick_speedups(g, best, count);
}

static enum breakdown_part shrunk_most(const struct plan *before, const struct plan *then)
{
    int most = 0;
    for (int i = 1; i < BREAKDOWN_PARTS; i++)
        if (before->breakdown[i] - then->breakdown[i] >
            before->breakdown[most] - then->breakdown[most])
            most = i;
    return (enum breakdown_part)most;
}

const struct speedups *speedups_of(const struct query *q, const struct estimate_query *e,
                                   const struct plan *p, const struct fix *fix, struct arena *mem)
{
    bool fixed = fix && fix->fits;
    if (!p->feasible && !fixed)
        return NULL;
    struct speedups *g = arena_alloc(mem, sizeof *g);
    struct estimate_query from = *e;
    g->from = fixed ? fix->change.plan : p;
    from.strategy = g->from->strategy;
    try_moves(g, &from, mem);
    for (int i = 0; i < g->count; i++) {
        struct speedup *x = &g->speedup[i];
        const struct plan *then = x->change.plan;
        change_fill(&x->change, q, p, then, mem);
        x->part = shrunk_most(g->from, then);
    }
    if (e->scene.meshes)
        return g;
    struct query_terms terms = probe_terms(q, &from.strategy);
    const struct plan *best = probe_best(q, &terms, 0, &from.scene, mem);
    if (best && best->step_s >= g->from->step_s) /* within the resolution the simpler is first */
        best = g->from;
    g->found = best;
    if (best)
        change_fill(&g->searched, q, p, best, mem);
    return g;
}
