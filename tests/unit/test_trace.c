/* Traces of random small plans: JSON of begins and ends that never overlap, and that add up to what
 * the plan and the event simulation say. */
#include "report/chart/trace_out.h"

#include "base/arena.h"
#include "base/json.h"
#include "base/str.h"
#include "cluster/cluster.h"
#include "random.h"
#include "simulate/events.h"
#include "simulate/partition.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "scene.h"

enum { MOST_RANKS = 8, MOST_CHUNKS = 4, MOST_MICRO_BATCHES = 32, MOST_THREADS = 64 };

static struct plan evaluate(const struct strategy *s)
{
    struct scene sc = scene();
    struct plan p;
    plan_evaluate(&sc, s, NULL, &mem, &p);
    return p;
}

/* What a trace says of one rank. Ticks. */
struct track {
    int64_t end[MOST_THREADS]; /* of the latest slice, by thread */
    bool open[MOST_THREADS];   /* between a begin and its end */
    int64_t pass_end;          /* of the latest slice of compute and communication */
    int64_t compute, busy;     /* together: of compute; of compute and communication */
    int64_t gathered;          /* end of the gather that begins the step, 0 when there is none */
    int64_t reduced;           /* end of the reduction, 0 when there is none */
    int64_t optimizer;         /* its begin */
    char around[32];           /* name of the slice that is open on the optimizer's thread */
    int forwards, backwards, again, tied, transfers;
    int collectives[2];            /* gathers and reductions beside passes */
    int64_t had[MOST_CHUNKS];      /* end of the last gather of a chunk */
    int64_t launched[MOST_CHUNKS]; /* begin of the first reduction of a chunk, 0 = none */
    int chunk;                     /* of the slice that is open on the collectives' thread */
    int64_t start[2][MOST_CHUNKS][MOST_MICRO_BATCHES]; /* first begin of a pass */
};

struct seen {
    struct track rank[MOST_RANKS];
    int processes, threads; /* that have a name */
    int64_t latest;
    const struct plan *plan;
};

static int64_t ticks_at(const struct json *event)
{
    assert_true(json_is_number(json_get(event, "ts")));
    return llround(json_number_of(json_get(event, "ts")) * 1e6);
}

static void see_name(struct seen *x, const struct json *event, int rank)
{
    const char *what = json_text(json_get(event, "name"));
    const char *name = json_text(json_get(json_get(event, "args"), "name"));
    char expected[128];
    x->threads += strcmp(what, "thread_name") == 0;
    if (strcmp(what, "process_name") != 0)
        return;
    snprintf(expected, sizeof expected, "stage %d: %s, %d layers", rank, x->plan->group->gpu->name,
             x->plan->stage[rank].layers);
    assert_string_equal(name, expected);
    x->processes++;
}

/* The first begin of a pass: that of R, where there is one. */
static void see_pass(struct track *t, const struct json *event, const char *name, int64_t at)
{
    const struct json *args = json_get(event, "args");
    int64_t micro_batch = json_integer_of(json_get(args, "micro_batch"));
    int64_t chunk = json_integer_of(json_get(args, "chunk"));
    char expected[32];
    snprintf(expected, sizeof expected, "%c%lld", name[0], (long long)micro_batch);
    assert_string_equal(name, expected);
    assert_in_range(chunk, 0, MOST_CHUNKS - 1);
    assert_in_range(micro_batch, 0, MOST_MICRO_BATCHES - 1);
    int64_t *start = &t->start[name[0] != 'F'][chunk][micro_batch];
    if (*start < 0)
        *start = at;
    t->forwards += name[0] == 'F';
    t->backwards += name[0] == 'B';
    t->again += name[0] == 'R';
}

/* Thread 3: collectives of data parallelism, one behind the other. */
static void see_collective(struct track *t, const struct json *event, const char *name, int64_t at)
{
    bool reduction = strcmp(name, "reduce") == 0;
    t->chunk = (int)json_integer_of(json_get(json_get(event, "args"), "chunk"));
    assert_true(reduction || strcmp(name, "gather") == 0);
    assert_in_range(t->chunk, 0, MOST_CHUNKS - 1);
    t->collectives[reduction]++;
    if (reduction && t->launched[t->chunk] == 0)
        t->launched[t->chunk] = at;
}

/* Threads in the order of their numbers: compute, communication, optimizer, data parallel,
 * transfers. */
