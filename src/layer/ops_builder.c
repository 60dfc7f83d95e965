/* What operators of every kind of block are made of. */
#include "layer/ops_builder.h"

#include "base/units.h"
#include "model/model.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* Summing a bias gradient of `width` over all tokens: PyTorch's reduction spreads one output over so
 * many blocks that they fill the GPU and takes 1 MiB of scratch for each of its SMs (132 and 136 MiB
 * seen on an H200), unless the blocks would have less than 64 rows each (ATen/native/cuda/Reduce.cuh:
 * 4 bytes for each output, block and each of 128 outputs beside it). */
double ops_bias_scratch(double tokens, double width)
{
    return fmin(132 * MIB, 4 * 128 * width * tokens / 64);
}

struct op *ops_add(struct ops_builder *b, const char *name, enum op_kind kind)
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

bool ops_adds_wgrads(const struct block_shape *s)
{
    return s->te && !s->separate_wgrads;
}

/* A product of m rows. Backward holds the gradients of output and input; without fused
 * accumulation also the weight's own gradient before it is added. */
struct op *ops_gemm(struct ops_builder *b, const char *name, double m, double n, double k)
{
    struct op *o = ops_add(b, name, OP_GEMM);
    o->m = m;
    o->n = n;
    o->k = k;
    o->temporary_back = HALF * (m * (n + k) + (ops_adds_wgrads(b->s) ? 0 : n * k));
    return o;
}

/* Column-parallel: with sequence parallelism backward gathers the input once more (`torch`: into a
 * buffer that stays, memory.h) and scatters its gradient. */
struct op *ops_column(struct ops_builder *b, const char *name, double n)
{
    struct op *o = ops_gemm(b, name, b->tokens, n, b->s->model->hidden);
    if (b->sharded)
        o->temporary_back += b->stream + (b->s->te ? b->whole : 0);
    return o;
}

/* Row-parallel: the output's gradient is the stream's, gathered with sequence parallelism. */
struct op *ops_row(struct ops_builder *b, const char *name, double k)
{
    struct op *o = ops_gemm(b, name, b->tokens, b->s->model->hidden, k);
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
struct op *ops_pass(struct ops_builder *b, const char *name, enum memory_kind kind, double rows,
                    double width)
{
    struct op *o = ops_add(b, name, OP_MEMORY);
    assert(ELEMENT_BYTES[kind].forward > 0);
    o->memory_kind = o->memory_kind_back = kind;
    o->m = rows;
    o->n = width;
    o->bytes = ELEMENT_BYTES[kind].forward * rows * width;
    o->bytes_back = ELEMENT_BYTES[kind].back * rows * width;
    return o;
}

void ops_comm(struct ops_builder *b, const char *name, enum comm_kind kind, enum comm_axis axis,
              double bytes, int ranks, int stride, int modules)
{
    if (ranks <= 1)
        return;
    struct op *o = ops_add(b, name, OP_COMM);
    o->comm = kind;
    o->axis = axis;
    o->bytes = bytes;
    o->ranks = ranks;
    o->stride = stride;
    o->modules = modules;
}

/* Entry of a tensor-parallel region: with sequence parallelism an all-gather forward and a
 * reduce-scatter backward; without it nothing forward and an all-reduce backward, which the
 * mirror image of ops_exit stands for. Megatron runs that backward collective beside the
 * weight gradient; without sequence parallelism it once came before it (tp_sync). */
void ops_enter(struct ops_builder *b, const char *name, int modules)
{
    if (!b->s->seq_parallel || b->s->tp == 1)
        return;
    ops_comm(b, name, COMM_ALL_GATHER, AXIS_TP, b->whole, b->s->tp, 1, modules);
    b->out[b->count - 1].hidden_back = true;
}

void ops_exit(struct ops_builder *b, const char *name, int modules)
{
    if (b->s->tp == 1)
        return;
    enum comm_kind kind = b->s->seq_parallel ? COMM_REDUCE_SCATTER : COMM_ALL_REDUCE;
    ops_comm(b, name, kind, AXIS_TP, b->whole, b->s->tp, 1, modules);
    b->out[b->count - 1].hidden_back = !b->s->seq_parallel && !b->s->tp_sync;
}

bool ops_unfused(const struct block_shape *s)
{
    return s->eager && !s->liger;
}

/* LlamaRMSNorm of transformers runs six operators forward (to fp32, square, mean, times its root, to 16
 * bits, times the weight), and keeps the fp32 input and the normed rows beside its output. The stream
 * itself is kept by nobody. Bytes of an element. */
static const double EAGER_NORM_BYTES = 6 + 8 + 4 + 8 + 6 + 4;
static const double EAGER_NORM_BACK = 14 + 6 + 8 + 16 + 8 + 12 + 6;
enum { EAGER_NORM_CALLS = 6 };

static bool is_eager_norm(const struct ops_builder *b)
{
    return ops_unfused(b->s) && !b->s->model->layer_norm;
}

/* Bias, dropout, add: one pass, input kept, and a byte where dropout masks. */
void ops_residual(struct ops_builder *b)
{
    struct op *o = ops_pass(b, "residual", MEMORY_RESIDUAL, b->residual, b->s->model->hidden);
    o->saved = (is_eager_norm(b) ? 0 : b->stream) + (b->s->dropout ? b->stream / HALF : 0);
}

/* A copy, to the model of its time: one long array. */
static void run_eagerly(struct op *o, double elements)
{
    o->memory_kind = o->memory_kind_back = MEMORY_COPY;
    o->m = o->n = 0;
    o->bytes = EAGER_NORM_BYTES * elements;
    o->bytes_back = EAGER_NORM_BACK * elements;
    o->calls = EAGER_NORM_CALLS - 1;
    o->saved += (SINGLE + HALF) * elements;
    o->temporary_back += 2 * SINGLE * elements;
}

void ops_eager_norm(struct op *o, double elements)
{
    o->saved = 0;
    run_eagerly(o, elements);
}

void ops_norm(struct ops_builder *b, const char *name, bool saves_input)
{
    const struct model *m = b->s->model;
    enum memory_kind kind = m->layer_norm ? MEMORY_LAYER_NORM : MEMORY_RMS_NORM;
    struct op *o = ops_pass(b, name, kind, b->residual, m->hidden);
    /* the output: the next product's input, or of a norm behind a block the stream's own */
    o->modules = saves_input ? MODULE_LAYERNORM : 0;
    o->saved = (saves_input ? b->normed : HALF) * b->residual * m->hidden;
    o->temporary_back = 2 * b->stream;
    if (is_eager_norm(b))
        run_eagerly(o, b->residual * m->hidden);
    if (saves_input)
        ops_residual(b);
}

/* A block that shares the norm of attention only adds what it computed. */
void ops_mlp_norm(struct ops_builder *b)
{
    if (b->s->model->shared_norm)
        ops_residual(b);
    else
        ops_norm(b, "mlp norm", true);
}

double ops_mixer_kept(const struct ops_builder *b)
{
    double input = ops_input(b, PART_attention);
    return HALF + (input < HALF ? input : 0);
}
