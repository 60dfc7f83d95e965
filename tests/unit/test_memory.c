/* The memory stage: states, buffers and moments against sums made by hand; the composition against
 * a walk that runs every operator; laws of random strategies. */
#include "base/str.h"
#include "base/units.h"
#include "query/query.h"
#include "random.h"
#include "simulate/host_memory.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "must.h"

static struct model from_pairs(const char *pairs)
{
    struct model m;
    struct error err = {0};
    must(model_from_pairs(&m, pairs, &err), &err);
    return m;
}

/* 8 heads of 64 on 2 groups: 512 of queries, 128 of keys, 128 of values. */
#define DENSE_OF(layers)                                                                           \
    "layers=" #layers ",hidden=256,ffn=1024,heads=8,kv=2,head_dim=64,vocab=1000,gated=1"
#define DENSE DENSE_OF(2)
/* Two of four experts a token. */
#define EXPERTS DENSE ",experts=4,topk=2,expert_ffn=128"

static int at_least_one(int n)
{
    return n > 0 ? n : 1;
}

/* States of 1 G dense parameters over dp 8 and 2 G of experts over ep 4, of which there are 2
 * copies. In G bytes: weights, gradients, optimizer; the step's; all while buffers are made, which
 * is the larger of
 *      2 x 3 of loose weights and the dense buffers,   2 x 2 and all buffers. */
struct state_case {
    const char *what;
    struct strategy s; /* no instances mean 1, no bytes of moments 4 */
    double gb[5];      /* weights, gradients, optimizer, step, setup */
};

static const struct state_case STATE_CASES[] = {
    {"plain", {.dist_opt = 0}, {6, 12, 36, 0, 0}},
    {"distributed", /* 12 x (1 / 8 + 2 / 2); max(6 + 6, 4 + 18) */
     {.dist_opt = 1},
     {6, 12, 13.5, 0, 22}},
    {"two instances", /* 12 x (1 / 4 + 2 / 1) */
     {.optimizer_instances = 2, .dist_opt = 1},
     {6, 12, 27, 0, 22}},
    {"moments of two bytes, and what the master has more" /* 6 x 1.125 */,
     {.dist_opt = 1, .precision_aware = 1, .moments_bytes = 2},
     {6, 12, 6.75, 0, 22}},
    {"the whole master beside fp8 weights", /* 8 x 1.125 */
     {.precision = PRECISION_FP8, .dist_opt = 1, .precision_aware = 1, .moments_bytes = 2},
     {6, 12, 9, 0, 22}},
    {"full precision, without offload", /* 10 x 1.125 */
     {.dist_opt = 1, .precision_aware = 1},
     {6, 12, 11.25, 0, 22}},
    {"moments of two bytes, not asked for", {.moments_bytes = 2}, {6, 12, 36, 0, 0}},
    {"fp8 moments, bf16 gradients kept", /* 4 x 1.125; max(6 + 4, 4 + 12) */
     {.dist_opt = 1, .precision_aware = 1, .moments_bytes = 1, .main_grads_bf16 = 1},
     {6, 6, 4.5, 0, 16}},
    {"half on the host", {.dist_opt = 1, .optimizer_offload = 50}, {6, 12, 6.75, 0, 22}},
    {"all on the host", {.optimizer_offload = 100}, {6, 12, 0, 0, 0}},
    {"bf16 gradients: fp32 copies for the step", {.grad_bf16 = 1}, {6, 6, 36, 12, 0}},
    {"the same, distributed", /* 4 x 1.125 */
     {.grad_bf16 = 1, .dist_opt = 1},
     {6, 6, 13.5, 4.5, 16}},
    {"bf16 gradients all the way", /* 10 x 1.125, no copies */
     {.grad_bf16 = 1, .dist_opt = 1, .precision_aware = 1, .main_grads_bf16 = 1},
     {6, 6, 11.25, 0, 16}},
    /* FSDP switches the distributed optimizer on, but no_shard divides nothing */
    {"fsdp, no_shard", {.dist_opt = 1, .fsdp = FSDP_NO_SHARD}, {6, 12, 36, 0, 22}},
    {"fsdp, no_shard, bf16 gradients",
     {.dist_opt = 1, .fsdp = FSDP_NO_SHARD, .grad_bf16 = 1},
     {6, 6, 36, 12, 16}},
    {"fsdp, optim", {.dist_opt = 1, .fsdp = FSDP_OPTIM}, {6, 12, 13.5, 0, 0}},
    {"fsdp, optim_grads", /* 4 x 1.125 */
     {.dist_opt = 1, .fsdp = FSDP_OPTIM_GRADS},
     {6, 4.5, 13.5, 0, 0}},
    {"fsdp, all", /* 2 x 1.125 */
     {.dist_opt = 1, .fsdp = FSDP_FULL},
     {2.25, 4.5, 13.5, 0, 0}},
    {"weights in fp8: one copy, one transposed",
     {.precision = PRECISION_FP8, .fp8_params = 1},
     {6, 12, 36, 0, 0}},
};

static void check_state(const struct state_case *c)
{
    const struct rank_params p = {.dense = 1e9, .experts = 2e9};
    struct strategy s = c->s;
    struct memory_use use = {{0}};
    s.tp = s.pp = s.cp = s.etp = 1;
    s.dp = 8;
    s.ep = 4;
    s.optimizer_instances = at_least_one(s.optimizer_instances);
    s.moments_bytes = s.moments_bytes > 0 ? s.moments_bytes : 4;
    memory_of_states(&p, &s, &use);
    const double got[] = {use.part[MEMORY_weights], use.part[MEMORY_gradients],
                          use.part[MEMORY_optimizer], memory_of_step(&p, &s, false, false),
                          memory_of_setup(&p, &s, false)};
    for (size_t i = 0; i < COUNT(got); i++)
        if (fabs(got[i] - 1e9 * c->gb[i]) > 1)
            fail_msg("%s: figure %zu is %.0f, by hand %.3g G", c->what, i, got[i], c->gb[i]);
}

static void states_by_hand(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(STATE_CASES); i++)
        check_state(&STATE_CASES[i]);
}

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-12 * fmax(fabs(a), fabs(b));
}

/* Of 1 G dense parameters over dp 8 and 2 G of experts over 2, per parameter that is offloaded: 16/3
 * bytes of a pinned master before they are shared out, and of the share 32/3 pinned and 8 of moments. */
static void host_states_by_hand(void **state)
{
    static const struct {
        struct strategy s;
        double gb;
    } CASES[] = {
        {{.dist_opt = 1}, 0},
        {{.dist_opt = 1, .optimizer_offload = 100}, 16 + 56.0 / 3 * 1.125},
        {{.dist_opt = 1, .optimizer_offload = 25}, 4 + 14.0 / 3 * 1.125},
        {{.optimizer_offload = 100}, 56},
        {{.dist_opt = 1, .fsdp = FSDP_FULL, .optimizer_offload = 100}, 56.0 / 3 * 1.125},
        {{.dist_opt = 1, .fsdp = FSDP_NO_SHARD, .optimizer_offload = 100}, 56},
    };
    const struct rank_params p = {.dense = 1e9, .experts = 2e9};
    (void)state;
    for (size_t i = 0; i < COUNT(CASES); i++) {
        struct strategy s = CASES[i].s;
        s.tp = s.pp = s.cp = s.etp = s.optimizer_instances = 1;
        s.dp = 8;
        s.ep = 4;
        if (fabs(host_of_states(&p, &s) - 1e9 * CASES[i].gb) > 1)
            fail_msg("case %zu: %.0f", i, host_of_states(&p, &s));
    }
    assert_true(host_of_rank(3 * GIB, 6 * GIB) == 15 * GIB); /* 4 + 3 + 8 */
}

/* AdamW as torch has it: 4 bytes of the larger of two optimizers, this rank's share of it, beside
 * copies of gradients. */
