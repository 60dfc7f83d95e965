/* The ops stage: memory-bound operators, their kinds, sizes and bytes against hand-computed ones in
 * the terms of doc/evidence/profile.md; and that no preset has one without. */
#include "base/arena.h"
#include "layer/host_calls.h"
#include "layer/ops.h"
#include "model/model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#define COUNT(table) (sizeof(table) / sizeof *(table))

static struct model from_pairs(const char *pairs)
{
    struct model m;
    struct error err = {0};
    if (!model_from_pairs(&m, pairs, &err))
        fail_msg("%s: %s", pairs, err.text);
    return m;
}

/* 1000 tokens in all, the residual stream divided by tp. */
static struct block_shape shape_of(const struct model *m, enum block_kind kind, int tp, bool te)
{
    return (struct block_shape){.model = m,
                                .kind = kind,
                                .tp = tp,
                                .cp = 1,
                                .ep = 1,
                                .etp = 1,
                                .micro_batch = 2,
                                .seq_len = 500,
                                .seq_parallel = 1,
                                .grouped_gemm = 1,
                                .imbalance = 1,
                                .te = te};
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

/* cmocka compares floats. */
static void near(double got, double want)
{
    if (fabs(got - want) > 1e-12 * fabs(want))
        fail_msg("%.17g, expected %.17g", got, want);
}

/* `each` and `each_back` are bytes of one of the m x n elements, `more` what comes on top. */
struct memory_case {
    enum block_kind block;
    const char *name;
    int kind;
    double m, n, k;
    double each, each_back, more, more_back;
};

static void check_case(const struct model *m, int tp, bool te, const struct memory_case *c)
{
    struct block_shape s = shape_of(m, c->block, tp, te);
    struct op o = op_called(&s, c->name);
    double elements = c->m * c->n;
    assert_int_equal(o.kind, OP_MEMORY);
    if (o.memory_kind != c->kind || o.memory_kind_back != c->kind)
        fail_msg("%s: kinds %d and %d", c->name, o.memory_kind, o.memory_kind_back);
    if (o.m != c->m || o.n != c->n || o.k != c->k)
        fail_msg("%s: %g x %g, %g", c->name, o.m, o.n, o.k);
    if (o.bytes != c->each * elements + c->more ||
        o.bytes_back != c->each_back * elements + c->more_back)
        fail_msg("%s: bytes %.0f and %.0f", c->name, o.bytes, o.bytes_back);
}

/* vocab 32000 is padded to 32000 at tp 2 (125 times 256), 16000 a rank; heads 16 + 4 of 64. */
static const char GATED[] =
    "layers=2,hidden=2048,ffn=5632,heads=32,kv=8,head_dim=64,vocab=32000,gated=1,qk_norm=1";

static const struct memory_case GATED_CASES[] = {
    {BLOCK_ATTENTION, "attention norm", MEMORY_RMS_NORM, 500, 2048, 0, 4, 6, 0, 0},
    {BLOCK_ATTENTION, "residual", MEMORY_RESIDUAL, 500, 2048, 0, 6, 6, 0, 0},
    {BLOCK_ATTENTION, "qk norm", MEMORY_RMS_NORM, 20000, 64, 0, 4, 6, 0, 0},
    {BLOCK_MLP, "mlp norm", MEMORY_RMS_NORM, 500, 2048, 0, 4, 6, 0, 0},
    {BLOCK_MLP, "activation", MEMORY_SWIGLU_FUSED, 1000, 2816, 0, 6, 10, 0, 0},
    {BLOCK_EMBEDDING, "embedding", MEMORY_EMBEDDING, 1000, 2048, 16000, 4, 2, 8000, 65544000},
    {BLOCK_HEAD, "final norm", MEMORY_RMS_NORM, 500, 2048, 0, 4, 6, 0, 0},
    {BLOCK_HEAD, "cross entropy", MEMORY_LOSS_MEGATRON, 1000, 16000, 0, 6, 6, 0, 0},
};

static void gated_rms_model(void **state)
{
    static const struct memory_case ROPE[] = {
        {BLOCK_ATTENTION, "rope", MEMORY_ROPE, 1000, 1280, 0, 4, 4, 0, 0},
        {BLOCK_ATTENTION, "rope", MEMORY_COPY, 0, 0, 0, 4, 4, 5120000, 5120000}, /* no rows */
    };
    struct model m = from_pairs(GATED);
    (void)state;
    for (int te = 0; te < 2; te++) {
        for (size_t i = 0; i < COUNT(GATED_CASES); i++)
            check_case(&m, 2, te, &GATED_CASES[i]);
        check_case(&m, 2, te, &ROPE[te]);
    }
}

/* vocab 50257 is padded to 50304 at tp 1. */
static void layer_norm_model(void **state)
{
    static const struct memory_case CASES[] = {
        {BLOCK_ATTENTION, "attention norm", MEMORY_LAYER_NORM, 1000, 1024, 0, 4, 6, 0, 0},
        {BLOCK_MLP, "residual", MEMORY_RESIDUAL, 1000, 1024, 0, 6, 6, 0, 0},
        {BLOCK_MLP, "activation", MEMORY_GELU_FUSED, 1000, 4096, 0, 4, 6, 0, 0},
        {BLOCK_EMBEDDING, "embedding", MEMORY_EMBEDDING, 1000, 1024, 50304, 4, 2, 8000, 103030592},
        {BLOCK_HEAD, "final norm", MEMORY_LAYER_NORM, 1000, 1024, 0, 4, 6, 0, 0},
        {BLOCK_HEAD, "cross entropy", MEMORY_LOSS_MEGATRON, 1000, 50304, 0, 6, 6, 0, 0},
    };
    struct model m = from_pairs("layers=2,hidden=1024,ffn=4096,heads=16,vocab=50257,max_seq=1024,"
                                "gated=0,layer_norm=1,learned_pos=1,tied=1");
    (void)state;
    for (int te = 0; te < 2; te++)
        for (size_t i = 0; i < COUNT(CASES); i++)
            check_case(&m, 1, te, &CASES[i]);
}

static void fused_loss(void **state)
{
    struct model m = from_pairs(GATED);
    struct block_shape s = shape_of(&m, BLOCK_HEAD, 2, true);
    (void)state;
    s.loss_fusion = 1;
    struct op o = op_called(&s, "cross entropy");
    assert_int_equal(o.memory_kind, MEMORY_LOSS_TORCH);
    assert_true(o.bytes == 4 * 16e6 && o.bytes_back == 8 * 16e6);
}

/* Two experts a token: copying is 4 bytes of each copied element, summing 2 of each copy and 2 of
 * each sum; backward of one is forward of the other. */
static void expert_rows(void **state)
{
    static const struct memory_case CASES[] = {
        {BLOCK_MOE, "permute", MEMORY_PERMUTE, 2000, 512, 0, 4, 3, 0, 0},
        {BLOCK_MOE, "sort by expert", MEMORY_PERMUTE, 2000, 512, 0, 4, 4, 0, 0},
        {BLOCK_MOE, "activation", MEMORY_SWIGLU_FUSED, 2000, 768, 0, 6, 10, 0, 0},
        {BLOCK_MOE, "unsort", MEMORY_PERMUTE, 2000, 512, 0, 4, 4, 0, 0},
        {BLOCK_MOE, "unpermute", MEMORY_PERMUTE, 2000, 512, 0, 3, 4, 0, 0},
    };
    struct model m = from_pairs("layers=2,hidden=512,ffn=1024,heads=8,vocab=32000,gated=1,"
                                "experts=8,topk=2,expert_ffn=768");
    (void)state;
    for (size_t i = 0; i < COUNT(CASES); i++)
        check_case(&m, 1, true, &CASES[i]);
}

/* Multi-latent attention rotates whole queries and keys: 4 heads of 2 x (64 + 32). */
static void latent_rope(void **state)
{
    static const struct memory_case ROPE = {
        BLOCK_ATTENTION, "rope", MEMORY_ROPE, 1000, 768, 0, 4, 4, 0, 0};
    struct model m = from_pairs("layers=2,hidden=512,ffn=1024,heads=4,vocab=32000,gated=1,mla=1,"
                                "kv_lora=128,qk_nope=64,qk_rope=32,v_dim=64");
    (void)state;
    check_case(&m, 1, false, &ROPE);
}

/* By hand: 1 less the share of choices of topk experts that leave a part out, times the parts. */
static void tokens_reach_some_parts(void **state)
{
    struct model m = from_pairs("layers=2,hidden=512,ffn=1024,heads=8,vocab=32000,gated=1,"
                                "experts=8,topk=2,expert_ffn=768");
    (void)state;
    near(parts_reached(&m, 1), 1);
    near(parts_reached(&m, 4), 4 * (1 - 6.0 * 5 / (8 * 7)));
    near(parts_reached(&m, 8), 2);
    m.router_groups = 4;
    m.group_topk = 2; /* four experts in two of the parts are left */
    near(parts_reached(&m, 4), 2 * (1 - 2.0 * 1 / (4 * 3)));
}

/* `flex` sends a row to each rank once and makes the copies there. */
static void rows_travel_once(void **state)
{
    struct model m = from_pairs("layers=2,hidden=512,ffn=1024,heads=8,vocab=32000,gated=1,"
                                "experts=8,topk=2,expert_ffn=768");
    struct block_shape s = shape_of(&m, BLOCK_MOE, 1, true);
    struct op ops[OPS_MAX];
    double ranks = parts_reached(&m, 4), row = 2 * 512;
    (void)state;
    s.ep = 4;
    s.dispatcher = DISPATCH_ALLTOALL;
    near(op_called(&s, "dispatch").bytes, 1000 * 2 * row);
    assert_null(op_called(&s, "dispatch").routed);
    s.dispatcher = DISPATCH_FLEX;
    near(op_called(&s, "dispatch").bytes, 1000 * ranks * row);
    assert_ptr_equal(op_called(&s, "dispatch").routed, &m);
    near(op_called(&s, "sort by expert").bytes, 1000 * (2 + ranks) * row);
    near(op_called(&s, "unsort").bytes_back, 1000 * (2 + ranks) * row);
    for (int i = 0, n = block_ops(&s, ops); i < n; i++)
        assert_true(strcmp(ops[i].name, "permute") != 0 && strcmp(ops[i].name, "unpermute") != 0);
}

/* Biases and clamps are passes of their own, unless TransformerEngine fuses the experts in fp8. */
static void experts_have_passes_of_their_own(void **state)
{
    struct model m = from_pairs("layers=2,hidden=512,ffn=1024,heads=8,vocab=32000,gated=1,"
                                "experts=8,topk=2,expert_ffn=768,linear_bias=1,clamped=1");
    struct block_shape s = shape_of(&m, BLOCK_MOE, 1, true);
    struct op ops[OPS_MAX];
    (void)state;
    near(op_called(&s, "clamp").bytes, 8 * 2000.0 * 1536);
    near(op_called(&s, "clamp").saved, 2 * 2000.0 * 1536);
    near(op_called(&s, "expert bias").bytes, 12 * 2000.0 * 512);
    s.expert_fusion = 1;
    assert_true(op_called(&s, "activation").bytes > 0);
    s.precision = PRECISION_FP8;
    assert_true(op_called(&s, "activation").bytes == 0);
    assert_true(op_called(&s, "expert up").fused_out && op_called(&s, "expert down").fused_in);
    for (int i = 0, n = block_ops(&s, ops); i < n; i++)
        assert_true(strcmp(ops[i].name, "clamp") != 0 && strcmp(ops[i].name, "expert bias") != 0);
}

/* More of the host for experts, most where they run in turn; fp8 and scores of their own cost more. */
static void operators_cost_the_host(void **state)
{
    struct model m = from_pairs("layers=2,hidden=512,ffn=1024,heads=8,vocab=32000,gated=1,"
                                "experts=8,topk=2,expert_ffn=768");
    struct block_shape s = shape_of(&m, BLOCK_MOE, 1, true),
                       a = shape_of(&m, BLOCK_ATTENTION, 1, true);
    (void)state;
    double call_s = host_call(CALL_PASS, true, false).forward_s;
    near(op_called(&s, "activation").host_s, call_s);
    double grouped = op_called(&s, "expert up").host_s;
    assert_true(grouped > call_s && op_called(&s, "router").host_s > call_s);
    s.grouped_gemm = 0;
    assert_true(op_called(&s, "expert up").host_s > 8 * call_s && grouped < 8 * call_s);
    double product = op_called(&a, "qkv").host_back_s,
           core = op_called(&a, "core attention").host_s;
    a.precision = PRECISION_FP8;
    near(op_called(&a, "qkv").host_back_s, 2 * product);
    a.precision = PRECISION_BF16;
    a.attention = ATTENTION_UNFUSED;
    near(op_called(&a, "core attention").host_s, 3 * core);
    a.te = false;
    assert_true(op_called(&a, "qkv").host_s > product);
}

static bool is_kind(int kind)
{
    return kind >= 0 && kind < MEMORY_KINDS;
}

static void check_op(const struct op *o, const char *model)
{
    if (o->kind != OP_MEMORY) {
        assert_int_equal(o->memory_kind, MEMORY_NONE);
        assert_int_equal(o->memory_kind_back, MEMORY_NONE);
        return;
    }
    bool array = o->memory_kind == MEMORY_COPY;
    if (!is_kind(o->memory_kind) || !is_kind(o->memory_kind_back))
        fail_msg("%s: %s has no kind", model, o->name);
    if (!(o->bytes > 0 && o->bytes_back > 0))
        fail_msg("%s: %s moves nothing", model, o->name);
    if (array ? o->m != 0 || o->n != 0 : !(o->m * o->n > 0))
        fail_msg("%s: %s has %g rows of %g", model, o->name, o->m, o->n);
    if ((o->memory_kind == MEMORY_EMBEDDING) != (o->k > 0))
        fail_msg("%s: %s has a vocabulary of %g", model, o->name, o->k);
}

static bool has_block(const struct model *m, enum block_kind kind)
{
    if (kind == BLOCK_MLP)
        return m->ffn > 0;
    for (int x = 0; x < MIXERS; x++)
        if (mixer_block((enum mixer)x) == kind)
            return model_has_mixer(m, (enum mixer)x);
    for (int x = 0; x < FEEDS; x++)
        if (feed_block((enum feed)x) == kind)
            return model_has_feed(m, (enum feed)x);
    return kind != BLOCK_MTP || m->mtp > 0;
}

static int check_blocks(const struct model *m, int tp, bool te)
{
    int seen = 0;
    for (int kind = BLOCK_ATTENTION; kind <= BLOCK_MTP; kind++) {
        struct block_shape s = shape_of(m, (enum block_kind)kind, tp, te);
        struct op ops[OPS_MAX];
        int n = has_block(m, s.kind) ? block_ops(&s, ops) : 0;
        for (int i = 0; i < n; i++)
            check_op(&ops[i], m->name);
        seen += n;
    }
    return seen;
}

/* Backward runs the collective at the entry of a region beside the weight gradient: the scatter of
 * sequence parallelism always, the all-reduce without it unless engines were older. */
static void backward_collectives(void **state)
{
    struct model m = from_pairs(GATED);
    struct block_shape s = shape_of(&m, BLOCK_MLP, 2, true);
    (void)state;
    for (s.tp_sync = 0; s.tp_sync < 2; s.tp_sync++) {
        s.seq_parallel = 1;
        assert_true(op_called(&s, "mlp gather").hidden_back);
        assert_false(op_called(&s, "mlp reduce").hidden_back);
        s.seq_parallel = 0;
        assert_true(op_called(&s, "mlp reduce").hidden_back == !s.tp_sync);
    }
}

static void every_preset(void **state)
{
    struct arena mem;
    struct error err = {0};
    (void)state;
    arena_init(&mem);
    for (const struct model_preset *p = model_presets(); p->name; p++) {
        struct model m;
        if (!model_load(&m, p->name, &mem, &err))
            fail_msg("%s: %s", p->name, err.text);
        for (int te = 0; te < 2; te++)
            for (int tp = 1; tp <= 8; tp *= 8)
                assert_true(check_blocks(&m, tp, te) > 0);
    }
    arena_release(&mem);
}

/* One rank of context parallelism has nobody to exchange with, however it would. With several, each
 * way has operators of its own. */
static void ways_of_context_differ_beyond_one_rank(void **state)
{
    struct model m = from_pairs(GATED);
    (void)state;
    for (int attention = ATTENTION_FLASH; attention <= ATTENTION_UNFUSED; attention++)
        for (int cp = 1; cp <= 2; cp++) {
            struct op ops[3][OPS_MAX];
            int count[3];
            memset(ops, 0, sizeof ops);
            for (int way = CP_P2P; way <= CP_ALLGATHER; way++) {
                struct block_shape s = shape_of(&m, BLOCK_ATTENTION, 1, true);
                s.cp = cp;
                s.cp_comm = way;
                s.attention = attention;
                count[way] = block_ops(&s, ops[way]);
            }
            for (int way = CP_A2A; way <= CP_ALLGATHER; way++) {
                size_t bytes = (size_t)count[way] * sizeof **ops;
                bool same =
                    count[way] == count[way - 1] && memcmp(ops[way], ops[way - 1], bytes) == 0;
                assert_int_equal(same, cp == 1);
            }
        }
}

/* Scores of heads and samples that are no multiple of four are left to torch: four calls more, and
 * passes in fp32. */
static void odd_heads_have_no_fused_softmax(void **state)
{
    (void)state;
    static const struct {
        int tp, micro_batch;
        bool fused;
    } CASES[] = {{4, 1, true}, {8, 1, false}, {8, 2, true}, {16, 2, false}, {16, 4, true}};
    struct model m = from_pairs("layers=4,hidden=2048,ffn=8192,heads=16,kv=16,vocab=32000");
    for (size_t i = 0; i < COUNT(CASES); i++) {
        struct block_shape s = shape_of(&m, BLOCK_ATTENTION, CASES[i].tp, true);
        s.micro_batch = CASES[i].micro_batch;
        s.attention = ATTENTION_UNFUSED;
        struct op o = op_called(&s, "core attention");
        double scores = s.seq_len * s.seq_len * o.count;
        near(o.calls, CASES[i].fused ? 0 : 4);
        near(o.bytes, (CASES[i].fused ? 8 : 32) * scores);
        near(o.bytes_back, (CASES[i].fused ? 12 : 48) * scores);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gated_rms_model),
        cmocka_unit_test(layer_norm_model),
        cmocka_unit_test(fused_loss),
        cmocka_unit_test(expert_rows),
        cmocka_unit_test(latent_rope),
        cmocka_unit_test(every_preset),
        cmocka_unit_test(tokens_reach_some_parts),
        cmocka_unit_test(rows_travel_once),
        cmocka_unit_test(experts_have_passes_of_their_own),
        cmocka_unit_test(operators_cost_the_host),
        cmocka_unit_test(backward_collectives),
        cmocka_unit_test(odd_heads_have_no_fused_softmax),
        cmocka_unit_test(ways_of_context_differ_beyond_one_rank),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
