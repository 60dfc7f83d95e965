/* What each operator keeps and needs, against sums made by hand. */
#include "base/units.h"
#include "layer/ops.h"
#include "model/model.h"

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

/* Operators. Two sequences of 512 tokens; X are the bytes of their hidden states, 256 wide. */
#define T 1024.0
#define X (2 * T * 256)
#define S (16.0 * 512 * 512)

/* 8 heads of 64 on 2 groups: 512 of queries, 128 of keys, 128 of values. */
#define DENSE_OF(layers)                                                                           \
    "layers=" #layers ",hidden=256,ffn=1024,heads=8,kv=2,head_dim=64,vocab=1000,gated=1"
#define DENSE DENSE_OF(2)
#define MANY_HEADS "layers=2,hidden=256,ffn=1024,heads=8,kv=8,head_dim=64,vocab=1000,gated=1"
/* 4 heads of 64. */
#define BIASED                                                                                     \
    "layers=2,hidden=256,ffn=1024,heads=4,vocab=1000,max_seq=512,gated=0,layer_norm=1,"            \
    "learned_pos=1,linear_bias=1,qkv_bias=1,tied=1"
/* Heads of 32 + 16 for scores and 24 of values: 384 of queries, 448 from the latent. */
#define LATENT                                                                                     \
    "layers=2,hidden=256,ffn=1024,heads=8,vocab=1000,gated=1,mla=1,q_lora=96,kv_lora=64,"          \
    "qk_nope=32,qk_rope=16,v_dim=24"
/* Two of four experts a token: 2 T rows. */
#define EXPERTS DENSE ",experts=4,topk=2,expert_ffn=128"

/* `back` without the gradient of the residual stream, which waits beside every operator but the
 * head's. Operators in the order they run; with `all`, those that are not listed keep and need
 * nothing. */
struct op_case {
    const char *name;
    double saved, temporary, back;
};

struct block_case {
    const char *what, *model;
    struct block_shape shape; /* 0 ways mean 1 */
    bool all;
    struct op_case op[12];
};

static int at_least_one(int n)
{
    return n > 0 ? n : 1;
}

static struct block_shape full_shape(const struct block_case *c, const struct model *m)
{
    struct block_shape s = c->shape;
    s.model = m;
    s.tp = at_least_one(s.tp);
    s.cp = at_least_one(s.cp);
    s.ep = at_least_one(s.ep);
    s.etp = at_least_one(s.etp);
    s.imbalance = s.imbalance > 0 ? s.imbalance : 1;
    s.micro_batch = 2;
    s.seq_len = 512;
    if (!strstr(c->what, "all-gather"))
        s.dispatcher = DISPATCH_ALLTOALL;
    return s;
}

static void check_op(const char *what, const struct op *o, const struct op_case *c, double stream)
{
    if (o->saved != c->saved || o->temporary != c->temporary ||
        o->temporary_back != c->back + stream)
        fail_msg("%s, %s: %.0f kept, %.0f beside, %.0f backward; by hand %.0f, %.0f, %.0f", what,
                 o->name, o->saved, o->temporary, o->temporary_back, c->saved, c->temporary,
                 c->back + stream);
}

static void check_block(const struct block_case *c)
{
    struct model m = from_pairs(c->model);
    struct block_shape s = full_shape(c, &m);
    struct op ops[OPS_MAX];
    const struct op_case *next = c->op;
    double stream = s.kind == BLOCK_HEAD ? 0 : X / s.cp / (s.seq_parallel ? s.tp : 1);
    int n = block_ops(&s, ops);
    for (int i = 0; i < n; i++) {
        const struct op_case nothing = {ops[i].name, 0, 0, 0};
        if (next->name && strcmp(next->name, ops[i].name) == 0)
            check_op(c->what, &ops[i], next++, stream);
        else if (c->all)
            check_op(c->what, &ops[i], &nothing, stream);
    }
    if (next->name)
        fail_msg("%s: no operator %s at its place", c->what, next->name);
}

static void check_blocks(const struct block_case *c, size_t count)
{
    for (size_t i = 0; i < count; i++)
        check_block(&c[i]);
}

