/* Layers to ranks: the longest chain of passes against the schedule it comes from, and the search
 * for the best split against all splits, on problems that have no model behind them. */
#include "base/arena.h"
#include "random.h"
#include "search/mixed/assign.h"
#include "simulate/critical_path.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { MOST_RANKS = 8, MOST_CHUNKS = 3, MOST_STAGES = MOST_RANKS * MOST_CHUNKS };

struct ticks {
    int64_t forward[MOST_STAGES], backward[MOST_STAGES], send[MOST_RANKS], after[MOST_RANKS];
};

/* What Megatron can schedule. */
static void random_schedule(struct pipeline *p, int most_ranks, int most_chunks)
{
    p->pp = pick(1, most_ranks);
    p->vpp = p->pp == 1 ? 1 : pick(1, most_chunks);
    p->group = p->pp;
    p->blocking_send = pick(0, 1);
    p->micro_batches = pick(1, 40);
    if (p->vpp == 1)
        return;
    p->group = p->pp + (pick(0, 1) ? 0 : pick(0, 3));
    int rest = pick(p->pp, p->group);
    p->micro_batches = p->group * pick(1, 40 / p->group) + (pick(0, 1) ? 0 : rest);
}

static void random_ticks(const struct pipeline *p, struct ticks *t)
{
    int spread = pick(0, 2) ? 1000 : 5;
    for (int i = 0; i < p->pp * p->vpp; i++) {
        t->forward[i] = pick(1, spread);
        t->backward[i] = pick(1, 2 * spread);
    }
    for (int r = 0; r < p->pp; r++) {
        t->send[r] = pick(0, pick(0, 1) ? 5 : 500);
        t->after[r] = pick(0, 1) ? 0 : pick(0, 20 * spread);
    }
}

static void use_ticks(struct pipeline *p, const struct ticks *t)
{
    p->forward = t->forward;
    p->backward = t->backward;
    p->send = t->send;
}

static int64_t latest_end(const struct pipeline *p, const int64_t after[])
{
    int64_t end[MOST_RANKS], latest = 0;
    pipeline_run(p, end);
    for (int r = 0; r < p->pp; r++)
        latest = end[r] + after[r] > latest ? end[r] + after[r] : latest;
    return latest;
}

static int64_t path_length(const struct pipeline *p, const struct path *x, const struct ticks *t)
{
    int64_t sum = x->constant + t->after[x->end_rank];
    for (int i = 0; i < p->pp * p->vpp; i++)
        sum += x->forward[i] * t->forward[i] + x->backward[i] * t->backward[i];
    return sum;
}

static void path_is_as_long_as_the_step(void **state)
{
    (void)state;
    struct arena mem;
    arena_init(&mem);
    for (int i = 0; i < 3000; i++) {
        struct pipeline p;
        struct ticks own, other;
        struct path path;
        random_schedule(&p, MOST_RANKS, MOST_CHUNKS);
        random_ticks(&p, &own);
        use_ticks(&p, &own);
        critical_path(&p, own.after, &mem, &path);
        assert_int_equal(path_length(&p, &path, &own), latest_end(&p, own.after));
        for (int k = 0; k < 5; k++) {
            random_ticks(&p, &other);
            memcpy(other.send, own.send, sizeof other.send);
            use_ticks(&p, &other);
            assert_true(path_length(&p, &path, &other) <= latest_end(&p, other.after));
        }
        arena_clear(&mem);
    }
    arena_release(&mem);
}

/* --- splits ------------------------------------------------------------------------------- */

enum { RANKS = 6, CHUNKS = 2, LAYERS = 14 };

struct rank_entry {
    bool fits;
    int64_t forward[CHUNKS], backward[CHUNKS], delay, after, behind;
};

/* Costs out of a hat. */
struct abstract {
    struct assign_problem problem;
    int64_t send[RANKS];
    int least[RANKS], most[RANKS];
    struct rank_entry entry[RANKS][LAYERS + 1][LAYERS + 1]; /* by first layer and count */
    uint16_t start_of[LAYERS + 1];
};

static bool cost_of(void *context, int rank, int first, int count, struct rank_cost *out)
{
    const struct abstract *a = context;
    const struct rank_entry *e = &a->entry[rank][first][count];
    *out = (struct rank_cost){e->forward, e->backward, e->delay, e->after, e->behind};
    return e->fits;
}

static int64_t step_of(void *context, const int layers[], int64_t *pipeline)
{
    const struct abstract *a = context;
    struct pipeline p = a->problem.pipeline;
    struct ticks t;
    int64_t behind = 0, late = 0, fill = 0;
    for (int r = 0, first = 0; r < p.pp; first += layers[r++]) {
        const struct rank_entry *e = &a->entry[r][first][layers[r]];
        if (!e->fits)
            return INT64_MAX;
        for (int v = 0; v < p.vpp; v++) {
            t.forward[v * p.pp + r] = e->forward[v];
            t.backward[v * p.pp + r] = e->backward[v];
        }
        t.after[r] = e->after;
        behind = e->behind > behind ? e->behind : behind;
        if (p.vpp == 1)
            late += e->delay;
        else
            late = e->delay - fill > late ? e->delay - fill : late;
        fill += e->forward[0] + p.send[r];
    }
    p.forward = t.forward;
    p.backward = t.backward;
    *pipeline = latest_end(&p, t.after);
    return late + *pipeline + behind + a->problem.fixed;
}

struct habits {
    int unit[RANKS]; /* ticks of a layer on each rank */
    bool wild;       /* costs that do not grow with the layers */
    bool edges;      /* delay, after and behind */
    int misfits;     /* percent */
};

