/* Operators of one block, in the order Megatron runs them, with the bytes that each keeps and
 * needs (doc/layer.md). Bytes are per software stack, read off the allocations of real
 * ranks at their peaks for `torch`, from the modules' source for `te`. Everything between column-
 * and row-parallel products is divided by tp; what lies on the residual stream only with sequence
 * parallelism. */
#include "layer/ops.h"

#include "base/units.h"
#include "layer/host_calls.h"
#include "model/model.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { HALF = 2, SINGLE = 4 }; /* bytes of bf16 / fp16 and of fp32 */

/* What routing keeps of each token and expert: an int64 index, a probability, a logit, and a byte
 * that tells whether it goes there (moe_utils.py: permute, topk_routing_with_score_function). */
enum { ROUTER_BYTES = 8 + HALF + HALF + 1 };

/* Fused permutation (`te`) keeps an int32 map of two entries per token and expert instead. */
enum { PERMUTE_BYTES = 8 };

/* Summing a bias gradient of `width` over all tokens: PyTorch's reduction spreads one output over so
 * many blocks that they fill the GPU and takes 1 MiB of scratch for each of its SMs (132 and 136 MiB
 * seen on an H200), unless the blocks would have less than 64 rows each (ATen/native/cuda/Reduce.cuh:
 * 4 bytes for each output, block and each of 128 outputs beside it). */
static double bias_scratch(double tokens, double width)
{
    return fmin(132 * MIB, 4 * 128 * width * tokens / 64);
}

struct ops_builder {
    const struct block_shape *s;
    struct op *out;
    int count;
    double tokens;   /* of one micro-batch on one context-parallel rank */
    double residual; /* tokens of the residual stream held by one rank */
    double whole;  /* bytes of hidden states of all tokens, as tensor-parallel products see them */
    double stream; /* bytes of the residual stream, and of its gradient */
    double input;  /* bytes of an element that a product keeps as its input */
    bool sharded;  /* the two differ: sequence parallelism */
};

static struct op *add(struct ops_builder *b, const char *name, enum op_kind kind)
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

static bool adds_wgrads(const struct block_shape *s)
{
    return s->te && !s->separate_wgrads;
}

/* A product of m rows. Backward holds the gradients of output and input; without fused
 * accumulation also the weight's own gradient before it is added. */
static struct op *add_gemm(struct ops_builder *b, const char *name, double m, double n, double k)
{
    struct op *o = add(b, name, OP_GEMM);
    o->m = m;
    o->n = n;
    o->k = k;
    o->temporary_back = HALF * (m * (n + k) + (adds_wgrads(b->s) ? 0 : n * k));
    return o;
}

/* Column-parallel: with sequence parallelism backward gathers the input once more (`torch`: into a
 * buffer that stays, memory.h) and scatters its gradient. */
static struct op *add_column(struct ops_builder *b, const char *name, double n)
{
    struct op *o = add_gemm(b, name, b->tokens, n, b->s->model->hidden);
    if (b->sharded)
        o->temporary_back += b->stream + (b->s->te ? b->whole : 0);
    return o;
}

/* Row-parallel: the output's gradient is the stream's, gathered with sequence parallelism. */
static struct op *add_row(struct ops_builder *b, const char *name, double k)
{
    struct op *o = add_gemm(b, name, b->tokens, b->s->model->hidden, k);
    if (!b->sharded)
        o->temporary_back -= b->whole;
    return o;
}

/* Bytes of one element that a pass reads and writes if nothing is moved twice, as
 * doc/evidence/profile.md counts: a model that learned from profiles is asked in their terms. */
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
static struct op *add_pass(struct ops_builder *b, const char *name, enum memory_kind kind,
                           double rows, double width)
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

static void add_comm(struct ops_builder *b, const char *name, enum comm_kind kind,
                     enum comm_axis axis, double bytes, int ranks, int stride, int modules)
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
}

/* Entry of a tensor-parallel region: with sequence parallelism an all-gather forward and a
 * reduce-scatter backward; without it nothing forward and an all-reduce backward, which the
 * mirror image of add_tp_exit stands for. Megatron runs that backward collective beside the
 * weight gradient; without sequence parallelism it once came before it (tp_sync). */