/* Norm: its output is kept, backward has gradients of both sides. Residual: the norm's input.
 * Products: backward has gradients of output and input, in torch also the weight's. Row-parallel
 * ones get the stream's gradient, unless it has to be gathered. Core attention: 4 bytes a head and
 * token; backward o, do, dq (3 x 64), dk, dv and an fp32 dq. */
static const struct block_case ATTENTION_CASES[] = {
    {"torch",
     DENSE,
     {.kind = BLOCK_ATTENTION},
     true,
     {{"attention norm", X, 0, 2 * X},
      {"residual", X, 0, 0},
      {"qkv", 2 * T * 768, 0, 2 * (768 + 256) * T + 2.0 * 768 * 256},
      /* rotated q and k; cosines and sines twice, 64 wide, of 512 positions */
      {"rope", 2 * (512 + 128) * T + 2.0 * 4 * 64 * 512, 0, 0},
      {"core attention", 4 * T * 8, 0, (4 * 8 + 2 * 8 * 64 * 3 + 2 * 256 + 4 * 8 * 64) * T},
      {"attention out", 2 * T * 512, 0, 2 * T * 512 + 2.0 * 256 * 512}}},
    {"te",
     DENSE,
     {.kind = BLOCK_ATTENTION, .te = true},
     true,
     {{"attention norm", X, 0, 2 * X},
      {"residual", X, 0, 0},
      {"qkv", 2 * T * 768, 0, 2 * (768 + 256) * T},
      {"core attention", 4 * T * 8, 0, (4 * 8 + 2 * 8 * 64 * 3 + 2 * 256 + 4 * 8 * 64) * T},
      {"attention out", 2 * T * 512, 0, 2 * T * 512}}},
    {"te, flash-attn", /* its output, one sequence after the other, and as the next product takes it */
     DENSE,
     {.kind = BLOCK_ATTENTION, .te = true, .attention = ATTENTION_FLASH},
     false,
     {{"core attention", 4 * T * 8 + 2 * T * 512, 0,
       (4 * 8 + 2 * 8 * 64 * 3 + 2 * 256 + 4 * 8 * 64) * T}}},
    {"te, weight gradients apart",
     DENSE,
     {.kind = BLOCK_ATTENTION, .te = true, .separate_wgrads = true},
     false,
     {{"qkv", 2 * T * 768, 0, 2 * (768 + 256) * T + 2.0 * 768 * 256}}},
    {"torch, tp 2",
     DENSE,
     {.kind = BLOCK_ATTENTION, .tp = 2},
     true,
     {{"attention norm", X, 0, 2 * X},
      {"residual", X, 0, 0},
      {"qkv", 2 * T * 384, 0, 2 * (384 + 256) * T + 2.0 * 384 * 256},
      {"rope", 2 * (256 + 64) * T + 2.0 * 4 * 64 * 512, 0, 0},
      {"core attention", 4 * T * 4, 0, (4 * 4 + 2 * 4 * 64 * 3 + 2 * 128 + 4 * 4 * 64) * T},
      {"attention out", 2 * T * 256, 0, 2 * T * 256 + 2.0 * 256 * 256}}},
    /* the scattered gradient X / 2 beside the product's; the output's gradient X is gathered */
    {"torch, tp 2, sequence-parallel",
     DENSE,
     {.kind = BLOCK_ATTENTION, .tp = 2, .seq_parallel = 1},
     true,
     {{"attention norm", X / 2, 0, X},
      {"residual", X / 2, 0, 0},
      {"qkv", 2 * T * 384, 0, 2 * (384 + 256) * T + 2.0 * 384 * 256 + X / 2},
      {"rope", 2 * (256 + 64) * T + 2.0 * 4 * 64 * 512, 0, 0},
      {"core attention", 4 * T * 4, 0, (4 * 4 + 2 * 4 * 64 * 3 + 2 * 128 + 4 * 4 * 64) * T},
      {"attention out", 2 * T * 256, 0, X + 2 * T * 256 + 2.0 * 256 * 256}}},
    /* te gathers the input into a tensor of its own */
    {"te, tp 2, sequence-parallel",
     DENSE,
     {.kind = BLOCK_ATTENTION, .tp = 2, .seq_parallel = 1, .te = true},
     true,
     {{"attention norm", X / 2, 0, X},
      {"residual", X / 2, 0, 0},
      {"qkv", 2 * T * 384, 0, 2 * (384 + 256) * T + X / 2 + X},
      {"core attention", 4 * T * 4, 0, (4 * 4 + 2 * 4 * 64 * 3 + 2 * 128 + 4 * 4 * 64) * T},
      {"attention out", 2 * T * 256, 0, X + 2 * T * 256}}},
    {"tp 4 of 2 groups: one whole group of keys each",
     DENSE,
     {.kind = BLOCK_ATTENTION, .tp = 4, .te = true},
     false,
     {{"qkv", 2 * (128 + 128) * T, 0, 2 * (256 + 256) * T}}},
    /* a byte of a product's input; the attention's output also in 16 bits for its own backward */
    {"te, fp8",
     DENSE,
     {.kind = BLOCK_ATTENTION, .te = true, .precision = PRECISION_FP8},
     false,
     {{"attention norm", X / 2, 0, 2 * X},
      {"residual", X, 0, 0},
      {"qkv", 2 * T * 768, 0, 2 * (768 + 256) * T},
      {"attention out", 3 * T * 512, 0, 2 * T * 512}}},
    {"dropout: a byte of mask", /* beside each element of 2 */
     DENSE,
     {.kind = BLOCK_ATTENTION, .dropout = true},
     false,
     {{"residual", X + X / 2, 0, 0}}},
    {"torch, qk norm", /* queries are copied to be split off their groups */
     DENSE ",qk_norm=1",
     {.kind = BLOCK_ATTENTION},
     false,
     {{"qk norm", 2 * T * 512, 0, 0}}},
    {"te, qk norm",
     DENSE ",qk_norm=1",
     {.kind = BLOCK_ATTENTION, .te = true},
     false,
     {{"qk norm", 2 * (512 + 128) * T, 0, 0}}},
    {"torch, qk norm, one group a rank",
     DENSE ",qk_norm=1",
     {.kind = BLOCK_ATTENTION, .tp = 2},
     false,
     {{"qk norm", 0, 0, 0}}},
    {"torch, qk norm, no groups",
     MANY_HEADS ",qk_norm=1",
     {.kind = BLOCK_ATTENTION},
     false,
     {{"qk norm", 0, 0, 0}}},
    {"post norms",
     DENSE ",post_norms=1",
     {.kind = BLOCK_ATTENTION},
     false,
     {{"attention norm", X, 0, 2 * X}, {"attention post norm", X, 0, 2 * X}}},
    /* Scores: 8 heads of 2 sequences, 512 x 512. Kept are probabilities; the scores and the output
     * twice are beside them, backward the probabilities' gradient and the values'. */
    {"te, unfused",
     DENSE,
     {.kind = BLOCK_ATTENTION, .attention = ATTENTION_UNFUSED, .te = true},
     false,
     {{"core attention", 2 * S, 2 * S + 2 * 2 * T * 512, 2 * 2 * S + 2 * T * 512}}},
    {"te, unfused, groups", /* copies of keys and values for all heads, which are kept beside q */
     DENSE,
     {.kind = BLOCK_ATTENTION, .attention = ATTENTION_UNFUSED, .te = true, .copies_groups = true},
     false,
     {{"qkv", 2 * T * 512, 0, 2 * (768 + 256) * T},
      {"core attention", 2 * S + 2 * 2 * T * 512, 2 * S + 2 * 2 * T * 512 + 2 * T * 256,
       2 * 2 * S + 2 * T * 512 + 2 * T * 512}}},
    {"te, unfused, dropout", /* and what it dropped, and a byte that says where */
     DENSE,
     {.kind = BLOCK_ATTENTION,
      .attention = ATTENTION_UNFUSED,
      .attention_dropout = true,
      .te = true},
     false,
     {{"core attention", 5 * S, 2 * S + 2 * 2 * T * 512, 7 * S + 2 * T * 512}}},
    /* A mask of a byte for each layer. Keys and values are copied for all 8 heads and kept, the
     * product is not; four gradients of the scores at once, the copied keys and values' gradient. */
    {"local",
     DENSE,
     {.kind = BLOCK_ATTENTION,
      .attention = ATTENTION_UNFUSED,
      .stock = true,
      .copies_groups = true},
     false,
     {{"qkv", 0, 0, 2 * (768 + 256) * T + 2.0 * 768 * 256},
      {"rope", 2 * 512 * T + 2.0 * 4 * 64 * 512, 0, 0},
      {"core attention", 2 * S + 512 * 512 + 2 * 2 * T * 512,
       2 * S + 2 * 2 * T * 512 + 2 * T *(768 + 128), 8 * S + 512 * 512 + 2 * 2 * T * 512}}},
    {"local, qk norm", /* the keys before it are a view of the product */
     DENSE ",qk_norm=1",
     {.kind = BLOCK_ATTENTION,
      .attention = ATTENTION_UNFUSED,
      .stock = true,
      .copies_groups = true},
     false,
     {{"qkv", 2 * T * 768, 0, 2 * (768 + 256) * T + 2.0 * 768 * 256}}},
    {"local, no groups", /* values are a view of the product */
     MANY_HEADS,
     {.kind = BLOCK_ATTENTION,
      .attention = ATTENTION_UNFUSED,
      .stock = true,
      .copies_groups = true},
     false,
     {{"core attention", 2 * S + 512 * 512, 2 * S + 2 * 2 * T * 512,
       8 * S + 512 * 512 + 2 * T * 512}}},
    {"local, softmax in one kernel", /* Apex's, as TransformerEngine's: no mask */
     MANY_HEADS,
     {.kind = BLOCK_ATTENTION,
      .attention = ATTENTION_UNFUSED,
      .stock = true,
      .softmax_fp32 = true,
      .softmax_fused = true},
     false,
     {{"core attention", 2 * S, 2 * S + 2 * 2 * T * 512, 2 * 2 * S + 2 * T * 512}}},
    {"torch before Ampere", /* the kernel there knows no groups */
     DENSE,
     {.kind = BLOCK_ATTENTION, .copies_groups = true},
     false,
     {{"qkv", 0, 0, 2 * (768 + 256) * T + 2.0 * 768 * 256},
      {"rope", 2 * 512 * T + 2.0 * 4 * 64 * 512, 0, 0},
      {"core attention", 4 * T * 8 + 2 * 2 * T * 512, 2 * T *(768 + 128),
       (4 * 8 + 2 * 8 * 64 * 3 + 2 * 256 + 4 * 8 * 64 + 2 * 2 * 512) * T}}},
    {"torch, learned positions",
     BIASED,
     {.kind = BLOCK_ATTENTION},
     true,
     {{"attention norm", X, 0, 2 * X},
      {"residual", X, 0, 0},
      {"qkv", 2 * T * 768, 0, 2 * (768 + 256) * T + 2.0 * 768 * 256},
      {"core attention", 4 * T * 4, 0, (4 * 4 + 2 * 4 * 64 * 3 + 2 * 512 + 4 * 4 * 64) * T},
      {"attention out", 2 * T * 256, 0, 2 * T * 256 + 2.0 * 256 * 256}}},
/* Half the tokens of each sequence here: keys and values of 256 x 2 bytes are K bytes, twice
     * that forward (what came and what comes) and with gradients backward. */
#define K (2 * T / 2 * 256)
    {"te, context ring",
     DENSE,
     {.kind = BLOCK_ATTENTION, .cp = 2, .cp_comm = CP_P2P, .te = true},
     false,
     {{"core attention", 4 * T / 2 * 8, 0, T / 2 * (4 * 8 + 2 * 8 * 64 * 3 + 2 * 256 + 4 * 8 * 64)},
      {"context ring", 0, 2 * K, 4 * K}}},
    {"te, context all-to-all: the output before it is exchanged",
     DENSE,
     {.kind = BLOCK_ATTENTION, .cp = 2, .cp_comm = CP_A2A, .te = true},
     false,
     {{"core attention", 4 * T / 2 * 8 + 2 * T / 2 * 512, 0,
       T / 2 * (4 * 8 + 2 * 8 * 64 * 3 + 2 * 256 + 4 * 8 * 64)},
      {"context exchange", 0, 2 * K, 4 * K}}},
    {"te, context all-gather of 4 ranks",
     DENSE,
     {.kind = BLOCK_ATTENTION, .cp = 4, .cp_comm = CP_ALLGATHER, .te = true},
     false,
     {{"context ring", 0, 2 * K, 4 * K}}}, /* 4 x K / 2 */
#undef K
};

