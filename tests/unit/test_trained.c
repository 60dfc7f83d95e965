/* What is trained: its words, parameters and FLOPs counted by hand, what operators of frozen matrices lack and adapters
 * add; laws of random plans: frozen never more memory than full, a higher rank never less. */
#include "base/arena.h"
#include "base/str.h"
#include "model/trained.h"
#include "random.h"
#include "simulate/plan.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "scene.h"

/* 8 heads of 64 on 2 groups: 512 of queries, 128 of keys, 128 of values. */
#define DENSE "layers=2,hidden=256,ffn=1024,heads=8,kv=2,head_dim=64,vocab=1024,gated=1"
#define EXPERTS DENSE ",experts=4,topk=2,expert_ffn=128"
#define LATENT                                                                                     \
    "layers=2,hidden=256,ffn=1024,heads=8,vocab=1024,mla=1,q_lora=96,kv_lora=64,qk_nope=32,qk_"    \
    "rope=16,v_dim=32"

static struct model from_pairs(const char *pairs)
{
    struct model m;
    struct error err = {0};
    must(model_from_pairs(&m, pairs, &err), &err);
    return m;
}

static struct model trained(const char *pairs, const char *train)
{
    struct model m = from_pairs(pairs);
    struct error err = {0};
    must(model_set_trained(&m, train, &err), &err);
    return m;
}

static void near(double got, double want, const char *what)
{
    if (fabs(got - want) > 1e-9 * fmax(1, fabs(want)))
        fail_msg("%s: %.12g, by hand %.12g", what, got, want);
}

/* Of a model, what --train says and what comes back; a text with a blank is the error. */
static const struct {
    const char *model, *train, *says;
} WORDS[] = {
    {DENSE, "full", "full"},
    {DENSE, "lora:r=16", "lora:r=16,targets=qkv,proj,fc1,fc2"},
    {DENSE, "lora:r=8,targets=all", "lora:r=8,targets=qkv,proj,fc1,fc2"},
    {DENSE, "lora:targets=qkv,linear_proj,r=8,bits=4", "lora:r=8,targets=qkv,proj,bits=4"},
    {DENSE, "lora:r=8,dropout=0.05", "lora:r=8,targets=qkv,proj,fc1,fc2,dropout=on"},
    {DENSE, "lora:r=8,dropout=0,bits=16", "lora:r=8,targets=qkv,proj,fc1,fc2"},
    {EXPERTS, "lora:r=8,framework=swift", "lora:r=8,targets=qkv,proj,fc1,fc2,framework=swift"},
    {EXPERTS, "lora:r=8,targets=fc1,experts=each", "lora:r=8,targets=fc1,experts=each"},
    {EXPERTS, "frozen:router,embedding", "frozen:embedding,router"},
    {DENSE, "lora", "'lora' is unknown, expected full, lora:r=16 or frozen:embedding,..."},
    {DENSE, "lora:r=0",
     "r is '0', expected the rank of the adapters, 1 to 65536; full trains all weights"},
    {DENSE, "lora:targets=qkv", "the rank of the adapters is missing: lora:r=16"},
    {DENSE, "lora:r=8,targets=qvk",
     "targets has 'qvk' (did you mean qkv?), expected qkv, proj, fc1, fc2, in, out or all"},
    {DENSE, "lora:r=8,targets=q_proj",
     "targets has 'q_proj', Hugging Face's name of a part of what is one matrix in Megatron: qkv"},
    {DENSE, "lora:r=8,targets=in_proj",
     "targets has in, which the layers of inline do not have: they have qkv, proj, fc1, fc2"},
    {DENSE, "lora:r=8,bits=3", "bits is '3', expected 4 (NF4) or 16, of frozen weights"},
    {DENSE, "lora:r=8,dropout=1", "dropout is '1', expected on or a rate from 0 to below 1"},
    {DENSE, "frozen:router", "frozen has router, and the model has no experts"},
    {DENSE, "frozen:embeding",
     "frozen has 'embeding' (did you mean embedding?), expected "
     "embedding, attention, mlp, experts, router or head"},
    {DENSE, "frozen:embedding,attention,mlp,head",
     "every part is frozen: nothing would be trained"},
};

