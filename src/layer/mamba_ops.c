/* A state-space layer (Mamba-2) as Megatron-LM runs it (megatron/core/ssm/mamba_mixer.py): a column-parallel product makes
 * gate z, input x, the matrices B and C and step sizes dt; mamba_split_conv1d_scan_combined of mamba-ssm 2.2 (state-spaces/mamba,
 * mamba_ssm/ops/triton/ssd_combined.py) runs the convolution and the scan in chunks of 128 tokens and keeps its input and the
 * output before the gate alone: convolution, chunk states and products of C and B are made again in backward. Behind it are a
 * gated norm and the row-parallel product.
 *
 *   chunk by chunk     states = B x      (head width x states of every head, fp32)
 *   over the chunks    states pass on
 *   in a chunk         y = (C B) x + C states
 *
 * Bytes and FLOPs are read off those kernels; nobody measured them here (OP_SCAN). */
#include "layer/ops_builder.h"

#include "model/model.h"

#include <math.h>

enum { CHUNK = 128, CONV_WIDTH = 4, SCAN_KERNELS = 6 };

/* Widths on one rank; under context parallelism of its share of the heads, over all tokens, which is as much. */
struct mamba_widths {
    double inner, shared, heads, states, chunk;
};

/* Groups that are fewer than context-parallel ranks are copied (mamba_context_parallel.py). */
static struct mamba_widths widths_of(const struct block_shape *s)
{
    const struct model *m = s->model;
    double groups = (double)m->mamba_groups / s->tp, copies = fmax(1, s->cp / groups);
    return (struct mamba_widths){.inner = (double)mamba_inner(m) / s->tp,
                                 .shared = copies * (double)mamba_shared(m) / s->tp,
                                 .heads = (double)m->mamba_heads / s->tp,
                                 .states = (double)mamba_inner(m) / s->tp * m->mamba_state / CHUNK,
                                 .chunk = copies * groups * CHUNK};
}

static double conv_bytes(const struct mamba_widths *w)
{
    return 2 * HALF * (w->inner + w->shared);
}

/* Bytes of a token: each kernel reads and writes what it has once. */
static void scan_bytes(const struct mamba_widths *w, struct op *o, double tokens)
{
    double states = SINGLE * w->states, kept = HALF * w->states;
    double chunk_state = HALF * (w->inner + w->shared / 2) + states, passing = states + kept;
    double pairs = HALF * w->shared + SINGLE * w->chunk;
    double output = SINGLE * w->chunk + HALF * (4 * w->inner + w->shared / 2) + kept;
    double gate = HALF * 6 * w->inner, dstates = HALF * (w->inner + w->shared / 2) + states;
    double passing_back = 2 * states + 2 * kept;
    double dx = HALF * (3 * w->inner + w->shared / 2) + kept + SINGLE * w->chunk;
    double db = HALF * (w->inner + w->shared) + kept + SINGLE * w->shared / 2;
    double dpairs = HALF * 2 * w->inner + SINGLE * 2 * w->chunk;
    double decay = HALF * 2 * w->inner + SINGLE * w->chunk;
    double conv_back = HALF * 3 * (w->inner + w->shared);
    o->bytes = tokens * (conv_bytes(w) + chunk_state + passing + pairs + output);
    o->bytes_back =
        tokens * (conv_bytes(w) + chunk_state + states + passing + pairs + gate + dstates +
                  passing_back + dx + 2 * db + dpairs + 2 * pairs + decay + conv_back);
}

/* Inside a chunk half of the pairs are masked; their tiles are not computed. */
static void scan_flops(const struct mamba_widths *w, double states, struct op *o, double tokens)
{
    double state = 2 * w->inner * states, pairs = w->chunk * states, inside = w->inner * CHUNK;
    double conv = 2 * CONV_WIDTH * (w->inner + w->shared);
    o->flops = tokens * (2 * state + pairs + inside + conv);
    o->flops_back = tokens * (5 * state + 3 * pairs + 3 * inside + 3 * conv);
}

