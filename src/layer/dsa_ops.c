/* Sparse attention as Megatron-LM runs it (core/transformer/experimental_attention_variant: absorbed_mla.py, dsa.py,
 * dsa_cudnn_kernels.py). The up-projection of the keys is absorbed into the queries, that of the values follows behind:
 * every head attends to one latent key, which is also the value.
 *
 *   latents -> queries -> absorbed queries   (heads x (kv_lora + qk_rope))
 *   hidden state, latent -> indexer: scores of all tokens, fp32, in pieces; topk of them; its loss and gradients
 *   attention to the chosen tokens           (heads x kv_lora) -> values -> projection back
 *
 * Latents are made of a rank's own tokens and gathered; the indexer is whole on every rank, and takes gathered hidden states.
 * Its loss needs the attention of all heads to the tokens in question: forward computes it, and the gradients with it.
 * Kernels of cuDNN and FlashMLA take multiples of 64 heads: fewer are padded. FLOPs and bytes are read off these sources;
 * nobody measured them here (OP_SCAN). */
#include "layer/ops_builder.h"

#include "base/units.h"
#include "model/model.h"
#include "model/trained.h"

#include <math.h>

enum { HEADS_AT_ONCE = 64, INT32 = 4, PIECE_GIB = 1 };

/* Of one rank: its heads, as the kernels take them, widths of a query and of a value, tokens of all context-parallel
 * ranks, and those that a query sees on average of all and of the chosen. */
struct dsa_sizes {
    double heads, padded, latent, value, tokens, all, seen, chosen;
};

static struct dsa_sizes sizes_of(const struct ops_builder *b)
{
    const struct block_shape *s = b->s;
    const struct model *m = s->model;
    double heads = (double)m->heads / s->tp;
    return (struct dsa_sizes){.heads = heads,
                              .padded = fmax(HEADS_AT_ONCE, heads),
                              .latent = (double)m->kv_lora + m->qk_rope,
                              .value = m->kv_lora,
                              .tokens = b->tokens * s->cp,
                              .all = (s->seq_len + 1) / 2.0,
                              .seen = dsa_tokens_seen(m, s->seq_len),
                              .chosen = fmin(m->index_topk, s->seq_len)};
}

/* One product a head, of torch: its weight's gradient is no part of a fused sum. */
static struct op *add_per_head(struct ops_builder *b, const char *name, double heads, double n,
                               double k)
{
    struct op *o = ops_gemm(b, name, b->tokens, n, k);
    o->count = heads;
    o->frozen = model_freezes(b->s->model, PART_attention);
    o->temporary_back = HALF * heads * (b->tokens * (n + k) + (o->frozen ? 0 : n * k));
    return o;
}

static void add_latents(struct ops_builder *b, const struct dsa_sizes *z)
{
    const struct model *m = b->s->model;
    double t = b->tokens, r = b->residual, gathered = z->latent + m->q_lora;
    double normed = model_freezes(m, PART_attention) ? 0 : r; /* latents behind their norms */
    struct op *to = ops_gemm(b, "kv down", r, z->latent, m->hidden);
    to->saved = HALF * (r * z->latent + normed * m->kv_lora);
    ops_train(b, to, PART_attention, TARGET_qkv, CUT_NONE, false);
    if (m->q_lora > 0) {
        to = ops_gemm(b, "q down", r, m->q_lora, m->hidden);
        to->saved = HALF * (r + normed) * m->q_lora;
        ops_train(b, to, PART_attention, TARGET_qkv, CUT_NONE, true);
    }
    if (b->sharded)
        ops_comm(b, "latents gather", COMM_ALL_GATHER, AXIS_TP, HALF * t * gathered, b->s->tp, 1,
                 0);
}

