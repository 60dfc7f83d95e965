/* Products whose weights are frozen, and adapters (LoRA) beside them: y = W x + scale B A x.
 *
 * A frozen product has no weight gradient, and what was kept for that alone is not kept (TransformerEngine's linear.py
 * saves its input where the weight requires a gradient; Megatron's LinearWithFrozenWeight keeps the weight only). An
 * adapter is two thin products and passes over its input and output, all of them forward and backward, and keeps its
 * input in 16 bits:
 *
 *                        Megatron-Bridge (peft/utils.py)                ms-swift (mcore-bridge, tuners/lora.py)
 *   W split by outputs   A and B split; r-wide gather between them;     A whole, of this rank's tokens, B split;
 *                        its input is gathered and stays so             r-wide gather between them
 *   W split by inputs    A split, r-wide all-reduce; B split, and its   A split, r-wide scatter; B whole, of this
 *                        output gathered                                rank's tokens
 *
 * Frozen weights of 4 bits are brought to 16 by a pass in front of each product, forward and backward. */
#include "layer/ops_builder.h"

double ops_input(const struct ops_builder *b, enum model_part part)
{
    return model_freezes(b->s->model, part) ? 0 : b->input;
}

/* An adapter and the product beside it. */
struct adapted {
    struct op *base;
    enum matrix_cut cut;
    double rows_in, rows_out, added; /* tokens of A, of B, and of the output that B's is added to */
    double count;                    /* adapters: of experts each may have its own */
    int ranks;                       /* that the matrix is split over */
};

static struct adapted adapted_of(const struct ops_builder *b, struct op *base, enum matrix_cut cut)
{
    const struct model *m = b->s->model;
    double each = base->experts && m->lora_each ? base->count : 1;
    double rows = base->m * base->count / each;
    struct adapted x = {base, cut, rows, rows, rows, each, base->experts ? b->s->etp : b->s->tp};
    if (!b->sharded || base->experts || cut == CUT_NONE)
        return x;
    if (m->lora_whole && cut == CUT_OUT)
        x.rows_in = b->residual;
    if (m->lora_whole && cut == CUT_IN)
        x.rows_out = b->residual;
    if (cut == CUT_IN)
        x.added = b->residual;
    return x;
}

static struct op *add_product(struct ops_builder *b, const struct adapted *x, const char *name,
                              double rows, double n, double k)
{
    struct op *o = ops_gemm(b, name, rows, n, k);
    o->count = x->count;
    o->kind = x->count > 1 ? x->base->kind : OP_GEMM;
    o->experts = x->base->experts;
    return o;
}

/* Keeps its input, or what dropout leaves of it and a mask; and what it makes, the input of B. */
static void add_first(struct ops_builder *b, const struct adapted *x, bool kept)
{
    const struct model *m = b->s->model;
    const struct op *base = x->base;
    bool splits = !m->lora_whole && x->cut != CUT_IN;
    double input = x->count * x->rows_in * base->k, rank = x->count * x->rows_out * m->lora;
    if (m->lora_dropout) {
        struct op *o = ops_add(b, "adapter dropout", OP_MEMORY);
        o->memory_kind = o->memory_kind_back = MEMORY_COPY;
        o->bytes = o->bytes_back = (2 * HALF + 1) * input;
        o->saved = (HALF + 1) * input;
        o->temporary_back = 2 * HALF * input;
    }
    double n = splits ? (double)m->lora / x->ranks : m->lora;
    struct op *o = add_product(b, x, "adapter in", x->rows_in, n, base->k);
    o->saved = HALF * rank + (m->lora_dropout || kept ? 0 : HALF * input);
    o->temporary_back = HALF * (base->m * base->n * base->count + 2 * input + rank);
}

/* Where a pass of one direction alone needs a collective, half of it stands in each. */
static void exchange(struct ops_builder *b, const struct adapted *x, const char *name,
                     enum comm_kind kind, double bytes)
{
    ops_comm(b, name, kind, AXIS_TP, bytes, x->ranks, 1, 0);
}