/* Forward: the convolution's output, steps in fp32, and the states before and after they are passed on, or those and the
 * products of C and B. Backward besides: its input, what it gave, the gradient of its input twice over, and the most that
 * the passes over states hold, or later the gradients of B, C and their products in fp32. */
static void scan_memory(const struct mamba_widths *w, struct op *o, double tokens)
{
    double conv = HALF * (w->inner + w->shared), steps = 2 * SINGLE * w->heads;
    double states = SINGLE * w->states, kept = HALF * w->states, pairs = SINGLE * w->chunk;
    double input = HALF * (2 * w->inner + w->shared + w->heads);
    o->temporary =
        tokens * (conv + steps + fmax(states + kept - 2 * HALF * w->inner, kept + pairs));
    o->temporary_back =
        tokens * (3 * HALF * w->inner + 2 * conv + input + 2 * steps + pairs +
                  fmax(2 * states + 2 * kept, 2 * kept + SINGLE * w->shared + pairs));
}

static void add_scan(struct ops_builder *b, const struct mamba_widths *w)
{
    const struct model *m = b->s->model;
    struct op *o = ops_add(b, "scan", OP_SCAN);
    o->m = b->tokens;
    o->n = w->inner;
    o->k = m->mamba_state;
    o->calls = SCAN_KERNELS;
    o->saved = 2 * HALF * b->tokens * w->inner; /* before the gate, and behind it: the norm's */
    scan_bytes(w, o, b->tokens);
    scan_flops(w, m->mamba_state, o, b->tokens);
    scan_memory(w, o, b->tokens);
}

/* The kernels have a sequence's tokens side by side, the layers around them a token's sequences: copies both ways where a
 * micro-batch has several (_ssm_training in mamba_mixer.py). */
static void add_order(struct ops_builder *b, const char *name, double width)
{
    if (b->s->micro_batch == 1)
        return;
    struct op *o = ops_pass(b, name, MEMORY_COPY, b->tokens, width);
    o->m = o->n = 0; /* a copy is one long array */
    o->temporary = o->temporary_back = HALF * b->tokens * width;
}

void ops_state_space(struct ops_builder *b)
{
    const struct block_shape *s = b->s;
    struct mamba_widths w = widths_of(s);
    double made = 2 * w.inner + (double)mamba_shared(s->model) / s->tp + w.heads;
    ops_enter(b, "state-space gather", 0);
    struct op *in = ops_column(b, "state-space in", made);
    in->saved = HALF * b->tokens * (2 * w.inner + w.shared + w.heads);
    if (s->cp > 1)
        in->temporary = in->saved;
    ops_train(b, in, PART_attention, TARGET_in, CUT_OUT, false);
    ops_exchange(b, "heads exchange", 2 * w.inner + w.shared + w.heads);
    add_order(b, "sequences first", 2 * w.inner + w.shared + w.heads);
    add_scan(b, &w);
    add_order(b, "tokens first", w.inner);
    ops_exchange(b, "tokens exchange", w.inner);
    if (!s->model->mamba_bare)
        ops_pass(b, "gated norm", MEMORY_RMS_NORM, b->tokens, w.inner)->temporary_back =
            2 * HALF * b->tokens * w.inner;
    struct op *out = ops_row(b, "state-space out", w.inner);
    out->saved = ops_input(b, PART_attention) * b->tokens * w.inner;
    ops_train(b, out, PART_attention, TARGET_out, CUT_IN, false);
    ops_exit(b, "state-space reduce", 0);
}

void mamba_block(struct ops_builder *b)
{
    b->normed = ops_input(b, PART_attention);
    ops_norm(b, "state-space norm", true);
    b->out[0].modules = 0; /* part of the product behind it: nothing recomputes it alone */
    ops_state_space(b);
}
