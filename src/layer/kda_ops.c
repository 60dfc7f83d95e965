/* Kimi delta attention under tensor parallelism as Megatron-LM would shard it (it has none): one column-parallel product for
 * queries, keys, values and write strengths; decays and gate through the width of a head, the products to which every rank
 * makes whole; convolution, delta rule with decays of every channel (chunk_kda of flash-linear-attention, linear_scan.c), gated
 * norm, row-parallel product. */
#include "layer/ops_builder.h"

#include "model/model.h"

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
    ops_gemm(b, "gates down", t, 2 * dim, m->hidden)->saved = HALF * t * 2 * dim;
    ops_gemm(b, "decay up", t, width, dim)->saved = HALF * t * width;
    ops_gemm(b, "gate up", t, width, dim)->saved = 0; /* the gated norm's, of the convolution */
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