static void see_begin(struct track *t, const struct json *event, int thread, int64_t at)
{
    const char *name = json_text(json_get(event, "name"));
    assert_false(t->open[thread]);
    assert_true(at >= t->end[thread]);
    assert_true(thread > 1 || at >= t->pass_end);
    if (thread == 0)
        see_pass(t, event, name, at);
    if (thread == 2)
        snprintf(t->around, sizeof t->around, "%s", name);
    if (strcmp(name, "optimizer") == 0)
        t->optimizer = at;
    t->tied += strcmp(name, "tied embeddings") == 0;
    if (thread == 3)
        see_collective(t, event, name, at);
    t->transfers += thread > 3;
    t->open[thread] = true;
    t->end[thread] = at;
}

static void see_end(struct track *t, int thread, int64_t at)
{
    int64_t length = at - t->end[thread];
    assert_true(t->open[thread] && length >= 0);
    t->compute += thread == 0 ? length : 0;
    t->busy += thread <= 1 ? length : 0;
    if (thread <= 1)
        t->pass_end = at;
    if (thread == 2 && strcmp(t->around, "parameter gather") == 0 && t->optimizer == 0)
        t->gathered = at;
    if (thread == 3 && t->launched[t->chunk] == 0)
        t->had[t->chunk] = at;
    if (thread == 2 && (strcmp(t->around, "gradient reduction") == 0 ||
                        strcmp(t->around, "FSDP collectives") == 0))
        t->reduced = at;
    t->open[thread] = false;
    t->end[thread] = at;
}

static void see_event(struct seen *x, const struct json *event)
{
    const char *phase = json_text(json_get(event, "ph"));
    int rank = (int)json_integer_of(json_get(event, "pid")) - 1;
    int thread = (int)json_integer_of(json_get(event, "tid")) - 2 * SCHEDULE_MAX_RANKS;
    assert_in_range(rank, 0, x->plan->strategy.pp - 1);
    if (strcmp(phase, "M") == 0) {
        see_name(x, event, rank);
        return;
    }
    int64_t at = ticks_at(event);
    assert_in_range(thread, 0, MOST_THREADS - 1);
    assert_true(strcmp(phase, "B") == 0 || strcmp(phase, "E") == 0);
    if (*phase == 'B')
        see_begin(&x->rank[rank], event, thread, at);
    else
        see_end(&x->rank[rank], thread, at);
    x->latest = at > x->latest ? at : x->latest;
}

static void read_trace(const struct plan *p, struct seen *x)
{
    struct error err = {0};
    struct str text;
    memset(x, 0, sizeof *x);
    x->plan = p;
    for (int r = 0; r < MOST_RANKS; r++)
        memset(x->rank[r].start, 0xff, sizeof x->rank[r].start);
    str_init(&text);
    if (!trace_print(p, &text, &err))
        fail_msg("%s", err.text);
    struct json *root = json_parse(str_text(&text), text.length, "trace", &err);
    if (!root)
        fail_msg("%s", err.text);
    const struct json *events = json_get(root, "traceEvents");
    assert_true(json_is_array(events));
    for (size_t i = 0; i < json_count(events); i++)
        see_event(x, json_at(events, i));
    json_release(root);
    str_release(&text);
}

struct judge {
    const struct seen *seen;
    int64_t delay;
    int64_t last[MOST_RANKS]; /* end of the rank's latest pass */
};

static void judge_pass(void *context, const struct event *e)
{
    struct judge *j = context;
    const struct track *t = &j->seen->rank[e->rank];
    assert_int_equal(t->start[e->backward][e->chunk][e->micro_batch], j->delay + e->start);
    j->last[e->rank] = j->delay + e->end;
}

/* The slowest gather holds up the first pass of its rank, the slowest reduction the optimizers,
 * which begin together. */
static void judge_edges(const struct seen *x, const struct step_parts *parts, const int64_t *end)
{
    int64_t reduced = 0;
    bool held_up = false;
    for (int r = 0; r < x->plan->strategy.pp; r++) {
        const struct track *t = &x->rank[r];
        int64_t done = t->reduced > 0 ? t->reduced : parts->delay + end[r];
        assert_true(t->gathered <= t->start[0][0][0]);
        held_up = held_up || t->gathered == t->start[0][0][0];
        reduced = done > reduced ? done : reduced;
        assert_int_equal(t->optimizer, parts->delay + parts->pipeline + parts->tied);
    }
    assert_true(held_up || parts->delay == 0);
    assert_int_equal(reduced, parts->delay + parts->pipeline);
}

/* With virtual stages a chunk has one gather, done when its first forward begins, and one reduction,
 * launched after its last backward began. Without, ranks behind the first have one of each. */
