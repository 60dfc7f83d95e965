/* Operators of one block, in the order Megatron runs them. Saved bytes are per software stack
 * (facts: Megatron-LM core 0.20 modules; see doc/ops.md for the table): the norm's input and
 * output, q / k / v, the attention's output with its log-sum-exp, the MLP's first product and
 * its activation. Everything between column- and row-parallel products is divided by tp; what
 * lies on the residual stream only with sequence parallelism. */
#include "ops/ops.h"

#include "model/model.h"

#include <assert.h>
#include <string.h>

enum { HALF = 2, SINGLE = 4 }; /* bytes of bf16 / fp16 and of fp32 */

struct builder {
    const struct block_shape *s;
    struct op *out;
    int count;
    double tokens;   /* of one micro-batch on one context-parallel rank */
    double residual; /* tokens of the residual stream held by one rank */
};

static struct op *add(struct builder *b, const char *name, enum op_kind kind)
{
    assert(b->count < OPS_MAX);
    struct op *o = &b->out[b->count++];
    memset(o, 0, sizeof *o);
    o->name = name;
    o->kind = kind;
    o->count = 1;
    o->memory_kind = o->memory_kind_back = MEMORY_NONE;
    return o;
}

static struct op *add_gemm(struct builder *b, const char *name, double m, double n, double k)
{
    struct op *o = add(b, name, OP_GEMM);
    o->m = m;
    o->n = n;
    o->k = k;
    o->temporary_back = HALF * m * (n + k);
    return o;
}

/* Bytes of one element that a pass reads and writes if nothing is moved twice, as doc/profile.md
 * counts them: a model that learned from profiles is asked in their terms. */
static const struct {
    double forward, back;
} ELEMENT_BYTES[MEMORY_KINDS] = {
    [MEMORY_RMS_NORM] = {4, 6},      /* back: gradient and input in, gradient out */
    [MEMORY_LAYER_NORM] = {4, 6},    /* the same */
    [MEMORY_SWIGLU_FUSED] = {6, 10}, /* of an output element, which has two inputs */
    [MEMORY_GELU_FUSED] = {4, 6},
    [MEMORY_ROPE] = {4, 4}, /* back: the inverse rotation of the gradient */
    [MEMORY_COPY] = {4, 4},
    [MEMORY_RESIDUAL] = {6, 6},      /* back: the gradients of both branches are added */
    [MEMORY_EMBEDDING] = {4, 2},     /* back: without the matrix of gradients */
    [MEMORY_LOSS_TORCH] = {4, 8},    /* fp32 logits; their gradient */
    [MEMORY_LOSS_MEGATRON] = {6, 6}, /* bf16 logits in, fp32 probabilities kept; and backward */
    [MEMORY_PERMUTE] = {4, 4},
};

/* A pass over `rows` of `width` elements: of the output, where that is narrower than the input. */
static struct op *add_pass(struct builder *b, const char *name, enum memory_kind kind, double rows,
                           double width)
{
    struct op *o = add(b, name, OP_MEMORY);
    assert(ELEMENT_BYTES[kind].forward > 0);
    o->memory_kind = o->memory_kind_back = kind;
    o->m = rows;
    o->n = width;
    o->bytes = ELEMENT_BYTES[kind].forward * rows * width;
    o->bytes_back = ELEMENT_BYTES[kind].back * rows * width;
    return o;
}

static void add_comm(struct builder *b, const char *name, enum comm_kind kind, enum comm_axis axis,
                     double bytes, int ranks, int stride, int modules)
{
    if (ranks <= 1)
        return;
    struct op *o = add(b, name, OP_COMM);
    o->comm = kind;
    o->axis = axis;
    o->bytes = bytes;
    o->ranks = ranks;
    o->stride = stride;
    o->modules = modules;
    o->temporary = kind == COMM_ALL_GATHER ? bytes : 0;
    o->temporary_back = o->temporary;
}

/* Entry of a tensor-parallel region: with sequence parallelism an all-gather forward and a
 * reduce-scatter backward; without it nothing forward and an all-reduce backward, which the
 * mirror image of add_tp_exit stands for. Megatron runs that backward collective beside the
 * weight gradient. */
