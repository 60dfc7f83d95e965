/* Jobs on several groups of nodes: against the same job on one group, by hand, and what `estimate`
 * and `explain` make of such a pool. */
#include "asked.h"
#include "probe/answer.h"
#include "probe/probe.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "scene.h"

static struct strategy strategy_of(int tp, int pp, int dp, int global_batch)
{
    struct strategy s;
    strategy_init(&s);
    s.tp = tp;
    s.pp = pp;
    s.dp = dp;
    s.global_batch = global_batch;
    s.seq_len = 2048;
    return s;
}

/* The scene on all groups of the cluster, with the pipeline's ranks dealt out as given. */
static struct scene mixed_scene(struct mesh_list *meshes, const int *stages)
{
    struct scene sc = scene();
    *meshes = (struct mesh_list){.count = cluster.groups};
    for (int g = 0; g < cluster.groups; g++)
        meshes->mesh[g] = (struct mesh){.group = &cluster.group[g], .stages = stages[g]};
    sc.meshes = meshes;
    sc.cluster = &cluster;
    return sc;
}

static void must_be_same(const struct plan *a, const struct plan *b)
{
    assert_true(a->computed && b->computed);
    assert_true(a->step_s == b->step_s);
    assert_true(a->gpus == b->gpus && a->mfu == b->mfu && a->usd_per_hour == b->usd_per_hour);
    assert_true(a->limit_bytes == b->limit_bytes && a->busiest == b->busiest);
    for (int i = 0; i < BREAKDOWN_PARTS; i++)
        assert_true(a->breakdown[i] == b->breakdown[i]);
    for (int r = 0; r < a->stages; r++) {
        assert_true(a->stage[r].device_bytes == b->stage[r].device_bytes);
        assert_true(a->stage[r].peak_bytes == b->stage[r].peak_bytes);
        assert_true(a->stage[r].forward_s == b->stage[r].forward_s);
        assert_true(a->stage[r].idle_s == b->stage[r].idle_s);
        assert_memory_equal(&a->stage[r].memory, &b->stage[r].memory, sizeof a->stage[r].memory);
    }
}

/* Two groups of alike nodes are one group, to the last bit. */
static void alike_groups_are_one(void **state)
{
    static const struct {
        const char *model, *one, *two;
        int tp, pp, vpp, dp, stages[2];
    } cases[] = {
        {"llama3-8b", "4x8:H100", "2x8:H100,2x8:H100", 2, 4, 1, 4, {2, 2}},
        {"llama3-8b", "4x8:H100", "1x8:H100,3x8:H100", 1, 8, 2, 4, {2, 6}},
        {"llama3-8b", "4x8:H100", "3x8:H100,1x8:H100", 4, 8, 1, 1, {6, 2}},
        {"llama3.2-1b", "4x8:A100", "2x8:A100,2x8:A100", 1, 2, 1, 16, {1, 1}},
        {"mixtral-8x7b", "4x8:H100", "2x8:H100,2x8:H100", 1, 4, 2, 8, {2, 2}},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
        for (int sharded = 0; sharded < 2; sharded++) {
            struct strategy s = strategy_of(cases[i].tp, cases[i].pp, cases[i].dp, 128);
            struct mesh_list meshes;
            struct plan one, two;
            s.vpp = cases[i].vpp;
            s.dist_opt = s.overlap_grad_reduce = s.overlap_param_gather = sharded;
            load(cases[i].model, cases[i].one);
            struct scene sc = scene();
            plan_evaluate(&sc, &s, NULL, &mem, &one);
            load(cases[i].model, cases[i].two);
            sc = mixed_scene(&meshes, cases[i].stages);
            plan_evaluate(&sc, &s, NULL, &mem, &two);
            must_be_same(&one, &two);
        }
    arena_release(&mem);
}

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b));
}

