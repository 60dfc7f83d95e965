/* Engines of transformers' layers: states of FSDP2 and ZeRO, buffers, what a layer and the loss keep, against
 * sums made by hand; laws of memory and time. */
#include "base/arena.h"
#include "base/units.h"
#include "cluster/cluster.h"
#include "layer/ops.h"
#include "simulate/hf_state.h"
#include "simulate/partition.h"
#include "simulate/plan.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "must.h"

static const double G = 1e9;

static void near(double is, double ought, double most)
{
    assert_true(fabs(is - ought) <= most);
}

static struct strategy strategy_on(int engine, int dp)
{
    struct strategy s;
    strategy_init(&s);
    s.engine = engine;
    for (int p = PARAM_FIRST_CELL; p < PARAMS; p++)
        strategy_set(&s, (enum param)p, engine_value(engine, (enum param)p));
    s.dp = dp;
    s.micro_batch = 1;
    s.global_batch = 4 * dp;
    s.seq_len = 1024;
    return s;
}

/* Of 8 G parameters on 8 ranks, in G bytes: weights, gradients, optimizer, the step's, the host's. */
static void states_are_those_of_the_table(void **state)
{
    static const struct {
        int engine, offload, params, sync, pure, replicas;
        double gb[5];
    } CASES[] = {
        {ENGINE_FSDP2, 0, 0, 1, 0, 1, {4, 4, 8, 0, 0}},
        {ENGINE_FSDP2, 0, 0, 1, 0, 2, {8, 8, 16, 0, 0}},     /* of 4 shards */
        {ENGINE_FSDP2, 0, 0, 0, 0, 1, {4, 4 + 16, 8, 0, 0}}, /* whole gradients in 16 bits */
        {ENGINE_FSDP2, 0, 0, 1, 1, 1, {2, 2, 4, 0, 0}},
        {ENGINE_FSDP2, 100, 1, 1, 0, 1, {0, 0, 0, 0, 16}},
        {ENGINE_FSDP2, 100, 1, 1, 1, 1, {0, 0, 0, 0, 8}},
        {ENGINE_ZERO2, 0, 0, 1, 0, 1, {16, 2, 12, 4, 0}},
        {ENGINE_ZERO2, 100, 0, 1, 0, 1, {16, 0, 0, 0, 18}},
        {ENGINE_ZERO3, 0, 0, 1, 0, 1, {2, 2, 12, 4, 0}},
        {ENGINE_ZERO3, 100, 0, 1, 0, 1, {2, 0, 0, 0, 18}},
        {ENGINE_ZERO3, 100, 1, 1, 0, 1, {0, 0, 0, 0, 20}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        struct strategy s = strategy_on(CASES[i].engine, 8);
        const struct rank_params p = {.dense = 8 * G};
        struct memory_use use = {{0}};
        s.optimizer_offload = CASES[i].offload;
        s.param_offload = CASES[i].params;
        s.sync_each = CASES[i].sync;
        s.pure_bf16 = CASES[i].pure;
        s.optimizer_instances = CASES[i].replicas;
        memory_of_states(&p, &s, &use);
        near(use.part[MEMORY_weights] / G, CASES[i].gb[0], 1e-9);
        near(use.part[MEMORY_gradients] / G, CASES[i].gb[1], 1e-9);
        near(use.part[MEMORY_optimizer] / G, CASES[i].gb[2], 1e-9);
        near(memory_of_step(&p, &s, false, false) / G, CASES[i].gb[3], 1e-9);
        near(hf_host_bytes(&p, &s) / G, CASES[i].gb[4], 1e-9);
    }
    /* a sub-group of ZeRO-3 is 1e9 parameters: 16 G on 8 ranks step as 8 do */
    struct strategy s = strategy_on(ENGINE_ZERO3, 8);
    near(hf_step_bytes(&(struct rank_params){.dense = 16 * G}, &s) / G, 4, 1e-9);
    s.engine = ENGINE_ZERO2;
    near(hf_step_bytes(&(struct rank_params){.dense = 16 * G}, &s) / G, 8, 1e-9);
}

/* G bytes of layers of 0.4, logits of 1, 16 in all, gradients of a layer 0.4; hidden 4096. */
static void buffers_are_units(void **state)
{
    struct strategy s = strategy_on(ENGINE_FSDP2, 8);
    const double buckets = 2 * 2 * 4096.0 * 4096;
    struct hf_sizes x = {0.4 * G, 0.4 * G, G, 16 * G};
    (void)state;
    near(hf_buffers(&s, 4096, &x) / G, 2 * 0.4 + 1 + 0.4 + 2 * 0.4, 1e-9);
    s.reshard = 0; /* all that was gathered stays */
    near(hf_buffers(&s, 4096, &x) / G, 16 + 0.4 + 2 * 0.4, 1e-9);
    s = strategy_on(ENGINE_ZERO2, 8);
    near(hf_buffers(&s, 4096, &x), buckets, 1);
    s = strategy_on(ENGINE_ZERO3,
                    8); /* 1e9 live parameters, less where there are less, a layer's more */
    near(hf_buffers(&s, 4096, &x), buckets + 2 * G, 1);
    near(hf_buffers(&s, 4096, &(struct hf_sizes){0.4 * G, 0.4 * G, G, 1.2 * G}), buckets + 1.2 * G,
         1);
    near(hf_buffers(&s, 4096, &(struct hf_sizes){2.4 * G, 0, G, 99 * G}), buckets + 5.8 * G, 1);
}

/* Adapters of 80 M beside 16 G bytes of frozen weights, on 8 ranks: only adapters have states. */
static void frozen_weights_have_no_states(void **state)
{
    static const struct {
        int engine;
        double gb[3];
    } CASES[] = {{ENGINE_FSDP2, {2.04, 0.04, 0.08}},
                 {ENGINE_ZERO2, {16.16, 0.02, 0.12}},
                 {ENGINE_ZERO3, {2.02, 0.02, 0.12}}};
    const struct rank_params p = {.dense = 0.08 * G, .frozen = 16 * G};
    (void)state;
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        struct strategy s = strategy_on(CASES[i].engine, 8);
        struct memory_use use = {{0}};
        memory_of_states(&p, &s, &use);
        near(use.part[MEMORY_weights] / G, CASES[i].gb[0], 1e-9);
        near(use.part[MEMORY_gradients] / G, CASES[i].gb[1], 1e-9);
        near(use.part[MEMORY_optimizer] / G, CASES[i].gb[2], 1e-9);
    }
}