static void random_entry(const struct pipeline *p, const struct habits *h, int rank, int count,
                         struct rank_entry *e)
{
    int unit = h->unit[rank], layers = h->wild ? pick(0, LAYERS) : count;
    memset(e, 0, sizeof *e);
    e->fits = pick(1, 100) > h->misfits;
    for (int v = 0; v < p->vpp; v++) {
        e->forward[v] = layers * unit / p->vpp + pick(0, unit);
        e->backward[v] = 2 * layers * unit / p->vpp + pick(0, unit);
    }
    if (!h->edges)
        return;
    e->delay = pick(0, 3 * unit);
    e->after = pick(0, 1) ? layers * unit : pick(0, 20 * unit);
    e->behind = pick(0, 1) ? layers * unit : pick(0, 20 * unit);
}

static void random_entries(struct abstract *a)
{
    const struct assign_problem *p = &a->problem;
    struct habits h = {
        .wild = pick(0, 3) == 0, .edges = pick(0, 3) > 0, .misfits = pick(0, 1) ? 0 : pick(1, 40)};
    for (int r = 0; r < p->pipeline.pp; r++)
        h.unit[r] = pick(1, 3) * (pick(0, 1) ? 1 : 40);
    for (int r = 0; r < p->pipeline.pp; r++)
        for (int first = 0; first <= p->layers; first++)
            for (int n = 0; first + n <= p->layers; n++)
                if (!p->start_of && first > 0)
                    a->entry[r][first][n] = a->entry[r][0][n];
                else if (p->start_of && a->start_of[first] < first)
                    a->entry[r][first][n] = a->entry[r][a->start_of[first]][n];
                else
                    random_entry(&p->pipeline, &h, r, n, &a->entry[r][first][n]);
}

static void random_abstract(struct abstract *a)
{
    struct assign_problem *p = &a->problem;
    memset(p, 0, sizeof *p);
    random_schedule(&p->pipeline, RANKS, CHUNKS);
    p->pipeline.send = a->send;
    p->layers = pick(1, LAYERS);
    p->least = a->least;
    p->most = a->most;
    p->edges = true;
    p->fixed = pick(0, 1) ? 0 : pick(0, 1000);
    for (int i = 0; i <= p->layers; i++) /* some begin like an earlier one */
        a->start_of[i] = (uint16_t)(i > 0 && pick(0, 2) == 0 ? a->start_of[i - 1] : i);
    p->start_of = pick(0, 1) ? NULL : a->start_of;
    p->cost = cost_of;
    p->step = step_of;
    p->context = a;
    for (int r = 0; r < p->pipeline.pp; r++) {
        a->send[r] = pick(0, pick(0, 1) ? 3 : 60);
        a->least[r] = pick(0, 1) ? 0 : pick(0, 2);
        a->most[r] = a->least[r] + pick(0, LAYERS);
    }
    random_entries(a);
}

struct all_splits {
    int layers[RANKS];
    int64_t best;
    long splits;
};

static void try_splits(struct abstract *a, struct all_splits *all, int rank, int left)
{
    int64_t pipeline;
    if (rank == a->problem.pipeline.pp) {
        int64_t step = left == 0 ? step_of(a, all->layers, &pipeline) : INT64_MAX;
        all->best = step < all->best ? step : all->best;
        all->splits += left == 0;
        return;
    }
    for (int n = a->least[rank]; n <= a->most[rank] && n <= left; n++) {
        all->layers[rank] = n;
        try_splits(a, all, rank + 1, left - n);
    }
}

/* Where the optimum is not below the cut there is no answer. */
static void must_find(struct abstract *a, int64_t best, int64_t cut)
{
    struct arena mem;
    struct assign_result r;
    int64_t want = best < cut ? best : INT64_MAX, pipeline;
    arena_init(&mem);
    assign_run(&a->problem, cut, &mem, &r);
    assert_int_equal(r.step, want);
    assert_true(r.proven);
    assert_int_equal(r.bound, want);
    if (want < INT64_MAX)
        assert_int_equal(step_of(a, r.layers, &pipeline), want);
    int64_t bound = assign_bound(&a->problem, cut, &mem);
    if (!(bound <= best || (bound == INT64_MAX && best >= cut))) {
        const struct pipeline *q = &a->problem.pipeline;
        fail_msg("bound %lld above %lld, cut %lld: pp %d vpp %d group %d micro-batches %lld %s",
                 (long long)bound, (long long)best, (long long)cut, q->pp, q->vpp, q->group,
                 (long long)q->micro_batches, q->blocking_send ? "blocking" : "");
    }
    arena_release(&mem);
}

static void splits_equal_enumeration(void **state)
{
    enum { PROBLEMS = 4000 };
    static struct abstract a;
    int answered = 0, interleaved = 0;
    long splits = 0;
    (void)state;
    for (int i = 0; i < PROBLEMS; i++) {
        struct all_splits all = {.best = INT64_MAX};
        random_abstract(&a);
        try_splits(&a, &all, 0, a.problem.layers);
        must_find(&a, all.best, INT64_MAX);
        if (all.best < INT64_MAX)
            for (int more = -1; more <= 2; more++)
                must_find(&a, all.best, all.best + more);
        splits += all.splits;
        answered += all.best < INT64_MAX;
        interleaved += all.best < INT64_MAX && a.problem.pipeline.vpp > 1;
    }
    print_message("%d of %d problems have an answer, %d of them interleaved, %ld splits\n",
                  answered, PROBLEMS, interleaved, splits);
    assert_true(answered > PROBLEMS / 2 && interleaved > PROBLEMS / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(path_is_as_long_as_the_step),
        cmocka_unit_test(splits_equal_enumeration),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
