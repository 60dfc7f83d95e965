/* What mixers with a state of keys x values a head have in common: heads dealt to context-parallel ranks, the convolution in
 * front, and the scan over chunks of tokens. Forward,
 *
 *   delta only         A = (1 + strictly lower (beta K K'))^-1,  W = A beta K,  U = A beta V;  else U = V, W = 0
 *   over the chunks    V' = U - W S,  S = decay S + K' V'          (S: key width x value width of every head)
 *   in a chunk         O = Q S + (Q K' under the mask) V'
 *
 * as kernels of flash-linear-attention run it (fla/ops: gated_delta_rule, kda, simple_gla): chunks of 64 tokens; A and the
 * output stay, W, U, V' and S are made again in backward. A decay of every channel of the keys (KDA) is one more array of
 * their width, in fp32 once summed up, that every kernel reads, and the products of queries and keys are kept as well as A.
 * Bytes and FLOPs are read off those kernels; nobody measured them here (OP_SCAN). */
#include "layer/ops_builder.h"

#include "model/model.h"

enum { CHUNK = 64 };

void ops_exchange(struct ops_builder *b, const char *name, double width)
{
    ops_comm(b, name, COMM_ALL_TO_ALL, AXIS_CP, HALF * b->tokens * width, b->s->cp, b->s->tp, 0);
}

/* Of the convolution's output, with queries and keys normed and copied; and of the gate, put in order. */
void ops_convolution(struct ops_builder *b, const struct linear_widths *w)
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

/* What a token costs: FLOPs of products with states (`through`) and of those inside a chunk, half of which are masked. */
static void add_work(struct op *o, const struct linear_widths *w, bool delta, double t)
{
    double through = w->values * w->key_dim, inside = CHUNK * (2 * w->keys + w->values);
    double pairs = w->heads * CHUNK;
    o->flops = t * (delta ? 3 * 2 * through + 2 * inside + pairs * CHUNK
                          : 2 * 2 * through + CHUNK * (w->keys + w->values));
    o->flops_back = t * (delta ? 2 * 2 * through + 6 * 2 * through + 5 * inside + 2 * pairs * CHUNK
                               : 5 * 2 * through + CHUNK * (3 * w->keys + 2 * w->values));
}

static void add_delta(struct op *o, const struct linear_widths *w, double t)
{
    double state = w->values * w->key_dim / CHUNK, pairs = w->heads * CHUNK;
    double made = w->keys + 2 * w->values + state; /* W, U, V', S */
    o->bytes = HALF * t * (6 * w->keys + 5 * w->values + 2 * made + 4 * pairs);
    o->bytes_back = HALF * t * (12 * w->keys + 12 * w->values + 6 * made + 8 * pairs);
    o->saved = HALF * t * (pairs + w->values) + SINGLE * t * w->heads;
    o->temporary = HALF * t * made;
    o->temporary_back = HALF * t * (made + state + 2 * w->values + pairs) +
                        SINGLE * t * (2 * w->keys + pairs) + o->saved;
}

/* States from keys and values, and the output; backward states and their gradients, those of queries and keys, of values. */
static void add_plain(struct op *o, const struct linear_widths *w, double t)
{
    double state = w->values * w->key_dim / CHUNK;
    o->bytes = HALF * t * (3 * w->keys + 3 * w->values + 2 * state);
    o->bytes_back = HALF * t * (8 * w->keys + 6 * w->values + 5 * state);
    o->saved = HALF * t * w->values;
    o->temporary = HALF * t * state;
    o->temporary_back = HALF * t * (2 * state + 2 * w->keys + w->values) + o->saved;
}

/* Forward the decay is read, its sum written and read by three kernels, and scaled keys written and read; backward the sum
 * is made again and read by five kernels, and its gradient, in fp32 too, written and read. */
static void add_channels(struct op *o, const struct linear_widths *w, double t)
{
    double decay = HALF * w->keys, sum = SINGLE * w->keys, pairs = w->heads * CHUNK;
    o->bytes += t * (decay + 4 * sum + 2 * HALF * w->keys + 2 * HALF * pairs);
    o->bytes_back += t * (2 * decay + 6 * sum + 4 * sum + 4 * HALF * w->keys + 2 * HALF * pairs);
    o->saved += HALF * t * pairs - SINGLE * t * w->heads;
    o->temporary += t * (sum + HALF * w->keys);
    o->temporary_back += t * (2 * sum + 2 * HALF * w->keys);
}

void ops_linear_scan(struct ops_builder *b, const char *name, const struct linear_widths *w,
                     enum linear_rule rule)
{
    static const int KERNELS[] = {[PLAIN_DECAY] = 2, [DELTA_RULE] = 8, [CHANNEL_DELTA] = 10};
    double t = b->tokens;
    struct op *o = ops_add(b, name, OP_SCAN);
    o->m = t;
    o->n = w->values;
    o->k = w->key_dim;
    o->calls = KERNELS[rule];
    add_work(o, w, rule != PLAIN_DECAY, t);
    if (rule == PLAIN_DECAY)
        add_plain(o, w, t);
    else
        add_delta(o, w, t);
    if (rule == CHANNEL_DELTA)
        add_channels(o, w, t);
}

/* Norm of what the heads gave, times the gate, both read, and the gradients of both written. */
void ops_gated_norm(struct ops_builder *b, double values)
{
    ops_pass(b, "gated norm", MEMORY_SWIGLU_FUSED, b->tokens, values)->temporary_back =
        HALF * b->tokens * 3 * values;
}