static void add_tp_enter(struct builder *b, const char *name, int modules)
{
    if (!b->s->seq_parallel || b->s->tp == 1)
        return;
    add_comm(b, name, COMM_ALL_GATHER, AXIS_TP, HALF * b->tokens * b->s->model->hidden, b->s->tp, 1,
             modules);
    b->out[b->count - 1].hidden_back = true;
}

static void add_tp_exit(struct builder *b, const char *name, int modules)
{
    if (b->s->tp == 1)
        return;
    enum comm_kind kind = b->s->seq_parallel ? COMM_REDUCE_SCATTER : COMM_ALL_REDUCE;
    add_comm(b, name, kind, AXIS_TP, HALF * b->tokens * b->s->model->hidden, b->s->tp, 1, modules);
    b->out[b->count - 1].hidden_back = !b->s->seq_parallel;
}

static void add_norm(struct builder *b, const char *name, bool saves_input)
{
    const struct model *m = b->s->model;
    double rows = b->residual, width = m->hidden;
    enum memory_kind kind = m->layer_norm ? MEMORY_LAYER_NORM : MEMORY_RMS_NORM;
    struct op *o = add_pass(b, name, kind, rows, width);
    o->modules = MODULE_LAYERNORM;
    o->saved = HALF * rows * width; /* the output, which is the next product's input */
    if (saves_input)                /* bias, dropout, add: one pass, input kept */
        add_pass(b, "residual", MEMORY_RESIDUAL, rows, width)->saved = HALF * rows * width;
}

/* Average keys a query sees: half under the causal mask, the window where it is shorter. */
static double keys_seen(const struct block_shape *s)
{
    double full = s->seq_len / 2.0;
    if (s->window > 0 && s->window < s->seq_len) {
        double w = s->window;
        return w * (s->seq_len - w / 2) / s->seq_len;
    }
    return full;
}

static void add_core_attention(struct builder *b, double heads, double qk, double v,
                               double kv_width)
{
    const struct block_shape *s = b->s;
    bool unfused = s->attention == ATTENTION_UNFUSED || s->attention == ATTENTION_LOCAL;
    struct op *o = add(b, "core attention", unfused ? OP_SCORES : OP_ATTENTION);
    o->m = b->tokens / s->micro_batch;
    o->n = unfused ? s->seq_len : keys_seen(s);
    o->k = qk;
    o->value_width = v;
    o->keys = s->seq_len;
    o->window = s->window > 0 && s->window < s->seq_len ? s->window : 0;
    o->kv_share = kv_width / (heads * (qk + v));
    o->count = heads * s->micro_batch;
    o->modules = MODULE_CORE_ATTN;
    if (unfused) { /* scores and probabilities, a byte mask of dropout left out */
        double scores = o->m * s->seq_len * o->count;
        o->bytes = HALF * 4 * scores;
        o->bytes_back = HALF * 6 * scores;
        o->saved = HALF * 2 * scores;
        o->temporary_back = HALF * 2 * scores;
    } else {
        o->saved = SINGLE * b->tokens * heads; /* log-sum-exp */
        o->temporary_back = HALF * b->tokens * (heads * (qk + v) + 2 * kv_width);
    }
}

/* Context parallelism: keys and values travel around the ring forward, with their gradients
 * backward; all-to-all moves q, k, v and the output instead. */
static void add_context(struct builder *b, double kv_width, double q_width)
{
    const struct block_shape *s = b->s;
    if (s->cp == 1)
        return;
    double kv = HALF * b->tokens * kv_width;
    if (s->cp_comm == CP_A2A)
        add_comm(b, "context exchange", COMM_ALL_TO_ALL, AXIS_CP,
                 HALF * b->tokens * (2 * q_width + kv_width), s->cp, s->tp, 0);
    else
        add_comm(b, "context ring", COMM_ALL_GATHER, AXIS_CP, kv * s->cp, s->cp, s->tp, 0);
    struct op *o = &b->out[b->count - 1];
    o->beside_attention = s->cp_comm == CP_P2P;
    o->temporary = s->cp_comm == CP_ALLGATHER ? kv * s->cp : 2 * kv;
    o->temporary_back = 2 * o->temporary;
}