/* The query with its absorbed part, and the key of all context-parallel ranks, are what attention keeps. */
static void add_queries(struct ops_builder *b, const struct dsa_sizes *z)
{
    const struct model *m = b->s->model;
    double t = b->tokens, wide = z->heads * (m->qk_nope + m->qk_rope);
    struct op *q = ops_gemm(b, "q up", t, wide, m->q_lora > 0 ? m->q_lora : m->hidden);
    q->modules = MODULE_MLA_UP;
    q->saved = HALF * t * wide;
    ops_train(b, q, PART_attention, TARGET_qkv, CUT_OUT, m->q_lora == 0);
    struct op *absorbed = add_per_head(b, "keys absorbed", z->heads, m->kv_lora, m->qk_nope);
    absorbed->modules = MODULE_MLA_UP;
    absorbed->saved = HALF * t * z->padded * z->latent + HALF * t * z->latent;
    absorbed->temporary = HALF * t * z->heads * m->kv_lora;
    ops_pass(b, "rope", MEMORY_ROPE, t, (z->heads + 1) * m->qk_rope)->modules = MODULE_MLA_UP;
    if (b->s->cp > 1) {
        double key = HALF * z->tokens * (z->latent + m->index_dim);
        ops_comm(b, "context gather", COMM_ALL_GATHER, AXIS_CP, key, b->s->cp, b->s->tp, 0);
        b->out[b->count - 1].saved = HALF * z->tokens * z->latent;
        b->out[b->count - 1].temporary = 2 * key; /* and in the order of tokens */
        b->out[b->count - 1].temporary_back = 2 * key;
    }
}

static void index_flops(const struct block_shape *s, const struct dsa_sizes *z, struct op *o)
{
    const struct model *m = s->model;
    double score = (double)m->index_heads * (m->index_dim + 1);
    double learned = s->model->index_loss == 2 ? z->seen : z->all;
    double projections = (double)dsa_indexer_params(m);
    double loss = learned * (2 * score + z->padded * z->latent);
    o->flops = 2 * o->m * (projections + z->all * score + (m->index_loss ? loss : 0));
    o->flops_back = m->index_loss && !model_freezes(m, PART_attention) ? 2 * o->m * projections : 0;
}

/* Hidden states and latents that are gathered, its queries and keys and, where it learns, their gradients; scores written
 * and read by the choice, and as wide as the loss is attention, its target and both distributions. */
static void index_bytes(const struct ops_builder *b, const struct dsa_sizes *z, struct op *o)
{
    const struct model *m = b->s->model;
    double t = b->tokens, wide = (double)m->index_heads * (m->index_dim + 1);
    double in = (double)m->hidden + m->q_lora, scores = b->s->seq_len;
    double learned = m->index_loss == 2 ? z->chosen : scores;
    double piece = fmin(SINGLE * t * scores, PIECE_GIB * GIB);
    double grads = HALF * (t * wide + z->tokens * m->index_dim);
    bool trains = m->index_loss > 0, moves = trains && !model_freezes(m, PART_attention);
    o->bytes = HALF * t * (in + 4 * wide) + 2 * SINGLE * t * scores + INT32 * t * z->chosen +
               (trains ? 6 * SINGLE * t * learned + HALF * t * z->padded * z->latent : 0);
    o->bytes_back = moves ? HALF * t * (in + 3 * wide) : 0;
    o->saved = trains ? grads + (b->sharded && moves ? HALF * t * in : 0) : 0;
    o->temporary = HALF * t * (in + 3 * wide) + 2 * piece +
                   (trains ? 4 * SINGLE * t * learned + HALF * t * z->padded * z->latent : 0);
    o->temporary_back = trains ? HALF * t * (in + 2 * wide) : 0;
}

static void add_indexer(struct ops_builder *b, const struct dsa_sizes *z)
{
    const struct model *m = b->s->model;
    if (b->sharded) {
        ops_comm(b, "indexer gather", COMM_ALL_GATHER, AXIS_TP, b->whole, b->s->tp, 1, 0);
        b->out[b->count - 1].hidden_back = true; /* nothing comes back */
    }
    struct op *o = ops_add(b, "indexer", OP_SCAN);
    o->m = b->tokens;
    o->n = (double)m->index_heads * m->index_dim;
    o->k = m->index_dim;
    o->modules = MODULE_CORE_ATTN;
    index_flops(b->s, z, o);
    index_bytes(b, z, o);
    if (m->index_loss)
        ops_comm(b, "indexer target", COMM_ALL_REDUCE, AXIS_TP,
                 SINGLE * b->tokens * (m->index_loss == 2 ? z->chosen : b->s->seq_len), b->s->tp, 1,
                 MODULE_CORE_ATTN);
}

