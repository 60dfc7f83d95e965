/* Kimi delta attention under tensor parallelism as Megatron-LM would shard it (it has none): one column-parallel product for
 * queries, keys, values and write strengths; decays and gate through the width of a head, the products to which every rank
 * makes whole; convolution, delta rule with decays of every channel (chunk_kda of flash-linear-attention, linear_scan.c), gated
 * norm, row-parallel product. */
#include "layer/ops_builder.h"

#include "model/model.h"

static void add_gate(struct ops_builder *b, const char *name, double n, double k, double kept)
{
    struct op *o = ops_gemm(b, name, b->tokens, n, k);
    o->saved = HALF * b->tokens * kept;
    o->frozen = model_freezes(b->s->model, PART_attention);
}

void kda_block(struct ops_builder *b)
{
    const struct model *m = b->s->model;
    double tp = b->s->tp, t = b->tokens, heads = m->kda_heads / tp, dim = m->kda_dim;
    double width = heads * dim;
    struct linear_widths w = {
        .queries = width, .keys = width, .values = width, .heads = heads, .key_dim = dim};
    b->normed = ops_input(b, PART_attention);
    ops_norm(b, "delta norm", true);
    ops_enter(b, "delta gather", 0);
    struct op *in = ops_column(b, "delta in", 3 * width + heads);
    in->saved = HALF * t * (3 * width + heads);
    ops_train(b, in, PART_attention, TARGET_in, CUT_OUT, false);
    add_gate(b, "gates down", 2 * dim, m->hidden, 2 * dim);
    add_gate(b, "decay up", width, dim, width);
    add_gate(b, "gate up", width, dim,
             0); /* what it makes is the gated norm's, of the convolution */
    ops_exchange(b, "heads exchange", 5 * width + heads);
    ops_convolution(b, &w);
    ops_linear_scan(b, "delta rule", &w, CHANNEL_DELTA);
    ops_gated_norm(b, width);
    ops_exchange(b, "tokens exchange", width);
    struct op *out = ops_row(b, "delta out", width);
    out->saved = ops_input(b, PART_attention) * t * width;
    ops_train(b, out, PART_attention, TARGET_out, CUT_IN, false);
    ops_exit(b, "delta reduce", 0);
}