static void add_tp_enter(struct ops_builder *b, const char *name, int modules)
{
    if (!b->s->seq_parallel || b->s->tp == 1)
        return;
    add_comm(b, name, COMM_ALL_GATHER, AXIS_TP, b->whole, b->s->tp, 1, modules);
    b->out[b->count - 1].hidden_back = true;
}

static void add_tp_exit(struct ops_builder *b, const char *name, int modules)
{
    if (b->s->tp == 1)
        return;
    enum comm_kind kind = b->s->seq_parallel ? COMM_REDUCE_SCATTER : COMM_ALL_REDUCE;
    add_comm(b, name, kind, AXIS_TP, b->whole, b->s->tp, 1, modules);
    b->out[b->count - 1].hidden_back = !b->s->seq_parallel && !b->s->tp_sync;
}

/* Bias, dropout, add: one pass, input kept, and a byte where dropout masks. */
static void add_residual(struct ops_builder *b)
{
    add_pass(b, "residual", MEMORY_RESIDUAL, b->residual, b->s->model->hidden)->saved =
        b->stream + (b->s->dropout ? b->stream / HALF : 0);
}

static void add_norm(struct ops_builder *b, const char *name, bool saves_input)
{
    const struct model *m = b->s->model;
    enum memory_kind kind = m->layer_norm ? MEMORY_LAYER_NORM : MEMORY_RMS_NORM;
    struct op *o = add_pass(b, name, kind, b->residual, m->hidden);
    /* the output: the next product's input, or of a norm behind a block the stream's own */
    o->modules = saves_input ? MODULE_LAYERNORM : 0;
    o->saved = (saves_input ? b->input : HALF) * b->residual * m->hidden;
    o->temporary_back = 2 * b->stream;
    if (saves_input)
        add_residual(b);
}

