/* params.def says of each parameter which costs look at it, and a search believes it: what is
 * computed once for many strategies would be wrong for some of them. Every parameter of many
 * strategies is given other values, and what changes is held against the table. */
#include "base/arena.h"
#include "cluster/cluster.h"
#include "simulate/partition.h"
#include "strategy/space.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "random.h"
#include "scene.h"

/* Together they switch on what a parameter needs to have an effect. */
static const struct base {
    const char *model, *pool;
    bool te;
    const char *set; /* blank-separated, as for --set */
} BASES[] = {
    {"llama3-8b", "8x8:H100", true, "tp=2 pp=4 dp=4 micro_batch=2 vpp=2"},
    {"llama3-8b", "8x8:H100", true, "tp=2 cp=2 pp=4 dp=4 seq_parallel=on vpp=2 loss_fusion=on"},
    {"llama3-8b", "8x8:A100", false, "tp=2 pp=4 dp=4 attention=unfused p2p_scatter=on"},
    {"llama3-8b", "8x8:H100", true, "tp=4 pp=4 dp=4 split=ends first_layers=7 last_layers=9"},
    {"llama3-8b", "8x8:H100", true,
     "tp=2 dp=4 dist_opt=on precision_aware=on recompute=full recompute_method=block"},
    {"llama3-8b", "8x8:H100", true,
     "tp=2 dp=4 precision=fp8 dist_opt=on recompute=full recompute_method=uniform "
     "recompute_layers=2"},
    {"llama3.2-1b", "8x8:H100", true, "pp=2 dp=8 recompute=selective fsdp=optim_grads_params"},
    {"llama3.2-1b", "1x8:H100", true, "tp=8 seq_len=256"},
    {"llama3.2-1b", "2x8:H100", false, "engine=fsdp2 dp=16 dist_opt=on fsdp=optim_grads_params"},
    {"llama3.2-1b", "2x8:H100", false,
     "engine=zero3 dp=16 dist_opt=on fsdp=optim_grads_params optimizer_offload=100"},
    {"mixtral-8x7b", "8x8:H100", true,
     "tp=2 pp=2 dp=8 ep=4 etp=2 dispatcher=alltoall grouped_gemm=on"},
    {"mixtral-8x7b", "8x8:H100", true, "dp=8 ep=8 recompute=selective recompute_modules=moe"},
    {"deepseek-v3", "64x8:B200", true,
     "tp=2 pp=8 dp=16 ep=16 dispatcher=alltoall grouped_gemm=on precision=fp8 split=uneven"},
    {"deepseek-v2", "64x8:H100", true,
     "cp=2 pp=4 dp=32 ep=32 dispatcher=flex recompute=selective recompute_modules=mla_up_proj"},
};

static struct arena scratch; /* of one value */

/* What a search computes step by step. */
struct parts {
    struct layer_costs costs;
    struct partition *partition; /* NULL: the layers cannot be split that way */
    struct pass_times pass_times;
    struct state state;
    double fullness;
    int64_t step;
};

static struct strategy strategy_of(const char *set)
{
    struct strategy s;
    struct error err = {0};
    char name[64], value[64];
    strategy_init(&s);
    s.global_batch = 128;
    s.seq_len = 4096;
    while (*set) {
        size_t n = strcspn(set, "="), m = strcspn(set + n + 1, " ");
        int at;
        snprintf(name, sizeof name, "%.*s", (int)n, set);
        snprintf(value, sizeof value, "%.*s", (int)m, set + n + 1);
        int p = param_find(name);
        assert_true(p >= 0);
        must(param_parse((enum param)p, value, &at, &err), &err);
        strategy_set(&s, (enum param)p, at);
        set += n + 1 + m;
        set += strspn(set, " ");
    }
    return s;
}

static void costs_of(const struct scene *sc, const struct strategy *s, struct parts *out)
{
    memset(&out->costs, 0, sizeof out->costs);
    layer_costs_of(sc, s, &out->costs);
}