/* kv down: 64 + 16 and the norm of the 64; kv up: keys (48) and values (24) of 8 heads. */
static const struct block_case LATENT_CASES[] = {
    {"torch, latent",
     LATENT,
     {.kind = BLOCK_ATTENTION},
     true,
     {{"attention norm", X, 0, 2 * X},
      {"residual", X, 0, 0},
      {"kv down", 2 * (80 + 64) * T, 0, 2 * (80 + 256) * T + 2.0 * 80 * 256},
      {"kv up", 2 * T * 8 * (48 + 24), 0, 2 * (448 + 64) * T + 2.0 * 448 * 64},
      {"q down", 2 * (96 + 96) * T, 0, 2 * (96 + 256) * T + 2.0 * 96 * 256},
      {"q up", 2 * T * 384, 0, 2 * (384 + 96) * T + 2.0 * 384 * 96},
      {"rope", 2.0 * 4 * 16 * 512, 0, 0},
      {"core attention", 4 * T * 8, 0,
       (4 * 8 + 2 * 8 * (24 + 24 + 48) + 2 * 8 * (48 + 24) + 4 * 8 * 48) * T},
      {"attention out", 2 * T * 192, 0, 2 * T * 192 + 2.0 * 256 * 192}}},
    {"te, latent, tp 2, sequence-parallel",
     LATENT,
     {.kind = BLOCK_ATTENTION, .tp = 2, .seq_parallel = 1, .te = true},
     true,
     {{"attention norm", X / 2, 0, X},
      {"residual", X / 2, 0, 0},
      {"kv down", (80 + 64) * T, 0, (80 + 256) * T},
      {"kv up", 2 * T * 4 * (48 + 24), 0, 2 * (224 + 64) * T},
      {"q down", (96 + 96) * T, 0, (96 + 256) * T},
      {"q up", 2 * T * 192, 0, 2 * (192 + 96) * T},
      {"core attention", 4 * T * 4, 0,
       (4 * 4 + 2 * 4 * (24 + 24 + 48) + 2 * 4 * (48 + 24) + 4 * 4 * 48) * T},
      {"attention out", 2 * T * 96, 0, X + 2 * T * 96}}},
    {"torch, latent, tp 2, sequence-parallel: gathered down-projections",
     LATENT,
     {.kind = BLOCK_ATTENTION, .tp = 2, .seq_parallel = 1},
     false,
     {{"kv down", 2 * T * 80 + T * 64, 0, (80 + 256) * T + 2.0 * 80 * 256},
      {"q down", 2 * T * 96 + T * 96, 0, (96 + 256) * T + 2.0 * 96 * 256}}},
};