/* Of what A made, r wide. */
static void add_narrow_exchange(struct ops_builder *b, const struct adapted *x)
{
    const struct model *m = b->s->model;
    bool here = m->lora_whole && (x->cut == CUT_NONE || (x->cut == CUT_OUT && !b->sharded));
    double bytes = HALF * x->base->m * x->base->count * m->lora;
    if (!here)
        exchange(b, x, "adapter exchange", x->cut == CUT_IN ? COMM_ALL_REDUCE : COMM_ALL_GATHER,
                 bytes);
}

/* Of whole hidden states, with both matrices split: B's output is gathered, with sequence parallelism its gradient too;
 * without, the gradient of A's input is summed up apart from that of the product's. */
static void add_wide_exchange(struct ops_builder *b, const struct adapted *x)
{
    double out = HALF * x->rows_out * x->count * x->base->n;
    double in = HALF * x->rows_in * x->count * x->base->k;
    bool both = x->cut == CUT_IN && b->sharded;
    if (b->s->model->lora_whole)
        return;
    if (x->cut != CUT_OUT)
        exchange(b, x, "adapter gather", COMM_ALL_GATHER, both ? out : out / 2);
    else if (!b->sharded)
        exchange(b, x, "adapter reduce", COMM_ALL_REDUCE, in / 2);
}

/* Scaled, and added to the product's; backward the gradient scaled, and those of the input added. */
static void add_sum(struct ops_builder *b, const struct adapted *x)
{
    struct op *o = ops_add(b, "adapter sum", OP_MEMORY);
    double out = x->count * x->added * x->base->n, in = x->count * x->rows_in * x->base->k;
    o->memory_kind = o->memory_kind_back = MEMORY_RESIDUAL;
    o->bytes = 5 * HALF * out;
    o->bytes_back = 2 * HALF * out + 3 * HALF * in;
    o->temporary = o->temporary_back = 2 * HALF * out;
    o->calls = 1;
}

static void add_adapter(struct ops_builder *b, struct op *base, enum matrix_cut cut, bool kept)
{
    const struct model *m = b->s->model;
    struct adapted x = adapted_of(b, base, cut);
    int first = b->count;
    bool splits = !m->lora_whole && cut != CUT_OUT;
    add_first(b, &x, kept);
    add_narrow_exchange(b, &x);
    add_product(b, &x, "adapter out", x.rows_out, splits ? base->n / x.ranks : base->n, m->lora);
    add_wide_exchange(b, &x);
    add_sum(b, &x);
    for (int i = first; i < b->count; i++) {
        b->out[i].adapter = true;
        b->out[i].modules = base->modules;
    }
}

/* To 16 bits, just before the product needs them. */
static void add_widening(struct ops_builder *b, const struct op *base)
{
    double weights = base->n * base->k * base->count;
    struct op *o = ops_add(b, "widen weights", OP_MEMORY);
    o->memory_kind = o->memory_kind_back = MEMORY_COPY;
    o->bytes = o->bytes_back = (model_frozen_bytes(b->s->model) + HALF) * weights;
    o->modules = base->modules;
}

void ops_train(struct ops_builder *b, struct op *base, enum model_part part,
               enum lora_target target, enum matrix_cut cut, bool kept)
{
    const struct model *m = b->s->model;
    double weights = base->n * base->k * base->count;
    if (!model_freezes(m, part))
        return;
    base->frozen = true;
    if (!ops_adds_wgrads(b->s) && !base->experts)
        base->temporary_back -= HALF * weights;
    if (model_frozen_bytes(m) < HALF) {
        add_widening(b, base);
        base->temporary += HALF * weights;
        base->temporary_back += HALF * weights;
    }
    if (model_adapts(m, target)) {
        add_adapter(b, base, cut, kept);
        base->temporary_back += HALF * base->m * base->count * base->k; /* A's, to be added to */
    }
}

/* Nothing of it runs backward, nor is kept. */
static bool block_runs_back(const struct block_shape *s)
{
    if (s->kind == BLOCK_EMBEDDING)
        return !model_freezes(s->model, PART_embedding);
    return s->kind == BLOCK_HEAD || model_layers_run_back(s->model);
}

void ops_stop_back(const struct block_shape *s, struct op *ops, int count)
{
    for (int i = 0; i < count && !block_runs_back(s); i++) {
        ops[i].no_back = true;
        ops[i].saved = ops[i].stays = ops[i].temporary_back = ops[i].host_back_s = 0;
    }
}