/* Pass times and states on a partition, of this strategy or of one that shares it. */
static void run_on(const struct partition *f, const struct strategy *s, struct arena *to,
                   struct parts *out)
{
    pass_times_of(f, s, to, &out->pass_times);
    pass_times_memory(f, s, to, &out->pass_times);
    pass_times_stages(f, s, to, &out->pass_times);
    pass_times_run(f, s, to, &out->pass_times);
    state_of(f, s, to, &out->state);
    state_times(f, s, to, &out->state);
    out->fullness = partition_fullness(f, &out->pass_times, &out->state);
    out->step = partition_step(f, s, &out->pass_times, &out->state);
}

static struct parts *parts_of(const struct scene *sc, const struct strategy *s, struct arena *to)
{
    struct parts *x = arena_alloc(to, sizeof *x);
    costs_of(sc, s, x);
    x->partition = partition_new(sc, s, NULL, to, NULL);
    if (x->partition)
        run_on(x->partition, s, to, x);
    return x;
}

#define SAME(a, b, n) (memcmp((a), (b), (size_t)(n) * sizeof *(a)) == 0)

static bool same_costs(const struct parts *a, const struct parts *b)
{
    return SAME(&a->costs, &b->costs, 1);
}

static bool same_partition(const struct partition *f, const struct partition *g)
{
    if (!f || !g)
        return f == g;
    if (f->layout.stages != g->layout.stages || f->micro_batches != g->micro_batches ||
        f->shapes != g->shapes || f->classes != g->classes)
        return false;
    for (int c = 0; c < f->classes; c++)
        if (f->class[c].rank != g->class[c].rank ||
            !SAME(&f->class[c].params, &g->class[c].params, 1))
            return false;
    return SAME(f->layout.layers, g->layout.layers, f->layout.stages) &&
           SAME(f->sums, g->sums, f->shapes) && SAME(f->send, g->send, f->strategy.pp);
}

static bool same_passes(const struct partition *f, const struct pass_times *a,
                        const struct pass_times *b)
{
    return SAME(a->stage_forward, b->stage_forward, f->layout.stages) &&
           SAME(a->stage_backward, b->stage_backward, f->layout.stages) &&
           SAME(a->activations, b->activations, f->classes) &&
           SAME(a->temporary, b->temporary, f->classes) && SAME(a->end, b->end, f->strategy.pp);
}

static bool same_state(const struct partition *f, const struct state *a, const struct state *b)
{
    return SAME(a->bytes, b->bytes, f->classes) && SAME(a->step_bytes, b->step_bytes, f->classes) &&
           SAME(a->setup_bytes, b->setup_bytes, f->classes) &&
           SAME(a->host_bytes, b->host_bytes, f->classes) &&
           SAME(a->reduce_s, b->reduce_s, f->classes) &&
           SAME(a->gather_s, b->gather_s, f->classes) &&
           SAME(a->optimizer_s, b->optimizer_s, f->classes) &&
           SAME(a->shard_s, b->shard_s, f->classes) &&
           SAME(a->shard_back_s, b->shard_back_s, f->classes) && a->tied_s == b->tied_s &&
           a->stretch == b->stretch;
}

/* What a change of one parameter was seen to change, and on what it was allowed to. */
static bool seen[PARAMS][COSTS_NOTHING];

static void must_not(bool changed, enum param p, enum param_costs costs, const struct base *b,
                     int value)
{
    static const char *const words[] = {"layer costs", "partition", "pass times", "state"};
    const struct param_info *info = param_info(p);
    bool may = costs == COSTS_LAYER    ? info->costs == COSTS_LAYER
               : costs == COSTS_STAGES ? info->costs <= COSTS_STAGES
                                       : info->costs <= COSTS_STAGES || info->costs == costs;
    if (changed && !may)
        fail_msg("%s=%d changes the %s of %s, %s: params.def says it does not", info->name, value,
                 words[costs], b->model, b->set);
    seen[p][costs] |= changed;
}

