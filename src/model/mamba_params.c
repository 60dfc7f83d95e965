/* State-space layers (Mamba-2): one projection makes gate, input, the matrices B and C that a group of heads shares, and
 * a step size a head; a short convolution runs over input, B and C, the scan over the sequence, and a gated norm before the
 * projection back (megatron/core/ssm/mamba_mixer.py). All of it is sharded by heads. */
#include "model/model.h"

enum { CONV_WIDTH = 4 };

int64_t mamba_inner(const struct model *m)
{
    return (int64_t)m->mamba_heads * m->mamba_head_dim;
}

int64_t mamba_shared(const struct model *m)
{
    return 2 * (int64_t)m->mamba_groups * m->mamba_state;
}

void mamba_params(const struct model *m, struct layer_params *p)
{
    int64_t inner = mamba_inner(m), shared = mamba_shared(m), heads = m->mamba_heads;
    int64_t conv = inner + shared, scan = 3 * heads; /* step bias, decay, skip */
    p->mixer_linear = m->hidden * (2 * inner + shared + heads) + inner * m->hidden +
                      conv * (CONV_WIDTH + 1) + scan + (m->mamba_bare ? 0 : inner);
    p->mixer_replicated = model_half_norms(m);
}

/* The scan is 7 FLOPs a channel and state in Megatron-LM's mamba_layer_flops, which takes 2 x hidden for the inner width
 * whatever it is; here it is what it is. */
double mamba_work(const struct model *m)
{
    double inner = (double)mamba_inner(m), h = m->hidden;
    return h * (2 * inner + (double)mamba_shared(m) + m->mamba_heads) + inner * h +
           3.5 * inner * m->mamba_state;
}

/* Attention beside it, behind one norm (Falcon-H1). */
void parallel_params(const struct model *m, struct layer_params *p)
{
    struct layer_params attention = {0};
    mamba_params(m, p);
    attention_params(m, &attention);
    p->mixer_linear += attention.mixer_linear;
    p->mixer_replicated += attention.mixer_replicated - model_half_norms(m);
}

double parallel_work(const struct model *m)
{
    return mamba_work(m) + attention_work(m);
}
