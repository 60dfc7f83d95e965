/* A gated delta net as Megatron-LM runs it (megatron/core/ssm/gated_delta_net): a column-parallel product makes queries, keys,
 * values, an output gate z, write strengths and decays; the convolution, the delta rule (chunk_gated_delta_rule of
 * flash-linear-attention, linear_scan.c) and a gated norm follow, then the row-parallel product. Queries and keys are copied
 * for every value head before the rule. */
#include "layer/ops_builder.h"

#include "model/model.h"

void gdn_block(struct ops_builder *b)
{
    const struct model *m = b->s->model;
    double tp = b->s->tp, t = b->tokens, heads = m->gdn_heads / tp;
    struct linear_widths w = {.queries = (double)gdn_queries(m) / tp,
                              .keys = heads * m->gdn_key_dim,
                              .values = (double)gdn_values(m) / tp,
                              .heads = heads,
                              .key_dim = m->gdn_key_dim};
    double made = 2 * w.queries + 2 * w.values + 2 * w.heads;
    b->normed = ops_input(b, PART_attention);
    ops_norm(b, "delta-net norm", true);
    b->out[0].modules = 0; /* part of the product behind it: nothing recomputes it alone */
    ops_enter(b, "delta-net gather", 0);
    struct op *in = ops_column(b, "delta-net in", made);
    in->saved = HALF * t * made;
    ops_train(b, in, PART_attention, TARGET_in, CUT_OUT, false);
    ops_exchange(b, "heads exchange", made);
    ops_convolution(b, &w);
    ops_linear_scan(b, "delta rule", &w, DELTA_RULE);
    ops_gated_norm(b, w.values);
    ops_exchange(b, "tokens exchange", w.values);
    struct op *out = ops_row(b, "delta-net out", w.values);
    out->saved = ops_input(b, PART_attention) * t * w.values;
    ops_train(b, out, PART_attention, TARGET_out, CUT_IN, false);
    ops_exit(b, "delta-net reduce", 0);
}