/* Rotates `width` elements of queries and keys together. TransformerEngine's kernel moves them
 * once, which is a copy, and a copy is one long array: rows make no difference. */
static struct op *add_rope(struct builder *b, double width)
{
    struct op *o = add_pass(b, "rope", b->s->te ? MEMORY_COPY : MEMORY_ROPE, b->tokens, width);
    if (b->s->te)
        o->m = o->n = 0;
    return o;
}

static void mla_projections(struct builder *b)
{
    const struct model *m = b->s->model;
    double heads = (double)m->heads / b->s->tp, qk = m->qk_nope + m->qk_rope;
    double t = b->tokens;
    add_gemm(b, "kv down", b->residual, m->kv_lora + m->qk_rope, m->hidden)->saved =
        HALF * b->residual * (m->kv_lora + m->qk_rope);
    struct op *kv = add_gemm(b, "kv up", t, heads * (m->qk_nope + m->v_dim), m->kv_lora);
    kv->modules = MODULE_MLA_UP;
    kv->saved = HALF * t * heads * (qk + m->v_dim);
    if (m->q_lora > 0)
        add_gemm(b, "q down", b->residual, m->q_lora, m->hidden)->saved =
            HALF * b->residual * 2 * m->q_lora;
    struct op *q = add_gemm(b, "q up", t, heads * qk, m->q_lora > 0 ? m->q_lora : m->hidden);
    q->modules = MODULE_MLA_UP;
    q->saved = HALF * t * heads * qk;
    add_rope(b, heads * 2 * qk)->modules = MODULE_MLA_UP;
    add_core_attention(b, heads, qk, m->v_dim, heads * (qk + m->v_dim));
    add_context(b, heads * (qk + m->v_dim), heads * qk);
    add_gemm(b, "attention out", t, m->hidden, heads * m->v_dim)->saved =
        HALF * t * heads * m->v_dim;
}

static void attention_projections(struct builder *b)
{
    const struct block_shape *s = b->s;
    const struct model *m = s->model;
    double heads = (double)m->heads / s->tp;
    double kv_heads = m->kv > s->tp ? (double)m->kv / s->tp : 1; /* repeated when tp > kv */
    double q = heads * m->head_dim, k = kv_heads * m->head_dim, t = b->tokens;
    struct op *qkv = add_gemm(b, "qkv", t, q + 2 * k, m->hidden);
    qkv->saved = HALF * t * (q + 2 * k);
    if (!s->te) /* the value is a view of the fused product, which stays beside rotated q and k */
        qkv->saved += HALF * t * (q + k);
    if (m->qk_norm)
        add_pass(b, "qk norm", MEMORY_RMS_NORM, t * (heads + kv_heads), m->head_dim)->saved =
            HALF * t * (q + k);
    if (!m->learned_pos)
        add_rope(b, q + k);
    add_core_attention(b, heads, m->head_dim, m->head_dim, 2 * k);
    add_context(b, 2 * k, q);
    add_gemm(b, "attention out", t, m->hidden, q)->saved = HALF * t * q;
}

static void attention_block(struct builder *b)
{
    add_norm(b, "attention norm", true);
    add_tp_enter(b, "attention gather", 0);
    if (b->s->model->mla)
        mla_projections(b);
    else
        attention_projections(b);
    add_tp_exit(b, "attention reduce", 0);
    if (b->s->model->post_norms)
        add_norm(b, "attention post norm", false);
}

/* Megatron compiles bias and activation into one kernel in both stacks. */
static struct op *add_activation(struct builder *b, double tokens, double inner, double wide)
{
    bool gated = b->s->model->gated;
    struct op *o =
        add_pass(b, "activation", gated ? MEMORY_SWIGLU_FUSED : MEMORY_GELU_FUSED, tokens, wide);
    o->saved = HALF * tokens * wide;
    o->temporary_back = HALF * tokens * (inner + 2 * wide);
    return o;
}

