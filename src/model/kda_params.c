/* Kimi delta attention: queries, keys and values as wide as one another, each behind a short convolution without bias; decays
 * of every channel of the keys and the output's gate from two products through the width of a head; write strengths a head; the
 * delta rule and a gated norm of each head (fla/layers/kda.py; without the gate's bias, as Kimi-Linear has it). The products
 * to a head's width and the norm are whole on every rank. */
#include "model/model.h"

enum { CONV_WIDTH = 4 };

int64_t kda_width(const struct model *m)
{
    return (int64_t)m->kda_heads * m->kda_dim;
}

void kda_params(const struct model *m, struct layer_params *p)
{
    int64_t h = m->hidden, w = kda_width(m), heads = m->kda_heads, dim = m->kda_dim;
    p->mixer_linear = 4 * h * w + 2 * dim * w + h * heads + 3 * CONV_WIDTH * w + heads + w;
    p->mixer_replicated = model_half_norms(m) + 2 * h * dim + dim;
}

/* As gdn_work counts the rule. */
double kda_work(const struct model *m)
{
    double h = m->hidden, w = (double)kda_width(m), dim = m->kda_dim;
    return 4 * h * w + 2 * dim * (h + w) + h * m->kda_heads + 3 * CONV_WIDTH * w + 4 * w * dim;
}