static const struct block_case MLP_CASES[] = {
    {"torch, gated",
     DENSE,
     {.kind = BLOCK_MLP},
     true,
     {{"mlp norm", X, 0, 2 * X},
      {"residual", X, 0, 0},
      {"mlp up", 2 * T * 2048, 0, 2 * (2048 + 256) * T + 2.0 * 2048 * 256},
      {"activation", 2 * T * 1024, 0, 2 * (2048 + 1024) * T},
      {"mlp down", 0, 0, 2 * T * 1024 + 2.0 * 256 * 1024}}},
    {"te, gated, fp8, tp 2, sequence-parallel, dropout",
     DENSE,
     {.kind = BLOCK_MLP,
      .tp = 2,
      .seq_parallel = 1,
      .te = true,
      .precision = PRECISION_FP8,
      .dropout = true},
     true,
     {{"mlp norm", X / 4, 0, X},
      {"residual", X / 2 + X / 4, 0, 0},
      {"mlp up", 2 * T * 1024, 0, 2 * (1024 + 256) * T + X / 2 + X},
      {"activation", T * 512, 0, 2 * (1024 + 512) * T},
      {"mlp down", 0, 0, X + 2 * T * 512}}},
    /* 8 bytes of scratch for each element, to sum the bias's gradient; 132 MiB at most */
    {"torch, biased, not gated, post norm",
     BIASED ",post_norms=1",
     {.kind = BLOCK_MLP},
     true,
     {{"mlp norm", X, 0, 2 * X},
      {"residual", X, 0, 0},
      {"mlp up", 2 * T * 1024, 0, 2 * (1024 + 256) * T + 2.0 * 1024 * 256},
      {"activation", 2 * T * 1024, 0, 2 * (1024 + 1024) * T + 8 * T * 1024},
      {"mlp down", 0, 0, 2 * T * 1024 + 2.0 * 256 * 1024},
      {"mlp post norm", X, 0, 2 * X}}},
};

