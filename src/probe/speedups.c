/* Tries every single change of moves.c, keeps the fastest of each kind that fits, and of
 * these the three that gain most. Kinds, because the second best of one kind (one layer more
 * recomputed) tells nothing that the best does not. Then the search is asked for the best plan on
 * the same GPUs, if they are of one type: single changes end where two would be needed at once. */
#include "probe/speedups.h"

#include "probe/change.h"
#include "probe/fix.h"
#include "probe/moves.h"
#include "probe/trials.h"

/* Less is not worth a change, and less than estimates can tell apart. */
static const double LEAST_GAIN = 0.01;

/* The fastest of one kind of change. */
struct speedup_pick {
    bool found;
    int64_t step; /* ticks */
    struct plan plan;
};

static bool beats(const struct speedup_pick *best, int64_t step, const struct strategy *s)
{
    if (!best->found || step != best->step)
        return !best->found || step < best->step;
    return strategy_compare(s, &best->plan.strategy) < 0;
}

static void try_option(struct trials *t, const struct strategy *s, struct speedup_pick *best)
{
    int64_t step;
    struct plan p;
    if (!trials_try(t, s, &step) || !beats(best, step, s))
        return;
    plan_evaluate(&t->asked->scene, s, t->asked->layout, t->mem, &p);
    if (p.feasible)
        *best = (struct speedup_pick){true, step, p};
}

static void try_move(struct trials *t, const struct move *move, struct speedup_pick *best)
{
    for (int k = 0; k < move->options; k++) {
        struct strategy s = t->asked->strategy;
        if (move_apply(move, t->asked->scene.model, &s, k))
            try_option(t, &s, best);
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

static void pick_speedups(struct speedups *g, const struct speedup_pick *pick, size_t count)
{
    const struct plan *last = NULL;
    for (size_t n = 0; n < count && g->count < SPEEDUPS_MAX; n++) {
        const struct plan *next = NULL;
        for (size_t i = 0; i < count; i++)
            if (pick[i].found && pick[i].plan.step_s <= (1 - LEAST_GAIN) * g->from->step_s &&
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
    struct speedup_pick *best = arena_array(mem, count, sizeof *best); /* of each kind */
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

static void ask_search(struct speedups *g, const struct query *q, const struct estimate_query *from,
                       const struct plan *asked, struct arena *mem)
{
    struct query_terms anew = query_repeat(q, &from->strategy);
    struct found x;
    g->found = repeat_search(q, &anew, NULL, 0, &x, NULL);
    if (!g->found)
        return;
    struct plan *best = arena_alloc(mem, sizeof *best);
    plan_evaluate(&from->scene, &x.strategy, NULL, mem, best);
    change_fill(&g->searched, q, asked, best, mem);
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
    if (!e->scene.meshes)
        ask_search(g, q, &from, p, mem);
    return g;
}
