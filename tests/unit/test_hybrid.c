/* Models whose layers are one half each: the pattern, counts, and the operators of a state-space layer against figures
 * computed by hand from the kernels' source; the flags of Megatron and what their validator refuses. */
#include "base/arena.h"
#include "base/str.h"
#include "cluster/cluster.h"
#include "cost/group_costs.h"
#include "import/megatron/flags.h"
#include "layer/ops.h"
#include "model/model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(table) (sizeof(table) / sizeof *(table))

static struct arena mem;

/* Widths that are easy by hand: inner 256, shared (B and C) 64, states 16. */
#define SHAPE                                                                                      \
    ",hidden=128,ffn=512,heads=4,kv=2,vocab=1000,gated=0,norm=rms,tied=0,learned_pos=0,"           \
    "qkv_bias=0,linear_bias=0"
#define MAMBA ",mamba_heads=16,mamba_head_dim=16,mamba_groups=2,mamba_state=16"
static const char SMALL[] = "pattern=M-*M" SHAPE MAMBA;

static struct model from_pairs(const char *pairs)
{
    struct model m;
    struct error err = {0};
    if (!model_from_pairs(&m, pairs, &err))
        fail_msg("%s: %s", pairs, err.text);
    return m;
}

static void pattern_says_layers(void **state)
{
    struct model m = from_pairs("pattern=MEM*-E/*E/*E,experts=8,topk=2,expert_ffn=32" SHAPE MAMBA);
    struct str text = {0};
    (void)state;
    assert_int_equal(m.layers, 6);
    assert_int_equal(m.mtp, 2);
    assert_int_equal(m.mtp_layers, 2);
    assert_int_equal(m.kinds, 4);
    assert_int_equal(m.kind[m.layer[0]].mixer, MIXER_MAMBA);
    assert_int_equal(m.kind[m.layer[0]].feed, FEED_NONE);
    assert_int_equal(m.kind[m.layer[1]].mixer, MIXER_NONE);
    assert_int_equal(m.kind[m.layer[1]].feed, FEED_MOE);
    assert_int_equal(m.kind[m.mtp_layer[0]].mixer, MIXER_ATTENTION);
    assert_int_equal(m.layer[3], m.mtp_layer[0]);
    model_add_symbols(&m, &text);
    assert_string_equal(str_text(&text), "MEM*-E/*E/*E");
    str_release(&text);
}

/* A pattern lays the layers out again whenever fields change. */
static void pattern_survives_overrides(void **state)
{
    struct model m = from_pairs(SMALL), before = m;
    struct error err = {0};
    char said[160];
    (void)state;
    assert_true(model_override(&m, "ffn=1024,mamba_state=32", &err));
    assert_memory_equal(m.layer, before.layer, sizeof m.layer);
    assert_int_equal(m.ffn, 1024);
    assert_false(model_same(&m, &before, said, sizeof said));
    assert_true(model_override(&m, "pattern=M-", &err));
    assert_int_equal(m.layers, 2);
    assert_false(model_override(&m, "layers=3", &err));
    assert_string_equal(err.text, "model: layers is 3, and the pattern has 2");
}

