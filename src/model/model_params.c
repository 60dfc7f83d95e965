/* Parameter counts by part, and model FLOPs. Counts are those of the published checkpoints: a
 * Hugging Face safetensors index adds up to the same number. FLOPs follow Megatron-LM's
 * num_floating_point_operations (megatron/training/training.py, core 0.12 and later): 6 per weight
 * and token for forward and backward, the S^2 part of attention halved because it is causal,
 * windows not discounted; embedding lookup, norms and router not counted. Each kind of layer_kinds.def counts its own. O(layers). */
#include "model/model.h"

#include "base/str.h"
#include "base/units.h"
#include "model/trained.h"

#include <string.h>

enum { VOCAB_MULTIPLE = 128 };

static int64_t norm(const struct model *m, int64_t width)
{
    return m->layer_norm && !m->bare_norm ? 2 * width : width;
}

int64_t model_half_norms(const struct model *m)
{
    return norm(m, m->hidden) * (m->post_norms ? 2 : 1);
}

/* A norm of all heads together has a weight for each, and in no family a bias. */
static int64_t query_key_norms(const struct model *m, int64_t q, int64_t k)
{
    return m->qk_norm_wide ? q + k : 2 * norm(m, m->head_dim);
}

static void add_attention(const struct model *m, struct layer_params *p)
{
    int64_t h = m->hidden, q = (int64_t)m->heads * m->head_dim, k = (int64_t)m->kv * m->head_dim;
    p->mixer_linear = h * (q + 2 * k) + q * h;
    if (m->attn_gate)
        p->mixer_linear += h * q;
    if (m->qkv_bias)
        p->mixer_linear += q + 2 * k;
    if (m->qk_norm)
        p->mixer_replicated += query_key_norms(m, q, k);
}

/* Queries, keys and values come from low-rank latents; the down-projections, and the rotary key
 * that all heads share, are whole on every rank. A norm sits on each latent. */
static void add_latent_attention(const struct model *m, struct layer_params *p)
{
    int64_t h = m->hidden, heads = m->heads, q = heads * (m->qk_nope + m->qk_rope);
    p->mixer_linear = (m->q_lora ? m->q_lora : h) * q;
    p->mixer_linear += m->kv_lora * heads * (m->qk_nope + m->v_dim) + heads * m->v_dim * h;
    p->mixer_replicated += h * m->q_lora + h * (m->kv_lora + m->qk_rope);
    if (m->qk_norm)
        p->mixer_replicated += norm(m, m->q_lora) + norm(m, m->kv_lora);
}

/* The part of an MLP that is split over TP; its output bias is not. */
static int64_t mlp_split(const struct model *m, int64_t inner)
{
    int64_t into = (m->gated ? 2 : 1) * inner;
    return m->hidden * (into + inner) + (m->linear_bias ? into : 0);
}

/* Behind a projection of tokens to a latent width, experts are as wide as that. */
static int64_t expert_width(const struct model *m)
{
    return m->moe_latent ? m->moe_latent : m->hidden;
}

static int64_t expert_params(const struct model *m)
{
    int64_t into = (m->gated ? 2 : 1) * (int64_t)m->expert_ffn, out = expert_width(m);
    return out * (into + m->expert_ffn) + (m->linear_bias ? into + out : 0);
}

int64_t model_router_params(const struct model *m)
{
    int64_t per_expert = (int64_t)m->hidden + m->linear_bias + m->expert_bias;
    return m->experts * per_expert + (m->shared_gate ? m->hidden : 0);
}

void attention_params(const struct model *m, struct layer_params *p)
{
    if (m->mla)
        add_latent_attention(m, p);
    else
        add_attention(m, p);
    p->mixer_linear += m->sinks ? m->heads : 0;
    p->mixer_replicated += model_half_norms(m) + (m->linear_bias || m->proj_bias ? m->hidden : 0);
}

static void add_mlp(const struct model *m, int inner, struct layer_params *p)
{
    p->mlp = mlp_split(m, inner);
    p->mlp_replicated =
        (m->shared_norm ? 0 : model_half_norms(m)) + (m->linear_bias && inner ? m->hidden : 0);
}

