/* Lightning attention (MiniMax-01, Ling linear): queries, keys, values and an output gate of every attention head, a decay a
 * head that is not learned, and a norm with a weight for every channel in front of the gate
 * (transformers, models/minimax/modeling_minimax.py). */
#include "model/model.h"

void lightning_params(const struct model *m, struct layer_params *p)
{
    int64_t h = m->hidden, w = (int64_t)m->heads * m->head_dim;
    p->mixer_linear = 5 * h * w + w;
    p->mixer_replicated = model_half_norms(m) + (m->qk_norm ? 2 * m->head_dim : 0);
}

/* Products with the state: two a channel and key. */
double lightning_work(const struct model *m)
{
    double h = m->hidden, w = (double)m->heads * m->head_dim;
    return 5 * h * w + 2 * w * m->head_dim;
}