/* What a search takes from another strategy must be what the strategy has itself. */
static void shares_well(const struct parts *before, const struct parts *after,
                        const struct strategy *s, enum param p, const struct base *b, int value)
{
    struct parts *shared = arena_alloc(&scratch, sizeof *shared);
    const struct partition *f = before->partition;
    run_on(f, s, &scratch, shared);
    if (shared->step != after->step || shared->fullness > after->fullness * (1 + 1e-12) ||
        shared->fullness < after->fullness * (1 - 1e-12))
        fail_msg("%s=%d of %s, %s: a step of %lld ps, on a shared partition %lld ps, %.6g of "
                 "memory and %.6g",
                 param_info(p)->name, value, b->model, b->set, (long long)after->step,
                 (long long)shared->step, after->fullness, shared->fullness);
    must_not(!same_passes(f, &before->pass_times, &shared->pass_times), p, COSTS_PASSES, b, value);
    bool step = param_info(p)->costs == COSTS_STATE && before->step != shared->step;
    must_not(step || !same_state(f, &before->state, &shared->state), p, COSTS_STATE, b, value);
}

/* A layout would need its string; rules keep groups of micro-batches within what a schedule has. */
static bool can_run(const struct strategy *s)
{
    int group = s->micro_batch_group;
    int64_t rest = strategy_micro_batches(s) % (group ? group : s->pp);
    bool interleaves = s->vpp == 1 || rest == 0 || rest >= s->pp;
    return s->split != SPLIT_LAYOUT && interleaves &&
           (group == 0 || group == s->pp || group == 2 * s->pp);
}

static void vary(const struct base *b, const struct scene *sc, const struct strategy *base,
                 const struct parts *before, enum param p, int value)
{
    struct strategy s = *base;
    strategy_set(&s, p, value);
    if (!can_run(&s))
        return;
    arena_clear(&scratch);
    const struct parts *after = parts_of(sc, &s, &scratch);
    must_not(!same_costs(before, after), p, COSTS_LAYER, b, value);
    bool same = same_partition(before->partition, after->partition);
    must_not(!same, p, COSTS_STAGES, b, value);
    if (param_info(p)->costs > COSTS_STAGES)
        shares_well(before, after, &s, p, b, value);
}

/* Small numbers, every word, some sets. */
static int values_of(enum param p, int out[], int most)
{
    static const int numbers[] = {0, 1, 2, 3, 4, 6, 8, 16, 25, 64, 100, 256, 8192};
    const struct param_info *info = param_info(p);
    int n = 0;
    for (size_t i = 0; i < COUNT(numbers) && n < most; i++)
        if (numbers[i] >= info->lo && numbers[i] <= info->hi)
            out[n++] = numbers[i];
    return n;
}

static void vary_all(const struct base *b, const struct strategy *base)
{
    arena_clear(&mem);
    load(b->model, b->pool);
    struct scene sc = scene();
    sc.te = b->te;
    const struct parts *before = parts_of(&sc, base, &mem);
    for (int p = 0; p < PARAMS && before->partition; p++) {
        int value[16], n = values_of((enum param)p, value, 16);
        for (int k = 0; k < n; k++)
            vary(b, &sc, base, before, (enum param)p, value[k]);
    }
}

/* Some of the parameters otherwise: an effect may need two of them. */
static struct strategy mutated(const struct strategy *base)
{
    struct strategy s;
    do {
        s = *base;
        for (int p = PARAM_FIRST_PARTITION; p < PARAMS; p++) {
            int value[16], n = values_of((enum param)p, value, 16);
            if (pick(0, 3) == 0)
                strategy_set(&s, (enum param)p, value[pick(0, n - 1)]);
        }
    } while (!can_run(&s));
    return s;
}

static void costs_look_where_the_table_says(void **state)
{
    enum { MUTATIONS = 8 };
    (void)state;
    for (size_t i = 0; i < COUNT(BASES); i++) {
        struct strategy base = strategy_of(BASES[i].set);
        vary_all(&BASES[i], &base);
        for (int k = 0; k < MUTATIONS; k++) {
            struct strategy s = mutated(&base);
            vary_all(&BASES[i], &s);
        }
    }
    for (int p = 0; p < PARAMS; p++) {
        enum param_costs costs = param_info((enum param)p)->costs;
        if (costs < COSTS_NOTHING && !seen[p][costs])
            fail_msg("%s changed nothing of what params.def says it changes first",
                     param_info((enum param)p)->name);
    }
}

