/* Lightning attention under tensor parallelism as Megatron-LM would shard it (it has none): one column-parallel product makes
 * queries, keys, values and the output's gate; an activation (MiniMax-01), or a norm and rotation of queries and keys (Ling),
 * the scan over chunks with one decay a head (chunk_simple_gla of flash-linear-attention, linear_scan.c), a gated norm and the
 * row-parallel product. */
#include "layer/ops_builder.h"

#include "model/model.h"

void lightning_block(struct ops_builder *b)
{
    const struct model *m = b->s->model;
    double tp = b->s->tp, t = b->tokens, heads = m->heads / tp, width = heads * m->head_dim;
    struct linear_widths w = {
        .queries = width, .keys = width, .values = width, .heads = heads, .key_dim = m->head_dim};
    b->normed = ops_input(b, PART_attention);
    ops_norm(b, "lightning norm", true);
    ops_enter(b, "lightning gather", 0);
    struct op *in = ops_column(b, "lightning in", 4 * width);
    in->saved = HALF * t * 4 * width;
    ops_train(b, in, PART_attention, TARGET_in, CUT_OUT, false);
    ops_exchange(b, "heads exchange", 4 * width);
    if (m->qk_norm) {
        ops_pass(b, "qk norm", MEMORY_RMS_NORM, 2 * t * heads, m->head_dim)->saved =
            HALF * t * 2 * width;
        struct op *rope = ops_pass(b, "rope", MEMORY_COPY, t, 2 * width);
        rope->m = rope->n = 0; /* a copy is one long array */
        rope->saved = HALF * t * 2 * width;
    } else {
        ops_pass(b, "activation", MEMORY_GELU_FUSED, t, 3 * width)->saved = HALF * t * 3 * width;
    }
    ops_linear_scan(b, "scan", &w, PLAIN_DECAY);
    ops_gated_norm(b, width);
    ops_exchange(b, "tokens exchange", width);
    struct op *out = ops_row(b, "lightning out", width);
    out->saved = ops_input(b, PART_attention) * t * width;
    ops_train(b, out, PART_attention, TARGET_out, CUT_IN, false);
    ops_exit(b, "lightning reduce", 0);
}