/* Two products with the activation between them, `wide` = inner width on this rank. */
static void add_mlp(struct builder *b, const char *up, const char *down, double tokens, double wide,
                    enum op_kind kind, double experts, int modules, int act_modules)
{
    const struct model *m = b->s->model;
    double inner = wide * (m->gated ? 2 : 1), rows = tokens / experts;
    struct op *first = add_gemm(b, up, rows, inner, m->hidden);
    first->kind = kind;
    first->count = experts;
    first->modules = modules;
    first->saved = HALF * tokens * inner;
    first->temporary_back = HALF * tokens * (inner + wide + m->hidden);
    add_activation(b, tokens, inner, wide)->modules = modules | act_modules;
    struct op *second = add_gemm(b, down, rows, m->hidden, wide);
    second->kind = kind;
    second->count = experts;
    second->modules = modules;
    second->temporary_back = HALF * tokens * (wide + m->hidden);
}

static void mlp_block(struct builder *b)
{
    const struct model *m = b->s->model;
    add_norm(b, "mlp norm", true);
    add_tp_enter(b, "mlp gather", MODULE_MLP);
    add_mlp(b, "mlp up", "mlp down", b->tokens, (double)m->ffn / b->s->tp, OP_GEMM, 1, MODULE_MLP,
            0);
    add_tp_exit(b, "mlp reduce", MODULE_MLP);
    if (m->post_norms)
        add_norm(b, "mlp post norm", false);
}

/* Dispatch and combine: tokens (topk copies) of this rank go to the ranks that hold their experts.
 * All-gather moves every token to every rank of the group instead. */
static void add_dispatch(struct builder *b, const char *name, bool combine)
{
    const struct block_shape *s = b->s;
    const struct model *m = s->model;
    double row = HALF * m->hidden;
    if (s->dispatcher == DISPATCH_ALLGATHER)
        add_comm(b, name, combine ? COMM_REDUCE_SCATTER : COMM_ALL_GATHER, AXIS_EP,
                 row * b->residual * s->ep, s->ep, s->etp, MODULE_MOE);
    else
        add_comm(b, name, COMM_ALL_TO_ALL, AXIS_EP, row * b->residual * m->topk, s->ep, s->etp,
                 MODULE_MOE);
    if (s->etp > 1)
        add_comm(b, name, combine ? COMM_REDUCE_SCATTER : COMM_ALL_GATHER, AXIS_TP,
                 row * b->residual * m->topk * s->etp, s->etp, 1, MODULE_MOE);
}

/* Brings rows into another order, which reads and writes each once. */
static struct op *add_permute(struct builder *b, const char *name, double rows)
{
    struct op *o = add_pass(b, name, MEMORY_PERMUTE, rows, b->s->model->hidden);
    o->modules = MODULE_MOE;
    return o;
}

/* Topk copies of every token, and back: the sum of the copies writes only one row of them. The
 * backward of either is the forward of the other. */
static void add_copies(struct builder *b)
{
    const struct model *m = b->s->model;
    struct op *o = add_permute(b, "permute", b->residual * m->topk);
    o->bytes_back = HALF * b->residual * (m->topk + 1) * m->hidden;
    o->temporary = HALF * b->residual * m->topk * m->hidden;
}

static void sum_copies(struct builder *b)
{
    const struct model *m = b->s->model;
    struct op *o = add_permute(b, "unpermute", b->residual * m->topk);
    o->bytes = HALF * b->residual * (m->topk + 1) * m->hidden;
    o->temporary_back = HALF * b->residual * m->topk * m->hidden;
}

