/* Operators, memory and step time: cases computed by hand, and laws that hold for any plan. */
#include "base/arena.h"
#include "base/units.h"
#include "cluster/cluster.h"
#include "simulate/frame.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct arena mem;
static struct model model;
static struct cluster cluster;

static void load(const char *name, const char *pool)
{
    struct error err = {0};
    if (!model_load(&model, name, &mem, &err) || !cluster_load(&cluster, pool, &mem, &err))
        print_error("%s\n", err.text);
    assert_true(err.kind == ERROR_NONE);
}

static struct scene scene(void)
{
    return (struct scene){&model, &cluster.group[0], true, 0.04, 1, false};
}

static struct strategy plan_of(int tp, int pp, int dp, int micro_batch, int global_batch)
{
    struct strategy s;
    strategy_init(&s);
    s.tp = tp;
    s.pp = pp;
    s.dp = dp;
    s.micro_batch = micro_batch;
    s.global_batch = global_batch;
    s.seq_len = 2048;
    return s;
}

static struct plan evaluate(const struct strategy *s)
{
    struct scene sc = scene();
    struct plan p;
    plan_evaluate(&sc, s, NULL, &mem, &p);
    assert_true(p.computed);
    return p;
}

static double sum(const double *x, int n)
{
    double total = 0;
    for (int i = 0; i < n; i++)
        total += x[i];
    return total;
}

/* One layer, hidden 1024, ffn 4096, 8 heads of 128, 2048 tokens, bf16, everything kept:
 *   norms: 2 inputs and 2 outputs, 4 x 2 x 1024; q, k, v 2 x 3 x 1024; output 2 x 1024;
 *   log-sum-exp 4 x 8; gate and up 2 x 8192; activation 2 x 4096   per token */
static void saved_bytes_by_hand(void **state)
{
    (void)state;
    load("layers=1,hidden=1024,ffn=4096,heads=8,vocab=1024", "1x1:H100");
    struct scene sc = scene();
    struct strategy s = plan_of(1, 1, 1, 1, 1);
    struct layer_costs costs;
    layer_costs_of(&sc, &s, &costs);
    double per_token = 8.0 * 1024 + 6.0 * 1024 + 2.0 * 1024 + 4 * 8 + 2.0 * 8192 + 2.0 * 4096;
    assert_true(costs.kind[0].saved == per_token * 2048);
    assert_true(costs.boundary_bytes == 2.0 * 1024 * 2048);
}

/* States: 18 bytes per parameter, 6 + 12 / d with the distributed optimizer. */
static void states_by_hand(void **state)
{
    (void)state;
    struct rank_params p = {.dense = 1e9};
    struct strategy s = plan_of(1, 1, 8, 1, 8);
    struct memory_use use = {{0}};
    memory_of_states(&p, &s, &use);
    assert_true(memory_peak(&use) == 18e9);
    s.dist_opt = 1;
    memset(&use, 0, sizeof use);
    memory_of_states(&p, &s, &use);
    assert_true(memory_peak(&use) == 7.5e9);
    s.precision_aware = 1;
    s.optimizer_offload = 50;
    memset(&use, 0, sizeof use);
    memory_of_states(&p, &s, &use);
    assert_true(memory_peak(&use) == 6.75e9);
}

/* Parameters of all ranks together are the model's, tied copies and padding apart. */
static void rank_params_add_up(void **state)
{
    (void)state;
    static const char *const names[] = {"llama3-8b", "mixtral-8x7b", "deepseek-v3",
                                        "qwen3-30b-a3b"};
    for (int i = 0; i < 4; i++) {
        load(names[i], "8x8:H100");
        model.mtp = 0;
        struct strategy s = plan_of(1, 4, 1, 1, 4);
        s.split = SPLIT_UNEVEN;
        struct layout l;
        struct error err = {0};
        double params = 0;
        assert_true(layout_of(&l, &model, &s, &err));
        for (int r = 0; r < 4; r++) {
            struct rank_params p = rank_params_of(&model, &s, &l, r, true);
            params += p.dense + p.experts;
        }
        int64_t padding = 2 * (model_padded_vocab(&model, 1) - model.vocab) * model.hidden;
        assert_true(fabs(params - (double)(model_params_total(&model) + padding)) < 1);
    }
}

static void breakdown_adds_up(void **state)
{
    (void)state;
    load("llama3-70b", "16x8:H100");
    for (int tp = 1; tp <= 8; tp *= 2)
        for (int pp = 1; pp <= 8; pp *= 2)
            for (int vpp = 1; vpp <= (pp > 1 ? 5 : 1); vpp += 4) {
                struct strategy s = plan_of(tp, pp, 128 / tp / pp, 1, 1024);
                s.vpp = vpp;
                s.dist_opt = s.overlap_grad_reduce = tp > 2;
                struct plan p = evaluate(&s);
                assert_true(fabs(sum(p.breakdown, BREAKDOWN_PARTS) - p.step_s) < 1e-9 * p.step_s);
                for (int i = 0; i < BREAKDOWN_PARTS; i++)
                    assert_true(p.breakdown[i] >= 0);
                for (int r = 0; r < p.stages; r++)
                    assert_true(p.stage[r].compute_step_s <= p.step_s);
            }
}

