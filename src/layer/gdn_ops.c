/* A gated delta net as Megatron-LM runs it (megatron/core/ssm/gated_delta_net): a column-parallel product makes queries, keys,
 * values, an output gate z, write strengths and decays; the convolution, the delta rule in chunks of 64 tokens
 * (chunk_gated_delta_rule of flash-linear-attention) and a gated norm follow, then the row-parallel product.
 *
 *   chunk by chunk     A = (1 + strictly lower (beta K K'))^-1,  W = A beta K,  U = A beta V
 *   over the chunks    V' = U - W S,  S = decay S + K' V'          (S: key width x value width of every head)
 *   in a chunk         O = Q S + (Q K' under the mask) V'
 *
 * Queries and keys are copied for every value head before. What stays: the product's output, the convolution's, the kernel's
 * inputs, A and the output; W, U, V' and S are made again in backward. Bytes and FLOPs are read off the algorithm; nobody
 * measured them here (OP_SCAN). */
#include "layer/ops_builder.h"

#include "model/model.h"

enum { CHUNK = 64, CONV_WIDTH = 4, RULE_KERNELS = 8 };

/* Widths on one rank, of a token; `state`: of what passes between chunks. */
struct gdn_widths {
    double queries, values, heads, keys, state, pairs;
};

static struct gdn_widths widths_of(const struct block_shape *s)
{
    const struct model *m = s->model;
    double heads = (double)m->gdn_heads / s->tp, values = (double)gdn_values(m) / s->tp;
    return (struct gdn_widths){.queries = (double)gdn_queries(m) / s->tp,
                               .values = values,
                               .heads = heads,
                               .keys = heads * m->gdn_key_dim,
                               .state = values * m->gdn_key_dim / CHUNK,
                               .pairs = heads * CHUNK};
}

static void add_exchange(struct ops_builder *b, const char *name, double width)
{
    ops_comm(b, name, COMM_ALL_TO_ALL, AXIS_CP, HALF * b->tokens * width, b->s->cp, b->s->tp, 0);
}

/* Of the convolution's output, with queries and keys normed and copied; and of the gate, put in order. */
static void add_inputs(struct ops_builder *b, const struct gdn_widths *w)
{
    double conv = 2 * w->queries + w->values, t = b->tokens;
    struct op *o = ops_add(b, "convolution", OP_MEMORY);
    o->memory_kind = o->memory_kind_back = MEMORY_COPY;
    o->bytes = HALF * t * (2 * conv + conv + 2 * w->keys + 3 * w->values);
    o->bytes_back = HALF * t * (3 * conv + 2 * conv + 2 * w->keys + 3 * w->values);
    o->saved = HALF * t * (conv + 2 * w->keys + 2 * w->values + w->heads) + SINGLE * t * w->heads;
    o->temporary_back = HALF * t * 2 * conv;
    o->calls = 1;
}

static void add_rule(struct ops_builder *b, const struct gdn_widths *w)
{
    const struct model *m = b->s->model;
    double t = b->tokens, made = w->keys + 2 * w->values + w->state; /* W, U, V', S */
    double through = w->values * m->gdn_key_dim;                     /* products with states */
    double inside = CHUNK * (2 * w->keys + w->values);               /* half of them masked */
    struct op *o = ops_add(b, "delta rule", OP_SCAN);
    o->m = t;
    o->n = w->values;
    o->k = m->gdn_key_dim;
    o->calls = RULE_KERNELS;
    o->flops = t * (3 * 2 * through + 2 * inside + w->pairs * CHUNK);
    o->flops_back = t * (2 * 2 * through + 6 * 2 * through + 5 * inside + 2 * w->pairs * CHUNK);
    o->bytes = HALF * t * (6 * w->keys + 5 * w->values + 2 * made + 4 * w->pairs);
    o->bytes_back = HALF * t * (12 * w->keys + 12 * w->values + 6 * made + 8 * w->pairs);
    o->saved = HALF * t * (w->pairs + w->values) + SINGLE * t * w->heads;
    o->temporary = HALF * t * made;
    o->temporary_back = HALF * t * (made + w->state + 2 * w->values + w->pairs) +
                        SINGLE * t * (2 * w->keys + w->pairs) + o->saved;
}

void gdn_block(struct ops_builder *b)
{
    struct gdn_widths w = widths_of(b->s);
    double t = b->tokens, made = 2 * w.queries + 2 * w.values + 2 * w.heads;
    b->normed = ops_input(b, PART_attention);
    ops_norm(b, "delta-net norm", true);
    b->out[0].modules = 0; /* part of the product behind it: nothing recomputes it alone */
    ops_enter(b, "delta-net gather", 0);
    struct op *in = ops_column(b, "delta-net in", made);
    in->saved = HALF * t * made;
    ops_train(b, in, PART_attention, TARGET_in, CUT_OUT, false);
    add_exchange(b, "heads exchange", made);
    add_inputs(b, &w);
    add_rule(b, &w);
    struct op *norm = ops_pass(b, "gated norm", MEMORY_SWIGLU_FUSED, t, w.values);
    norm->temporary_back = HALF * t * 3 * w.values;
    add_exchange(b, "tokens exchange", w.values);
    struct op *out = ops_row(b, "delta-net out", w.values);
    out->saved = ops_input(b, PART_attention) * t * w.values;
    ops_train(b, out, PART_attention, TARGET_out, CUT_IN, false);
    ops_exit(b, "delta-net reduce", 0);
}
