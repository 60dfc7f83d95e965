/* Sparse attention: which layers choose their tokens, parameters and FLOPs, operators against figures computed by hand
 * from Megatron-LM's source, where a pipeline may be cut, and the flags of its own functional test. */
#include "base/arena.h"
#include "base/str.h"
#include "import/megatron/flags.h"
#include "layer/ops.h"
#include "model/model.h"
#include "strategy/layout.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct arena mem;

#define ALONE                                                                                      \
    "hidden=128,ffn=256,heads=8,vocab=1000,mla=1,q_lora=32,kv_lora=64,qk_nope=16,qk_rope=8,"       \
    "v_dim=24,qk_norm=1,index_heads=4,index_dim=16,index_topk=256"
#define SHARED ALONE ",layers=14,mtp=1,index_every=4,index_first=3"

static struct model from_pairs(const char *pairs)
{
    struct model m;
    struct error err = {0};
    if (!model_from_pairs(&m, pairs, &err))
        fail_msg("%s: %s", pairs, err.text);
    return m;
}

/* Layers 1, 2, 3, 7, 11 choose; MTP counts anew. */
static void layers_share_choices(void **state)
{
    struct model m = from_pairs(SHARED);
    const int chooses[] = {1, 1, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0};
    (void)state;
    for (int i = 0; i < m.layers; i++)
        assert_int_equal(m.kind[m.layer[i]].mixer, chooses[i] ? MIXER_DSA : MIXER_REUSE);
    assert_int_equal(m.kind[m.mtp_layer[0]].mixer, MIXER_DSA);
    m = from_pairs(ALONE ",layers=3");
    assert_int_equal(m.kinds, 1);
    assert_int_equal(m.kind[0].mixer, MIXER_DSA);
}

/* Indexer: 32 x 4 x 16 of the latent, 128 x 16 and 128 x 4 of the hidden state, a norm with bias. */
static void indexer_has_parameters(void **state)
{
    struct model m = from_pairs(SHARED);
    struct layer_params with = model_layer_params(&m, &m.kind[m.layer[0]]);
    struct layer_params without = model_layer_params(&m, &m.kind[m.layer[3]]);
    (void)state;
    assert_int_equal(dsa_indexer_params(&m), 32 * 64 + 128 * 20 + 32);
    assert_int_equal(with.mixer_replicated - without.mixer_replicated, dsa_indexer_params(&m));
    assert_int_equal(with.mixer_linear, without.mixer_linear);
    assert_int_equal(without.mixer_linear, 32 * 8 * 24 + 64 * 8 * 40 + 8 * 24 * 128);
}

/* Megatron-Bridge's count (flop_utils.py) of one layer and token, by hand for 1,024 tokens and 256 chosen. */
static void flops_are_those_of_bridge(void **state)
{
    struct model m = from_pairs(ALONE ",layers=1,index_loss=2");
    double seen = 256 - 256 * 255 / 2048.0, all = 1025 / 2.0, score = 4 * 17;
    double products = 32 * (128 + 192 + 1) + 64 * (128 + 8 * 40 + 1) + 128 * 8 + 8 * 24 * 128;
    double per_token = 6 * (products + 128 * 256 * 3 + 128 * 1024.0) + 6 * seen * 8 * (72 + 64) +
                       4 * (32 * 64 + 128 * 20) + 2 * all * score + 4 * seen * score +
                       2 * seen * 8 * 72;
    (void)state;
    assert_true(dsa_tokens_seen(&m, 1024) == seen);
    assert_true(dsa_tokens_seen(&m, 100) == 50.5);
    assert_true(fabs(model_flops(&m, 2, 1024) / (2048 * per_token) - 1) < 1e-12);
}

static struct block_shape shape_of(const struct model *m, int tp, int cp)
{
    return (struct block_shape){.model = m,
                                .kind = BLOCK_DSA,
                                .tp = tp,
                                .cp = cp,
                                .ep = 1,
                                .etp = 1,
                                .micro_batch = 2,
                                .seq_len = 1024,
                                .seq_parallel = tp > 1,
                                .cp_comm = CP_ALLGATHER,
                                .imbalance = 1,
                                .te = true};
}