static void judge_collectives(const struct strategy *s, const struct track *t, int rank)
{
    bool experts = model.experts > 0 && expert_data_parallel(s) > 1;
    bool shared = (s->dp * s->cp > 1 || experts) && s->fsdp == FSDP_NONE;
    const bool beside[] = {shared && s->overlap_param_gather, shared && s->overlap_grad_reduce};
    int64_t last = strategy_micro_batches(s) - 1;
    for (int i = 0; i < 2; i++) {
        assert_true(beside[i] == (t->collectives[i] > 0));
        if (beside[i] && (s->vpp > 1 || rank > 0))
            assert_int_equal(t->collectives[i], s->vpp);
    }
    for (int v = 0; v < s->vpp && s->vpp > 1; v++) {
        assert_true(t->had[v] <= t->start[0][v][0] + 1);
        assert_true(!beside[1] || t->launched[v] > t->start[1][v][last]);
    }
}

/* Passes begin where the events do and last as long together. */
static void judge_passes(const struct plan *p, const struct seen *x)
{
    const struct strategy *s = &p->strategy;
    struct scene sc = scene();
    struct partition *f = arena_alloc(&mem, sizeof *f);
    struct layer_costs *costs = arena_alloc(&mem, sizeof *costs);
    struct pass_times t;
    struct state st;
    struct judge j = {.seen = x};
    layer_costs_of(&sc, s, costs);
    assert_true(partition_init(f, &sc, (const struct layer_costs *const[]){costs}, s, NULL, NULL));
    pass_times_of(f, s, &mem, &t);
    pass_times_stages(f, s, &mem, &t);
    pass_times_run(f, s, &mem, &t);
    state_of(f, s, &mem, &st);
    state_times(f, s, &mem, &st);
    assert_int_equal(x->latest, partition_step(f, s, &t, &st));
    struct step_parts parts = partition_parts(f, s, &t, &st);
    judge_edges(x, &parts, t.end);
    j.delay = parts.delay;
    struct pipeline pipe = pass_times_pipeline(f, s, &t);
    assert_true(events_run(&pipe, judge_pass, &j) >= 0);
    for (int r = 0; r < s->pp; r++) {
        int c = f->class_of[r];
        assert_int_equal(x->rank[r].pass_end, j.last[r]);
        assert_int_equal(x->rank[r].busy,
                         f->micro_batches * (t.rank_forward[c] + t.rank_backward[c]));
        double compute_s = p->stage[r].compute_step_s - st.optimizer_s[c];
        double passes = 2.0 * s->vpp * (double)f->micro_batches; /* each rounded to a tick */
        assert_true(fabs((double)x->rank[r].compute - compute_s * TICKS_PER_S) <= passes + 1);
    }
}

static void judge_trace(const struct plan *p)
{
    const struct strategy *s = &p->strategy;
    static struct seen x;
    int micro_batches = (int)strategy_micro_batches(s), passes = micro_batches * s->vpp;
    read_trace(p, &x);
    assert_int_equal(x.processes, s->pp);
    assert_true(x.threads >= (s->pp > 1 ? 4 : 3) * s->pp);
    assert_true(fabs((double)x.latest - p->step_s * TICKS_PER_S) <= 1);
    for (int r = 0; r < s->pp; r++) {
        const struct track *t = &x.rank[r];
        bool ends = r == 0 || r == s->pp - 1;
        assert_int_equal(t->forwards, passes);
        assert_int_equal(t->backwards, passes);
        assert_true(t->again == 0 || (t->again == passes && s->recompute != RECOMPUTE_NONE));
        judge_collectives(s, t, r);
        assert_int_equal(t->tied, model.tied && s->pp > 1 && ends);
        assert_int_equal(t->transfers, s->pp == 1 ? 0 : 2 * passes - (ends ? micro_batches : 0));
    }
    judge_passes(p, &x);
}