/* A level of the search shares all that earlier levels computed. */
static void levels_come_after_their_costs(void **state)
{
    (void)state;
    for (int p = 0; p < PARAMS; p++) {
        enum param_costs costs = param_info((enum param)p)->costs;
        if (p >= PARAM_FIRST_STATE)
            assert_true(costs >= COSTS_STATE);
        else if (p >= PARAM_FIRST_PASS_TIMES)
            assert_true(costs == COSTS_PASSES || costs == COSTS_NOTHING);
        else
            assert_true(costs != COSTS_STATE);
    }
}

static int level_of(int p)
{
    return (p >= PARAM_FIRST_CELL) + (p >= PARAM_FIRST_PART) + (p >= PARAM_FIRST_PARTITION) +
           (p >= PARAM_FIRST_PASS_TIMES) + (p >= PARAM_FIRST_STATE);
}

/* Each parameter is bound once, together with parameters of its own level. */
static void axes_have_every_parameter(void **state)
{
    struct setting settings[PARAMS] = {{0}};
    struct strategy base = strategy_of("");
    struct space space;
    int bound[PARAMS] = {0};
    (void)state;
    arena_clear(&mem);
    load("mixtral-8x7b", "8x8:H100");
    space_init(&space, &model, &cluster.group[0], &base, settings, 64,
               (struct space_terms){STACK_TE, RELEASE_HEAD, false, false}, &mem);
    for (int i = 0; i < space.axes; i++)
        for (int j = 0; j < space.axis[i].params; j++) {
            int p = space.axis[i].param[j], level = level_of(p);
            bound[p]++;
            assert_int_equal(level, level_of(space.axis[i].param[0]));
            assert_true(level < 2 || i >= space.first_part);
            assert_true(level < 3 || i >= space.first_partition);
            assert_true(level < 4 || i >= space.first_pass_times);
            assert_true((level == 5) == (i >= space.first_state));
        }
    for (int p = 0; p < PARAMS; p++)
        assert_int_equal(bound[p], 1);
}

/* Micro-batches of 3, 6, 12 ... are tried where they divide the batch. */
static void micro_batches_divide(void **state)
{
    struct setting settings[PARAMS] = {{0}};
    struct strategy base = strategy_of("");
    struct space space;
    (void)state;
    arena_clear(&mem);
    load("llama3-8b", "8x8:H100");
    base.global_batch = 96;
    space_init(&space, &model, &cluster.group[0], &base, settings, 64,
               (struct space_terms){STACK_TE, RELEASE_HEAD, false, false}, &mem);
    for (int batch = 1; batch <= 100; batch++)
        assert_int_equal(space_lists(&space, PARAM_micro_batch, batch),
                         96 % batch == 0 && batch <= 64);
}

/* Where reports and exports show it: each has a section of its flags, short names and places on the
 * page are of one parameter each, and what is shown within another's column is on its axis. */
static void reports_show_each_once(void **state)
{
    int places[PARAMS + 1] = {0}, most = 0;
    (void)state;
    for (int p = 0; p < PARAMS; p++) {
        const struct param_info *info = param_info((enum param)p);
        assert_true(info->section > SECTION_MODEL && info->section < SECTION_COUNT);
        assert_int_equal(info->shown == SHOWN_TITLE, p < PARAM_FIRST_CELL);
        assert_true(info->shown != SHOWN_WITHIN || info->axis != (enum param)p);
        assert_true(info->order == ORDER_RISING || info->kind == PARAM_ONOFF);
        for (int other = 0; other < p; other++)
            assert_string_not_equal(info->short_name, param_info((enum param)other)->short_name);
        assert_in_range(info->alternatives, 0, PARAMS);
        places[info->alternatives]++;
        most = info->alternatives > most ? info->alternatives : most;
    }
    for (int i = 1; i <= most; i++)
        assert_int_equal(places[i], 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(costs_look_where_the_table_says),
        cmocka_unit_test(levels_come_after_their_costs),
        cmocka_unit_test(axes_have_every_parameter),
        cmocka_unit_test(micro_batches_divide),
        cmocka_unit_test(reports_show_each_once),
    };
    arena_init(&mem);
    arena_init(&scratch);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    arena_release(&mem);
    arena_release(&scratch);
    return failed;
}