/* By kernels that read the chosen keys alone, each query its own. */
static void add_chosen(struct ops_builder *b, const struct dsa_sizes *z)
{
    struct op *o = ops_add(b, "sparse attention", OP_SCAN);
    double t = b->tokens, pairs = t * z->padded * z->seen;
    double query = HALF * t * z->padded * z->latent, out = HALF * t * z->padded * z->value;
    double keys = HALF * t * z->seen * z->latent;
    o->m = t;
    o->n = z->padded * z->value;
    o->k = z->latent;
    o->modules = MODULE_CORE_ATTN;
    o->flops = 2 * pairs * (z->latent + z->value);
    o->flops_back = 2 * pairs * (3 * z->latent + 2 * z->value);
    o->bytes = query + out + keys;
    o->bytes_back = 2 * query + 2 * out + 3 * keys;
    o->saved = out + INT32 * t * z->chosen + SINGLE * t * z->padded;
    o->temporary = 2 * INT32 * t * z->chosen;
    o->temporary_back = query + out + SINGLE * 2 * z->tokens * z->latent;
}

/* PyTorch's way: queries and keys in fp32, scores of all tokens in fp32 and their mask, softmax in passes of its own, the
 * probabilities once more in 16 bits; autograd keeps the scores of several passes. The indexer's are as wide as its heads. */
static void add_unfused(struct ops_builder *b, const struct dsa_sizes *z)
{
    const struct block_shape *s = b->s;
    struct op *o = ops_add(b, "sparse attention", OP_SCORES);
    double t = b->tokens, scores = t * z->heads * s->seq_len;
    double indexed = t * s->model->index_heads * s->seq_len;
    double out = HALF * t * z->heads * z->value;
    o->m = t / s->micro_batch;
    o->n = s->seq_len;
    o->k = z->latent;
    o->value_width = z->value;
    o->keys = s->seq_len;
    o->kv_share = 1 / z->heads;
    o->count = z->heads * s->micro_batch;
    o->modules = MODULE_CORE_ATTN;
    o->softmax_fp32 = true;
    o->bytes = SINGLE * (12 * scores + 4 * indexed);
    o->bytes_back = SINGLE * (12 * scores + (s->model->index_loss ? 8 * scores + 8 * indexed : 0));
    o->saved = (3 * SINGLE + 2 + HALF) * scores + SINGLE * t * (z->heads + 1) * z->latent +
               2 * SINGLE * t * s->seq_len + out;
    o->temporary = SINGLE * fmax(2 * scores, 3 * indexed) + 2 * out;
    o->temporary_back = SINGLE * fmax(3 * scores, 3 * indexed) + 2 * out;
}

static bool is_unfused(const struct block_shape *s)
{
    return s->attention == ATTENTION_UNFUSED || s->attention == ATTENTION_LOCAL;
}

static void add_layer(struct ops_builder *b, bool chooses)
{
    const struct model *m = b->s->model;
    struct dsa_sizes z = sizes_of(b);
    b->normed = ops_input(b, PART_attention);
    ops_norm(b, "attention norm", true);
    add_latents(b, &z);
    add_queries(b, &z);
    if (chooses)
        add_indexer(b, &z);
    if (is_unfused(b->s))
        add_unfused(b, &z);
    else
        add_chosen(b, &z);
    struct op *values = add_per_head(b, "values up", z.heads, m->v_dim, m->kv_lora);
    values->modules = MODULE_CORE_ATTN;
    struct op *out = ops_row(b, "attention out", z.heads * m->v_dim);
    out->saved = ops_mixer_kept(b) * b->tokens * z.heads * m->v_dim;
    ops_train(b, out, PART_attention, TARGET_proj, CUT_IN, true);
    ops_exit(b, "attention reduce", 0);
}

void dsa_block(struct ops_builder *b)
{
    add_layer(b, true);
}

void reuse_block(struct ops_builder *b)
{
    add_layer(b, false);
}