static void moe_block(struct builder *b)
{
    const struct block_shape *s = b->s;
    const struct model *m = s->model;
    double routed = b->residual * m->topk * s->etp; /* rows that reach the experts of this rank */
    double experts = (double)m->experts / s->ep;
    enum op_kind kind = s->grouped_gemm && s->te ? OP_GROUPED : OP_GEMM;
    add_norm(b, "mlp norm", true);
    struct op *router = add_gemm(b, "router", b->residual, m->experts, m->hidden);
    router->modules = MODULE_MOE;
    router->saved = SINGLE * 3 * b->residual * m->experts; /* logits, scores, routing map in fp32 */
    add_copies(b);
    add_dispatch(b, "dispatch", false);
    add_permute(b, "sort by expert", routed)->saved =
        HALF * routed * m->hidden; /* the experts' input */
    add_mlp(b, "expert up", "expert down", routed, (double)m->expert_ffn / s->etp, kind, experts,
            MODULE_MOE, MODULE_MOE_ACT);
    add_permute(b, "unsort", routed);
    add_dispatch(b, "combine", true);
    sum_copies(b);
    if (m->shared_ffn > 0) {
        add_tp_enter(b, "shared gather", MODULE_MOE | MODULE_SHARED);
        add_mlp(b, "shared up", "shared down", b->tokens, (double)m->shared_ffn / s->tp, OP_GEMM, 1,
                MODULE_MOE | MODULE_SHARED, 0);
        add_tp_exit(b, "shared reduce", MODULE_MOE | MODULE_SHARED);
    }
    if (m->post_norms)
        add_norm(b, "mlp post norm", false);
}

/* Rows of the vocabulary on one rank. */
static double vocabulary(const struct block_shape *s)
{
    return (double)model_padded_vocab(s->model, s->tp) / s->tp;
}

/* Backward fills a gradient as large as the matrix, however few of its rows were used. */
static void embedding_block(struct builder *b)
{
    double ids = 8 * b->tokens;
    struct op *o = add_pass(b, "embedding", MEMORY_EMBEDDING, b->tokens, b->s->model->hidden);
    o->k = vocabulary(b->s);
    o->bytes += ids;
    o->bytes_back += HALF * o->k * o->n + ids;
    o->saved = ids;
    add_tp_exit(b, "embedding reduce", 0);
}

/* Final norm, logits and loss. The logits exist in bf16 and in fp32 together (6 bytes each,
 * again in backward: megatron.md section 4). */
static void head_block(struct builder *b)
{
    const struct block_shape *s = b->s;
    double wide = vocabulary(s), logits = b->tokens * wide;
    add_norm(b, "final norm", true);
    add_tp_enter(b, "head gather", 0);
    struct op *head = add_gemm(b, "logits", b->tokens, wide, s->model->hidden);
    head->saved = SINGLE * logits;
    head->temporary = HALF * logits;
    head->temporary_back = HALF * logits + HALF * b->tokens * s->model->hidden;
    enum memory_kind kind = s->loss_fusion ? MEMORY_LOSS_TORCH : MEMORY_LOSS_MEGATRON;
    add_pass(b, "cross entropy", kind, b->tokens, wide)->temporary = HALF * logits;
    add_comm(b, "loss reduce", COMM_ALL_REDUCE, AXIS_TP, SINGLE * 3 * b->tokens, s->tp, 1, 0);
}

/* An MTP module before its decoder layer: two norms, the embedding again and the 2h -> h
 * product. */
static void mtp_block(struct builder *b)
{
    const struct model *m = b->s->model;
    add_norm(b, "mtp norm", true);
    add_norm(b, "mtp embedding norm", true);
    add_tp_enter(b, "mtp gather", 0);
    add_gemm(b, "mtp projection", b->tokens, (double)m->hidden / b->s->tp, 2.0 * m->hidden)->saved =
        HALF * b->residual * 2 * m->hidden;
    add_tp_exit(b, "mtp reduce", 0);
}

int block_ops(const struct block_shape *s, struct op out[OPS_MAX])
{
    static void (*const build[])(struct builder *) = {
        [BLOCK_ATTENTION] = attention_block, [BLOCK_MLP] = mlp_block,   [BLOCK_MOE] = moe_block,
        [BLOCK_EMBEDDING] = embedding_block, [BLOCK_HEAD] = head_block, [BLOCK_MTP] = mtp_block,
    };
    struct builder b = {.s = s, .out = out};
    b.tokens = (double)s->micro_batch * s->seq_len / s->cp;
    b.residual = s->seq_parallel ? b.tokens / s->tp : b.tokens;
    build[s->kind](&b);
    return b.count;
}

double boundary_bytes(const struct block_shape *s)
{
    double tokens = (double)s->micro_batch * s->seq_len / s->cp;
    return HALF * tokens * s->model->hidden / (s->seq_parallel ? s->tp : 1);
}