static struct strategy random_strategy(void)
{
    struct strategy s;
    strategy_init(&s);
    s.tp = 1 << pick(0, 2);
    s.pp = 1 << pick(0, 3);
    s.dp = 1 << pick(0, 2);
    s.cp = 1 << pick(0, 1);
    s.ep = model.experts > 0 ? 1 << pick(0, 1) : 1;
    s.vpp = s.pp > 1 ? 1 << pick(0, 2) : 1;
    s.micro_batch = pick(1, 2);
    s.global_batch = s.micro_batch * s.dp * s.pp * pick(1, MOST_MICRO_BATCHES / s.pp);
    s.seq_len = 512 << pick(0, 2);
    s.seq_parallel = s.tp > 1 && pick(0, 1);
    s.p2p_overlap = pick(0, 1);
    s.tp_overlap = pick(0, 1);
    s.moe_overlap = pick(0, 1);
    s.recompute = pick(RECOMPUTE_NONE, RECOMPUTE_FULL);
    s.recompute_modules = s.recompute == RECOMPUTE_SELECTIVE ? MODULE_CORE_ATTN | MODULE_MLP : 0;
    s.recompute_method = s.recompute == RECOMPUTE_FULL ? pick(METHOD_UNIFORM, METHOD_BLOCK) : 0;
    s.recompute_layers = s.recompute == RECOMPUTE_FULL;
    s.dist_opt = pick(0, 1);
    s.overlap_grad_reduce = pick(0, 1);
    s.overlap_param_gather = s.dist_opt && s.overlap_grad_reduce && pick(0, 1);
    s.fsdp = pick(0, 7) == 0 ? FSDP_FULL : FSDP_NONE;
    return s;
}

static void random_plans(const char *name, const char *pool)
{
    load(name, pool);
    for (int i = 0; i < 60; i++) {
        struct strategy s = random_strategy();
        struct plan p = evaluate(&s);
        if (!p.computed)
            fail_msg("%s", p.reason[0]);
        judge_trace(&p);
    }
}

static void dense_plans(void **state)
{
    (void)state;
    random_plans("layers=32,hidden=512,ffn=2048,heads=8,vocab=1024", "8x8:H100");
}

static void tied_plans(void **state)
{
    (void)state;
    random_plans("layers=32,hidden=256,ffn=1024,heads=8,vocab=32000,tied=1", "8x8:A100");
}

static void expert_plans(void **state)
{
    (void)state;
    random_plans("layers=32,hidden=256,ffn=1024,heads=8,vocab=1024,experts=8,topk=2,expert_ffn=512",
                 "8x8:H100");
}

/* Transfers that take longer than passes run side by side, on threads of their own. */
static void slow_network(void **state)
{
    (void)state;
    static struct seen x;
    random_plans("layers=32,hidden=256,ffn=512,heads=4,vocab=256", "64x1:H100@1");
    struct strategy s;
    strategy_init(&s);
    s.pp = 4;
    s.vpp = 2;
    s.p2p_overlap = 1;
    s.global_batch = 16;
    s.seq_len = 4096;
    struct plan p = evaluate(&s);
    assert_true(p.computed);
    read_trace(&p, &x);
    assert_true(x.threads > 4 * s.pp);
    s.p2p_overlap = 0;
    p = evaluate(&s);
    read_trace(&p, &x);
    assert_int_equal(x.threads, 4 * s.pp);
}

static struct strategy pipeline_of(int pp, int vpp, int global_batch)
{
    struct strategy s;
    strategy_init(&s);
    s.pp = pp;
    s.vpp = vpp;
    s.global_batch = global_batch;
    s.seq_len = 512;
    return s;
}

static void expect_refusal(const struct strategy *s, const char *words)
{
    struct plan p = evaluate(s);
    struct error err = {0};
    struct str text;
    str_init(&text);
    assert_false(trace_print(&p, &text, &err));
    assert_int_equal(err.kind, ERROR_INPUT);
    if (!strstr(err.text, words))
        fail_msg("%s", err.text);
    str_release(&text);
}

static void no_trace(void **state)
{
    (void)state;
    load("layers=8,hidden=256,ffn=512,heads=4,vocab=256", "1x8:H100");
    struct strategy s = pipeline_of(4, 1, 4 << 20);
    expect_refusal(&s, "4194304");
    s = pipeline_of(3, 1, 4);
    expect_refusal(&s, "do not divide");
    s = pipeline_of(4, 2, 3);
    expect_refusal(&s, "cannot run interleaved");
}

/* What does not fit has a step all the same. */
static void too_big_has_a_trace(void **state)
{
    (void)state;
    load("llama3-70b", "1x8:H100");
    struct strategy s = pipeline_of(8, 1, 8);
    struct plan p = evaluate(&s);
    assert_true(p.computed && !p.feasible);
    judge_trace(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dense_plans),  cmocka_unit_test(tied_plans),
        cmocka_unit_test(expert_plans), cmocka_unit_test(slow_network),
        cmocka_unit_test(no_trace),     cmocka_unit_test(too_big_has_a_trace),
    };
    arena_init(&mem);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    arena_release(&mem);
    return failed;
}