static void words(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(WORDS); i++) {
        struct model m = from_pairs(WORDS[i].model), before = m;
        struct error err = {0};
        struct str says = {0};
        bool ok = model_set_trained(&m, WORDS[i].train, &err);
        if (ok)
            model_add_trained(&m, &says);
        assert_string_equal(ok ? str_text(&says) : err.text, WORDS[i].says);
        if (!ok)
            assert_memory_equal(&m, &before, sizeof m);
        str_release(&says);
    }
}

/* The same query whichever way it is said. */
static void fields_say_the_same(void **state)
{
    struct model a = trained(DENSE, "lora:r=16"), b = from_pairs(DENSE ",lora=16");
    char difference[128] = "";
    (void)state;
    assert_true(model_same(&a, &b, difference, sizeof difference));
    a = trained(DENSE, "lora:r=16,targets=qkv");
    assert_false(model_same(&a, &b, difference, sizeof difference));
    assert_string_equal(difference, "lora_proj is 0 here and 1 there");
}

/* Parameters of a model that are trained. A layer of DENSE has matrices 256 x 768, 512 x 256, 256 x 2048 and 1024 x 256;
 * EXPERTS instead of the last two those of 256 x 256 and 128 x 256, four times, and a router of 4 x 256. */
static const struct {
    const char *model, *train;
    double params;
} COUNTS[] = {
    {DENSE, "lora:r=4", 2 * 4 * (1024 + 768 + 2304 + 1280)},
    {DENSE, "lora:r=8", 2 * 8 * (1024 + 768 + 2304 + 1280)},
    {DENSE, "lora:r=4,targets=proj", 2 * 4 * 768},
    {DENSE, "lora:r=4,framework=swift", 2 * 4 * (1024 + 768 + 2304 + 1280)},
    {EXPERTS, "lora:r=4", 2 * 4 * (1024 + 768 + 512 + 384)},
    {EXPERTS, "lora:r=4,experts=each", 2 * 4 * (1024 + 768 + 4 * (512 + 384))},
    /* q down and up, kv down and up, out */
    {LATENT, "lora:r=4,targets=qkv,proj",
     2 * 4 * ((256 + 96) + (96 + 384) + (256 + 80) + (64 + 512) + (256 + 256))},
    {DENSE, "frozen:embedding,head", 2 * (256 * 768 + 512 * 256 + 256 * 2048 + 1024 * 256 + 512)},
    {DENSE, "frozen:attention,embedding,head", 2 * (256 * 2048 + 1024 * 256 + 256)},
    {EXPERTS, "frozen:attention,embedding,head,experts", 2 * (256 + 4 * 256)},
    {EXPERTS, "frozen:attention,embedding,head,mlp", 2 * (4 * 256 + 4 * (256 * 256 + 128 * 256))},
};

static void parameters_by_hand(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(COUNTS); i++) {
        struct model m = trained(COUNTS[i].model, COUNTS[i].train);
        near((double)model_params_trained(&m), COUNTS[i].params, COUNTS[i].train);
    }
}

static struct strategy strategy_of(int tp, int ep)
{
    struct strategy s;
    strategy_init(&s);
    s.tp = tp;
    s.ep = ep;
    s.seq_parallel = tp > 1;
    return s;
}