static void roots_of_moments(void **state)
{
    const struct rank_params p = {.dense = 1e9, .experts = 2e9};
    struct strategy s;
    (void)state;
    strategy_init(&s);
    s.dp = 8, s.ep = 4;
    assert_true(memory_of_step(&p, &s, true, false) == 8e9);
    s.grad_bf16 = 1;
    assert_true(memory_of_step(&p, &s, true, false) == 8e9 + 12e9);
    s.grad_bf16 = 0, s.dist_opt = 1; /* 1e9 / 8, 2e9 / 2 */
    assert_true(memory_of_step(&p, &s, true, false) == 4e9);
    s.optimizer_offload = 50;
    assert_true(memory_of_step(&p, &s, true, false) == 2e9 &&
                memory_of_step(&p, &s, false, false) == 0);
}

/* Scores go through memory where the stack has nothing else, or the GPU. */
static void unfused_attention(void **state)
{
    static const struct {
        enum stack stack;
        int attention;
        const char *gpu;
        bool unfused;
    } cases[] = {
        {STACK_TE, ATTENTION_AUTO, "A100", false},
        {STACK_TE, ATTENTION_AUTO, "MI250X", false},
        {STACK_TE, ATTENTION_AUTO, "V100", true},
        {STACK_TE, ATTENTION_AUTO, "T4", true},
        {STACK_TE, ATTENTION_AUTO, "RTX2080Ti", true},
        {STACK_TE, ATTENTION_FLASH, "V100", false},
        {STACK_TE, ATTENTION_UNFUSED, "H100", true},
        {STACK_TORCH, ATTENTION_AUTO, "V100", false},
        {STACK_TORCH, ATTENTION_UNFUSED, "H100", false},
        {STACK_LOCAL, ATTENTION_AUTO, "H100", true},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
        if (attention_is_unfused(cases[i].stack, cases[i].attention,
                                 gpu_find(cases[i].gpu, NULL)) != cases[i].unfused)
            fail_msg("case %zu: stack %s on %s", i, stack_name(cases[i].stack), cases[i].gpu);
}

/* Which package TransformerEngine takes where both can. */
static void flash_attention(void **state)
{
    static const struct {
        enum stack stack;
        int attention;
        const char *gpu;
        bool dropout, flash;
    } cases[] = {
        {STACK_TE, ATTENTION_AUTO, "A100", false, true},
        {STACK_TE, ATTENTION_AUTO, "H100", true, false},
        {STACK_TE, ATTENTION_AUTO, "B200", false, false},
        {STACK_TE, ATTENTION_AUTO, "B200", true, true},
        {STACK_TE, ATTENTION_AUTO, "V100", false, false},
        {STACK_TE, ATTENTION_FLASH, "H100", false, true},
        {STACK_TE, ATTENTION_FUSED, "A100", false, false},
        {STACK_TE, ATTENTION_UNFUSED, "A100", false, false},
        {STACK_TORCH, ATTENTION_AUTO, "A100", false, false},
        {STACK_LOCAL, ATTENTION_AUTO, "A100", false, false},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
        if (attention_is_flash(cases[i].stack, cases[i].attention, gpu_find(cases[i].gpu, NULL),
                               cases[i].dropout) != cases[i].flash)
            fail_msg("case %zu: stack %s on %s", i, stack_name(cases[i].stack), cases[i].gpu);
}

/* Plans on a pool, for what needs a whole frame. */
static struct arena mem;
static struct model model;
static struct cluster cluster;

static struct scene scene_of(const char *pairs, const char *pool, bool te)
{
    struct error err = {0};
    model = from_pairs(pairs);
    must(cluster_load(&cluster, pool, &mem, &err), &err);
    return (struct scene){.model = &model,
                          .group = &cluster.group[0],
                          .te = te,
                          .memory_margin = 0.04,
                          .imbalance = 1};
}

static struct strategy ways(int tp, int pp, int dp, int batch)
{
    struct strategy s;
    strategy_init(&s);
    s.tp = tp;
    s.pp = pp;
    s.dp = dp;
    s.global_batch = batch;
    s.seq_len = 512;
    return s;
}

static struct plan evaluate(const struct scene *sc, const struct strategy *s)
{
    struct plan p;
    plan_evaluate(sc, s, NULL, &mem, &p);
    if (!p.computed)
        fail_msg("%s", p.reasons ? p.reason[0] : "not computed");
    return p;
}

static double part_of(const struct plan *p, int rank, enum memory_part part)
{
    return p->stage[rank].memory.part[part];
}

/* Nodes with all their GPUs in use, or with those of a small job; stages that offload what their
 * passes keep, as many times as they are in flight. */
static void hosts_by_hand(void **state)
{
    struct scene sc =
        scene_of("layers=16,hidden=4096,ffn=16384,heads=32,vocab=1000", "2x8:H100", true);
    (void)state;
    struct strategy s = ways(2, 2, 1, 4);
    struct plan p = evaluate(&sc, &s);
    assert_true(p.stage[0].host_bytes == 4 * 4 * GIB && p.stage[0].host_fullness == 0);
    s = ways(4, 2, 2, 4);
    s.seq_len = 4096;
    sc.switches.offload = OFFLOAD_CORE_ATTN; /* q, k and v, on 4 ranks */
    cluster.group[0].host_bytes = 40 * GIB;
    p = evaluate(&sc, &s);
    double layer = 2.0 * 4096 * (3 * 4096 / 4);
    assert_true(p.stage[1].host_bytes == 8 * (4 * GIB + 4.0 / 3 * 8 * layer));
    assert_true(p.stage[0].host_bytes == 8 * (4 * GIB + 4.0 / 3 * 2 * 8 * layer));
    assert_true(near(p.stage[0].host_fullness, p.stage[0].host_bytes / (40 * GIB)));
    assert_true(p.feasible && plan_fits(&p) && plan_fullest_host(&p) == &p.stage[0]);
    cluster.group[0].host_bytes = 33 * GIB;
    p = evaluate(&sc, &s);
    assert_true(!p.feasible && !p.stage[0].fits && p.reasons == 1 && plan_shortages(&p) == 1);
    assert_string_equal(p.reason[0], "a node of H100-SXM5-80GB needs 36.0 GiB of host memory, it "
                                     "has 33.0 GiB");
    cluster.group[0].host_bytes = 0;
}

/* Parameters of DENSE in a layer: 768 x 256 + 256 x 512 + 3 x 1024 x 256, and two norms. */
#define LAYER (768.0 * 256 + 256.0 * 512 + 3.0 * 1024 * 256 + 2 * 256)
#define FEW_WORDS "layers=4,hidden=256,ffn=1024,heads=4,vocab=100,gated=1"
#define MATRIX (1024.0 * 256) /* of the padded vocabulary */

/* Untied: embedding, final norm (256), head. Tied on one rank: one matrix; on two: one each. */
static void tied_matrices(void **state)
{
    (void)state;
    for (int tied = 0; tied < 2; tied++) {
        struct scene sc = scene_of(tied ? DENSE ",tied=1" : DENSE, "1x8:H100", false);
        struct strategy one = ways(1, 1, 1, 1), two = ways(1, 2, 1, 2);
        struct plan a = evaluate(&sc, &one), b = evaluate(&sc, &two);
        double whole = 2 * LAYER + 256 + (tied ? 1 : 2) * MATRIX;
        assert_true(part_of(&a, 0, MEMORY_weights) == 2 * whole);
        assert_true(part_of(&b, 0, MEMORY_weights) == 2 * (LAYER + MATRIX));
        assert_true(part_of(&b, 1, MEMORY_weights) == 2 * (LAYER + 256 + MATRIX));
    }
}

/* Parameters of all ranks together are the model's, tied copies and padding apart. */
static void rank_params_add_up(void **state)
{
    static const char *const NAMES[] = {"llama3-8b", "mixtral-8x7b", "deepseek-v3",
                                        "qwen3-30b-a3b"};
    (void)state;
    for (size_t i = 0; i < 2 * COUNT(NAMES); i++) {
        struct strategy s = ways(1, 4, 1, 4);
        struct layout l;
        struct error err = {0};
        double params = 0;
        must(model_load(&model, NAMES[i / 2], &mem, &err), &err);
        model.mtp = 0;
        s.split = SPLIT_UNEVEN;
        must(layout_of(&l, &model, &s, &err), &err);
        for (int r = 0; r < 4; r++) {
            struct rank_params p = {0};
            struct stage_layers x = {l.first[r], l.layers[r], r == 0, r == 3, 0};
            rank_params_add_stage(&p, &model, &s, &x, i % 2);
            params += p.dense + p.experts;
        }
        int64_t padding = 2 * (model_padded_vocab(&model, 1) - model.vocab) * model.hidden;
        assert_true(fabs(params - (double)(model_params_total(&model) + padding)) < 1);
    }
}

/* One layer, hidden 1024, ffn 4096, 8 heads of 128, 2048 tokens, bf16, everything kept:
 *   norms: 2 inputs and 2 outputs, 4 x 2 x 1024; q, k, v 2 x 3 x 1024; output 2 x 1024;
 *   log-sum-exp 4 x 8; gate and up 2 x 8192; activation 2 x 4096   per token */
static void layer_by_hand(void **state)
{
    (void)state;
    struct scene sc =
        scene_of("layers=1,hidden=1024,ffn=4096,heads=8,vocab=1024", "1x1:H100", true);
    struct strategy s = ways(1, 1, 1, 1);
    struct layer_costs costs;
    s.seq_len = 2048;
    layer_costs_of(&sc, &s, &costs);
    double per_token = 8.0 * 1024 + 6.0 * 1024 + 2.0 * 1024 + 4 * 8 + 2.0 * 8192 + 2.0 * 4096;
    assert_true(costs.kind[0].saved == per_token * 2048);
    assert_true(costs.boundary_bytes == 2.0 * 1024 * 2048);
}

/* In a model whose fullest moment is a layer, the head's gradient of a tied matrix waits there:
 * 2 x 128 x 256 bytes; te adds it to the buffer at once unless told otherwise, and then has none of
 * those gradients that are never read. */
static void tied_gradient_waits(void **state)
{
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        bool te = kind > 0, apart = kind == 2;
        double temporary[2];
        for (int tied = 0; tied < 2; tied++) {
            struct scene sc = scene_of(tied ? FEW_WORDS ",tied=1" : FEW_WORDS, "1x8:H100", te);
            struct strategy s = ways(1, 1, 1, 1);
            sc.switches.separate_wgrads = apart;
            struct plan p = evaluate(&sc, &s);
            assert_int_equal(p.stage[0].moment, MOMENT_layer);
            assert_true(!apart || part_of(&p, 0, MEMORY_buffers) == 3 * 32 * MIB);
            temporary[tied] = part_of(&p, 0, MEMORY_temporary) + part_of(&p, 0, MEMORY_activations);
        }
        assert_true(temporary[1] - temporary[0] == (te && !apart ? 0 : 2.0 * 128 * 256));
    }
}

/* B: bytes of hidden states on a rank, 2 x 512 x 256, halved by sequence parallelism. Torch: two
 * workspaces of 32 MiB; gradients sent back B, interleaved 3 B; what products gather 2 B / 2. */
#define B (2.0 * 512 * 256)
#define WORK (32 * MIB)
/* Never-read gradients of te: qkv 768 x 256, out 256 x 512, up 2048 x 256, down 256 x 1024. */
#define DUMMIES (2 * (768.0 * 256 + 256.0 * 512 + 2048.0 * 256 + 256.0 * 1024))
#define HEAD_DUMMY (2 * MATRIX)
#define EXPERT_BUFFERS (DUMMIES + 2 * (256.0 * 256 + 256.0 * 128) + HEAD_DUMMY + 2 * B)

static void buffers_by_hand(void **state)
{
    static const struct {
        const char *what, *model;
        bool te;
        int tp, pp, vpp, sp;
        double first, last;
    } CASES[] = {
        {"torch", DENSE, false, 1, 1, 1, 0, 2 * WORK, 2 * WORK},
        {"torch, pipeline", DENSE, false, 1, 2, 1, 0, 2 * WORK, 2 * WORK + B},
        {"torch, sp", DENSE, false, 2, 2, 1, 1, 2 * WORK + B, 2 * WORK + B + B / 2},
        {"torch, interleaved", DENSE_OF(4), false, 1, 2, 2, 0, 2 * WORK + 3 * B, 2 * WORK + 3 * B},
        {"te, pipeline: torch's workspaces for the logits", DENSE, true, 1, 2, 1, 0, WORK + DUMMIES,
         3 * WORK + DUMMIES + HEAD_DUMMY + B},
        /* every matrix is halved by tp */
        {"te, sp: logits gather with torch", DENSE, true, 2, 2, 1, 1, WORK + DUMMIES / 2,
         3 * WORK + DUMMIES / 2 + HEAD_DUMMY / 2 + B / 2 + B},
        /* four workspaces more for grouped products of 256 x 256 and 256 x 128; every token of two
         * ranks gathered; a dense layer in front */
        {"te, experts", EXPERTS ",dense_first=1", true, 1, 1, 1, 0, 7 * WORK + EXPERT_BUFFERS,
         7 * WORK + EXPERT_BUFFERS},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(CASES); i++) {
        struct scene sc = scene_of(CASES[i].model, "1x8:H100", CASES[i].te);
        struct strategy s = ways(CASES[i].tp, CASES[i].pp, 1, 4);
        s.vpp = CASES[i].vpp;
        s.seq_parallel = CASES[i].sp;
        s.ep = s.dp = model.experts > 0 ? 2 : 1;
        s.grouped_gemm = model.experts > 0;
        struct plan p = evaluate(&sc, &s);
        double first = part_of(&p, 0, MEMORY_buffers), last = part_of(&p, s.pp - 1, MEMORY_buffers);
        if (first != CASES[i].first || last != CASES[i].last)
            fail_msg("%s: %.0f and %.0f, by hand %.0f and %.0f", CASES[i].what, first, last,
                     CASES[i].first, CASES[i].last);
    }
    struct scene old = scene_of(DENSE, "1x8:A100", true); /* te's own workspace is of 4 MiB */
    struct strategy s = ways(1, 2, 1, 4);
    struct plan p = evaluate(&old, &s);
    assert_true(part_of(&p, 0, MEMORY_buffers) == 4 * MIB + DUMMIES);
}

/* Of 512 tokens on the last of two ranks, whose fullest moment is the loss: a mask of their keys, and
 * inputs and gradients of the logits of up to two of four micro-batches. */
static void waits_at_the_loss(void **state)
{
    static const struct {
        struct run_switches switches;
        double temporary, buffers;
    } CASES[] = {
        {{.batch_mask = true}, 512 * 512, 0},
        {{.deferred_wgrads = 2}, 0, 2 * 2 * 512 * (1024 + 256)},
        {{.deferred_wgrads = 9}, 0, 4 * 2 * 512 * (1024 + 256)},
    };
    struct strategy s = ways(1, 2, 1, 4);
    (void)state;
    struct scene sc = scene_of(DENSE, "1x8:H100", true);
    struct plan plain = evaluate(&sc, &s);
    assert_int_equal(plain.stage[1].moment, MOMENT_head);
    for (size_t i = 0; i < COUNT(CASES); i++) {
        sc.switches = CASES[i].switches;
        struct plan p = evaluate(&sc, &s);
        for (int rank = 0; rank < 2; rank++) {
            double more = part_of(&p, rank, MEMORY_buffers) - part_of(&plain, rank, MEMORY_buffers);
            double beside =
                part_of(&p, rank, MEMORY_temporary) - part_of(&plain, rank, MEMORY_temporary);
            assert_true(more == (rank ? CASES[i].buffers : 0));
            assert_true(beside == (rank ? CASES[i].temporary : 0));
        }
    }
}

/* What the core attention and the experts of eight MoE layers keep waits on the host: beside it, two
 * layers' worth is on its way. Tensors below 2 MiB stay. */
static void offloaded_modules(void **state)
{
    (void)state;
    struct scene sc = scene_of("layers=8,hidden=512,ffn=1024,heads=8,kv=8,head_dim=64,vocab=100,"
                               "gated=1,experts=4,topk=2,expert_ffn=1024",
                               "1x8:H100", true);
    struct strategy s = ways(1, 1, 1, 4);
    s.seq_len = 2048;
    s.grouped_gemm = 1;
    struct plan plain = evaluate(&sc, &s);
    sc.switches.offload = OFFLOAD_CORE_ATTN | OFFLOAD_MOE_ACT;
    struct plan p = evaluate(&sc, &s);
    double layer = 2.0 * 2048 * 3 * 512 + 2.0 * 2 * 2048 * 2048; /* q, k, v; the first product */
    double more = part_of(&p, 0, MEMORY_buffers) - part_of(&plain, 0, MEMORY_buffers);
    double less = part_of(&plain, 0, MEMORY_activations) - part_of(&p, 0, MEMORY_activations);
    assert_true(more == 2 * layer);
    assert_true(less > 7 * layer - 1 && less < 8 * layer + 1);
    assert_true(p.stage[0].peak_bytes < plain.stage[0].peak_bytes - 4 * layer);
    assert_true(p.stage[0].forward_s == plain.stage[0].forward_s); /* copies go beside them */
    struct gpu slow = *sc.group->gpu;
    struct node_group group = *sc.group;
    slow.pcie_gbs = 8;
    group.gpu = &slow;
    sc.group = &group;
    p = evaluate(&sc, &s);
    double copies_s = 8 * layer / (8e9 * 0.85);
    assert_true(fabs(p.stage[0].forward_s / copies_s - 1) < 1e-9);
    assert_true(p.stage[0].forward_s > plain.stage[0].forward_s);
    assert_true(p.stage[0].backward_s == plain.stage[0].backward_s);
}

/* A partition of one rank, and what its state adds to the buffers. */
static double state_buffers_of(const struct scene *sc, const struct strategy *s)
{
    struct partition *f = arena_alloc(&mem, sizeof *f);
    struct layer_costs *costs = arena_alloc(&mem, sizeof *costs);
    struct error err = {0};
    layer_costs_of(sc, s, costs);
    must(partition_init(f, sc, (const struct layer_costs *const[]){costs}, s, NULL, &err), &err);
    return state_buffers(f, 0, &f->class[0].params, s);
}

/* Two layers are one bucket of 40 M parameters: less than 128 more of 2 + 4 bytes, 2 + 2 where
 * gradients are bf16. FSDP: two layers gathered, with their gradients. fp8: a copy of the layers'
 * products, and a transposed one before Blackwell, unless the weights are in fp8 themselves. */
static void state_buffers_by_hand(void **state)
{
    const double products = 2 * (LAYER - 2 * 256);
    static const struct strategy PLAIN = {.fsdp = 0}, SHARDED = {.dist_opt = 1},
                                 HALF_GRADS = {.dist_opt = 1, .grad_bf16 = 1},
                                 FULL = {.dist_opt = 1, .fsdp = FSDP_FULL},
                                 FP8 = {.precision = PRECISION_FP8},
                                 ALL_FP8 = {.precision = PRECISION_FP8, .fp8_params = 1},
                                 MXFP8 = {.precision = PRECISION_MXFP8},
                                 BLOCKS = {.precision = PRECISION_FP8_BLOCKWISE},
                                 NVFP4 = {.precision = PRECISION_NVFP4};
    const struct {
        const char *pool;
        const struct strategy *s;
        double bytes;
    } cases[] = {
        {"1x8:H100", &PLAIN, 0},
        {"1x8:H100", &SHARDED, 128 * 6},
        {"1x8:H100", &HALF_GRADS, 128 * 4},
        {"1x8:H100", &FULL, 2 * 6 * LAYER},
        {"1x8:H100", &FP8, 2 * products},
        {"1x8:B200", &FP8, products},
        {"1x8:H100", &ALL_FP8, 0},
        {"1x8:B200", &MXFP8, (2 + 2.0 / 32) * products},
        {"1x8:H100", &BLOCKS, 2 * products},
        {"1x8:B200", &NVFP4, (1 + 2.0 / 16) * products},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct scene sc = scene_of(DENSE, cases[i].pool, true);
        struct strategy s = ways(1, 1, 8, 8);
        for (int p = PARAM_FIRST_STATE; p < PARAMS; p++)
            if (strategy_get(cases[i].s, (enum param)p))
                strategy_set(&s, (enum param)p, strategy_get(cases[i].s, (enum param)p));
        s.precision = cases[i].s->precision;
        if (state_buffers_of(&sc, &s) != cases[i].bytes)
            fail_msg("case %zu: %.0f, by hand %.0f", i, state_buffers_of(&sc, &s), cases[i].bytes);
    }
}

/* Of m rows and n columns, m the fewer, a step of
 * Newton and Schulz takes 4 m m n + 2 m m m: 384 each for queries and output (4 x 4), 80 each for keys
 * and values (2 x 4), 1,152 and 640 for the MLP (16 x 4, 4 x 8). */
static void muon_by_hand(void **state)
{
    (void)state;
    struct strategy s = ways(1, 1, 8, 8);
    struct rank_params p = {.dense = 1e9, .newton = {.largest = 1e6}};
    assert_true(memory_of_step(&p, &s, false, true) == 12e6);
    struct scene sc = scene_of("layers=1,hidden=4,ffn=8,heads=2,kv=1,head_dim=2,vocab=8,gated=1",
                               "1x8:H100", true);
    struct rank_params layer = {0};
    rank_params_add_layer(&layer, sc.model, 0, &s, true);
    assert_true(layer.newton.dense == 2 * 384 + 2 * 80 + 1152 + 640);
    assert_true(layer.newton.most == 1152 && layer.newton.largest == 64);
    sc = scene_of("layers=2,hidden=4096,ffn=16384,heads=32,vocab=1000", "1x8:H100", true);
    struct plan adam = evaluate(&sc, &s);
    sc.switches.newton_steps = 5;
    struct plan five = evaluate(&sc, &s);
    sc.switches.newton_steps = 10;
    struct plan ten = evaluate(&sc, &s);
    double step = five.step_s - adam.step_s;
    assert_true(step > 0 && fabs((ten.step_s - adam.step_s) / step - 2) < 1e-3);
}

/* Of two layers one stays in 16 bits: half of the copies. With both the plan is that in bf16. */
static void wide_layers_are_in_16_bits(void **state)
{
    const double products = LAYER - 2 * 256;
    (void)state;
    struct strategy s = ways(1, 1, 8, 8);
    s.precision = PRECISION_NVFP4;
    struct scene one = scene_of(DENSE ",wide_last=1", "1x8:B200", true);
    assert_int_equal(one.model->kinds, 2);
    assert_true(state_buffers_of(&one, &s) == (1 + 2.0 / 16) * products);
    struct scene all = scene_of(DENSE ",wide_first=1,wide_last=1", "1x8:B200", true);
    struct plan narrow = evaluate(&all, &s);
    s.precision = PRECISION_BF16;
    struct plan plain = evaluate(&all, &s);
    assert_true(narrow.step_s == plain.step_s);
    assert_true(narrow.stage[0].peak_bytes == plain.stage[0].peak_bytes);
}

/* 4 % of 80 GiB stays free. Outside the framework: 836 MiB of context; 0.35 GiB for each kind of
 * group and the world; 1.5 % of reserve with expandable segments, 5 % without. */
static void outside_by_hand(void **state)
{
    (void)state;
    for (int te = 0; te < 2; te++) {
        struct memory_use use = {{[MEMORY_weights] = 10 * GIB, [MEMORY_temporary] = 10 * GIB}};
        struct strategy alone = ways(1, 1, 1, 1), many = ways(2, 2, 2, 4);
        memory_outside(&use, &alone, te);
        assert_true(use.part[MEMORY_reserve] == (te ? 0.05 : 0.015) * 20 * GIB);
        assert_true(use.part[MEMORY_context] == 836 * MIB);
        assert_true(use.part[MEMORY_communicators] == 0);
        memory_outside(&use, &many, te); /* world, tp, pp, dp */
        assert_true(fabs(use.part[MEMORY_communicators] - 4 * 0.35 * GIB) < 1);
        assert_true(memory_peak(&use) == 20 * GIB);
    }
}

static void moments(void **state)
{
    static const struct {
        const char *model;
        int batch, recompute, grad_bf16, dist_opt;
        enum memory_moment moment;
    } CASES[] = {
        {FEW_WORDS, 8, RECOMPUTE_NONE, 0, 0, MOMENT_layer},
        {FEW_WORDS, 8, RECOMPUTE_FULL, 0, 0, MOMENT_recompute},
        {"layers=2,hidden=256,ffn=256,heads=4,vocab=99000", 8, RECOMPUTE_NONE, 0, 0, MOMENT_head},
        {"layers=1,hidden=64,ffn=64,heads=1,vocab=4000000,tied=1", 1, RECOMPUTE_NONE, 0, 0,
         MOMENT_embedding},
        {"layers=8,hidden=4096,ffn=16384,heads=32,vocab=1000", 1, RECOMPUTE_FULL, 1, 0,
         MOMENT_step},
        {"layers=8,hidden=4096,ffn=16384,heads=32,vocab=1000", 1, RECOMPUTE_NONE, 0, 1,
         MOMENT_setup},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(CASES); i++) {
        struct scene sc = scene_of(CASES[i].model, "8x8:H100", true);
        struct strategy s = ways(1, 1, 64, 64 * CASES[i].batch);
        s.micro_batch = CASES[i].batch;
        s.seq_len = 16;
        s.recompute = CASES[i].recompute;
        s.recompute_method = s.recompute ? METHOD_UNIFORM : METHOD_NONE;
        s.recompute_layers = s.recompute ? 1 : 0;
        s.grad_bf16 = CASES[i].grad_bf16;
        s.dist_opt = CASES[i].dist_opt;
        enum memory_moment got = evaluate(&sc, &s).stage[0].moment;
        if (got != CASES[i].moment)
            fail_msg("case %zu: %s", i, moment_name(got));
    }
}

/* Composition. Random operators with whole numbers, so that sums are exact. */
enum { LIST = 24 };

static int random_ops(struct op *out)
{
    int n = pick(1, LIST);
    memset(out, 0, LIST * sizeof *out);
    for (int i = 0; i < n; i++) {
        out[i].saved = pick(0, 9);
        out[i].temporary = pick(0, 2) ? 0 : pick(0, 30);
        out[i].temporary_back = pick(0, 1) ? 0 : pick(0, 30);
    }
    return n;
}

/* What runs forward, then backward, one operator at a time. */
struct tape {
    double alive, most_forward, most;
};

static void note(struct tape *t, double beside)
{
    t->most = fmax(t->most, t->alive + beside);
}

static void run_forward(struct tape *t, const struct op *op, int n)
{
    for (int i = 0; i < n; i++) {
        t->alive += op[i].saved;
        note(t, op[i].temporary);
        t->most_forward = fmax(t->most_forward, t->alive + op[i].temporary);
    }
}

static void run_backward(struct tape *t, const struct op *op, int n)
{
    for (int i = n - 1; i >= 0; i--) {
        t->alive -= op[i].saved;
        note(t, op[i].temporary_back);
    }
}

static void check_sums(const struct block_cost *b, const struct op *const *list, const int *count,
                       int lists)
{
    struct tape t = {0};
    for (int i = 0; i < lists; i++)
        run_forward(&t, list[i], count[i]);
    assert_true(b->saved == t.alive && b->forward == t.most_forward);
    for (int i = lists - 1; i >= 0; i--)
        run_backward(&t, list[i], count[i]);
    assert_true(t.alive == 0);
    assert_true(b->peak == t.most);
}

static void sums_equal_a_walk(void **state)
{
    (void)state;
    for (int i = 0; i < 2000; i++) {
        struct op a[LIST], b[LIST];
        struct op_time none[LIST] = {{0}};
        struct block_cost one, other;
        int n = random_ops(a), m = random_ops(b), times = pick(1, 5);
        block_cost_sum(a, none, (size_t)n, &one);
        block_cost_sum(b, none, (size_t)m, &other);
        check_sums(&one, (const struct op *const[]){a}, &n, 1);
        block_cost_add(&other, &one);
        check_sums(&other, (const struct op *const[]){b, a}, (const int[]){m, n}, 2);
        block_cost_scale(&one, times);
        check_sums(&one, (const struct op *const[]){a, a, a, a, a}, (const int[]){n, n, n, n, n},
                   times);
    }
}

/* A whole stage of small models with up to four kinds of layers. */
static void random_model(char *text, size_t size)
{
    int layers = pick(1, 7), experts = pick(0, 2) ? 0 : 4;
    int used = snprintf(text, size, "layers=%d,hidden=%d,ffn=%d,heads=4,kv=%d,vocab=%d,gated=%d",
                        layers, 64 * pick(1, 4), 64 * pick(1, 9), pick(0, 1) ? 2 : 4,
                        pick(0, 3) ? 1000 : 50000, pick(0, 1));
    if (experts)
        used += snprintf(text + used, size - (size_t)used,
                         ",experts=4,topk=2,expert_ffn=%d,shared_ffn=%d,dense_first=%d",
                         64 * pick(1, 4), 64 * pick(0, 2), pick(0, layers - 1));
    if (pick(0, 1))
        used += snprintf(text + used, size - (size_t)used, ",window=64,window_every=%d",
                         pick(2, layers + 1));
    snprintf(text + used, size - (size_t)used, ",tied=%d,mtp=%d", pick(0, 1), pick(0, 4) == 0);
}

static void random_recompute(struct strategy *s)
{
    s->recompute = pick(RECOMPUTE_NONE, RECOMPUTE_FULL);
    s->recompute_method = s->recompute_layers = s->recompute_modules = 0;
    if (s->recompute == RECOMPUTE_SELECTIVE)
        s->recompute_modules = pick(1, 127);
    if (s->recompute == RECOMPUTE_FULL) {
        s->recompute_method = pick(METHOD_UNIFORM, METHOD_BLOCK);
        s->recompute_layers = pick(1, 4);
    }
}

struct list {
    struct op op[3 * OPS_MAX];
    int count;
};

static void append(struct list *l, const struct scene *sc, const struct strategy *s,
                   enum block_kind kind, int window)
{
    struct block_shape shape = block_shape_of(sc, s, kind);
    shape.window = window;
    l->count += block_ops(&shape, l->op + l->count);
}

static void append_layer(struct list *l, const struct scene *sc, const struct strategy *s,
                         int layer)
{
    const struct layer_kind *k = &sc->model->kind[sc->model->layer[layer]];
    append(l, sc, s, BLOCK_ATTENTION, k->window);
    append(l, sc, s, feed_block(k->feed), 0);
}

struct stage {
    struct list embedding, layer[8], mtp, head; /* empty: on another rank */
    int layers, again, group;                   /* recomputed whole: the first `again`, in groups */
    int modules;                                /* of the others */
    bool moe[8];    /* recomputed inputs of such layers stay, with their gradients */
    double input;   /* bytes of a layer's input */
    double waiting; /* of an input that is still there when the head runs forward */
    double tied;    /* of the head's gradient that waits for the embedding's */
};

static void find_ends(struct stage *x, const struct scene *sc, const struct strategy *s, int rank)
{
    const struct model *m = sc->model;
    if (rank == 0)
        append(&x->embedding, sc, s, BLOCK_EMBEDDING, 0);
    if (rank < s->pp - 1)
        return;
    append(&x->head, sc, s, BLOCK_HEAD, 0);
    if (m->mtp > 0) {
        append(&x->mtp, sc, s, BLOCK_MTP, 0);
        append_layer(&x->mtp, sc, s, m->layers - 1);
        append(&x->mtp, sc, s, BLOCK_HEAD, 0);
    }
    x->waiting = s->pp > 1 ? x->input : 0;
    if (s->pp == 1 && m->tied && !sc->te)
        x->tied = 2.0 * (double)model_padded_vocab(m, 1) * m->hidden;
}

static void find_stage(struct stage *x, const struct scene *sc, const struct strategy *s,
                       const struct layout *l, int rank)
{
    const struct model *m = sc->model;
    struct block_shape any = block_shape_of(sc, s, BLOCK_MLP);
    memset(x, 0, sizeof *x);
    x->layers = l->layers[rank];
    for (int i = 0; i < x->layers; i++) {
        append_layer(&x->layer[i], sc, s, l->first[rank] + i);
        x->moe[i] = m->kind[m->layer[l->first[rank] + i]].feed == FEED_MOE;
    }
    bool full = s->recompute == RECOMPUTE_FULL, uniform = s->recompute_method == METHOD_UNIFORM;
    int some = s->recompute_layers < x->layers ? s->recompute_layers : x->layers;
    x->again = full ? (uniform ? x->layers : some) : 0;
    x->group = uniform ? s->recompute_layers : 1;
    x->modules = s->recompute == RECOMPUTE_SELECTIVE ? s->recompute_modules : 0;
    x->input = boundary_bytes(&any);
    find_ends(x, sc, s, rank);
}

static double dropped(const struct list *l, int modules)
{
    double sum = 0;
    for (int i = 0; i < l->count; i++)
        sum += l->op[i].modules & modules ? l->op[i].saved : 0;
    return sum;
}

static int last_of(const struct stage *x, int first)
{
    return first + x->group < x->again ? first + x->group : x->again;
}

static void group_backward(struct tape *t, const struct stage *x, int first)
{
    int end = last_of(x, first);
    bool stays = false;
    t->alive += x->input; /* the gradient of the output waits */
    for (int i = first; i < end; i++)
        run_forward(t, x->layer[i].op, x->layer[i].count);
    t->alive -= x->input; /* counted by every operator's own backward */
    for (int i = end - 1; i >= first; i--) {
        run_backward(t, x->layer[i].op, x->layer[i].count);
        stays = stays || x->moe[i];
    }
    t->alive += stays ? x->input : -x->input;
}

/* Forward of one micro-batch. A layer that drops modules does so when it is done. */
static void stage_forward(struct tape *t, const struct stage *x)
{
    run_forward(t, x->embedding.op, x->embedding.count);
    for (int i = 0; i < x->again; i = last_of(x, i))
        t->alive += x->input;
    for (int i = x->again; i < x->layers; i++) {
        run_forward(t, x->layer[i].op, x->layer[i].count);
        t->alive -= dropped(&x->layer[i], x->modules);
    }
    run_forward(t, x->mtp.op, x->mtp.count);
    t->alive += x->waiting;
    run_forward(t, x->head.op, x->head.count);
    t->alive -= x->waiting;
}

/* Backward: such a layer computes all of its modules again first. What stays is collected before
 * the embedding's turn. */
static void stage_backward(struct tape *t, const struct stage *x)
{
    run_backward(t, x->head.op, x->head.count);
    run_backward(t, x->mtp.op, x->mtp.count);
    t->alive += x->tied;
    for (int i = x->layers - 1; i >= x->again; i--) {
        t->alive += dropped(&x->layer[i], x->modules);
        run_backward(t, x->layer[i].op, x->layer[i].count);
    }
    double behind = t->alive;
    for (int i = 0; i < x->again; i = last_of(x, i))
        behind -= x->input;
    for (int i = (x->again - 1) / x->group * x->group; x->again > 0 && i >= 0; i -= x->group)
        group_backward(t, x, i);
    t->alive = behind;
    run_backward(t, x->embedding.op, x->embedding.count);
    t->alive -= x->tied;
}

/* `flying` forwards and one backward: 1F1B at its fullest. */
static double walk_stage(const struct stage *x, int64_t flying)
{
    struct tape t = {0};
    double kept = 0;
    for (int64_t i = 0; i < flying; i++) {
        stage_forward(&t, x);
        kept = i == 0 ? t.alive : kept;
    }
    stage_backward(&t, x);
    assert_true(fabs(t.alive - (double)(flying - 1) * kept) < 1);
    return t.most;
}

/* Modules one by one: each is computed again when what follows it runs backward. The least that one
 * micro-batch's layers hold. */
static double finest_walk(const struct stage *x)
{
    double kept = 0, most = 0;
    for (int i = 0; i < x->embedding.count; i++)
        kept += x->embedding.op[i].saved;
    for (int i = 0; i < x->layers; i++) {
        const struct list *l = &x->layer[i];
        for (int k = l->count - 1; k >= 0; k--) {
            double alive = kept;
            int back = k > 0 ? l->op[k].modules | l->op[k - 1].modules : l->op[k].modules;
            for (int j = 0; j < k; j++)
                alive += l->op[j].modules & x->modules & ~back ? 0 : l->op[j].saved;
            most = fmax(most, alive + l->op[k].temporary_back);
        }
        for (int k = 0; k < l->count; k++)
            kept += l->op[k].modules & x->modules ? 0 : l->op[k].saved;
    }
    return most;
}

/* True where the plan has exactly what the walk has. With experts it may have more: what stays of
 * unlike recomputed layers, and a tied gradient beside the fullest moment of forward, too. */
static bool check_stage(const struct scene *sc, const struct strategy *s, const struct plan *p,
                        int rank)
{
    static struct stage x;
    int64_t flying =
        strategy_micro_batches(s) < s->pp - rank ? strategy_micro_batches(s) : s->pp - rank;
    find_stage(&x, sc, s, &p->layout, rank);
    double got = part_of(p, rank, MEMORY_activations) + part_of(p, rank, MEMORY_temporary);
    double walked = walk_stage(&x, flying);
    double stays = x.again > 1 ? (x.again - 1) * x.input : 0;
    double more = model.experts > 0 ? stays + x.tied : 0;
    bool same = fabs(got - walked) <= 1e-9 * walked;
    if (!same && !(got > walked && got <= walked + more))
        fail_msg("rank %d of %d, recompute %d %d %d %d: %.0f, walked %.0f", rank, s->pp,
                 s->recompute, s->recompute_method, s->recompute_layers, s->recompute_modules, got,
                 walked);
    assert_true(s->recompute == RECOMPUTE_FULL || finest_walk(&x) <= got * (1 + 1e-12));
    return same;
}

static void stages_equal_a_walk(void **state)
{
    int same = 0, stages = 0;
    (void)state;
    for (int i = 0; i < 500; i++) {
        char text[256];
        random_model(text, sizeof text);
        struct scene sc = scene_of(text, "1x8:H100", pick(0, 1));
        struct strategy s = ways(1, pick(1, model.layers < 5 ? model.layers : 5), 1, pick(1, 4));
        s.split = SPLIT_UNEVEN;
        s.seq_len = 64 * pick(1, 4);
        s.grouped_gemm = pick(0, 1);
        random_recompute(&s);
        struct plan p = evaluate(&sc, &s);
        for (int r = 0; r < s.pp; r++, stages++)
            same += check_stage(&sc, &s, &p, r);
        arena_clear(&mem);
    }
    print_message("%d of %d stages are what was walked\n", same, stages);
    assert_true(same > 0.9 * stages);
}

/* Laws. Models of one and of several kinds of layers, and any strategy Megatron can lay out. */
static const char *const MODELS[] = {
    "layers=16,hidden=2048,ffn=5632,heads=16,kv=4,vocab=32000",
    "layers=16,hidden=4096,ffn=16384,heads=32,vocab=1000",
    "layers=16,hidden=1024,ffn=4096,heads=16,vocab=50257,gated=0,layer_norm=1,tied=1",
    "layers=16,hidden=1024,ffn=4096,heads=16,kv=4,vocab=151936,experts=8,topk=2,expert_ffn=768,"
    "shared_ffn=1024,dense_first=3",
    "layers=16,hidden=1024,ffn=2048,heads=16,vocab=129280,mla=1,q_lora=384,kv_lora=128,qk_nope=64,"
    "qk_rope=32,v_dim=64,experts=16,topk=4,expert_ffn=256,mtp=1",
    "layers=16,hidden=1536,ffn=6144,heads=16,kv=8,vocab=262144,window=512,window_every=4,"
    "qk_norm=1,post_norms=1,tied=1",
};

static void random_structure(struct strategy *s)
{
    static const int WAYS[] = {1, 1, 2, 4, 16};
    *s = ways(WAYS[pick(0, 3)], WAYS[pick(0, 3)], WAYS[pick(0, 4)], 1);
    s->cp = pick(0, 3) ? 1 : 2;
    s->micro_batch = pick(1, 2);
    s->global_batch = s->micro_batch * s->dp * s->pp * pick(1, 4);
    s->vpp = s->pp > 1 && pick(0, 1) ? 2 : 1;
    s->seq_len = 64 << pick(0, 5);
    s->seq_parallel = s->tp > 1 && pick(0, 1);
    s->split = pick(0, 2) ? SPLIT_EVEN : SPLIT_UNEVEN;
    s->cp_comm = pick(CP_P2P, CP_ALLGATHER);
    s->dispatcher = pick(DISPATCH_ALLGATHER, DISPATCH_ALLTOALL);
    s->grouped_gemm = pick(0, 1);
    s->attention = pick(0, 3) ? ATTENTION_FLASH : ATTENTION_LOCAL;
    s->precision = pick(0, 2) ? PRECISION_BF16 : PRECISION_FP8;
    s->loss_fusion = pick(0, 1);
    s->loss_te = s->loss_fusion && pick(0, 1);
    if (model.experts > 0) {
        s->ep = pick(0, 1) && s->dp <= 4 ? s->dp * s->cp : 1;
        s->etp = pick(0, 1) ? s->tp : 1;
    }
}

static void random_state(struct strategy *s)
{
    s->dist_opt = pick(0, 1);
    s->fsdp = s->dist_opt && pick(0, 2) == 0 ? pick(FSDP_NO_SHARD, FSDP_FULL) : FSDP_NONE;
    s->grad_bf16 = pick(0, 2) == 0;
    s->precision_aware = s->dist_opt && pick(0, 1);
    s->moments_bytes = s->precision_aware ? 2 : 4;
    s->main_grads_bf16 = s->precision_aware && pick(0, 1);
    s->fp8_params = s->precision == PRECISION_FP8 && pick(0, 1);
    s->optimizer_offload = pick(0, 3) ? 0 : 50;
}

static struct scene random_case(struct strategy *s)
{
    struct scene sc = scene_of(MODELS[pick(0, COUNT(MODELS) - 1)], "64x8:H100", pick(0, 1));
    sc.hidden_dropout = pick(0, 3) == 0 ? 0.1 : 0;
    sc.imbalance = model.experts > 0 && pick(0, 1) ? 1.25 : 1;
    sc.memory_imbalance = pick(0, 1) ? 0 : sc.imbalance + 0.1 * pick(0, 5);
    if (model.experts > 0 && pick(0, 3) == 0)
        sc.switches.offload = OFFLOAD_EXPERT_FC1 | OFFLOAD_MOE_ACT;
    random_structure(s);
    random_recompute(s);
    random_state(s);
    return sc;
}

static void check_parts(const struct plan_stage *x)
{
    double sum = 0, framework = 0;
    for (int i = 0; i < MEMORY_PARTS; i++) {
        assert_true(x->memory.part[i] >= 0);
        sum += x->memory.part[i];
        framework += memory_part_info((enum memory_part)i)->framework ? x->memory.part[i] : 0;
    }
    assert_true(near(framework, x->peak_bytes) && near(sum, x->device_bytes));
}

/* The search's own way to the same figures. */
static void check_partition(const struct scene *sc, const struct strategy *s, const struct plan *p)
{
    struct partition *f = arena_alloc(&mem, sizeof *f);
    struct layer_costs *costs = arena_alloc(&mem, sizeof *costs);
    struct error err = {0};
    struct pass_times t, least;
    struct state st;
    double most = 0, reserved = 1 + memory_reserve(s, sc->te);
    layer_costs_of(sc, s, costs);
    must(partition_init(f, sc, (const struct layer_costs *const[]){costs}, s, NULL, &err), &err);
    pass_times_of(f, s, &mem, &t);
    least = t;
    pass_times_memory(f, s, &mem, &t);
    pass_times_least_memory(f, s, &mem, &least);
    state_of(f, s, &mem, &st);
    for (int c = 0; c < f->classes; c++)
        assert_true(least.activations[c] + least.temporary[c] <=
                    (t.activations[c] + t.temporary[c]) * (1 + 1e-12));
    for (int r = 0; r < s->pp; r++) {
        int first = f->class[f->class_of[r]].rank;
        struct memory_use states = {{0}};
        const struct plan_stage *x = &p->stage[r];
        double judged = x->peak_bytes + x->memory.part[MEMORY_expert_reserve] / reserved;
        memory_of_states(&f->class[f->class_of[r]].params, s, &states);
        assert_true(p->stage[r].peak_bytes >= memory_peak(&states) * (1 - 1e-12));
        assert_true(p->stage[first].peak_bytes >= p->stage[r].peak_bytes * (1 - 1e-12));
        assert_true(x->fits == (judged <= f->mesh[0].limit) || near(judged, f->mesh[0].limit));
        assert_true(near(x->fullness, judged / f->mesh[0].limit));
        assert_true(p->stage[r].fits == (p->stage[r].device_bytes <= p->limit_bytes) ||
                    near(p->stage[r].device_bytes, p->limit_bytes));
        most = fmax(most, judged);
    }
    assert_true(near(partition_fullness(f, &t, &st), most / f->mesh[0].limit));
}

static void parts_and_search_agree(void **state)
{
    int seen[MOMENTS] = {0};
    (void)state;
    for (int i = 0; i < 400; i++) {
        struct strategy s;
        struct scene sc = random_case(&s);
        struct plan p = evaluate(&sc, &s);
        for (int r = 0; r < p.stages; r++) {
            check_parts(&p.stage[r]);
            seen[p.stage[r].moment]++;
        }
        check_partition(&sc, &s, &p);
        arena_clear(&mem);
    }
    assert_true(seen[MOMENT_step] > 0 && seen[MOMENT_setup] > 0 && seen[MOMENT_recompute] > 0 &&
                seen[MOMENT_head] > 0 && seen[MOMENT_layer] > 0);
}

static void never_less(const struct plan *more, const struct plan *p, const char *what)
{
    for (int r = 0; r < p->stages; r++)
        if (more->stage[r].peak_bytes < p->stage[r].peak_bytes * (1 - 1e-12))
            fail_msg("%s: stage %d needs %.0f, before %.0f", what, r, more->stage[r].peak_bytes,
                     p->stage[r].peak_bytes);
}

static void more_work_needs_no_less(void **state)
{
    (void)state;
    for (int i = 0; i < 200; i++) {
        struct strategy s, t;
        struct scene sc = random_case(&s);
        struct plan p = evaluate(&sc, &s), q;
        t = s;
        t.seq_len *= 2;
        q = evaluate(&sc, &t);
        never_less(&q, &p, "twice the sequence");
        t = s;
        t.micro_batch *= 2;
        t.global_batch *= 2;
        q = evaluate(&sc, &t);
        never_less(&q, &p, "twice the micro-batch");
        t = s;
        t.global_batch *= 2;
        q = evaluate(&sc, &t);
        never_less(&q, &p, "twice the micro-batches");
        sc.imbalance *= 1.5;
        sc.memory_imbalance = sc.switches.offload = 0;
        p = evaluate(&sc, &s);
        sc.imbalance *= 1.5;
        q = evaluate(&sc, &s);
        never_less(&q, &p, "experts less balanced");
        arena_clear(&mem);
    }
}

/* Room for fuller experts: what the run needs stays, and with the reserve it is what a run with such
 * experts needs. No second of the step changes. */
static void fuller_experts_are_a_reserve(void **state)
{
    int reserved = 0;
    (void)state;
    for (int i = 0; i < 200; i++) {
        struct strategy s;
        struct scene sc = random_case(&s), full = sc;
        sc.memory_imbalance = 1.4;
        sc.switches.offload = full.switches.offload = 0; /* large enough on some ranks alone */
        full.imbalance = 1.4;
        full.memory_imbalance = 0;
        struct scene run = scene_unreserved(&sc);
        struct plan p = evaluate(&sc, &s), balanced = evaluate(&run, &s), q = evaluate(&full, &s);
        assert_true(p.step_s == balanced.step_s);
        for (int r = 0; r < p.stages; r++) {
            const struct plan_stage *x = &p.stage[r];
            reserved += x->memory.part[MEMORY_expert_reserve] > 0;
            assert_true(x->peak_bytes == balanced.stage[r].peak_bytes);
            assert_true(balanced.stage[r].memory.part[MEMORY_expert_reserve] == 0);
            assert_true(near(x->device_bytes, q.stage[r].device_bytes));
            assert_int_equal(x->fits, q.stage[r].fits);
        }
        assert_int_equal(scene_reserves(&sc, &s), model.experts > 0 && s.ep > 1);
        arena_clear(&mem);
    }
    assert_true(reserved > 0);
}

/* It fits at what is said, and a hundredth above it no more. */
static void expert_room_is_the_edge(void **state)
{
    int edges = 0, any = 0;
    (void)state;
    for (int i = 0; i < 300; i++) {
        struct strategy s;
        struct scene sc = random_case(&s);
        struct plan p = evaluate(&sc, &s);
        double needs = plan_fullest(&p)->device_bytes / sc.group->usable_bytes;
        sc.memory_margin = fmax(0, 1 - needs * (0.9 + 0.03 * pick(0, 8))); /* just enough, or not */
        p = evaluate(&sc, &s);
        struct expert_room room = expert_room_of(&p);
        assert_true((room.possible > 1) == (model.experts > 0 && s.ep > 1));
        assert_true(room.possible == 0 || room.possible <= s.ep);
        sc.memory_imbalance = fmax(1, room.fits);
        p = evaluate(&sc, &s);
        assert_true(room.possible == 0 || plan_fits(&p) == (room.fits > 0));
        sc.memory_imbalance = room.fits + 0.01;
        p = evaluate(&sc, &s);
        any += room.possible > 0 && room.fits == room.possible;
        if (room.fits > 0 && room.fits < room.possible && sc.memory_imbalance <= room.possible) {
            assert_false(plan_fits(&p));
            edges++;
        }
        arena_clear(&mem);
    }
    assert_true(edges > 0 && any > 0);
}

/* Recomputing more keeps less between the passes; beside that it may need more. */
static void recompute_keeps_less(void **state)
{
    (void)state;
    for (int i = 0; i < 200; i++) {
        struct strategy s;
        struct scene sc = random_case(&s);
        double before = INFINITY;
        s.vpp = 1;
        s.grad_bf16 = s.dist_opt = s.fsdp = 0; /* no moment without activations */
        s.recompute_method = s.recompute_layers = s.recompute_modules = 0;
        for (s.recompute = RECOMPUTE_NONE; s.recompute <= RECOMPUTE_FULL; s.recompute++) {
            bool full = s.recompute == RECOMPUTE_FULL;
            s.recompute_modules = s.recompute == RECOMPUTE_SELECTIVE ? pick(1, 127) : 0;
            s.recompute_method = full ? METHOD_UNIFORM : METHOD_NONE;
            s.recompute_layers = full;
            struct plan p = evaluate(&sc, &s);
            assert_true(part_of(&p, 0, MEMORY_activations) <= before * (1 + 1e-12));
            before = part_of(&p, 0, MEMORY_activations);
        }
        arena_clear(&mem);
    }
}

/* At fixed dp, cp and micro-batches, more tensor parallelism never needs more; the padding of the
 * vocabulary is taken out by one that every tp divides. */
static void memory_never_rises_with_tp(void **state)
{
    (void)state;
    struct scene sc =
        scene_of("layers=16,hidden=8192,ffn=28672,heads=64,kv=8,vocab=131072", "64x8:H100", true);
    for (int sp = 0; sp <= 1; sp++)
        for (int recompute = RECOMPUTE_NONE; recompute <= RECOMPUTE_FULL; recompute++)
            for (int pp = 1; pp <= 4; pp *= 2) {
                double before[4] = {INFINITY, INFINITY, INFINITY, INFINITY};
                for (int tp = 1; tp <= 8; tp *= 2) {
                    struct strategy s = ways(tp, pp, 2, 16);
                    s.seq_len = 2048;
                    s.seq_parallel = sp && tp > 1;
                    s.recompute = recompute;
                    s.recompute_modules =
                        recompute == RECOMPUTE_SELECTIVE ? MODULE_CORE_ATTN | MODULE_MLP : 0;
                    s.recompute_method = recompute == RECOMPUTE_FULL ? METHOD_UNIFORM : METHOD_NONE;
                    s.recompute_layers = recompute == RECOMPUTE_FULL;
                    struct plan p = evaluate(&sc, &s);
                    for (int r = 0; r < pp; r++) {
                        assert_true(p.stage[r].peak_bytes <= before[r]);
                        before[r] = p.stage[r].peak_bytes;
                    }
                }
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(states_by_hand),
        cmocka_unit_test(host_states_by_hand),
        cmocka_unit_test(hosts_by_hand),
        cmocka_unit_test(roots_of_moments),
        cmocka_unit_test(unfused_attention),
        cmocka_unit_test(flash_attention),
        cmocka_unit_test(tied_matrices),
        cmocka_unit_test(rank_params_add_up),
        cmocka_unit_test(layer_by_hand),
        cmocka_unit_test(tied_gradient_waits),
        cmocka_unit_test(buffers_by_hand),
        cmocka_unit_test(waits_at_the_loss),
        cmocka_unit_test(offloaded_modules),
        cmocka_unit_test(state_buffers_by_hand),
        cmocka_unit_test(wide_layers_are_in_16_bits),
        cmocka_unit_test(muon_by_hand),
        cmocka_unit_test(outside_by_hand),
        cmocka_unit_test(moments),
        cmocka_unit_test(sums_equal_a_walk),
        cmocka_unit_test(stages_equal_a_walk),
        cmocka_unit_test(parts_and_search_agree),
        cmocka_unit_test(more_work_needs_no_less),
        cmocka_unit_test(fuller_experts_are_a_reserve),
        cmocka_unit_test(expert_room_is_the_edge),
        cmocka_unit_test(recompute_keeps_less),
        cmocka_unit_test(memory_never_rises_with_tp),
    };
    arena_init(&mem);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    arena_release(&mem);
    return failed;
}