static void one_stage_has_no_bubble(void **state)
{
    (void)state;
    load("llama3-8b", "1x8:H100");
    struct strategy s = plan_of(2, 1, 4, 1, 64);
    assert_true(evaluate(&s).breakdown[BREAKDOWN_bubble] < 1e-9);
}

static void faster_hardware_is_never_slower(void **state)
{
    (void)state;
    static const int plans[][4] = {{8, 4, 4, 1}, {2, 8, 8, 2}, {1, 2, 64, 1}, {16, 2, 4, 1}};
    load("gpt3-13b", "16x8:A100");
    struct node_group base = cluster.group[0];
    struct gpu fast = *base.gpu;
    for (int i = 0; i < 4; i++) {
        struct strategy s = plan_of(plans[i][0], plans[i][1], plans[i][2], plans[i][3], 512);
        cluster.group[0] = base;
        double slow = evaluate(&s).step_s;
        cluster.group[0].nic_bs = 2 * base.nic_bs;
        double network = evaluate(&s).step_s;
        cluster.group[0].link_bs = 2 * base.link_bs;
        double links = evaluate(&s).step_s;
        fast = *base.gpu;
        fast.memory_gbs *= 2;
        cluster.group[0].gpu = &fast;
        double memory = evaluate(&s).step_s;
        fast.bf16_tflops *= 2;
        double compute = evaluate(&s).step_s;
        assert_true(network <= slow && links <= network && memory <= links && compute < memory);
    }
}

/* At fixed dp, cp and micro-batches, more tensor parallelism never needs more; the padding of the
 * vocabulary is taken out by one that every tp divides. */
static void memory_never_rises_with_tp(void **state)
{
    (void)state;
    load("layers=16,hidden=8192,ffn=28672,heads=64,kv=8,vocab=131072", "64x8:H100");
    for (int sp = 0; sp <= 1; sp++)
        for (int recompute = RECOMPUTE_NONE; recompute <= RECOMPUTE_FULL; recompute++)
            for (int pp = 1; pp <= 4; pp *= 2) {
                double before[4] = {INFINITY, INFINITY, INFINITY, INFINITY};
                for (int tp = 1; tp <= 8; tp *= 2) {
                    struct strategy s = plan_of(tp, pp, 2, 1, 16);
                    s.seq_parallel = sp && tp > 1;
                    s.recompute = recompute;
                    s.recompute_modules =
                        recompute == RECOMPUTE_SELECTIVE ? MODULE_CORE_ATTN | MODULE_MLP : 0;
                    s.recompute_method = recompute == RECOMPUTE_FULL ? METHOD_UNIFORM : METHOD_NONE;
                    s.recompute_layers = recompute == RECOMPUTE_FULL;
                    struct plan p = evaluate(&s);
                    for (int r = 0; r < pp; r++) {
                        assert_true(p.stage[r].peak_bytes <= before[r]);
                        before[r] = p.stage[r].peak_bytes;
                    }
                }
            }
}

static void recompute_trades_time_for_memory(void **state)
{
    (void)state;
    load("llama3-8b", "2x8:H100");
    struct strategy s = plan_of(2, 2, 4, 1, 64);
    struct plan none = evaluate(&s), before = none;
    for (int n = 1; n < 16; n++) {
        s.recompute = RECOMPUTE_FULL;
        s.recompute_method = METHOD_BLOCK;
        s.recompute_layers = n;
        struct plan p = evaluate(&s);
        assert_true(p.step_s > before.step_s);
        assert_true(p.stage[0].memory.part[MEMORY_activations] <
                    before.stage[0].memory.part[MEMORY_activations]);
        before = p;
    }
    s.recompute = RECOMPUTE_SELECTIVE;
    s.recompute_method = s.recompute_layers = 0;
    s.recompute_modules = MODULE_MLP;
    struct plan mlp = evaluate(&s);
    assert_true(mlp.step_s > none.step_s && mlp.step_s < before.step_s);
    assert_true(mlp.stage[0].peak_bytes < none.stage[0].peak_bytes);
}

static void overlap_is_never_slower(void **state)
{
    (void)state;
    load("llama3-8b", "4x8:A100");
    static const enum param switches[] = {PARAM_overlap_grad_reduce, PARAM_overlap_param_gather,
                                          PARAM_tp_overlap, PARAM_p2p_overlap};
    for (int pp = 1; pp <= 4; pp *= 2) {
        struct strategy s = plan_of(2, pp, 16 / pp, 1, 128);
        s.vpp = pp > 1 ? 2 : 1;
        s.seq_parallel = s.dist_opt = 1;
        double before = evaluate(&s).step_s;
        for (int i = 0; i < 4; i++) {
            strategy_set(&s, switches[i], 1);
            double after = evaluate(&s).step_s;
            assert_true(after <= before);
            before = after;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(saved_bytes_by_hand),
        cmocka_unit_test(states_by_hand),
        cmocka_unit_test(rank_params_add_up),
        cmocka_unit_test(breakdown_adds_up),
        cmocka_unit_test(one_stage_has_no_bubble),
        cmocka_unit_test(faster_hardware_is_never_slower),
        cmocka_unit_test(memory_never_rises_with_tp),
        cmocka_unit_test(recompute_trades_time_for_memory),
        cmocka_unit_test(overlap_is_never_slower),
    };
    arena_init(&mem);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    arena_release(&mem);
    return failed;
}