void mlp_params(const struct model *m, struct layer_params *p)
{
    add_mlp(m, m->ffn, p);
}

void moe_params(const struct model *m, struct layer_params *p)
{
    add_mlp(m, m->shared_ffn, p);
    p->mlp_replicated += model_router_params(m) + 2 * (int64_t)m->hidden * m->moe_latent;
    p->experts = m->experts * expert_params(m);
}

static const struct half {
    void (*params)(const struct model *, struct layer_params *);
    double (*work)(const struct model *);
} MIXER_HALF[MIXERS] =
    {
#define MIXER(id, symbol, part, name, lacks) [MIXER_##id] = {part##_params, part##_work},
#define FEED(...)
#include "model/layer_kinds.def"
},
  FEED_HALF[FEEDS] = {
#define MIXER(...)
#define FEED(id, symbol, part, name, lacks) [FEED_##id] = {part##_params, part##_work},
#include "model/layer_kinds.def"
};

struct layer_params model_layer_params(const struct model *m, const struct layer_kind *kind)
{
    struct layer_params p = {0};
    if (kind->mixer != MIXER_NONE)
        MIXER_HALF[kind->mixer].params(m, &p);
    if (kind->feed != FEED_NONE)
        FEED_HALF[kind->feed].params(m, &p);
    return p;
}

int64_t model_embedding_params(const struct model *m, int64_t padded_vocab)
{
    int64_t rows = padded_vocab + (m->learned_pos ? m->max_seq : 0);
    return rows * m->hidden + (m->embed_norm ? norm(m, m->hidden) : 0);
}

int64_t model_head_params(const struct model *m, int64_t padded_vocab)
{
    return (m->outputs ? m->outputs : padded_vocab) * m->hidden;
}

int64_t model_final_norm_params(const struct model *m)
{
    return norm(m, m->hidden);
}

/* Norms on the hidden state, on the embedding of the next token and behind the layer, and the
 * projection of the two, side by side, to one. */
int64_t model_mtp_params(const struct model *m)
{
    return 3 * norm(m, m->hidden) + 2 * (int64_t)m->hidden * m->hidden;
}

int64_t model_params_total(const struct model *m)
{
    int64_t total = model_embedding_params(m, m->vocab) + model_final_norm_params(m);
    if (!m->tied)
        total += model_head_params(m, m->vocab);
    for (int i = 0; i < m->layers; i++) {
        struct layer_params p = model_layer_params(m, &m->kind[m->layer[i]]);
        total += p.mixer_linear + p.mixer_replicated + p.mlp + p.mlp_replicated + p.experts;
    }
    return total;
}

void add_model_words(const struct model *m, struct str *out)
{
    bool named = strcmp(m->name, "flags") != 0;
    str_addf(out, "%s%s", named ? m->name : "A model of ", named ? " (" : "");
    add_count(out, (double)model_params_total(m));
    str_addf(out, " parameters");
    if (!model_trains_all(m)) {
        str_addf(out, named ? ", of which " : " of which ");
        model_add_trained(m, out);
        str_addf(out, " trains ");
        add_count(out, (double)model_params_trained(m));
    }
    str_addf(out, "%s", named ? ")" : "");
}

int64_t model_params_active(const struct model *m)
{
    int64_t idle = 0;
    for (int i = 0; i < m->layers; i++)
        if (m->kind[m->layer[i]].feed == FEED_MOE)
            idle += (m->experts - m->topk) * expert_params(m);
    return model_params_total(m) - idle;
}

int64_t model_outputs(const struct model *m, int tp)
{
    return m->outputs ? m->outputs : model_padded_vocab(m, tp);
}

int64_t model_padded_vocab(const struct model *m, int tp)
{
    int64_t multiple = (int64_t)(m->vocab_pad ? m->vocab_pad : VOCAB_MULTIPLE) * tp;
    return (m->vocab + multiple - 1) / multiple * multiple;
}