/* One micro-batch on two stages, A100 then H100: forward there, backward back, nothing overlaps. */
static void two_stages_by_hand(void **state)
{
    static const int stages[] = {1, 1};
    struct strategy s = strategy_of(1, 2, 1, 1);
    struct mesh_list meshes;
    struct layer_costs slow, fast;
    struct layout layout;
    struct plan p;
    (void)state;
    load("llama3-8b", "1x1:A100,1x1:H100");
    struct scene sc = mixed_scene(&meshes, stages);
    struct scene on_slow = scene_on(&sc, &cluster.group[0]);
    struct scene on_fast = scene_on(&sc, &cluster.group[1]);
    layer_costs_of(&on_slow, &s, &slow);
    layer_costs_of(&on_fast, &s, &fast);
    must(layout_parse(&layout, "Et*10|t*22L", &model, &s, NULL), &(struct error){0});
    plan_evaluate(&sc, &s, &layout, &mem, &p);
    double f[] = {10 * slow.kind[0].forward_s + slow.embedding.forward_s,
                  22 * fast.kind[0].forward_s + fast.head.forward_s};
    double b[] = {10 * slow.kind[0].backward_s + slow.embedding.backward_s,
                  22 * fast.kind[0].backward_s + fast.head.backward_s};
    for (int r = 0; r < 2; r++) {
        assert_true(near(p.stage[r].forward_s, f[r]) && near(p.stage[r].backward_s, b[r]));
        assert_ptr_equal(p.stage[r].group, &cluster.group[r]);
    }
    struct partition *partition = partition_new(&sc, &s, &layout, &mem, NULL);
    double send = (double)partition->send[0] / TICKS_PER_S, post = transfer_fixed_s(partition, &s);
    double want =
        f[0] + f[1] + b[0] + b[1] + 2 * send + 4 * post + p.breakdown[BREAKDOWN_optimizer];
    assert_true(fabs(p.step_s - want) < 1e-9);
    assert_true(p.stage[0].limit_bytes == 0.96 * cluster.group[0].usable_bytes);
    assert_true(p.stage[1].limit_bytes == 0.96 * cluster.group[1].usable_bytes);
    double peak = cluster.group[0].gpu->bf16_tflops + cluster.group[1].gpu->bf16_tflops;
    assert_true(near(p.mfu, 2 * p.tflops_per_gpu / peak));

    /* A link of 1 Gbit/s carries 2048 x 4096 numbers of 2 bytes in 0.134 s, each way. */
    cluster.links = 1;
    cluster.link[0] = (struct group_link){1, 0, 1e9 / 8};
    struct plan linked;
    plan_evaluate(&sc, &s, &layout, &mem, &linked);
    assert_true(fabs(linked.step_s - p.step_s - 2 * (16777216.0 / 125e6 - send)) < 1e-9);
    arena_release(&mem);
}

/* Queries */

struct bench {
    struct asked query;
    struct estimate_query asked;
    struct plan plan;
};

/* `sets` ends with NULL. */
static void ask(struct bench *b, const char *pool, const char *const *sets)
{
    struct error err = {0};
    asked_init(&b->query);
    must(asked_set(&b->query, "model", "llama3-8b", &err) &&
             asked_set(&b->query, "cluster", pool, &err),
         &err);
    for (; *sets; sets++)
        must(asked_set(&b->query, "set", *sets, &err), &err);
    must(asked_estimate(&b->query, &b->asked, &err), &err);
    plan_evaluate(&b->asked.scene, &b->asked.strategy, b->asked.layout, &b->query.mem, &b->plan);
}