/* A block that shares the norm of attention only adds what it computed. */
static void add_mlp_norm(struct ops_builder *b)
{
    if (b->s->model->shared_norm)
        add_residual(b);
    else
        add_norm(b, "mlp norm", true);
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

/* Bytes of an element of the scores that a pass moves, and that are there at once: kept for the
 * softmax, beside what is kept while it runs, and backward. TransformerEngine masks and scales inside
 * its softmax, whose gradient takes the place of what came in. Megatron's own attention
 * (dot_product_attention.py) fills the mask in place into a view of the product: autograd then copies
 * the gradient into the view's storage (as_strided), and once more, clones it, fills it and copies it
 * back (CopySlices): four arrays at once. In fp32 it fills a copy (fused_softmax.py), and probabilities,
 * their gradient and that of the scores are there at once. */
enum scores { SCORES_FUSED, SCORES_STOCK, SCORES_FP32 };
static const struct {
    double forward, back, softmax, beside, most_back, most_dropped;
} SCORES[] = {
    [SCORES_FUSED] = {8, 12, 2, 2, 4, 7},
    [SCORES_STOCK] = {2 + 4 + 4 + 2, 4 + 6 + 6 + 5 * 4 + 4, 2, 2, 8,
                      8}, /* with the products' own */
    [SCORES_FP32] = {2 + 6 + 8 + 8 + 6 + 2, 4 + 6 + 12 + 16 + 6 + 4, 4, 6, 12, 12},
};

/* Apex's kernel takes rows of 17 to 4096 keys (is_kernel_available in fused_softmax.py) and works as
 * TransformerEngine's does. */
static enum scores scores_kind(const struct block_shape *s)
{
    bool fused = s->softmax_fused && s->seq_len > 16 && s->seq_len <= 4096;
    return !s->stock || fused ? SCORES_FUSED : s->softmax_fp32 ? SCORES_FP32 : SCORES_STOCK;
}

/* The fused softmax takes four rows of scores at a time, one of each head and sample
 * (is_kernel_available in Megatron's fused_softmax.py and TransformerEngine's softmax.py). Where they
 * are no multiple of four, torch casts, scales, masks, normalises and casts back, each a call. */
enum { SOFTMAX_ROWS = 4, SOFTMAX_CALLS = 5 };

static bool is_left_to_torch(enum scores kind, double rows)
{
    return kind == SCORES_FUSED && fmod(rows, SOFTMAX_ROWS) != 0;
}

/* Probabilities are kept for the softmax and for the second product, one array where both take the
 * same; dropout keeps a byte of mask, and what it dropped. The scores are there until the module
 * returns, and the product with the values beside its copy in the order of tokens. */
static void add_scores(const struct ops_builder *b, struct op *o, double out)
{
    const struct block_shape *s = b->s;
    enum scores kind = scores_kind(s);
    double scores = o->m * s->seq_len * o->count, mask = 0;
    bool by_torch = is_left_to_torch(kind, o->count);
    enum scores passes = by_torch ? SCORES_FP32 : kind;
    if (kind != SCORES_FUSED) /* made again by each layer: fp32 ones, their triangle, bytes */
        mask = (double)s->seq_len * s->seq_len;
    bool apart = s->attention_dropout || kind == SCORES_FP32;
    o->softmax_fp32 = kind == SCORES_FP32;
    o->calls = by_torch ? SOFTMAX_CALLS - 1 : 0;
    o->bytes = SCORES[passes].forward * scores + 17 * mask;
    o->bytes_back = SCORES[passes].back * scores;
    o->saved =
        (SCORES[kind].softmax + (apart ? HALF : 0) + (s->attention_dropout ? 1 : 0)) * scores +
        mask;
    o->temporary = SCORES[kind].beside * scores + 2 * out;
    o->temporary_back =
        (s->attention_dropout ? SCORES[kind].most_dropped : SCORES[kind].most_back) * scores +
        mask + out;
}

static bool is_unfused(const struct block_shape *s)
{
    return s->attention == ATTENTION_UNFUSED || s->attention == ATTENTION_LOCAL;
}

static struct op *add_core_attention(struct ops_builder *b, double heads, double qk, double v,
                                     double kv_width)
{
    const struct block_shape *s = b->s;
    bool unfused = is_unfused(s);
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
    if (unfused) {
        add_scores(b, o, HALF * b->tokens * heads * v);
    } else {
        o->saved = SINGLE * b->tokens * heads; /* log-sum-exp */
        if (s->attention == ATTENTION_FLASH && s->micro_batch > 1)
            o->saved += HALF * b->tokens * heads * v; /* the output, sequence by sequence */
        if (s->cp > 1 && s->cp_comm == CP_A2A)        /* the output before it is exchanged */
            o->saved += HALF * b->tokens * heads * v;
        /* output and its gradient, those of q, k, v, and an fp32 sum of the query's */
        o->temporary_back = b->tokens * (SINGLE * heads + HALF * heads * (2 * v + qk) +
                                         HALF * kv_width + SINGLE * heads * qk);
    }
    return o;
}

/* Context parallelism: keys and values travel around the ring forward, with their gradients
 * backward; all-to-all moves q, k, v and the output instead. */
static void add_context(struct ops_builder *b, double kv_width, double q_width)
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
static struct op *add_rope(struct ops_builder *b, double width, double head)
{
    struct op *o = add_pass(b, "rope", b->s->te ? MEMORY_COPY : MEMORY_ROPE, b->tokens, width);
    if (b->s->te)
        o->m = o->n = 0;
    else /* cosines and sines of each position, once for the queries and once for the keys */
        o->saved = HALF * 4 * head * b->tokens / b->s->micro_batch;
    return o;
}

/* Bytes of an element of the attention's output: kept for its own backward, and in fp8 once more
 * as the next product's input. */
static double attention_kept(const struct ops_builder *b)
{
    return HALF + (b->input < HALF ? b->input : 0);
}

static void mla_projections(struct ops_builder *b)
{
    const struct model *m = b->s->model;
    double heads = (double)m->heads / b->s->tp, qk = m->qk_nope + m->qk_rope;
    double t = b->tokens, down = b->s->te ? b->residual : t; /* torch gathers what it sharded */
    add_gemm(b, "kv down", b->residual, m->kv_lora + m->qk_rope, m->hidden)->saved =
        HALF * (down * (m->kv_lora + m->qk_rope) + b->residual * m->kv_lora); /* and its norm */
    struct op *kv = add_gemm(b, "kv up", t, heads * (m->qk_nope + m->v_dim), m->kv_lora);
    kv->modules = MODULE_MLA_UP;
    kv->saved = HALF * t * heads * (qk + m->v_dim);
    if (m->q_lora > 0)
        add_gemm(b, "q down", b->residual, m->q_lora, m->hidden)->saved =
            HALF * (down + b->residual) * m->q_lora;
    struct op *q = add_gemm(b, "q up", t, heads * qk, m->q_lora > 0 ? m->q_lora : m->hidden);
    q->modules = MODULE_MLA_UP;
    q->saved = HALF * t * heads * qk;
    add_rope(b, heads * 2 * qk, m->qk_rope)->modules = MODULE_MLA_UP;
    add_core_attention(b, heads, qk, m->v_dim, heads * (qk + m->v_dim));
    add_context(b, heads * (qk + m->v_dim), heads * qk);
    add_row(b, "attention out", heads * m->v_dim)->saved = attention_kept(b) * t * heads * m->v_dim;
}

/* Keys and values of grouped queries may be copied for every head, which are then kept in place of
 * what they were copied from. */
static bool copies_groups(const struct block_shape *s, double heads, double kv_heads)
{
    return s->copies_groups && kv_heads < heads;
}

/* What the product that makes q, k and v leaves behind. TransformerEngine has each for itself. In
 * torch, values are a view of it, and so are keys before their norm; q and k are rotated copies. */
static double kept_product(const struct block_shape *s, double q, double k, bool copied)
{
    if (s->te)
        return copied ? q : q + 2 * k;
    return copied && !s->model->qk_norm ? 0 : q + 2 * k;
}

static void attention_projections(struct ops_builder *b)
{
    const struct block_shape *s = b->s;
    const struct model *m = s->model;
    double heads = (double)m->heads / s->tp;
    double kv_heads = m->kv > s->tp ? (double)m->kv / s->tp : 1; /* repeated when tp > kv */
    double q = heads * m->head_dim, k = kv_heads * m->head_dim, t = b->tokens;
    bool copied = copies_groups(s, heads, kv_heads);
    double product = kept_product(s, q, k, copied);
    add_column(b, "qkv", q + 2 * k)->saved = HALF * t * product;
    if (m->qk_norm) { /* torch: keys are a view of the product, queries unless groups are split */
        bool view = kv_heads <= 1 || m->kv == m->heads;
        add_pass(b, "qk norm", MEMORY_RMS_NORM, t * (heads + kv_heads), m->head_dim)->saved =
            HALF * t *
            (s->te  ? q + k
             : view ? 0
                    : q);
    }
    if (!m->learned_pos) {
        struct op *rope = add_rope(b, q + k, m->head_dim);
        if (!s->te)
            rope->saved += HALF * t * (q + (copied ? 0 : k));
    }
    struct op *core = add_core_attention(b, heads, m->head_dim, m->head_dim, 2 * k);
    if (copied) { /* keys and values; queries too where nothing rotated them */
        bool queries = m->learned_pos && !s->te;
        core->saved += HALF * t * (2 + queries) * q;
        core->stays = HALF * t * (q + 2 * k - product + (m->learned_pos || s->te ? 0 : k));
        core->temporary += core->stays;
        core->stays = fmin(core->stays, core->saved);
        core->temporary_back += HALF * t * (2 - is_unfused(s) + queries) * q;
        core->bytes += is_unfused(s) ? HALF * t * 2 * (q + k) : 0;
    }
    add_context(b, 2 * k, q);
    add_row(b, "attention out", q)->saved = attention_kept(b) * t * q;
}

static void attention_block(struct ops_builder *b)
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
static struct op *add_activation(struct ops_builder *b, double tokens, double inner, double wide)
{
    bool gated = b->s->model->gated;
    struct op *o =
        add_pass(b, "activation", gated ? MEMORY_SWIGLU_FUSED : MEMORY_GELU_FUSED, tokens, wide);
    o->saved = b->input * tokens * wide;
    o->temporary_back = HALF * tokens * (inner + wide);
    if (b->s->model->linear_bias)
        o->temporary_back += bias_scratch(tokens, inner);
    return o;
}

/* Two products with the activation between them, `wide` = inner width on this rank. */
static void add_mlp(struct ops_builder *b, const char *up, const char *down, double wide,
                    int modules)
{
    double inner = wide * (b->s->model->gated ? 2 : 1);
    struct op *first = add_column(b, up, inner);
    first->modules = modules;
    first->saved = HALF * b->tokens * inner;
    add_activation(b, b->tokens, inner, wide)->modules = modules;
    add_row(b, down, wide)->modules = modules;
}

static void mlp_block(struct ops_builder *b)
{
    const struct model *m = b->s->model;
    add_mlp_norm(b);
    add_tp_enter(b, "mlp gather", MODULE_MLP);
    add_mlp(b, "mlp up", "mlp down", (double)m->ffn / b->s->tp, MODULE_MLP);
    add_tp_exit(b, "mlp reduce", MODULE_MLP);
    if (m->post_norms)
        add_norm(b, "mlp post norm", false);
}

double parts_reached(const struct model *m, int parts)
{
    double share = m->router_groups > 0 && m->group_topk > 0 && parts % m->router_groups == 0
                       ? (double)m->group_topk / m->router_groups
                       : 1;
    double experts = share * m->experts, reached = share * parts, missed = 1;
    for (int i = 0; i < m->topk; i++) /* none of the topk lies in one part */
        missed *= fmax(0, experts - experts / reached - i) / (experts - i);
    return reached * (1 - missed);
}

static bool sends_once(const struct block_shape *s)
{
    return s->dispatcher == DISPATCH_FLEX;
}

/* Rows of each token that travel: topk copies, or with `flex` (DeepEP, HybridEP) one to each rank
 * that has an expert of the token. */
static double copies_sent(const struct block_shape *s)
{
    return sends_once(s) ? parts_reached(s->model, s->ep) : s->model->topk;
}

/* Dispatch and combine: rows of this rank's tokens go to the ranks that hold their experts.
 * All-gather moves every token to every rank of the group instead. */
static void add_dispatch(struct ops_builder *b, const char *name, bool combine)
{
    const struct block_shape *s = b->s;
    const struct model *m = s->model;
    double row = HALF * m->hidden;
    if (s->dispatcher == DISPATCH_ALLGATHER)
        add_comm(b, name, combine ? COMM_REDUCE_SCATTER : COMM_ALL_GATHER, AXIS_EP,
                 row * b->residual * s->ep, s->ep, s->etp, MODULE_MOE);
    else
        add_comm(b, name, COMM_ALL_TO_ALL, AXIS_EP, row * b->residual * copies_sent(s), s->ep,
                 s->etp, MODULE_MOE);
    if (s->ep > 1 && sends_once(s))
        b->out[b->count - 1].routed = m;
    if (s->etp > 1)
        add_comm(b, name, combine ? COMM_REDUCE_SCATTER : COMM_ALL_GATHER, AXIS_TP,
                 row * b->residual * m->topk * s->etp, s->etp, 1, MODULE_MOE);
}

/* Brings rows into another order, which reads and writes each once. */
static struct op *add_permute(struct ops_builder *b, const char *name, double rows)
{
    struct op *o = add_pass(b, name, MEMORY_PERMUTE, rows, b->s->model->hidden);
    o->modules = MODULE_MOE;
    return o;
}

/* Bytes of a pass that makes `rows` of fewer, or sums them up: the backward of either is the
 * forward of the other. */
static double spread_bytes(const struct ops_builder *b, double rows, double fewer)
{
    return HALF * (rows + fewer) * b->s->model->hidden;
}

/* Topk copies of every token, and back. With `flex` the kernel that sends them does that. */
static void add_copies(struct ops_builder *b)
{
    const struct model *m = b->s->model;
    if (sends_once(b->s))
        return;
    struct op *o = add_permute(b, "permute", b->residual * m->topk);
    o->bytes_back = spread_bytes(b, o->m, b->residual);
}

static void sum_copies(struct ops_builder *b)
{
    const struct model *m = b->s->model;
    if (sends_once(b->s))
        return;
    struct op *o = add_permute(b, "unpermute", b->residual * m->topk);
    o->bytes = spread_bytes(b, o->m, b->residual);
}

/* The experts of one rank. One grouped product works on all at once; one after the other
 * (`torch`), gradients between the products are of one expert at a time, and what the other
 * experts kept stays. */
struct experts {
    double rows;        /* that reach them */
    double wide, inner; /* of one expert on this rank */
    double count, turns;
};

/* Megatron clamps both halves of the input and joins them again before the fused activation
 * (weighted_bias_quick_geglu_impl): two eager operators forward, two backward, and a copy that the
 * activation keeps. */
static struct op *add_clamp(struct ops_builder *b, double elements)
{
    struct op *o = add(b, "clamp", OP_MEMORY);
    o->memory_kind = o->memory_kind_back = MEMORY_COPY;
    o->bytes = 4 * HALF * elements;
    o->bytes_back = 5 * HALF * elements;
    o->saved = HALF * elements;
    o->modules = MODULE_MOE | MODULE_MOE_ACT;
    return o;
}

/* The bias of the second product, times each row's probability, is added expert by expert, and the
 * pieces are joined (TEGroupedMLP._apply_bias): a product, a sum and a copy forward; backward two
 * products that are summed along rows and columns, and a copy. */
static void add_expert_bias(struct ops_builder *b, double elements)
{
    struct op *o = add(b, "expert bias", OP_MEMORY);
    o->memory_kind = o->memory_kind_back = MEMORY_COPY;
    o->bytes = 6 * HALF * elements;
    o->bytes_back = 8 * HALF * elements;
    o->modules = MODULE_MOE;
}

struct expert_ops {
    struct op *up, *clamp, *act, *down; /* clamp NULL where there is none */
};

/* What the backward of the experts holds beside what those before keep. */
static void hold_for_experts(const struct ops_builder *b, const struct experts *x,
                             const struct expert_ops *o)
{
    double hidden = b->s->model->hidden, turn = x->rows / x->turns, rest = 1 - 1 / x->turns;
    double weight = adds_wgrads(b->s) ? 0 : HALF * hidden, incoming = HALF * x->rows * hidden;
    double held = x->turns > 1 ? incoming : 0, clamped = o->clamp ? o->clamp->saved : 0;
    o->up->temporary_back = held + rest * (o->up->saved + clamped + o->act->saved) +
                            HALF * turn * (x->inner + hidden) + weight * x->inner;
    if (o->clamp)
        o->clamp->temporary_back = held + rest * o->act->saved + 2 * HALF * turn * x->inner;
    o->act->temporary_back = held + rest * o->act->saved + HALF * turn * (x->inner + x->wide) +
                             (b->s->model->linear_bias ? bias_scratch(turn, x->inner) : 0);
    o->down->temporary_back = incoming + HALF * turn * x->wide + weight * x->wide;
}

static void add_expert_products(struct ops_builder *b, const struct experts *x)
{
    const struct model *m = b->s->model;
    bool grouped = b->s->te && b->s->grouped_gemm;
    bool fused = grouped && b->s->expert_fusion && precision_is_narrow(b->s->precision);
    struct expert_ops o = {.up = add_gemm(b, "expert up", x->rows / x->count, x->inner, m->hidden)};
    o.up->saved = HALF * x->rows * x->inner;
    if (m->clamped && !fused)
        o.clamp = add_clamp(b, x->rows * x->inner);
    o.act = add_activation(b, x->rows, x->inner, x->wide);
    if (!m->gated) /* also before each row's probability is multiplied in: no kernel does both */
        o.act->saved += HALF * x->rows * x->wide;
    o.down = add_gemm(b, "expert down", x->rows / x->count, m->hidden, x->wide);
    if (m->linear_bias && grouped && !fused)
        add_expert_bias(b, x->rows * m->hidden);
    o.up->kind = o.down->kind = grouped ? OP_GROUPED : OP_GEMM;
    o.up->count = o.down->count = x->count;
    o.up->modules = o.down->modules = MODULE_MOE;
    o.up->experts = o.down->experts = true;
    o.up->fused_out = o.down->fused_in = fused;
    o.act->modules = MODULE_MOE | MODULE_MOE_ACT;
    hold_for_experts(b, x, &o);
    if (fused) { /* inside the products */
        o.act->memory_kind = o.act->memory_kind_back = MEMORY_COPY;
        o.act->m = o.act->n = o.act->bytes = o.act->bytes_back = 0;
    }
}

/* Forward, all of it still referenced when the experts are done: copied rows as sent, rows as
 * received and the experts' outputs; with several experts also before and after sorting; then the
 * sum, and the shared expert's output. */
static double routed_bytes(const struct ops_builder *b, const struct experts *x)
{
    const struct block_shape *s = b->s;
    double row = HALF * s->model->hidden, sent = row * b->residual * s->model->topk;
    if (s->dispatcher == DISPATCH_ALLGATHER) /* the sum has a row for every token of the group */
        sent = row * b->residual * s->ep * s->etp;
    double received = row * x->rows, out = b->stream * (s->model->shared_ffn > 0 ? 2 : 1);
    if (x->count <= 1)
        return sent + received + out;
    return sent + 2 * received + received / s->etp * (s->etp > 1 ? 2 : 1) + out;
}

static void add_shared_expert(struct ops_builder *b)
{
    const struct block_shape *s = b->s;
    if (s->model->shared_ffn == 0)
        return;
    add_tp_enter(b, "shared gather", MODULE_MOE | MODULE_SHARED);
    add_mlp(b, "shared up", "shared down", (double)s->model->shared_ffn / s->tp,
            MODULE_MOE | MODULE_SHARED);
    add_tp_exit(b, "shared reduce", MODULE_MOE | MODULE_SHARED);
}

static void moe_block(struct ops_builder *b)
{
    const struct block_shape *s = b->s;
    const struct model *m = s->model;
    struct experts x = {.rows = b->residual * m->topk * s->etp * s->imbalance,
                        .wide = (double)m->expert_ffn / s->etp,
                        .count = (double)m->experts / s->ep};
    x.inner = x.wide * (m->gated ? 2 : 1);
    x.turns = s->te && s->grouped_gemm ? 1 : x.count;
    add_mlp_norm(b);
    add_shared_expert(b);
    struct op *router = add_gemm(b, "router", b->residual, m->experts, m->hidden);
    router->modules = MODULE_MOE;
    router->routes = true;
    router->saved = (ROUTER_BYTES + (s->te ? PERMUTE_BYTES : 0)) * b->residual * m->experts;
    add_copies(b);
    add_dispatch(b, "dispatch", false);
    struct op *sort = add_permute(b, "sort by expert", x.rows);
    sort->saved = b->input * x.rows * m->hidden;
    add_expert_products(b, &x);
    struct op *unsort = add_permute(b, "unsort", x.rows);
    if (sends_once(s)) /* of the rows that came, one for each of this rank's experts; and back */
        sort->bytes = sort->bytes_back = unsort->bytes = unsort->bytes_back =
            spread_bytes(b, x.rows, x.rows * copies_sent(s) / m->topk);
    unsort->temporary = routed_bytes(b, &x);
    if (s->dispatcher == DISPATCH_ALLGATHER) /* and its gradient */
        unsort->temporary_back = HALF * m->hidden * (b->residual * s->ep * s->etp + x.rows);
    add_dispatch(b, "combine", true);
    sum_copies(b);
    if (m->post_norms)
        add_norm(b, "mlp post norm", false);
}

/* Rows of the vocabulary on one rank. */
static double vocabulary(const struct block_shape *s)
{
    return (double)model_padded_vocab(s->model, s->tp) / s->tp;
}

/* Backward fills a gradient as large as the matrix, however few of its rows were used. */
static void embedding_block(struct ops_builder *b)
{
    double ids = 8 * b->tokens;
    struct op *o = add_pass(b, "embedding", MEMORY_EMBEDDING, b->tokens, b->s->model->hidden);
    o->k = vocabulary(b->s);
    o->bytes += ids;
    o->bytes_back += HALF * o->k * o->n + ids;
    o->saved = ids + (b->s->dropout ? b->stream / HALF : 0);
    o->temporary_back = HALF * o->k * o->n + (b->sharded ? b->whole : 0);
    add_tp_exit(b, "embedding reduce", 0);
}

/* Final norm, logits and loss. The loss keeps its probabilities in fp32; the logits, and in
 * backward their gradient, are there in 16 bits beside them. Megatron's fused loss holds a second
 * fp32 array while it sums; TransformerEngine's puts the gradient where the logits were. */
static void head_block(struct ops_builder *b)
{
    const struct block_shape *s = b->s;
    bool in_place = s->loss_fusion && s->loss_te;
    double wide = vocabulary(s), logits = b->tokens * wide;
    b->input = HALF; /* the logits are never in fp8 */
    add_norm(b, "final norm", true);
    add_tp_enter(b, "head gather", 0);
    struct op *head = add_gemm(b, "logits", b->tokens, wide, s->model->hidden);
    head->temporary_back += b->sharded ? b->stream : 0;
    enum memory_kind kind = s->loss_fusion ? MEMORY_LOSS_TORCH : MEMORY_LOSS_MEGATRON;
    struct op *loss = add_pass(b, "cross entropy", kind, b->tokens, wide);
    loss->saved = (in_place ? HALF : SINGLE) * logits;
    loss->temporary = in_place ? 0 : (HALF + (s->loss_fusion ? SINGLE : 0)) * logits;
    loss->temporary_back = in_place ? HALF * logits : (HALF + SINGLE) * logits;
    add_comm(b, "loss reduce", COMM_ALL_REDUCE, AXIS_TP, SINGLE * 3 * b->tokens, s->tp, 1, 0);
}

/* An MTP module before its decoder layer: two norms, the embedding again and the 2h -> h
 * product. */
static void mtp_block(struct ops_builder *b)
{
    const struct model *m = b->s->model;
    add_norm(b, "mtp norm", true);
    add_norm(b, "mtp embedding norm", true);
    add_tp_enter(b, "mtp gather", 0);
    add_gemm(b, "mtp projection", b->tokens, (double)m->hidden / b->s->tp, 2.0 * m->hidden)->saved =
        2 * b->stream;
    add_tp_exit(b, "mtp reduce", 0);
}

enum block_kind mixer_block(enum mixer mixer)
{
    static const enum block_kind BLOCK[] = {
        [MIXER_ATTENTION] = BLOCK_ATTENTION, [MIXER_NONE] = BLOCK_NONE};
    return BLOCK[mixer];
}

enum block_kind feed_block(enum feed feed)
{
    static const enum block_kind BLOCK[] = {
        [FEED_DENSE] = BLOCK_MLP, [FEED_MOE] = BLOCK_MOE, [FEED_NONE] = BLOCK_NONE};
    return BLOCK[feed];
}

int block_ops(const struct block_shape *s, struct op out[OPS_MAX])
{
    static void (*const build[])(struct ops_builder *) = {
        [BLOCK_ATTENTION] = attention_block, [BLOCK_MLP] = mlp_block,   [BLOCK_MOE] = moe_block,
        [BLOCK_EMBEDDING] = embedding_block, [BLOCK_HEAD] = head_block, [BLOCK_MTP] = mtp_block,
    };
    struct ops_builder b = {.s = s, .out = out};
    assert(s->tp >= 1 && s->cp >= 1 && s->ep >= 1 && s->etp >= 1 && s->imbalance >= 1);
    b.tokens = (double)s->micro_batch * s->seq_len / s->cp;
    b.residual = s->seq_parallel ? b.tokens / s->tp : b.tokens;
    b.whole = HALF * b.tokens * s->model->hidden;
    b.stream = HALF * b.residual * s->model->hidden;
    b.sharded = s->seq_parallel && s->tp > 1;
    b.input = s->te ? precision_info(s->precision)->saved_bytes : HALF;
    build[s->kind](&b);
    for (int i = 0; i < b.count && s->kind != BLOCK_HEAD; i++)
        out[i].temporary_back += b.stream;
    mark_offloaded(s, out, b.count);
    for (int i = 0; i < b.count; i++) {
        host_issue(s, &out[i]);
        assert(out[i].saved >= 0 && out[i].temporary >= 0 && out[i].host_s >= 0);
    }
    return b.count;
}

double boundary_bytes(const struct block_shape *s)
{
    double tokens = (double)s->micro_batch * s->seq_len / s->cp;
    return HALF * tokens * s->model->hidden / (s->seq_parallel ? s->tp : 1);
}
