/* Sparse attention of DeepSeek V3.2 (DSA): multi-latent attention to the tokens that an indexer chooses. The indexer makes
 * queries of its own from the latent of the queries, one key and a weight a head from the hidden state, with a LayerNorm,
 * which has a bias, on the key; it is whole on every rank. Megatron-LM: core/transformer/experimental_attention_variant/dsa.py;
 * FLOPs as Megatron-Bridge counts them (training/utils/flop_utils.py), Megatron-LM's own count knows no indexer. */
#include "model/model.h"

#include <math.h>

int64_t dsa_indexer_params(const struct model *m)
{
    int64_t from = m->q_lora ? m->q_lora : m->hidden, width = m->index_dim;
    return from * m->index_heads * width + (int64_t)m->hidden * (width + m->index_heads) +
           2 * width;
}

void reuse_params(const struct model *m, struct layer_params *p)
{
    attention_params(m, p);
}

void dsa_params(const struct model *m, struct layer_params *p)
{
    attention_params(m, p);
    p->mixer_replicated += dsa_indexer_params(m);
}

double reuse_work(const struct model *m)
{
    return attention_work(m);
}

/* Its projections run forward, and their weight gradients where a loss trains it; nothing flows further back. */
double dsa_work(const struct model *m)
{
    double once = (double)dsa_indexer_params(m) - 2.0 * m->index_dim;
    return attention_work(m) + once * (m->index_loss ? 2 : 1) / 3;
}

double dsa_tokens_seen(const struct model *m, double seq_len)
{
    double k = m->index_topk;
    return seq_len <= k ? (seq_len + 1) / 2 : k - k * (k - 1) / (2 * seq_len);
}

double dsa_sequence_work(const struct model *m, bool chooses, double seq_len)
{
    double seen = dsa_tokens_seen(m, seq_len), all = (seq_len + 1) / 2;
    double learned = m->index_loss == 2 ? seen : all, latent = (double)m->kv_lora + m->qk_rope;
    double attends = 3 * seen * m->heads * (latent + m->kv_lora);
    double score = (double)m->index_heads * (m->index_dim + 1);
    double loss = m->index_loss ? learned * (2 * score + m->heads * latent) : 0;
    return attends + (chooses ? all * score + loss : 0);
}