static struct op op_called(const struct block_shape *s, const char *name)
{
    struct op ops[OPS_MAX];
    int n = block_ops(s, ops);
    for (int i = 0; i < n; i++)
        if (strcmp(ops[i].name, name) == 0)
            return ops[i];
    return (struct op){.name = NULL};
}

static void operators_by_hand(void **state)
{
    struct model m = from_pairs(SHARED);
    struct block_shape s = shape_of(&m, 1, 1);
    double t = 2048, pairs = t * 64 * dsa_tokens_seen(&m, 1024);
    struct op attends = op_called(&s, "sparse attention"), index = op_called(&s, "indexer");
    (void)state;
    /* 8 heads are padded to 64; the output before the values' product, the chosen, sums in fp32 */
    assert_true(attends.saved == t * (2 * 64 * 64 + 4 * 256 + 4 * 64));
    assert_true(attends.flops == 2 * pairs * 136 && attends.flops_back == 2 * pairs * 344);
    assert_true(op_called(&s, "keys absorbed").saved == 2 * t * (64 * 72 + 72));
    /* nothing learns: nothing is kept, nothing runs backward */
    assert_true(index.saved == 0 && index.flops_back == 0 && index.bytes_back == 0);
    m.index_loss = 2;
    struct op learns = op_called(&s, "indexer");
    assert_true(learns.saved == 2 * (t * 4 * 17 + t * 16));
    assert_true(learns.flops > index.flops && learns.temporary > index.temporary);
    m.index_loss = 1;
    assert_true(op_called(&s, "indexer").flops > learns.flops);
    s.kind = BLOCK_REUSE;
    assert_null(op_called(&s, "indexer").name);
    assert_non_null(op_called(&s, "sparse attention").name);
}

static void operators_of_many_ranks(void **state)
{
    struct model m = from_pairs(SHARED ",index_loss=2");
    struct block_shape tp = shape_of(&m, 2, 1), cp = shape_of(&m, 1, 2);
    double t = 2048;
    (void)state;
    assert_true(op_called(&tp, "latents gather").bytes == 2 * t * (72 + 32));
    assert_true(op_called(&tp, "indexer gather").bytes == 2 * t * 128);
    assert_true(op_called(&tp, "indexer target").bytes == 4 * t * 256);
    /* gathered hidden states and latents wait for the indexer's weight gradients */
    assert_true(op_called(&tp, "indexer").saved == 2 * (t * 4 * 17 + t * 16) + 2 * t * 160);
    assert_true(op_called(&cp, "context gather").bytes == 2 * t * (72 + 16));
    assert_true(op_called(&cp, "context gather").saved == 2 * t * 72);
    assert_null(op_called(&cp, "indexer target").name);
}

/* PyTorch's way keeps scores of every head and token; it is far dearer. */
static void unfused_keeps_scores(void **state)
{
    struct model m = from_pairs(SHARED);
    struct block_shape s = shape_of(&m, 1, 1);
    struct op fused = op_called(&s, "sparse attention");
    s.attention = ATTENTION_UNFUSED;
    struct op stock = op_called(&s, "sparse attention");
    (void)state;
    assert_int_equal(stock.kind, OP_SCORES);
    assert_true(stock.saved > 4 * 2048.0 * 8 * 1024 && stock.saved > fused.saved);
}

static const char *cut(const struct model *m, int pp, int split, struct layout *l)
{
    static struct error err;
    struct strategy s;
    strategy_init(&s);
    s.pp = pp;
    s.split = split;
    return layout_of(l, m, &s, &err) ? "" : err.text;
}