static double saved_by(const char *pairs, const struct strategy *s, enum block_kind kind)
{
    struct model m;
    struct error err = {0};
    struct op op[OPS_MAX];
    double sum = 0;
    must(model_from_pairs(&m, pairs, &err), &err);
    const struct block_shape shape = {.model = &m,
                                      .kind = kind,
                                      .tp = 1,
                                      .cp = 1,
                                      .ep = 1,
                                      .etp = 1,
                                      .micro_batch = s->micro_batch,
                                      .seq_len = s->seq_len,
                                      .imbalance = 1,
                                      .eager = true,
                                      .liger = s->liger};
    int n = block_ops(&shape, op);
    for (int i = 0; i < n; i++)
        sum += op[i].saved;
    return sum;
}

/* Bytes of a token of a Llama: 256 hidden, 8 heads of 32 on 2 groups, 1024 inside the MLP, 1000 words. */
static void layers_keep_what_autograd_does(void **state)
{
    static const char *const llama =
        "layers=2,hidden=256,ffn=1024,heads=8,kv=2,head_dim=32,vocab=1000,gated=1,vocab_pad=8";
    struct strategy s = strategy_on(ENGINE_FSDP2, 1);
    const double t = 1024, norm = (4 + 2 + 2) * 256;
    (void)state;
    /* norm; q, k, v in 16 bits; a log-sum-exp of each head; the output */
    near(saved_by(llama, &s, BLOCK_ATTENTION), t * (norm + 2 * (256 + 2 * 64) + 4 * 8 + 2 * 256),
         1);
    /* norm; gate, up, what the activation made, their product */
    near(saved_by(llama, &s, BLOCK_MLP), t * (norm + 4 * 2 * 1024), 1);
    /* log-softmax in fp32 */
    near(saved_by(llama, &s, BLOCK_HEAD), t * (norm + 4 * 1000), 1);
    s.liger = 1; /* input and output of a norm; gate, up, product; no logits */
    near(saved_by(llama, &s, BLOCK_MLP), t * (4 * 256 + 3 * 2 * 1024), 1);
    near(saved_by(llama, &s, BLOCK_HEAD), t * (4 * 256 + 2 * 256) + 2 * 1000 * 256, 1);
}