static void wrong_patterns(void **state)
{
    static const struct {
        const char *pairs, *message;
    } CASES[] = {
        {"pattern=M-x" SHAPE MAMBA, "'x' is no layer that is known"},
        {"pattern=M-//" SHAPE MAMBA, "0 layers before or behind a '/'"},
        {"pattern=/*" SHAPE MAMBA, "0 layers before or behind a '/'"},
        {"pattern=M-/*/-" SHAPE MAMBA, "MTP layers are '*' and '-', expected all alike"},
        {"pattern=M+*-" SHAPE MAMBA, "has attention (*) and multi-latent attention (+, D)"},
        {"layers=3,pattern=M-" SHAPE MAMBA, "has 2 layers, and layers is 3"},
        {"pattern=M-" SHAPE, "mamba_heads is missing"},
        {"pattern=*-" SHAPE MAMBA, "no layer of the pattern is one (M)"},
        {"layers=2" SHAPE MAMBA, "no layer of the pattern is one (M)"},
        {"pattern=M-E" SHAPE MAMBA, "experts is missing"},
        {"pattern=G-" SHAPE, "gdn_heads is missing"},
        {"layers=2,gdn_heads=8,gdn_dim=8,gdn_key_heads=4,gdn_key_dim=8" SHAPE,
         "no layer is a gated delta net"},
        {"layers=2,full_every=2,gdn_heads=8" SHAPE, "gdn_dim, gdn_key_heads and gdn_key_dim"},
        {"pattern=M-,mtp=1" SHAPE MAMBA, "the pattern has no layers for it"},
        {"pattern=M-,mamba_heads=16,mamba_groups=3" SHAPE, "mamba_groups is 3, expected a divisor"},
        {"pattern=M-,mamba_state=8" SHAPE, "mamba_state is 8, which means nothing without"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(CASES); i++) {
        struct model m;
        struct error err = {0};
        assert_false(model_from_pairs(&m, CASES[i].pairs, &err));
        if (!strstr(err.text, CASES[i].message))
            fail_msg("%s: %s", CASES[i].pairs, err.text);
    }
}

/* in 128 x (2 x 256 + 64 + 16), out 256 x 128, convolution 320 x 5, 3 x 16, gated norm 256; a norm of 128. */
static void parameters(void **state)
{
    struct model m = from_pairs(SMALL);
    struct layer_params p = model_layer_params(&m, &m.kind[m.layer[0]]);
    (void)state;
    assert_int_equal(p.mixer_linear, 128 * 592 + 256 * 128 + 320 * 5 + 48 + 256);
    assert_int_equal(p.mixer_replicated, 128);
    assert_int_equal(p.mlp + p.mlp_replicated + p.experts, 0);
    p = model_layer_params(&m, &m.kind[m.layer[1]]);
    assert_int_equal(p.mixer_linear + p.mixer_replicated, 0);
    assert_int_equal(p.mlp, 2 * 128 * 512);
}

/* FLOPs of Megatron's hybrid_flops where the inner width is 2 x hidden: a layer each of state space, MLP and attention. */
static void flops(void **state)
{
    struct model m = from_pairs("pattern=M-*" SHAPE MAMBA);
    double tokens = 3 * 64.0;
    double mamba =
        2 * tokens * 128 * (512 + 64 + 16) + 7 * tokens * 256 * 16 + 2 * tokens * 256 * 128;
    double mlp = 4 * tokens * 128 * 512;
    double attention = 4 * tokens * 128 * (128 + 64) + 2 * tokens * 64 * 128;
    double head = 2 * tokens * 128 * 1024;
    (void)state;
    assert_true(model_flops(&m, 3, 64) == 3 * (mamba + mlp + attention + head));
}

static struct op op_called(const struct block_shape *s, const char *name)
{
    struct op ops[OPS_MAX];
    int n = block_ops(s, ops);
    for (int i = 0; i < n; i++)
        if (strcmp(ops[i].name, name) == 0)
            return ops[i];
    fail_msg("no operator %s", name);
    return ops[0];
}

static struct block_shape shape_of(const struct model *m, int tp, int cp)
{
    return (struct block_shape){.model = m,
                                .kind = BLOCK_MAMBA,
                                .tp = tp,
                                .cp = cp,
                                .ep = 1,
                                .etp = 1,
                                .micro_batch = 2,
                                .seq_len = 512 * cp,
                                .seq_parallel = 1,
                                .imbalance = 1,
                                .te = true};
}

/* 1024 tokens a rank; the kernel keeps what it gets and its output before the gate, the norm what it gets. */
static void operators(void **state)
{
    struct model m = from_pairs(SMALL);
    struct block_shape s = shape_of(&m, 1, 1);
    double t = 1024;
    (void)state;
    struct op in = op_called(&s, "state-space in"), scan = op_called(&s, "scan");
    assert_true(in.n == 592 && in.k == 128 && in.saved == 2 * t * 592);
    assert_int_equal(scan.kind, OP_SCAN);
    assert_true(scan.saved == 2 * 2 * t * 256);
    /* convolution's output, steps, states of 256 x 16 / 128 in fp32 and 16 bits, less what is saved; or 16 bits of them
     * and the products of C and B, 2 groups x 128 in fp32 */
    assert_true(scan.temporary == t * (2 * 320 + 8 * 16 + (2 * 32 + 4 * 256)));
    /* states in and out of a chunk 2 x 2 x 256 x 16, pairs of a chunk 256 x 16, masked half 256 x 128, convolution */
    assert_true(scan.flops == t * (2 * 2 * 256 * 16 + 256 * 16 + 256 * 128 + 2 * 4 * 320));
    assert_true(scan.flops_back > 2 * scan.flops && scan.bytes_back > 2 * scan.bytes);
    assert_true(op_called(&s, "state-space out").saved == 2 * t * 256);
    /* two sequences are put one behind the other and back; one needs no copy */
    assert_true(op_called(&s, "sequences first").bytes == 4 * t * 592);
    assert_true(op_called(&s, "tokens first").bytes_back == 4 * t * 256);
    struct op ops[OPS_MAX];
    s.micro_batch = 1;
    for (int i = 0, n = block_ops(&s, ops); i < n; i++)
        assert_null(strstr(ops[i].name, " first"));
}

/* The slowest of products, memory, and what the multiprocessors get through: H200 and B200 are bound by the last. */
static void scans_take(void **state)
{
    const struct gpu *h200 = gpu_find("H200", NULL), *h100 = gpu_find("H100", NULL);
    double issue_s = 1e9 / (13.3 * 132 * 1830e6);
    (void)state;
    assert_true(h200 && h100);
    assert_float_equal(scan_seconds(h200, 1e9, 0, 1e9 / 4800e9), issue_s, 1e-12);
    assert_true(scan_seconds(h100, 1e9, 0, 4e-4) == 4e-4);
    assert_true(scan_seconds(h200, 1e9, 1e-3, 0) == 1e-3);
}

/* Half of everything but the stream on two ranks; under context parallelism heads are exchanged for tokens, and a group
 * that is on more ranks than one is copied. */
static void parallel(void **state)
{
    struct model m = from_pairs(SMALL);
    struct block_shape one = shape_of(&m, 1, 1), two = shape_of(&m, 2, 1),
                       four = shape_of(&m, 1, 4);
    double t = 1024;
    (void)state;
    struct op a = op_called(&one, "scan"), b = op_called(&two, "scan");
    assert_true(b.flops == a.flops / 2 && b.bytes == a.bytes / 2 && b.saved == a.saved / 2);
    assert_true(b.temporary == a.temporary / 2 && b.temporary_back == a.temporary_back / 2);
    struct op heads = op_called(&four, "heads exchange"),
              tokens = op_called(&four, "tokens exchange");
    assert_int_equal(heads.comm, COMM_ALL_TO_ALL);
    assert_true(heads.ranks == 4 && heads.bytes == 2 * t * (512 + 2 * 64 + 16));
    assert_true(tokens.bytes == 2 * t * 256);
    assert_true(op_called(&four, "state-space in").saved == heads.bytes);
}

/* Experts behind a latent projection get and give rows of its width. */
static void latent_experts(void **state)
{
    struct model m =
        from_pairs("pattern=ME,experts=8,topk=2,expert_ffn=32,moe_latent=48" SHAPE MAMBA);
    struct block_shape s = shape_of(&m, 1, 1);
    (void)state;
    s.kind = BLOCK_MOE;
    s.ep = 2;
    s.grouped_gemm = 1;
    struct op down = op_called(&s, "latent down"), up = op_called(&s, "latent up");
    assert_true(down.m == 1024 && down.n == 48 && down.k == 128);
    assert_true(up.m == 1024 && up.n == 128 && up.k == 48);
    assert_true(op_called(&s, "expert up").k == 48 && op_called(&s, "expert down").n == 48);
    assert_true(op_called(&s, "dispatch").bytes == 2 * 48 * 1024 * 2);
    struct layer_params p = model_layer_params(&m, &m.kind[m.layer[1]]);
    assert_int_equal(p.experts, 8 * 2 * 48 * 32);
    assert_int_equal(p.mlp_replicated, 128 + 8 * 128 + 2 * 128 * 48);
}

#define NET                                                                                        \
    "layers=4,full_every=2,gdn_heads=8,gdn_dim=32,gdn_key_heads=4,gdn_key_dim=16,attn_gate=1,"     \
    "hidden=128,ffn=512,heads=4,kv=2,vocab=1000"

/* queries and keys 64 each, values 256: in 128 x (2 x 64 + 2 x 256 + 2 x 8), out 256 x 128, convolution 384 x 4, 2 x 8. */
static void gated_delta_nets(void **state)
{
    struct model m = from_pairs(NET);
    struct layer_params p = model_layer_params(&m, &m.kind[m.layer[0]]);
    struct block_shape s = shape_of(&m, 1, 1), two = shape_of(&m, 2, 1);
    double t = 1024;
    (void)state;
    assert_int_equal(m.kind[m.layer[0]].mixer, MIXER_GDN);
    assert_int_equal(m.kind[m.layer[1]].mixer, MIXER_ATTENTION);
    assert_int_equal(p.mixer_linear, 128 * 656 + 256 * 128 + 384 * 4 + 16);
    assert_int_equal(p.mixer_replicated, 128 + 32);
    p = model_layer_params(&m, &m.kind[m.layer[1]]);
    assert_int_equal(p.mixer_linear, 128 * (2 * 128 + 2 * 64) + 128 * 128);
    s.kind = two.kind = BLOCK_GDN;
    struct op in = op_called(&s, "delta-net in"), rule = op_called(&s, "delta rule");
    assert_true(in.n == 656 && in.saved == 2 * t * 656);
    /* A of 8 heads x 64, the output, the summed decay in fp32 */
    assert_true(rule.saved == 2 * t * (512 + 256) + 4 * t * 8);
    /* states of 256 x 16 three times, inside of chunks of 64: K K', W, U and Q K', O half masked; the inverse */
    assert_true(rule.flops == t * (3 * 2 * 256 * 16 + 2 * 64 * (2 * 128 + 256) + 512 * 64));
    struct op half = op_called(&two, "delta rule");
    assert_true(half.flops == rule.flops / 2 && half.saved == rule.saved / 2);
    s.kind = BLOCK_ATTENTION;
    assert_true(op_called(&s, "qkv").n == 2 * 128 + 2 * 64);
    assert_true(op_called(&s, "output gate").saved == 2 * t * 128);
}

/* Kimi delta attention of 8 heads of 16: q, k, v, out 4 x 128 x 128, two products of 128 x 16 x 2, strengths, three
 * convolutions, decays of heads and bias of channels; lightning attention of 4 heads of 32. */
static void linear_attention(void **state)
{
    struct model m = from_pairs("pattern=K-L-*-,kda_heads=8,kda_dim=16" SHAPE);
    struct layer_params p = model_layer_params(&m, &m.kind[m.layer[0]]);
    struct block_shape s = shape_of(&m, 1, 1), two = shape_of(&m, 2, 1), four = shape_of(&m, 1, 4);
    double t = 1024;
    (void)state;
    assert_int_equal(p.mixer_linear,
                     4 * 128 * 128 + 2 * 16 * 128 + 128 * 8 + 3 * 4 * 128 + 8 + 128);
    assert_int_equal(p.mixer_replicated, 128 + 2 * 128 * 16 + 16);
    p = model_layer_params(&m, &m.kind[m.layer[2]]);
    assert_int_equal(p.mixer_linear, 5 * 128 * 128 + 128);
    assert_int_equal(p.mixer_replicated, 128);
    s.kind = two.kind = four.kind = BLOCK_KDA;
    struct op rule = op_called(&s, "delta rule"), half = op_called(&two, "delta rule");
    /* the delta rule's, and products of queries and keys, 8 x 64, in place of the sum of decays a head */
    assert_true(rule.saved == 2 * t * (512 + 128) + 2 * t * 512);
    assert_true(rule.flops == t * (3 * 2 * 128 * 16 + 2 * 64 * (2 * 128 + 128) + 512 * 64));
    assert_true(half.flops == rule.flops / 2 && half.bytes == rule.bytes / 2);
    assert_true(op_called(&two, "gates down").n == 32); /* whole on every rank */
    assert_true(op_called(&four, "heads exchange").bytes == 2 * t * (5 * 128 + 8));
    s.kind = two.kind = BLOCK_LIGHTNING;
    struct op in = op_called(&s, "lightning in"), scan = op_called(&s, "scan");
    assert_true(in.n == 512 && in.saved == 2 * t * 512);
    /* states in and out 2 x 2 x 128 x 32, Q K' and P V of chunks of 64, half masked */
    assert_true(scan.flops == t * (2 * 2 * 128 * 32 + 64 * (128 + 128)));
    assert_true(scan.saved == 2 * t * 128 && scan.flops_back > 2 * scan.flops);
    assert_true(op_called(&two, "scan").bytes == scan.bytes / 2);
    assert_string_equal(model_lacks(&m), "Megatron-LM has no Kimi delta attention");
}

/* Attention beside a state space: both parts, one norm; the scores of a sequence count. */
static void parallel_mixers(void **state)
{
    struct model m = from_pairs("pattern=H-M-*-,mamba_bare=1" SHAPE MAMBA);
    struct layer_params both = model_layer_params(&m, &m.kind[m.layer[0]]),
                        scan = model_layer_params(&m, &m.kind[m.layer[2]]),
                        attention = model_layer_params(&m, &m.kind[m.layer[4]]);
    struct block_shape s = shape_of(&m, 2, 1);
    struct op ops[OPS_MAX];
    (void)state;
    assert_int_equal(both.mixer_linear, scan.mixer_linear + attention.mixer_linear);
    assert_int_equal(both.mixer_replicated, 128);
    s.kind = BLOCK_PARALLEL;
    int norms = 0, gathers = 0, n = block_ops(&s, ops);
    for (int i = 0; i < n; i++) {
        norms += strstr(ops[i].name, "norm") != NULL;
        gathers += strstr(ops[i].name, "gather") != NULL;
    }
    assert_true(norms == 1 && gathers == 2);
    assert_true(op_called(&s, "qkv").n == (128 + 2 * 64) / 2);
    assert_true(op_called(&s, "scan").saved == 2 * 2 * 1024 * 128);
    assert_non_null(strstr(model_lacks(&m), "falcon_h1"));
}

static struct flags_result imported(const char *text, int64_t world)
{
    const char *words[128];
    int count = 0;
    struct flags_result r;
    struct error err = {0};
    char word[64];
    while (next_word(&text, word, sizeof word))
        words[count++] = arena_string(&mem, word);
    if (!flags_import(count, words, &r, &mem, &err) || !flags_model(&r, NULL, &err) ||
        !flags_finish(&r, world, &err))
        fail_msg("%s", err.text);
    return r;
}

#define FLAGS                                                                                      \
    "--bf16 --hidden-size 512 --num-attention-heads 4 --group-query-attention "                    \
    "--num-query-groups 2 --vocab-size 1000 --max-position-embeddings 64 --seq-length 64 "

static void flags_of_megatron(void **state)
{
    struct flags_result r;
    (void)state;
    /* heads are 2 x hidden / 64 unless told; the pattern goes before --num-layers */
    r = imported(FLAGS "--num-layers 9 --hybrid-layer-pattern M-*M", 8);
    assert_int_equal(r.model.layers, 4);
    assert_int_equal(r.model.mamba_heads, 16);
    assert_int_equal(r.model.mamba_state, 128);
    assert_int_equal(r.reasons.count, 0);
    /* two stages of a rank, cut unevenly */
    r = imported(FLAGS "--pipeline-model-parallel-size 2 --hybrid-layer-pattern M-|*|M|M-*", 8);
    assert_true(r.has_layout);
    assert_int_equal(r.strategy.vpp, 2);
    assert_int_equal(r.layout.layers[0], 2);
    assert_int_equal(r.layout.layers[1], 1);
    assert_int_equal(r.layout.layers[3], 3);
    assert_string_equal(r.model.pattern, "M-*MM-*");
    /* cut evenly: no layout is needed */
    r = imported(FLAGS "--pipeline-model-parallel-size 2 --hybrid-layer-pattern M-|*M", 8);
    assert_int_equal(r.strategy.split, SPLIT_EVEN);
    /* the older way to say MTP */
    r = imported(FLAGS "--hybrid-override-pattern M-*M --is-hybrid-model --mtp-num-layers 2 "
                       "--mtp-hybrid-override-pattern *- --position-embedding-type none",
                 8);
    assert_string_equal(r.model.mtp_pattern, "*-");
    assert_int_equal(r.model.mtp, 2);
    assert_true(r.model.nope_every == 1);
}

static void flags_of_delta_nets(void **state)
{
    struct flags_result r = imported(
        FLAGS
        "--num-layers 8 --experimental-attention-variant gated_delta_net "
        "--linear-attention-freq 4 --attention-output-gate --linear-num-value-heads 16 --swiglu",
        8);
    (void)state;
    assert_int_equal(r.model.gdn_heads, 16);
    assert_int_equal(r.model.gdn_key_heads, 16);
    assert_int_equal(r.model.gdn_key_dim, 128);
    assert_int_equal(r.model.full_every, 4);
    assert_int_equal(r.model.attn_gate, 1);
    r = imported(FLAGS "--num-layers 4 --experimental-attention-variant gdn "
                       "--linear-attention-freq [1,1,0,1]",
                 8);
    assert_int_equal(r.model.kind[r.model.layer[2]].mixer, MIXER_ATTENTION);
    assert_int_equal(r.model.kind[r.model.layer[3]].mixer, MIXER_GDN);
    r = imported(FLAGS "--hybrid-layer-pattern G-*-", 8);
    assert_int_equal(r.model.kind[r.model.layer[0]].mixer, MIXER_GDN);
    assert_int_equal(r.model.gdn_heads, 32);
}

static void flags_refused(void **state)
{
    struct flags_result r =
        imported(FLAGS "--pipeline-model-parallel-size 2 --hybrid-layer-pattern M-|*M "
                       "--num-layers-per-virtual-pipeline-stage 1",
                 8);
    (void)state;
    assert_int_equal(r.reasons.count, 1);
    assert_string_equal(r.reasons.text[0],
                        "--hybrid-layer-pattern and --num-layers-per-virtual-pipeline-stage "
                        "exclude each other: stages are cut by '|' in the pattern");
    r = imported(FLAGS "--hybrid-layer-pattern L-*-L-", 8);
    assert_int_equal(r.reasons.count, 1);
    assert_string_equal(r.reasons.text[0],
                        "--hybrid-layer-pattern has 'L': Megatron-LM has no lightning attention");
    r = imported(FLAGS "--pipeline-model-parallel-size 2 --hybrid-layer-pattern M|-|*", 8);
    assert_int_equal(r.reasons.count, 1);
    assert_non_null(strstr(r.reasons.text[0], "has 3 stages, no multiple of pp = 2"));
}

static int open_memory(void **state)
{
    (void)state;
    arena_init(&mem);
    return 0;
}

static int close_memory(void **state)
{
    (void)state;
    arena_release(&mem);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pattern_says_layers),
        cmocka_unit_test(pattern_survives_overrides),
        cmocka_unit_test(wrong_patterns),
        cmocka_unit_test(parameters),
        cmocka_unit_test(flops),
        cmocka_unit_test(operators),
        cmocka_unit_test(scans_take),
        cmocka_unit_test(parallel),
        cmocka_unit_test(latent_experts),
        cmocka_unit_test(gated_delta_nets),
        cmocka_unit_test(linear_attention),
        cmocka_unit_test(parallel_mixers),
        cmocka_unit_test(flags_of_delta_nets),
        cmocka_unit_test(flags_of_megatron),
        cmocka_unit_test(flags_refused),
    };
    return cmocka_run_group_tests(tests, open_memory, close_memory);
}