/* Groups of 6, 4 and 4 layers; even stages of 7 would start in the middle of one. */
static void stages_start_with_a_choice(void **state)
{
    struct model m = from_pairs(SHARED);
    struct layout l;
    struct strategy s;
    struct error err = {0};
    (void)state;
    assert_string_equal(cut(&m, 3, SPLIT_UNEVEN, &l), "");
    assert_true(l.layers[0] == 6 && l.layers[1] == 4 && l.layers[2] == 4);
    assert_string_equal(cut(&m, 2, SPLIT_UNEVEN, &l), "");
    assert_true(l.layers[0] == 10 && l.layers[1] == 4);
    assert_non_null(strstr(cut(&m, 2, SPLIT_EVEN, &l), "starts with layer 8"));
    assert_non_null(strstr(cut(&m, 4, SPLIT_UNEVEN, &l), "3 groups of layers"));
    strategy_init(&s);
    s.pp = 2;
    assert_true(layout_parse(&l, "Ett|t*12mL", &m, &s, &err));
    assert_false(layout_parse(&l, "Etttt|t*10mL", &m, &s, &err));
    assert_non_null(strstr(err.text, "starts with layer 5"));
    m = from_pairs("layers=4,hidden=64,ffn=64,heads=4,vocab=100");
    assert_true(layout_may_start(&m, 3));
}

static struct flags_result imported(const char *text)
{
    const char *words[128];
    int count = 0;
    struct flags_result r;
    struct error err = {0};
    char word[64];
    while (next_word(&text, word, sizeof word))
        words[count++] = arena_string(&mem, word);
    if (!flags_import(count, words, &r, &mem, &err) || !flags_model(&r, NULL, &err) ||
        !flags_finish(&r, 8, &err))
        fail_msg("%s", err.text);
    return r;
}

/* tests/functional_tests/test_cases/gpt/gpt3_mcore_te_tp2_pp2_dsa */
#define TEST                                                                                       \
    "--num-layers 4 --hidden-size 512 --num-attention-heads 8 --multi-latent-attention "           \
    "--q-lora-rank 192 --kv-lora-rank 64 --qk-head-dim 16 --qk-pos-emb-head-dim 8 "                \
    "--v-head-dim 16 --disable-bias-linear --dsa-indexer-n-heads 64 --dsa-indexer-head-dim 128 "   \
    "--dsa-indexer-topk 2048 --attention-backend fused --micro-batch-size 4 --seq-length 1024 "    \
    "--global-batch-size 32 --max-position-embeddings 1024 --vocab-size 50257 --bf16 "             \
    "--tensor-model-parallel-size 2 --pipeline-model-parallel-size 2 --sequence-parallel "

static void flags_of_megatron(void **state)
{
    struct flags_result r = imported(TEST "--experimental-attention-variant dsa --no-rope-fusion "
                                          "--dsa-indexer-loss-coeff 0.01");
    (void)state;
    assert_int_equal(r.reasons.count, 0);
    assert_int_equal(r.model.index_heads, 64);
    assert_int_equal(r.model.index_topk, 2048);
    assert_int_equal(r.model.index_loss, 1);
    assert_true(r.model.index_coeff == 0.01 && r.model.index_hadamard == 1);
    /* --dsa-kernel-backend none is the default */
    assert_int_equal(r.strategy.attention, ATTENTION_UNFUSED);
    r = imported(TEST "--experimental-attention-variant dsa --no-rope-fusion --attention-backend "
                      "auto --dsa-kernel-backend tilelang --dsa-indexer-loss-coeff 0.1 "
                      "--dsa-indexer-use-sparse-loss --dsa-indexer-topk-freq 2 "
                      "--no-dsa-indexer-rotate-activation");
    assert_int_equal(r.strategy.attention, ATTENTION_AUTO);
    assert_int_equal(r.model.index_loss, 2);
    assert_int_equal(r.model.kind[r.model.layer[1]].mixer, MIXER_REUSE);
    assert_true(r.model.index_hadamard == 0);
    /* without the variant Megatron builds no indexer */
    r = imported(TEST);
    assert_int_equal(r.model.index_heads, 0);
    assert_int_equal(r.model.kind[0].mixer, MIXER_ATTENTION);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_share_choices),       cmocka_unit_test(indexer_has_parameters),
        cmocka_unit_test(flops_are_those_of_bridge),  cmocka_unit_test(operators_by_hand),
        cmocka_unit_test(operators_of_many_ranks),    cmocka_unit_test(unfused_keeps_scores),
        cmocka_unit_test(stages_start_with_a_choice), cmocka_unit_test(flags_of_megatron),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    arena_release(&mem);
    return failed;
}