static struct arena mem;

static void evaluate(const struct strategy *s, const char *pool, struct plan *out)
{
    static struct model m;
    static struct cluster c;
    struct error err = {0};
    arena_clear(&mem);
    must(model_load(&m, "llama3.2-1b", &mem, &err), &err);
    must(cluster_load(&c, pool, &mem, &err), &err);
    const struct scene sc = {
        .model = &m, .group = &c.group[0], .memory_margin = 0.04, .imbalance = 1};
    plan_evaluate(&sc, s, NULL, &mem, out);
    assert_true(out->computed);
}

static double peak_of(struct strategy s)
{
    struct plan p;
    evaluate(&s, "8x8:H100", &p);
    return p.stage[0].peak_bytes;
}

static double step_of(struct strategy s, const char *pool)
{
    struct plan p;
    evaluate(&s, pool, &p);
    return p.step_s;
}

/* More shards, recompute, offload and Liger never need more on the GPU; more work is never faster. */
static void laws_of_memory_and_time(void **state)
{
    (void)state;
    for (int engine = ENGINE_FSDP2; engine <= ENGINE_ZERO3; engine++) {
        struct strategy s = strategy_on(engine, 8), more = strategy_on(engine, 16), x = s;
        assert_true(peak_of(more) <= peak_of(s));
        x.recompute = RECOMPUTE_FULL, x.recompute_method = METHOD_UNIFORM, x.recompute_layers = 1;
        assert_true(peak_of(x) < peak_of(s));
        assert_true(step_of(x, "1x8:H100") > step_of(s, "1x8:H100"));
        x = s, x.liger = 1;
        assert_true(peak_of(x) < peak_of(s));
        x = s, x.optimizer_offload = 100, x.param_offload = engine == ENGINE_FSDP2;
        assert_true(peak_of(x) < peak_of(s));
        assert_true(step_of(x, "1x8:H100") > step_of(s, "1x8:H100"));
        assert_true(step_of(s, "1x8:4090") > step_of(s, "1x8:H100"));
        x = s, x.global_batch *= 2; /* twice the micro-batches */
        assert_true(step_of(x, "1x8:H100") > 1.5 * step_of(s, "1x8:H100"));
    }
    struct strategy two = strategy_on(ENGINE_ZERO2, 8), three = strategy_on(ENGINE_ZERO3, 64);
    two.dp = 64, two.global_batch = three.global_batch;
    assert_true(peak_of(three) < peak_of(two));
    struct strategy s = strategy_on(ENGINE_FSDP2, 8), x = s;
    x.reshard = 0;
    assert_true(peak_of(x) > peak_of(s));
    assert_true(step_of(x, "1x8:H100") <= step_of(s, "1x8:H100"));
    x = s, x.sync_each = 0;
    assert_true(peak_of(x) > peak_of(s));
    assert_true(step_of(x, "1x8:H100") <= step_of(s, "1x8:H100"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(states_are_those_of_the_table),
        cmocka_unit_test(buffers_are_units),
        cmocka_unit_test(frozen_weights_have_no_states),
        cmocka_unit_test(layers_keep_what_autograd_does),
        cmocka_unit_test(laws_of_memory_and_time),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    arena_release(&mem);
    return failed;
}