/* R rows reach the experts, 256 wide: 2 X bytes. The router keeps 13 bytes of a token and expert,
 * te 8 more. All at once: gradients of all rows. In turn: those of one expert, the rows that come
 * back and what the three others still keep. After the experts: rows as sent, received, sorted,
 * computed (2 X each) and their sum X. */
#define R (2 * T)
static const struct block_case EXPERT_CASES[] = {
    {"te, grouped",
     EXPERTS,
     {.kind = BLOCK_MOE, .grouped_gemm = 1, .te = true},
     true,
     {{"mlp norm", X, 0, 2 * X},
      {"residual", X, 0, 0},
      {"router", 21 * T * 4, 0, 2 * (4 + 256) * T},
      {"sort by expert", 2 * R * 256, 0, 0},
      {"expert up", 2 * R * 256, 0, 2 * (256 + 256) * R},
      {"activation", 2 * R * 128, 0, 2 * (256 + 128) * R},
      {"expert down", 0, 0, 2 * (256 + 128) * R},
      {"unsort", 0, 2 * X + 3 * 2 * X + X, 0}}},
    {"te, grouped, all-gather over two", /* a row for every token of both ranks, and its gradient */
     EXPERTS,
     {.kind = BLOCK_MOE, .grouped_gemm = 1, .te = true, .ep = 2},
     false,
     {{"sort by expert", 2 * R * 256, 0, 0}, {"unsort", 0, 2 * X + 3 * 2 * X + X, 2 * X + 2 * X}}},
    {"torch, four in turn",
     EXPERTS,
     {.kind = BLOCK_MOE, .grouped_gemm = 1},
     true,
     {{"mlp norm", X, 0, 2 * X},
      {"residual", X, 0, 0},
      {"router", 13 * T * 4, 0, 2 * (4 + 256) * T + 2.0 * 4 * 256},
      {"sort by expert", 2 * R * 256, 0, 0},
      {"expert up", 2 * R * 256, 0,
       2 * X + 0.75 * 2 * (256 + 128) * R + 2 * R / 4 * (256 + 256) + 2.0 * 256 * 256},
      {"activation", 2 * R * 128, 0, 2 * X + 0.75 * 2 * R * 128 + 2 * R / 4 * (256 + 128)},
      {"expert down", 0, 0, 2 * X + 2 * R / 4 * 128 + 2.0 * 256 * 128},
      {"unsort", 0, 2 * X + 3 * 2 * X + X, 0}}},
    {"torch, one expert of ep 4: no order to restore",
     EXPERTS,
     {.kind = BLOCK_MOE, .ep = 4, .dispatcher = DISPATCH_ALLTOALL},
     true,
     {{"mlp norm", X, 0, 2 * X},
      {"residual", X, 0, 0},
      {"router", 13 * T * 4, 0, 2 * (4 + 256) * T + 2.0 * 4 * 256},
      {"sort by expert", 2 * R * 256, 0, 0},
      {"expert up", 2 * R * 256, 0, 2 * (256 + 256) * R + 2.0 * 256 * 256},
      {"activation", 2 * R * 128, 0, 2 * (256 + 128) * R},
      {"expert down", 0, 0, 2 * (256 + 128) * R + 2.0 * 256 * 128},
      {"unsort", 0, 2 * X + 2 * X + X, 0}}},
    /* Half the tokens here, all of them gathered: R rows, experts half as wide. X sent; 2 X
     * received, and sorted; of the outputs this half, before and after; X / 2 summed. */
    {"te, etp 2, sequence-parallel",
     EXPERTS,
     {.kind = BLOCK_MOE, .tp = 2, .etp = 2, .seq_parallel = 1, .grouped_gemm = 1, .te = true},
     true,
     {{"mlp norm", X / 2, 0, X},
      {"residual", X / 2, 0, 0},
      {"router", 21 * T / 2 * 4, 0, 2 * T / 2 * (4 + 256)},
      {"sort by expert", 2 * R * 256, 0, 0},
      {"expert up", 2 * R * 128, 0, 2 * (128 + 256) * R},
      {"activation", 2 * R * 64, 0, 2 * (128 + 64) * R},
      {"expert down", 0, 0, 2 * (256 + 64) * R},
      {"unsort", 0, X + 2 * 2 * X + 2 * X + X / 2, 0}}},
    /* A quarter of the tokens: X / 2 sent; 2 X received, sorted; a quarter of the outputs, before
     * and after; X / 4 summed. */
    {"te, etp 4, sequence-parallel",
     EXPERTS,
     {.kind = BLOCK_MOE, .tp = 4, .etp = 4, .seq_parallel = 1, .grouped_gemm = 1, .te = true},
     false,
     {{"unsort", 0, X / 2 + 2 * 2 * X + X + X / 4, 0}}},
    {"te, imbalance 1.5",
     EXPERTS,
     {.kind = BLOCK_MOE, .grouped_gemm = 1, .imbalance = 1.5, .te = true},
     true,
     {{"mlp norm", X, 0, 2 * X},
      {"residual", X, 0, 0},
      {"router", 21 * T * 4, 0, 2 * (4 + 256) * T},
      {"sort by expert", 3 * R * 256, 0, 0},
      {"expert up", 3 * R * 256, 0, 3 * (256 + 256) * R},
      {"activation", 3 * R * 128, 0, 3 * (256 + 128) * R},
      {"expert down", 0, 0, 3 * (256 + 128) * R},
      {"unsort", 0, 2 * X + 3 * 3 * X + X, 0}}},
    {"te, one half: no kernel multiplies by the probability too",
     "layers=2,hidden=256,ffn=1024,heads=8,vocab=1000,gated=0,linear_bias=0,experts=4,topk=2,"
     "expert_ffn=128",
     {.kind = BLOCK_MOE, .grouped_gemm = 1, .te = true},
     false,
     {{"activation", 2 * 2 * R * 128, 0, 2 * (128 + 128) * R}}},
    {"te, biased: scratch for the sum of its gradient",
     EXPERTS ",linear_bias=1",
     {.kind = BLOCK_MOE, .grouped_gemm = 1, .te = true},
     false,
     {{"activation", 2 * R * 128, 0, 2 * (256 + 128) * R + 8 * R * 256}}},
    {"te, fp8, shared expert: its output waits for the sum",
     EXPERTS ",shared_ffn=512",
     {.kind = BLOCK_MOE, .grouped_gemm = 1, .precision = PRECISION_FP8, .te = true},
     true,
     {{"mlp norm", X / 2, 0, 2 * X},
      {"residual", X, 0, 0},
      {"shared up", 2 * T * 1024, 0, 2 * (1024 + 256) * T},
      {"activation", T * 512, 0, 2 * (1024 + 512) * T},
      {"shared down", 0, 0, 2 * T * 512},
      {"router", 21 * T * 4, 0, 2 * (4 + 256) * T},
      {"sort by expert", R * 256, 0, 0},
      {"expert up", 2 * R * 256, 0, 2 * (256 + 256) * R},
      {"activation", R * 128, 0, 2 * (256 + 128) * R},
      {"expert down", 0, 0, 2 * (256 + 128) * R},
      {"unsort", 0, 2 * X + 3 * 2 * X + 2 * X, 0}}},
};
#undef R

