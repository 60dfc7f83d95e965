/* Attention: with groups or latent, by a fused kernel or with its scores in memory; context parallelism. */
#include "layer/ops_builder.h"

#include "dataset/dataset.h"
#include "model/model.h"

#include <math.h>

/* What attention works on: segments of equal length, in which a token sees those before it. Full
 * sequences are one segment each. */
struct segments {
    double length;      /* tokens, of all context-parallel ranks */
    double of_tokens;   /* a segment, of the tokens of a sequence on the GPU */
    double in_sequence; /* how many */
};

/* Scores in memory are rows of whole sequences: over those between samples of a pack a mask is laid. */
static struct segments segments_of(const struct block_shape *s, bool unfused)
{
    const struct sequence_work *w = s->work;
    if (!w)
        return (struct segments){s->seq_len, 1, 1};
    if (unfused)
        return (struct segments){w->packed ? block_tokens(s) : s->seq_len * w->segment, 1, 1};
    return (struct segments){s->seq_len * w->segment, w->segment / w->rows, w->rows / w->segment};
}

/* Average keys a query sees: half under the causal mask, the window where it is shorter. */
static double keys_seen(const struct block_shape *s, double length)
{
    if (s->window > 0 && s->window < length) {
        double w = s->window;
        return w * (length - w / 2) / length;
    }
    return length / 2;
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
static enum scores scores_kind(const struct block_shape *s, double keys)
{
    bool fused = s->softmax_fused && keys > 16 && keys <= 4096;
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
    enum scores kind = scores_kind(s, o->keys);
    double scores = o->m * o->keys * o->count, mask = 0;
    bool by_torch = is_left_to_torch(kind, o->count);
    enum scores passes = by_torch ? SCORES_FP32 : kind;
    if (kind != SCORES_FUSED) /* made again by each layer: fp32 ones, their triangle, bytes */
        mask = o->keys * o->keys;
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
    struct op *o = ops_add(b, "core attention", unfused ? OP_SCORES : OP_ATTENTION);
    struct segments by = segments_of(s, unfused);
    o->m = b->tokens / s->micro_batch * by.of_tokens;
    o->n = unfused ? by.length : keys_seen(s, by.length);
    o->k = qk;
    o->value_width = v;
    o->keys = by.length;
    o->window = s->window > 0 && s->window < by.length ? s->window : 0;
    o->kv_share = kv_width / (heads * (qk + v));
    o->count = heads * s->micro_batch * by.in_sequence;
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
        ops_comm(b, "context exchange", COMM_ALL_TO_ALL, AXIS_CP,
                 HALF * b->tokens * (2 * q_width + kv_width), s->cp, s->tp, 0);
    else
        ops_comm(b, "context ring", COMM_ALL_GATHER, AXIS_CP, kv * s->cp, s->cp, s->tp, 0);
    struct op *o = &b->out[b->count - 1];
    o->beside_attention = s->cp_comm == CP_P2P;
    o->temporary = s->cp_comm == CP_ALLGATHER ? kv * s->cp : 2 * kv;
    o->temporary_back = 2 * o->temporary;
}

/* Rotates `width` elements of queries and keys together. TransformerEngine's kernel moves them
 * once, which is a copy, and a copy is one long array: rows make no difference. */
static struct op *add_rope(struct ops_builder *b, double width, double head)
{
    struct op *o = ops_pass(b, "rope", b->s->te ? MEMORY_COPY : MEMORY_ROPE, b->tokens, width);
    if (b->s->te)
        o->m = o->n = 0;
    else if (
        !b->s->eager) /* cosines and sines of each position, for the queries and for the keys */
        o->saved = HALF * 4 * head * b->tokens / b->s->micro_batch;
    return o;
}

/* Attention's output stays for its own backward. */
static void add_output(struct ops_builder *b, double width)
{
    struct op *o = ops_row(b, "attention out", width);
    o->saved = ops_mixer_kept(b) * b->tokens * width;
    ops_train(b, o, PART_attention, TARGET_proj, CUT_IN, true);
}

/* Whether any layer's queries and keys are: those of hybrids often are not. */
static bool is_rotated(const struct model *m)
{
    return !m->learned_pos && m->nope_every != 1;
}

static void mla_projections(struct ops_builder *b)
{
    const struct model *m = b->s->model;
    double heads = (double)m->heads / b->s->tp, qk = m->qk_nope + m->qk_rope;
    double t = b->tokens, down = b->s->te ? b->residual : t; /* torch gathers what it sharded */
    double latent = model_freezes(m, PART_attention) ? 0 : b->residual; /* behind its norm */
    struct op *to = ops_gemm(b, "kv down", b->residual, m->kv_lora + m->qk_rope, m->hidden);
    to->saved = HALF * (down * (m->kv_lora + m->qk_rope) + latent * m->kv_lora);
    ops_train(b, to, PART_attention, TARGET_qkv, CUT_NONE, false);
    struct op *kv = ops_gemm(b, "kv up", t, heads * (m->qk_nope + m->v_dim), m->kv_lora);
    kv->modules = MODULE_MLA_UP;
    kv->saved = HALF * t * heads * (qk + m->v_dim);
    ops_train(b, kv, PART_attention, TARGET_qkv, CUT_OUT, false);
    if (m->q_lora > 0) {
        to = ops_gemm(b, "q down", b->residual, m->q_lora, m->hidden);
        to->saved = HALF * (down + latent) * m->q_lora;
        ops_train(b, to, PART_attention, TARGET_qkv, CUT_NONE, true);
    }
    struct op *q = ops_gemm(b, "q up", t, heads * qk, m->q_lora > 0 ? m->q_lora : m->hidden);
    q->modules = MODULE_MLA_UP;
    q->saved = HALF * t * heads * qk;
    ops_train(b, q, PART_attention, TARGET_qkv, CUT_OUT, m->q_lora == 0);
    if (is_rotated(m))
        add_rope(b, heads * 2 * qk, m->qk_rope)->modules = MODULE_MLA_UP;
    add_core_attention(b, heads, qk, m->v_dim, heads * (qk + m->v_dim));
    add_context(b, heads * (qk + m->v_dim), heads * qk);
    add_output(b, heads * m->v_dim);
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
    if (s->eager) /* three products: values are kept, queries and keys until they are rotated */
        return copied ? 0 : is_rotated(s->model) ? k : q + 2 * k;
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
    double product = kept_product(s, q, k, copied), gate = m->attn_gate ? q : 0;
    struct op *qkv = ops_column(b, "qkv", q + gate + 2 * k);
    qkv->saved = HALF * t * (product + gate);
    qkv->calls = s->eager ? 4 : 0; /* two more modules */
    ops_train(b, qkv, PART_attention, TARGET_qkv, CUT_OUT, false);
    if (m->qk_norm) { /* torch: keys are a view of the product, queries unless groups are split */
        bool view = kv_heads <= 1 || m->kv == m->heads;
        struct op *norm =
            ops_pass(b, "qk norm", MEMORY_RMS_NORM, t * (heads + kv_heads), m->head_dim);
        norm->saved = HALF * t * (s->te ? q + k : view ? 0 : q);
        if (ops_unfused(s))
            ops_eager_norm(norm, t * (q + k));
    }
    if (is_rotated(m)) {
        struct op *rope = add_rope(b, q + k, m->head_dim);
        if (!s->te)
            rope->saved += HALF * t * (q + (copied ? 0 : k));
    }
    struct op *core = add_core_attention(b, heads, m->head_dim, m->head_dim, 2 * k);
    if (copied) { /* keys and values; queries too where nothing rotated them */
        bool queries = !is_rotated(m) && !s->te;
        core->saved += HALF * t * (2 + queries) * q;
        core->stays = HALF * t * (q + 2 * k - product + (!is_rotated(m) || s->te ? 0 : k));
        core->temporary += core->stays;
        core->stays = fmin(core->stays, core->saved);
        core->temporary_back += HALF * t * (2 - is_unfused(s) + queries) * q;
        core->bytes += is_unfused(s) ? HALF * t * 2 * (q + k) : 0;
    }
    add_context(b, 2 * k, q);
    if (gate > 0) { /* times its sigmoid: the output before it is kept too */
        struct op *o = ops_pass(b, "output gate", MEMORY_SWIGLU_FUSED, t, q);
        o->saved = HALF * t * q;
        o->temporary_back = HALF * t * 3 * q;
    }
    add_output(b, q);
}

void ops_attention(struct ops_builder *b)
{
    ops_enter(b, "attention gather", 0);
    if (b->s->model->mla)
        mla_projections(b);
    else
        attention_projections(b);
    ops_exit(b, "attention reduce", 0);
}

void attention_block(struct ops_builder *b)
{
    b->normed = ops_input(b, PART_attention);
    ops_norm(b, "attention norm", true);
    ops_attention(b);
    if (b->s->model->post_norms)
        ops_norm(b, "attention post norm", false);
}