double attention_work(const struct model *m)
{
    double h = m->hidden, heads = m->heads;
    double q = heads * m->head_dim, k = (double)m->kv * m->head_dim;
    if (!m->mla)
        return h * (q + 2 * k) + q * h + (m->attn_gate ? h * q : 0);
    double query = m->q_lora ? m->q_lora * (h + q + 1) : h * q;
    return query + m->kv_lora * (h + heads * (m->qk_nope + m->v_dim) + 1) + h * m->qk_rope +
           heads * m->v_dim * h;
}

double mlp_work(const struct model *m)
{
    return (double)m->hidden * m->ffn * (m->gated ? 3 : 2);
}

double moe_work(const struct model *m)
{
    double width = (double)expert_width(m), h = m->hidden;
    return (width * m->expert_ffn * m->topk + h * m->shared_ffn) * (m->gated ? 3 : 2) +
           2 * h * m->moe_latent;
}

static double kind_work(const struct model *m, const struct layer_kind *kind)
{
    return (kind->mixer != MIXER_NONE ? MIXER_HALF[kind->mixer].work(m) : 0) +
           (kind->feed != FEED_NONE ? FEED_HALF[kind->feed].work(m) : 0);
}

/* FLOPs a token that a step lacks because weights are frozen, beside adapters: two for each weight of a product, the
 * gradient of that; where nothing below is trained, all of backward. NVIDIA counts its LoRA runs the same way, without the
 * adapters (Megatron-Bridge, training/utils/flop_utils.py: model_flops_frozen x 2/3). */
static double untrained_flops(const struct model *m, const double times[], double pairs)
{
    struct matrix matrix[MATRICES_MAX];
    double sum = model_freezes_logits(m) ? 2.0 * m->hidden * (double)model_outputs(m, 1) : 0;
    bool back = model_layers_run_back(m);
    for (int k = 0; k < m->kinds; k++) {
        if (!back)
            sum += 4 * times[k] * kind_work(m, &m->kind[k]);
        for (int i = back ? model_matrices(m, &m->kind[k], matrix) - 1 : -1; i >= 0; i--) {
            const struct matrix *x = &matrix[i];
            double copies = times[k] * (x->part == PART_experts ? m->topk : 1);
            double adapter = model_adapts(m, x->target) ? m->lora * (double)(x->in + x->out) : 0;
            sum += model_freezes(m, x->part) ? 2 * copies * (double)x->in * (double)x->out : 0;
            sum -= 6 * copies * adapter;
        }
    }
    return sum + (back ? 0 : pairs * 2 / 3);
}

double model_flops(const struct model *m, double sequences, double seq_len)
{
    double h = m->hidden, tokens = sequences * seq_len;
    double head_widths = (double)m->head_dim + (m->mla ? m->v_dim : m->head_dim);
    double times[MODEL_MAX_KINDS] = {0}, quadratic = 0, sparse = 0;
    double work = h * (double)model_outputs(m, 1) * (1 + m->mtp) + m->mtp * (3 * h + 2 * h * h);
    for (int i = 0; i < m->layers; i++)
        times[m->layer[i]]++;
    for (int i = 0; i < m->mtp_layers; i++)
        times[m->mtp_layer[i]] += m->mtp;
    for (int k = 0; k < m->kinds; k++) {
        work += times[k] * kind_work(m, &m->kind[k]);
        quadratic += mixer_attends(m->kind[k].mixer) ? times[k] : 0;
        if (m->kind[k].mixer == MIXER_DSA || m->kind[k].mixer == MIXER_REUSE)
            sparse += times[k] * dsa_sequence_work(m, m->kind[k].mixer == MIXER_DSA, seq_len);
    }
    double pairs = 3 * tokens * seq_len * m->heads * head_widths * quadratic;
    pairs += 2 * tokens * sparse;
    double all = 6 * tokens * work + pairs;
    return model_trains_all(m) ? all : all - tokens * untrained_flops(m, times, pairs / tokens);
}