/* One layer on a rank: Bridge splits both matrices; ms-swift keeps A of qkv and fc1 and B of proj and fc2 whole. */
static void ranks_by_hand(void **state)
{
    static const struct {
        const char *model, *train;
        int tp, ep;
        double dense, experts, frozen, frozen_experts;
    } CASES[] = {
        {DENSE, "lora:r=4", 2, 1, 4 * (1024 + 768 + 2304 + 1280) / 2, 0,
         2 * ((256 * 768 + 512 * 256 + 256 * 2048 + 1024 * 256) / 2 + 512), 0},
        {DENSE, "lora:r=4,framework=swift", 2, 1,
         4 * (256 + 384 + 256 + 256 + 256 + 1024 + 512 + 256), 0,
         2 * ((256 * 768 + 512 * 256 + 256 * 2048 + 1024 * 256) / 2 + 512), 0},
        {DENSE, "lora:r=4,bits=4", 1, 1, 4 * (1024 + 768 + 2304 + 1280), 0,
         0.5625 * (256 * 768 + 512 * 256 + 256 * 2048 + 1024 * 256) + 2 * 512, 0},
        {EXPERTS, "lora:r=4", 1, 2, 4 * (1024 + 768), 4 * (512 + 384),
         2 * (256 * 768 + 512 * 256 + 512 + 4 * 256), 2 * 2 * (256 * 256 + 128 * 256)},
        {EXPERTS, "lora:r=4,experts=each", 1, 2, 4 * (1024 + 768), 2 * 4 * (512 + 384),
         2 * (256 * 768 + 512 * 256 + 512 + 4 * 256), 2 * 2 * (256 * 256 + 128 * 256)},
        {EXPERTS, "frozen:experts", 1, 2, 256 * 768 + 512 * 256 + 512 + 4 * 256, 0, 0,
         2 * 2 * (256 * 256 + 128 * 256)},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(CASES); i++) {
        struct model m = trained(CASES[i].model, CASES[i].train);
        struct strategy s = strategy_of(CASES[i].tp, CASES[i].ep);
        struct rank_params p = {0};
        rank_params_add_layer(&p, &m, 0, &s, true);
        near(p.dense, CASES[i].dense, CASES[i].train);
        near(p.experts, CASES[i].experts, CASES[i].train);
        near(p.frozen, CASES[i].frozen, CASES[i].train);
        near(p.frozen_experts, CASES[i].frozen_experts, CASES[i].train);
    }
}

/* 100 bytes of frozen weights beside 10 parameters: neither gradients nor optimizer of them; over 2 ranks under FSDP
 * all is halved. While buffers are made the frozen weights are there too. */
static void states_by_hand(void **state)
{
    const struct rank_params p = {.dense = 10, .frozen = 100};
    struct strategy s = strategy_of(1, 1);
    struct memory_use use = {{0}};
    (void)state;
    s.dp = 2;
    s.dist_opt = 1;
    memory_of_states(&p, &s, &use);
    near(use.part[MEMORY_weights], 120, "weights");
    near(use.part[MEMORY_gradients], 40, "gradients");
    near(use.part[MEMORY_optimizer], 60, "optimizer");
    near(memory_of_setup(&p, &s, false), 100 + 20 + 60, "setup");
    memset(&use, 0, sizeof use);
    s.fsdp = FSDP_FULL;
    memory_of_states(&p, &s, &use);
    near(use.part[MEMORY_weights], 60, "sharded weights");
}

/* A token of 100 x 64 tokens: multiply-adds of the frozen matrices and of the logits, of adapters, and half of the pairs
 * (8 heads of 64, twice, three times for both passes). */
static void flops_by_hand(void **state)
{
    struct model full = from_pairs(DENSE), lora = trained(DENSE, "lora:r=4");
    struct model head = trained(DENSE, "frozen:embedding,attention,mlp");
    double matrices = 2 * (256 * 768 + 512 * 256 + 256 * 2048 + 1024 * 256), logits = 256 * 1024;
    double adapters = 2 * 4 * (1024 + 768 + 2304 + 1280), pairs = 2.0 * 64 * 8 * 2 * 64;
    (void)state;
    near(model_flops(&full, 100, 64), 6400 * (6 * (matrices + logits) + 3 * pairs), "full");
    near(model_flops(&lora, 100, 64), 6400 * (4 * (matrices + logits) + 6 * adapters + 3 * pairs),
         "lora");
    near(model_flops(&head, 100, 64), 6400 * (2 * matrices + 6 * logits + pairs), "head alone");
}

static struct block_shape shape_of(const struct model *m, enum block_kind kind, int tp)
{
    return (struct block_shape){.model = m,
                                .kind = kind,
                                .tp = tp,
                                .cp = 1,
                                .ep = 1,
                                .etp = 1,
                                .micro_batch = 2,
                                .seq_len = 500,
                                .seq_parallel = tp > 1,
                                .grouped_gemm = 1,
                                .imbalance = 1,
                                .te = true};
}