static void stages_are_dealt_out(void **state)
{
    static const struct {
        const char *pool, *sets[4];
        bool placed;
        int meshes, stages[3];
        const char *reason; /* the first; NULL = none */
    } cases[] = {
        {"4x8:H100", {"pp=4", NULL}, true, 0, {0}, NULL},
        {"2x8:A100,2x8:H100", {"pp=4", NULL}, true, 2, {2, 2}, NULL},
        {"1x8:A100,2x8:H100,1x4:L40S", {"pp=7", NULL}, true, 3, {2, 4, 1}, NULL},
        {"2x8:H100,2x8:H100", {"pp=2", "tp=4", NULL}, true, 2, {1, 1}, NULL},
        {"2x8:A100,2x8:H100", {"pp=1", NULL}, false, 2, {0}, "stage 0 straddles group 1 (16 "},
        {"3x4:A100,3x4:H100", {"pp=3", NULL}, false, 2, {0}, "stage 1 straddles group 1 (12 "},
        {"1x8:A100,1x8:L40S,1x8:H100", {"pp=1", NULL}, false, 3, {0}, "stage 0 straddles group 1"},
        {"2x8:A100,2x8:H100", {"pp=2", "dp=8", NULL}, true, 1, {2}, "tp 1 x cp 1 x pp 2 x dp 8"},
        {"2x8:A100,2x8:H100", {"pp=4", "dp=16", NULL}, false, 2, {0}, "tp 1 x cp 1 x pp 4 x dp 16"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct bench b;
        ask(&b, cases[i].pool, cases[i].sets);
        const struct mesh_list *l = b.asked.scene.meshes;
        assert_int_equal(b.asked.placed, cases[i].placed);
        assert_int_equal(l ? l->count : 0, cases[i].meshes);
        for (int g = 0; l && g < l->count; g++)
            assert_int_equal(l->mesh[g].stages, cases[i].stages[g]);
        assert_int_equal(b.asked.reasons.count > 0, cases[i].reason != NULL);
        if (cases[i].reason)
            assert_non_null(strstr(b.asked.reasons.text[0], cases[i].reason));
        if (!cases[i].placed)
            assert_false(b.plan.computed);
        asked_release(&b.query);
    }
}

/* Moves of a fix leave the stages where they are. */
static void trials_keep_the_stages(void **state)
{
    static const char *const sets[] = {"pp=4", "tp=2", NULL};
    struct bench b;
    struct trials t;
    int64_t step;
    (void)state;
    ask(&b, "2x8:A100,2x8:H100", sets);
    trials_init(&t, &b.asked, &b.query.mem);
    struct strategy s = b.asked.strategy;
    assert_true(trials_try(&t, &s, &step));
    s.tp = 4; /* the same GPUs, split otherwise */
    s.dp /= 2;
    s.global_batch = s.dp;
    assert_true(trials_try(&t, &s, &step));
    s = b.asked.strategy;
    s.pp = 8;
    s.dp /= 2;
    assert_false(trials_try(&t, &s, &step));
    trials_release(&t);
    asked_release(&b.query);
}

static int layers_of(const struct plan *p)
{
    int sum = 0;
    for (int r = 0; r < p->stages; r++)
        sum += p->stage[r].layers;
    return sum;
}

static void mixtures_compare(void **state)
{
    static const char *const sets[] = {"pp=4", "tp=2", "vpp=2", "global_batch=64", NULL};
    struct bench b;
    (void)state;
    ask(&b, "2x8:A100,2x8:H100", sets);
    const struct plan *p = &b.plan;
    const struct comparison *m = comparison_of(&b.query.query, &b.asked, p, &b.query.mem);
    assert_non_null(m);
    for (int r = 0; r < p->stages; r++) {
        const struct plan *then = m->more[r].plan;
        assert_int_equal(layers_of(then), 32);
        assert_int_equal(then->stage[r].layers, p->stage[r].layers + 1);
        assert_int_equal(then->stage[m->more[r].from].layers, p->stage[m->more[r].from].layers - 1);
        assert_true(m->more[r].seconds > 0);
    }
    for (int i = 0; i < COMPARISON_SPLITS; i++)
        assert_int_equal(layers_of(m->split[i].plan), 32);
    assert_true(m->split[0].plan->step_s == p->step_s); /* the plan is even itself */
    assert_true(m->split[1].plan->stage[3].layers > m->split[1].plan->stage[0].layers);
    assert_true(m->split[1].plan->step_s < p->step_s);
    assert_int_equal(m->groups, 2);
    for (int g = 0; g < 2; g++) {
        assert_ptr_equal(m->alone[g].plan->group, &b.query.query.cluster.group[g]);
        assert_true(m->alone[g].plan->feasible && m->alone[g].plan->gpus <= 16);
        assert_int_equal(m->alone[g].plan->strategy.global_batch, 64);
    }
    asked_release(&b.query);
    ask(&b, "2x8:H100", sets);
    assert_null(comparison_of(&b.query.query, &b.asked, &b.plan, &b.query.mem));
    asked_release(&b.query);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alike_groups_are_one), cmocka_unit_test(two_stages_by_hand),
        cmocka_unit_test(stages_are_dealt_out), cmocka_unit_test(trials_keep_the_stages),
        cmocka_unit_test(mixtures_compare),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
