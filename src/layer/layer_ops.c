/* Operators of one block, in the order Megatron runs them, with the bytes that each keeps and
 * needs (doc/layer.md). Bytes are per software stack, read off the allocations of real
 * ranks at their peaks for `torch`, from the modules' source for `te`. Everything between column-
 * and row-parallel products is divided by tp; what lies on the residual stream only with sequence
 * parallelism. */
#include "layer/ops_builder.h"

#include "base/units.h"
#include "dataset/dataset.h"
#include "layer/host_calls.h"
#include "model/model.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* Rows of the vocabulary on one rank. */
static double vocabulary(const struct block_shape *s)
{
    return (double)model_padded_vocab(s->model, s->tp) / s->tp;
}

/* Backward fills a gradient as large as the matrix, however few of its rows were used. */
static void embedding_block(struct ops_builder *b)
{
    double ids = 8 * b->tokens;
    struct op *o = ops_pass(b, "embedding", MEMORY_EMBEDDING, b->tokens, b->s->model->hidden);
    o->k = vocabulary(b->s);
    o->bytes += ids;
    o->bytes_back += HALF * o->k * o->n + ids;
    o->saved = ids + (b->s->dropout ? b->stream / HALF : 0);
    o->temporary_back = HALF * o->k * o->n + (b->sharded ? b->whole : 0);
    ops_exit(b, "embedding reduce", 0);
}

/* ForCausalLMLoss of transformers: logits in 16 bits, which the model's output holds, a copy in fp32, its
 * log-softmax, which is kept; backward the gradients of both, all in fp32, beside it. Liger's computes
 * logits piece by piece, as much at a time as the hidden states are, and keeps the gradients of these
 * and of the matrix (liger_kernel fused_linear_cross_entropy.py). */
static void eager_loss(struct ops_builder *b, struct op *loss, double logits)
{
    double matrix = HALF * loss->n * b->s->model->hidden;
    bool pieces = b->s->liger;
    loss->memory_kind = loss->memory_kind_back = MEMORY_LOSS_TORCH;
    loss->saved = pieces ? b->stream + matrix : SINGLE * logits;
    loss->temporary = pieces ? (HALF + 2 * SINGLE) / HALF * b->stream : (HALF + SINGLE) * logits;
    loss->temporary_back = pieces ? 0 : 3 * SINGLE * logits;
    loss->calls = pieces ? 0 : 2;
}

/* Final norm, logits and loss. The loss keeps its probabilities in fp32; the logits, and in
 * backward their gradient, are there in 16 bits beside them. Megatron's fused loss holds a second
 * fp32 array while it sums; TransformerEngine's puts the gradient where the logits were. */
static void head_block(struct ops_builder *b)
{
    const struct block_shape *s = b->s;
    bool in_place = s->loss_fusion && s->loss_te;
    double wide = (double)model_outputs(s->model, s->tp) / s->tp, logits = b->tokens * wide;
    b->input = HALF; /* the logits are never in fp8 */
    b->normed = model_freezes_logits(s->model) ? 0 : HALF;
    ops_norm(b, "final norm", true);
    ops_enter(b, "head gather", 0);
    struct op *head = ops_gemm(b, "logits", b->tokens, wide, s->model->hidden);
    head->temporary_back += b->sharded ? b->stream : 0;
    head->frozen = model_freezes_logits(s->model);
    enum memory_kind kind = s->loss_fusion ? MEMORY_LOSS_TORCH : MEMORY_LOSS_MEGATRON;
    struct op *loss = ops_pass(b, "cross entropy", kind, b->tokens, wide);
    loss->saved = (in_place ? HALF : SINGLE) * logits;
    loss->temporary = in_place ? 0 : (HALF + (s->loss_fusion ? SINGLE : 0)) * logits;
    loss->temporary_back = in_place ? HALF * logits : (HALF + SINGLE) * logits;
    if (s->eager)
        eager_loss(b, loss, logits);
    ops_comm(b, "loss reduce", COMM_ALL_REDUCE, AXIS_TP, SINGLE * 3 * b->tokens, s->tp, 1, 0);
}

/* An MTP module before its decoder layer: two norms, the embedding again and the 2h -> h
 * product. */
static void mtp_block(struct ops_builder *b)
{
    const struct model *m = b->s->model;
    bool frozen = model_freezes(m, PART_head);
    b->normed = ops_input(b, PART_head);
    ops_norm(b, "mtp norm", true);
    ops_norm(b, "mtp embedding norm", true);
    ops_enter(b, "mtp gather", 0);
    struct op *o =
        ops_gemm(b, "mtp projection", b->tokens, (double)m->hidden / b->s->tp, 2.0 * m->hidden);
    o->saved = frozen ? 0 : 2 * b->stream;
    o->frozen = frozen;
    ops_exit(b, "mtp reduce", 0);
}

enum block_kind mixer_block(enum mixer mixer)
{
    return mixer == MIXER_NONE ? BLOCK_NONE : (enum block_kind)mixer;
}

enum block_kind feed_block(enum feed feed)
{
    return feed == FEED_NONE ? BLOCK_NONE : (enum block_kind)(BLOCK_MLP + (int)feed);
}

static const struct {
    void (*build)(struct ops_builder *);
    const char *name;
} BLOCKS_OF[] = {
#define MIXER(id, symbol, part, name, lacks) [BLOCK_##id] = {part##_block, name},
#define FEED(id, symbol, part, name, lacks) [BLOCK_##id] = {part##_block, name},
#include "model/layer_kinds.def"
    [BLOCK_EMBEDDING] = {embedding_block, "embedding"},
    [BLOCK_HEAD] = {head_block, "head"},
    [BLOCK_MTP] = {mtp_block, "mtp projection"},
};

const char *block_name(enum block_kind kind)
{
    return BLOCKS_OF[kind].name;
}

double block_tokens(const struct block_shape *s)
{
    return s->work ? s->seq_len * s->work->rows : s->seq_len;
}

int block_ops(const struct block_shape *s, struct op out[OPS_MAX])
{
    struct ops_builder b = {.s = s, .out = out};
    assert(s->tp >= 1 && s->cp >= 1 && s->ep >= 1 && s->etp >= 1 && s->imbalance >= 1);
    b.tokens = s->micro_batch * block_tokens(s) / s->cp;
    b.residual = s->seq_parallel ? b.tokens / s->tp : b.tokens;
    b.whole = HALF * b.tokens * s->model->hidden;
    b.stream = HALF * b.residual * s->model->hidden;
    b.sharded = s->seq_parallel && s->tp > 1;
    b.input = b.normed = s->te ? precision_info(s->precision)->saved_bytes : HALF;
    BLOCKS_OF[s->kind].build(&b);
    for (int i = 0; i < b.count && s->kind != BLOCK_HEAD; i++)
        out[i].temporary_back += b.stream;
    mark_offloaded(s, out, b.count);
    for (int i = 0; i < b.count; i++)
        host_issue(s, &out[i]);
    ops_stop_back(s, out, b.count);
    for (int i = 0; i < b.count; i++)
        assert(out[i].saved >= 0 && out[i].temporary >= 0 && out[i].host_s >= 0);
    return b.count;
}

double boundary_bytes(const struct block_shape *s)
{
    double tokens = s->micro_batch * block_tokens(s) / s->cp;
    return HALF * tokens * s->model->hidden / (s->seq_parallel ? s->tp : 1);
}
