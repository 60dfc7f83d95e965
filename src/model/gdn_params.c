/* Gated delta nets: one projection makes queries, keys, values, an output gate, and a decay and a write strength a head; a
 * short convolution without bias runs over queries, keys and values, the delta rule over the sequence, and a norm of each
 * head, gated, before the projection back (megatron/core/ssm/gated_delta_net). The norm alone is not sharded by heads. */
#include "model/model.h"

enum { CONV_WIDTH = 4 };

int64_t gdn_values(const struct model *m)
{
    return (int64_t)m->gdn_heads * m->gdn_dim;
}

int64_t gdn_queries(const struct model *m)
{
    return (int64_t)m->gdn_key_heads * m->gdn_key_dim;
}

void gdn_params(const struct model *m, struct layer_params *p)
{
    int64_t q = gdn_queries(m), v = gdn_values(m), heads = m->gdn_heads, h = m->hidden;
    p->mixer_linear =
        h * (2 * q + 2 * v + 2 * heads) + v * h + CONV_WIDTH * (2 * q + v) + 2 * heads;
    p->mixer_replicated = model_half_norms(m) + m->gdn_dim;
}

/* Megatron-LM's gdn_layer_flops. */
double gdn_work(const struct model *m)
{
    double q = (double)gdn_queries(m), v = (double)gdn_values(m), h = m->hidden;
    return h * (2 * q + 2 * v + 2.0 * m->gdn_heads) + CONV_WIDTH * (2 * q + v) +
           4 * v * m->gdn_dim + h * v;
}