static double kept(const struct model *m, enum block_kind kind, int tp)
{
    struct block_shape s = shape_of(m, kind, tp);
    struct op op[OPS_MAX];
    double sum = 0;
    for (int i = block_ops(&s, op) - 1; i >= 0; i--)
        sum += op[i].saved;
    return sum;
}

/* Bytes that 1,000 tokens keep in a block of TransformerEngine's layers. Attention: the stream, q, k and v, a float a head
 * and the output (512 wide); full training the normed stream too, an adapter on qkv the same again (whole tokens, of
 * which a rank's stream has half under sequence parallelism) and 4 numbers that its second matrix takes. */
static void activations_by_hand(void **state)
{
    struct model full = from_pairs(DENSE), qkv = trained(DENSE, "lora:r=4,targets=qkv");
    struct model all = trained(DENSE, "lora:r=4"), drop = trained(DENSE, "lora:r=4,dropout=0.1");
    struct model swift = trained(DENSE, "lora:r=4,framework=swift");
    double t = 1000, attention = t * (2 * 256 + 2 * 768 + 4 * 8 + 2 * 512);
    double mlp = t * (2 * 256 + 2 * 2048);
    (void)state;
    near(kept(&full, BLOCK_ATTENTION, 1), attention + t * 2 * 256, "attention");
    near(kept(&qkv, BLOCK_ATTENTION, 1), attention + t * (2 * 256 + 8), "adapter on qkv");
    near(kept(&all, BLOCK_ATTENTION, 1), attention + t * (2 * 256 + 8 + 8), "adapters");
    near(kept(&drop, BLOCK_ATTENTION, 1), attention + t * (3 * 256 + 8 + 3 * 512 + 8), "dropout");
    near(kept(&full, BLOCK_MLP, 1), mlp + t * (2 * 256 + 2 * 1024), "MLP");
    near(kept(&qkv, BLOCK_MLP, 1), mlp, "frozen MLP");
    near(kept(&all, BLOCK_MLP, 1), mlp + t * (2 * 256 + 8 + 2 * 1024 + 8), "adapters of an MLP");
    near(kept(&all, BLOCK_MLP, 2), mlp / 2 + t * (2 * 256 + 8 + 1024 + 8), "whole tokens");
    near(kept(&swift, BLOCK_MLP, 2), mlp / 2 + t * (256 + 8 + 1024 + 4), "a rank's tokens");
}

static struct op op_called(const struct model *m, enum block_kind kind, int tp, const char *name)
{
    struct block_shape s = shape_of(m, kind, tp);
    struct op op[OPS_MAX];
    for (int i = 0, n = block_ops(&s, op); i < n; i++)
        if (strcmp(op[i].name, name) == 0)
            return op[i];
    fail_msg("no operator %s", name);
    return (struct op){0};
}

/* The first adapter of an MLP, on 256 x 2048 over 2 ranks: A and B of Bridge, and the r-wide gather. */
static void adapter_products(void **state)
{
    struct model m = trained(DENSE, "lora:r=4"), swift = trained(DENSE, "lora:r=4,framework=swift");
    struct op a = op_called(&m, BLOCK_MLP, 2, "adapter in");
    struct op b = op_called(&m, BLOCK_MLP, 2, "adapter out");
    (void)state;
    assert_true(op_called(&m, BLOCK_MLP, 2, "mlp up").frozen && !a.frozen && a.adapter);
    near(a.m * a.n * a.k, 1000 * 2 * 256, "A");
    near(b.m * b.n * b.k, 1000 * 1024 * 4, "B");
    near(op_called(&m, BLOCK_MLP, 2, "adapter exchange").bytes, 2 * 1000 * 4, "gather");
    near(op_called(&m, BLOCK_MLP, 2, "adapter gather").bytes, 2 * 1000 * 256, "output's gather");
    a = op_called(&swift, BLOCK_MLP, 2, "adapter in");
    near(a.m * a.n * a.k, 500 * 4 * 256, "A of ms-swift");
    near(op_called(&m, BLOCK_MLP, 1, "adapter sum").bytes, 10.0 * 1000 * 2048, "sum");
}

