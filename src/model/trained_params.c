/* The matrices of a layer, and how many parameters are trained: of frozen parts none, of adapters rank x (inputs + outputs)
 * for each matrix that has one. Megatron-Bridge (src/megatron/bridge/peft/utils.py, ParallelLinearAdapter) splits A and B
 * over the tensor-parallel ranks whatever the matrix; ms-swift (modelscope/mcore-bridge, src/mcore_bridge/tuners/lora.py)
 * keeps A of a column-parallel matrix and B of a row-parallel one whole on every rank. Of grouped experts Bridge has one
 * adapter a rank (share_expert_adapters), ms-swift one for each. */
#include "model/trained.h"

#include <assert.h>

struct matrices {
    struct matrix *out;
    int count;
};

static void add(struct matrices *x, enum lora_target target, enum model_part part,
                enum matrix_cut cut, int64_t in, int64_t out)
{
    if (in == 0 || out == 0)
        return;
    assert(x->count < MATRICES_MAX);
    x->out[x->count++] = (struct matrix){target, part, cut, in, out};
}

static void add_latent(struct matrices *x, const struct model *m)
{
    int64_t h = m->hidden, heads = m->heads, q = heads * (m->qk_nope + m->qk_rope);
    add(x, TARGET_qkv, PART_attention, CUT_NONE, h, m->q_lora);
    add(x, TARGET_qkv, PART_attention, CUT_OUT, m->q_lora ? m->q_lora : h, q);
    add(x, TARGET_qkv, PART_attention, CUT_NONE, h, m->kv_lora + m->qk_rope);
    add(x, TARGET_qkv, PART_attention, CUT_OUT, m->kv_lora, heads * (m->qk_nope + m->v_dim));
    add(x, TARGET_proj, PART_attention, CUT_IN, heads * m->v_dim, h);
}

static void add_attention(struct matrices *x, const struct model *m)
{
    int64_t h = m->hidden, q = (int64_t)m->heads * m->head_dim, k = (int64_t)m->kv * m->head_dim;
    if (m->mla) {
        add_latent(x, m);
        return;
    }
    add(x, TARGET_qkv, PART_attention, CUT_OUT, h, q * (m->attn_gate ? 2 : 1) + 2 * k);
    add(x, TARGET_proj, PART_attention, CUT_IN, q, h);
}

static void add_indexer(struct matrices *x, const struct model *m)
{
    int64_t wide = (int64_t)m->index_heads * m->index_dim;
    add(x, TARGETS, PART_attention, CUT_NONE, m->q_lora ? m->q_lora : m->hidden, wide);
    add(x, TARGETS, PART_attention, CUT_NONE, m->hidden, m->index_dim);
    add(x, TARGETS, PART_attention, CUT_NONE, m->hidden, m->index_heads);
}

static void add_mixer(struct matrices *x, const struct model *m, enum mixer mixer)
{
    int64_t h = m->hidden, inner = mamba_inner(m), q = gdn_queries(m), v = gdn_values(m);
    if (mixer_attends(mixer) || mixer == MIXER_DSA || mixer == MIXER_REUSE)
        add_attention(x, m);
    if (mixer == MIXER_DSA)
        add_indexer(x, m);
    if (mixer == MIXER_MAMBA || mixer == MIXER_PARALLEL) {
        add(x, TARGET_in, PART_attention, CUT_OUT, h, 2 * inner + mamba_shared(m) + m->mamba_heads);
        add(x, TARGET_out, PART_attention, CUT_IN, inner, h);
    } else if (mixer == MIXER_GDN) {
        add(x, TARGET_in, PART_attention, CUT_OUT, h, 2 * q + 2 * v + 2 * (int64_t)m->gdn_heads);
        add(x, TARGET_out, PART_attention, CUT_IN, v, h);
    } else if (mixer == MIXER_KDA) { /* products of gates have none */
        add(x, TARGET_in, PART_attention, CUT_OUT, h, 3 * kda_width(m) + m->kda_heads);
        add(x, TARGET_out, PART_attention, CUT_IN, kda_width(m), h);
    } else if (mixer == MIXER_LIGHTNING) {
        add(x, TARGET_in, PART_attention, CUT_OUT, h, 4 * (int64_t)m->heads * m->head_dim);
        add(x, TARGET_out, PART_attention, CUT_IN, (int64_t)m->heads * m->head_dim, h);
    }
}