/* The vocabulary is padded to 1024; at tp 2 512 rows a rank. L logits. */
#define L (T * 1024)
static const struct block_case END_CASES[] = {
    {"torch, loss", /* fp32 probabilities kept; 16-bit logits, then their gradient, beside them */
     DENSE,
     {.kind = BLOCK_HEAD},
     true,
     {{"final norm", X, 0, 2 * X},
      {"residual", X, 0, 0},
      {"logits", 0, 0, 2 * (1024 + 256) * T + 2.0 * 1024 * 256},
      {"cross entropy", 4 * L, 2 * L, 6 * L}}},
    {"te, Megatron's fused loss: a second fp32 array",
     DENSE,
     {.kind = BLOCK_HEAD, .loss_fusion = 1, .te = true},
     true,
     {{"final norm", X, 0, 2 * X},
      {"residual", X, 0, 0},
      {"logits", 0, 0, 2 * (1024 + 256) * T},
      {"cross entropy", 4 * L, 6 * L, 6 * L}}},
    {"te, TransformerEngine's fused loss: in place",
     DENSE,
     {.kind = BLOCK_HEAD, .loss_fusion = 1, .loss_te = 1, .te = true},
     true,
     {{"final norm", X, 0, 2 * X},
      {"residual", X, 0, 0},
      {"logits", 0, 0, 2 * (1024 + 256) * T},
      {"cross entropy", 2 * L, 0, 2 * L}}},
    {"te, fp8: never the logits",
     DENSE,
     {.kind = BLOCK_HEAD, .precision = PRECISION_FP8, .te = true},
     false,
     {{"final norm", X, 0, 2 * X}}},
    {"torch, loss, tp 2, sequence-parallel",
     DENSE,
     {.kind = BLOCK_HEAD, .tp = 2, .seq_parallel = 1},
     true,
     {{"final norm", X / 2, 0, X},
      {"residual", X / 2, 0, 0},
      {"logits", 0, 0, 2 * (512 + 256) * T + 2.0 * 512 * 256 + X / 2},
      {"cross entropy", 4 * L / 2, 2 * L / 2, 6 * L / 2}}},
    {"embedding", /* int64 tokens; a gradient of the whole matrix */
     DENSE,
     {.kind = BLOCK_EMBEDDING},
     true,
     {{"embedding", 8 * T, 0, 2.0 * 1024 * 256}}},
    {"embedding, dropout: a byte of mask",
     DENSE,
     {.kind = BLOCK_EMBEDDING, .dropout = true},
     false,
     {{"embedding", 8 * T + X / 2, 0, 2.0 * 1024 * 256}}},
    {"embedding, tp 2, sequence-parallel",
     DENSE,
     {.kind = BLOCK_EMBEDDING, .tp = 2, .seq_parallel = 1},
     true,
     {{"embedding", 8 * T, 0, 2.0 * 512 * 256 + X}}},
    {"torch, multi-token prediction: two norms side by side, 512 wide",
     DENSE ",mtp=1",
     {.kind = BLOCK_MTP},
     true,
     {{"mtp norm", X, 0, 2 * X},
      {"residual", X, 0, 0},
      {"mtp embedding norm", X, 0, 2 * X},
      {"residual", X, 0, 0},
      {"mtp projection", 2 * X, 0, 2 * (256 + 512) * T + 2.0 * 256 * 512}}},
};
#undef L

static void operators_by_hand(void **state)
{
    (void)state;
    check_blocks(ATTENTION_CASES, COUNT(ATTENTION_CASES));
    check_blocks(LATENT_CASES, COUNT(LATENT_CASES));
    check_blocks(MLP_CASES, COUNT(MLP_CASES));
    check_blocks(EXPERT_CASES, COUNT(EXPERT_CASES));
    check_blocks(END_CASES, COUNT(END_CASES));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators_by_hand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