/* Nothing below the head is trained: the layers run forward alone and keep nothing. */
static void no_backward(void **state)
{
    struct model m = trained(DENSE, "frozen:embedding,attention,mlp");
    struct block_shape s = shape_of(&m, BLOCK_MLP, 1);
    (void)state;
    near(kept(&m, BLOCK_ATTENTION, 1), 0, "attention");
    assert_true(op_called(&m, BLOCK_MLP, 1, "mlp up").no_back);
    struct op op[OPS_MAX];
    struct op_time time[OPS_MAX];
    arena_init(&mem);
    load("llama3-8b", "1x1:H100");
    const struct costing on = {.group = &cluster.group[0]};
    int n = block_ops(&s, op);
    cost_predict(&on, PRECISION_BF16, true, op, (size_t)n, time);
    for (int i = 0; i < n; i++)
        assert_true(time[i].forward_s > 0 && time[i].backward_s == 0);
    arena_release(&mem);
}

static struct strategy random_strategy(void)
{
    struct strategy s = strategy_of(1 << pick(0, 3), 1);
    s.pp = 1 << pick(0, 2);
    s.dp = 1 << pick(0, 2);
    s.micro_batch = 1 << pick(0, 1);
    s.global_batch = 32 * s.dp * s.micro_batch;
    s.seq_len = 1024 << pick(0, 2);
    s.dist_opt = pick(0, 1);
    s.seq_parallel = s.tp > 1 && pick(0, 1);
    s.recompute = pick(0, 1) ? RECOMPUTE_FULL : RECOMPUTE_NONE;
    s.recompute_method = s.recompute == RECOMPUTE_FULL ? METHOD_UNIFORM : METHOD_NONE;
    s.recompute_layers = s.recompute == RECOMPUTE_FULL;
    s.fsdp = s.pp == 1 && pick(0, 1) ? FSDP_FULL : FSDP_NONE;
    return s;
}

struct outcome {
    double peak, step_s;
};

static struct outcome outcome_of(const struct strategy *s, const char *train)
{
    struct model whole = model;
    struct error err = {0};
    struct plan p;
    must(model_set_trained(&model, train, &err), &err);
    struct scene sc = scene();
    plan_evaluate(&sc, s, NULL, &mem, &p);
    model = whole;
    return (struct outcome){p.stage[0].peak_bytes, p.step_s};
}

/* Adapters need less than everything, a higher rank more than a lower one; a rank that goes to 0 nears frozen weights
 * alone. What is not trained makes no step longer. */
static void laws(void **state)
{
    (void)state;
    arena_init(&mem);
    load("llama3-8b", "8x8:H100");
    for (int i = 0; i < 60; i++) {
        struct strategy s = random_strategy();
        struct outcome full = outcome_of(&s, "full"), one = outcome_of(&s, "lora:r=8");
        struct outcome two = outcome_of(&s, "lora:r=64");
        struct outcome qkv = outcome_of(&s, "lora:r=8,targets=qkv");
        struct outcome ends = outcome_of(&s, "frozen:embedding,head");
        assert_true(one.peak < two.peak && two.peak < full.peak);
        assert_true(qkv.peak <= one.peak && qkv.step_s <= one.step_s * (1 + 1e-9));
        assert_true(one.step_s <= two.step_s * (1 + 1e-9));
        assert_true(ends.peak <= full.peak && ends.step_s <= full.step_s * (1 + 1e-9));
        arena_clear(&mem);
        load("llama3-8b", "8x8:H100");
    }
    arena_release(&mem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words),
        cmocka_unit_test(fields_say_the_same),
        cmocka_unit_test(parameters_by_hand),
        cmocka_unit_test(ranks_by_hand),
        cmocka_unit_test(states_by_hand),
        cmocka_unit_test(flops_by_hand),
        cmocka_unit_test(activations_by_hand),
        cmocka_unit_test(adapter_products),
        cmocka_unit_test(no_backward),
        cmocka_unit_test(laws),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