static void add_mlp(struct matrices *x, const struct model *m, enum model_part part, int64_t width,
                    int64_t inner)
{
    add(x, TARGET_fc1, part, CUT_OUT, width, (m->gated ? 2 : 1) * inner);
    add(x, TARGET_fc2, part, CUT_IN, inner, width);
}

int model_matrices(const struct model *m, const struct layer_kind *kind,
                   struct matrix out[MATRICES_MAX])
{
    struct matrices x = {out, 0};
    int64_t width = m->moe_latent ? m->moe_latent : m->hidden;
    add_mixer(&x, m, kind->mixer);
    if (kind->feed == FEED_MLP)
        add_mlp(&x, m, PART_mlp, m->hidden, m->ffn);
    if (kind->feed != FEED_MOE)
        return x.count;
    add_mlp(&x, m, PART_mlp, m->hidden, m->shared_ffn);
    add(&x, TARGETS, PART_mlp, CUT_NONE, m->hidden, m->moe_latent);
    add(&x, TARGETS, PART_mlp, CUT_NONE, m->moe_latent, m->hidden);
    add_mlp(&x, m, PART_experts, width, m->expert_ffn);
    return x.count;
}

struct layer_params model_layer_trained(const struct model *m, const struct layer_kind *kind)
{
    struct layer_params p = model_layer_params(m, kind);
    int64_t router = kind->feed == FEED_MOE ? model_router_params(m) : 0;
    if (model_freezes(m, PART_attention))
        p.mixer_linear = p.mixer_replicated = 0;
    if (model_freezes(m, PART_mlp))
        p.mlp = 0, p.mlp_replicated = router;
    if (model_freezes(m, PART_router))
        p.mlp_replicated -= router;
    if (model_freezes(m, PART_experts))
        p.experts = 0;
    return p;
}

static void add_adapter(const struct model *m, const struct matrix *x, struct adapter_params *out)
{
    int64_t a = m->lora * x->in, b = m->lora * x->out;
    if (x->part == PART_experts) {
        out->experts += a + b;
        out->expert_tensors += 2;
        return;
    }
    bool a_whole = m->lora_whole && x->cut != CUT_IN, b_whole = m->lora_whole && x->cut != CUT_OUT;
    out->whole += (a_whole ? a : 0) + (b_whole ? b : 0);
    out->split += (a_whole ? 0 : a) + (b_whole ? 0 : b);
    out->tensors += 2;
}

struct adapter_params model_adapter_params(const struct model *m, const struct layer_kind *kind)
{
    struct adapter_params out = {0};
    struct matrix matrix[MATRICES_MAX];
    int count = m->lora ? model_matrices(m, kind, matrix) : 0;
    for (int i = 0; i < count; i++)
        if (model_adapts(m, matrix[i].target))
            add_adapter(m, &matrix[i], &out);
    return out;
}

static int64_t trained_of(const struct model *m, const struct layer_kind *kind)
{
    struct layer_params p = model_layer_trained(m, kind);
    struct adapter_params a = model_adapter_params(m, kind);
    return p.mixer_linear + p.mixer_replicated + p.mlp + p.mlp_replicated + p.experts + a.split +
           a.whole + a.experts * (m->lora_each ? m->experts : 1);
}

int64_t model_params_trained(const struct model *m)
{
    int64_t total = 0;
    if (!model_freezes(m, PART_embedding))
        total += model_embedding_params(m, m->vocab);
    if (!model_freezes(m, PART_head))
        total += model_final_norm_params(m) + (m->tied ? 0 : model_head_params(m, m->vocab));
    for (int i = 0; i < m->layers; i++)
        total += trained_of(m, &m->kind[m->layer[i]]);
    return total;
}

/* NF4 of bitsandbytes: half a byte, and an fp32 scale for each block of 64 (its default, without a second quantisation of
 * the scales). */
double model_frozen_bytes(const struct model *m)
{
    return m->frozen_bits == 4 ? 0.5 + 4.0 / 64 : 2;
}
