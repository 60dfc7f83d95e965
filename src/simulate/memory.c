/* Model states after Megatron's buffers: 2 bytes of weight and 4 of gradient per parameter
 * (contiguous buffers), 12 of optimizer divided over the ranks that share it (megatron.md
 * section 4). */
#include "simulate/memory.h"

#include "base/units.h"
#include "model/trained.h"
#include "simulate/hf_state.h"

#include <assert.h>
#include <math.h>

/* Reserved beyond allocated: 2.8 to 7.9 % in SimuMax's 16 runs, in the mean 5 %, without expandable
 * segments; with them (the torch stack) what near-full ranks could not use was up to 2.2 %, mostly
 * below 1 %. Context and libraries: device-used minus reserved is 836 MiB on an H200 in every run.
 * A communicator costs 0.5-0.7 GB on NVLink machines (nccl issues 864, 964), not all of which is
 * full at the peak. */
static const double RESERVE_TE = 0.05, RESERVE_TORCH = 0.015;
/* FSDP allocates and frees whole units all the time: 2.1 and 11.6 % on two ranks. */
static const double RESERVE_FSDP = 0.116;
static const double CONTEXT_BYTES = 836 * MIB, COMMUNICATOR_BYTES = 0.35 * GIB;

static const struct memory_part_info INFO[MEMORY_PARTS] = {
#define X(name, framework, help) {#name, framework, help},
    MEMORY_TABLE(X)
#undef X
};

const struct memory_part_info *memory_part_info(enum memory_part part)
{
    return &INFO[part];
}

double memory_peak(const struct memory_use *m)
{
    double sum = 0;
    for (int i = 0; i < MEMORY_PARTS; i++)
        sum += INFO[i].framework ? m->part[i] : 0;
    return sum;
}

double memory_device(const struct memory_use *m)
{
    double sum = 0;
    for (int i = 0; i < MEMORY_PARTS; i++)
        sum += m->part[i];
    return sum;
}

double optimizer_shards(const struct strategy *s)
{
    return (double)s->dp * s->cp / s->optimizer_instances;
}

double expert_data_parallel(const struct strategy *s)
{
    double n = (double)s->tp * s->cp * s->dp / ((double)s->etp * s->ep);
    return n < 1 ? 1 : n;
}

double expert_shards(const struct strategy *s)
{
    double n = expert_data_parallel(s) / s->optimizer_instances;
    return n < 1 ? 1 : n;
}

/* Two products and a norm of a mixer, and what else it has; the same of the MLP; a router and two products of each expert
 * instead. */
static double layer_tensors(const struct model *m, const struct layer_kind *kind, double experts)
{
    const double mixer[MIXERS] = {[MIXER_ATTENTION] = 3 + (m->qk_norm ? 2 : 0),
                                  [MIXER_REUSE] = 3 + 2,
                                  [MIXER_DSA] = 3 + 2 + 5,
                                  [MIXER_MAMBA] = 3 + 6,
                                  [MIXER_GDN] = 3 + 4,
                                  [MIXER_KDA] = 3 + 13,
                                  [MIXER_LIGHTNING] = 3 + 2,
                                  [MIXER_PARALLEL] = 5 + 6};
    double moe = 2 + 2 * experts + (m->shared_ffn > 0 ? 2 : 0) + (m->moe_latent > 0 ? 2 : 0);
    const double feed[FEEDS] = {[FEED_MLP] = 3, [FEED_MOE] = moe};
    return (m->linear_bias ? 2 : 1) * (mixer[kind->mixer] + feed[kind->feed]);
}

/* A step of the iteration on an a x b matrix X of m rows, the fewer, and n columns: X X^T, its square,
 * and their sum times X. */
static double newton_flops(double a, double b)
{
    double m = fmin(a, b), n = fmax(a, b);
    return 4 * m * m * n + 2 * m * m * m;
}

static void add_matrix(struct newton *out, double *flops, double a, double b, double times)
{
    double one = newton_flops(a, b);
    if (times <= 0 || a <= 0 || b <= 0)
        return;
    *flops += times * one;
    out->largest = one > out->most ? a * b : out->largest;
    out->most = fmax(out->most, one);
}

static void add_mlp_matrices(struct newton *out, double *flops, bool gated, double outer,
                             double inner, double times)
{
    add_matrix(out, flops, (gated ? 2 : 1) * inner, outer, times);
    add_matrix(out, flops, outer, inner, times);
}

/* Queries, keys and values apart (--muon-no-split-qkv has them together). */
static void add_attention_matrices(struct newton *out, const struct model *m)
{
    double h = m->hidden, head = m->mla ? m->qk_nope + m->qk_rope : m->head_dim;
    double q = m->heads * head, k = m->kv * m->head_dim;
    double *dense = &out->dense;
    if (m->mla) {
        add_matrix(out, dense, m->q_lora ? m->q_lora : h, q, 1);
        add_matrix(out, dense, h, m->q_lora, 1);
        add_matrix(out, dense, h, m->kv_lora + m->qk_rope, 1);
        add_matrix(out, dense, m->kv_lora, (double)m->heads * (m->qk_nope + m->v_dim), 1);
        add_matrix(out, dense, (double)m->heads * m->v_dim, h, 1);
    } else {
        add_matrix(out, dense, q, h, 2 + (m->attn_gate != 0)); /* and the output's, the gate's */
        add_matrix(out, dense, k, h, 2);
    }
}

static void add_indexer_matrices(struct newton *out, const struct model *m)
{
    double from = m->q_lora ? m->q_lora : m->hidden;
    add_matrix(out, &out->dense, from, (double)m->index_heads * m->index_dim, 1);
    add_matrix(out, &out->dense, m->hidden, m->index_dim, 1);
    add_matrix(out, &out->dense, m->hidden, m->index_heads, 1);
}

/* Of a state space the product that makes its inputs is left to Adam (mamba_mixer.py: use_muon). */
static void add_mixer_matrices(struct newton *out, const struct model *m, enum mixer mixer)
{
    double h = m->hidden, values = (double)gdn_values(m), queries = (double)gdn_queries(m);
    if (mixer_attends(mixer) || mixer == MIXER_REUSE || mixer == MIXER_DSA)
        add_attention_matrices(out, m);
    if (mixer == MIXER_DSA)
        add_indexer_matrices(out, m);
    if (mixer == MIXER_MAMBA || mixer == MIXER_PARALLEL) {
        add_matrix(out, &out->dense, h, (double)mamba_inner(m), 1);
    } else if (mixer == MIXER_GDN) {
        add_matrix(out, &out->dense, 2 * queries + 2 * values + 2 * m->gdn_heads, h, 1);
        add_matrix(out, &out->dense, h, values, 1);
    } else if (mixer == MIXER_KDA) {
        double width = (double)kda_width(m);
        add_matrix(out, &out->dense, h, width, 4);
        add_matrix(out, &out->dense, h, m->kda_dim, 2);
        add_matrix(out, &out->dense, width, m->kda_dim, 2);
    } else if (mixer == MIXER_LIGHTNING) {
        add_matrix(out, &out->dense, h, (double)m->heads * m->head_dim, 5);
    }
}

/* With tensor parallelism every rank takes whole matrices (--muon-tp-mode duplicated, the default). */
static void add_newton(struct newton *out, const struct model *m, const struct layer_kind *kind,
                       const struct strategy *s)
{
    bool moe = kind->feed == FEED_MOE;
    double outer = moe && m->moe_latent ? m->moe_latent : m->hidden;
    add_mixer_matrices(out, m, kind->mixer);
    if (kind->feed != FEED_NONE)
        add_mlp_matrices(out, &out->dense, m->gated, m->hidden, moe ? m->shared_ffn : m->ffn, 1);
    if (moe)
        add_mlp_matrices(out, &out->experts, m->gated, outer, m->expert_ffn,
                         (double)m->experts / s->ep);
}

static double dense_on_rank(const struct layer_params *p, const struct strategy *s)
{
    return (double)(p->mixer_linear + p->mlp) / s->tp +
           (double)(p->mixer_replicated + p->mlp_replicated);
}

/* Bytes that frozen matrices of fewer bits save on a rank; of experts or of all others. */
static double narrow_saves(const struct model *m, const struct layer_kind *kind,
                           const struct strategy *s, bool experts)
{
    struct matrix x[MATRICES_MAX];
    double saved = 2 - model_frozen_bytes(m), sum = 0;
    double here = experts ? (double)m->experts / ((double)s->ep * s->etp) : 1;
    for (int i = model_matrices(m, kind, x) - 1; i >= 0; i--)
        if ((x[i].part == PART_experts) == experts && model_freezes(m, x[i].part))
            sum += here * (double)x[i].in * (double)x[i].out /
                   (experts || x[i].cut == CUT_NONE ? 1 : s->tp);
    return saved * sum;
}

/* Of a layer that has `dense` and `experts` parameters on this rank, `p` of them trained. */
static void add_partly_trained(struct rank_params *out, const struct model *m,
                               const struct layer_kind *kind, const struct layer_params *p,
                               double dense, double experts, const struct strategy *s)
{
    struct adapter_params a = model_adapter_params(m, kind);
    double trained = dense_on_rank(p, s), sets = m->lora_each ? (double)m->experts / s->ep : 1;
    double trained_experts = (double)p->experts / ((double)s->ep * s->etp);
    out->frozen += 2 * (dense - trained) - narrow_saves(m, kind, s, false);
    out->frozen_experts += 2 * (experts - trained_experts) - narrow_saves(m, kind, s, true);
    out->dense += trained + (double)a.split / s->tp + (double)a.whole;
    out->experts += trained_experts + sets * (double)a.experts / s->etp;
    out->tensors += a.tensors + sets * a.expert_tensors;
}

/* The local layers shard the down-projections of latent attention too. */
static void split_latent(const struct model *m, struct layer_params *p)
{
    int64_t down = (int64_t)m->hidden * (m->q_lora + m->kv_lora + m->qk_rope);
    p->mixer_linear += down;
    p->mixer_replicated -= down;
}

void rank_params_add_layer(struct rank_params *out, const struct model *m, int kind,
                           const struct strategy *s, bool te)
{
    struct layer_params p = model_layer_params(m, &m->kind[kind]);
    if (!te && m->mla)
        split_latent(m, &p);
    double dense = dense_on_rank(&p, s), experts = (double)p.experts / ((double)s->ep * s->etp);
    if (!m->kind[kind].wide)
        out->linear += (double)(p.mixer_linear + p.mlp) / s->tp + experts;
    if (!model_trains_all(m)) {
        p = model_layer_trained(m, &m->kind[kind]);
        if (!te && m->mla && !model_freezes(m, PART_attention))
            split_latent(m, &p);
        add_partly_trained(out, m, &m->kind[kind], &p, dense, experts, s);
    } else {
        out->dense += dense;
        out->experts += experts;
    }
    if (m->reference) {
        out->frozen += 2 * dense;
        out->frozen_experts += 2 * experts;
    }
    if (m->lora == 0) { /* with all of a frozen part: more than there are */
        out->tensors += layer_tensors(m, &m->kind[kind], (double)m->experts / s->ep);
        add_newton(&out->newton, m, &m->kind[kind], s);
    }
}

static void add_end(struct rank_params *out, const struct model *m, bool frozen, double params)
{
    out->frozen += m->reference ? 2 * params : 0;
    if (frozen)
        out->frozen += 2 * params;
    else
        out->dense += params;
}

/* Embedding on the first virtual stage; final norm and output matrix on the one with the loss. A
 * tied matrix is held by both ends of a pipeline, once when they are the same stage. */
static void add_ends(struct rank_params *out, const struct model *m, const struct strategy *s,
                     const struct stage_layers *x, bool te)
{
    int64_t vocab = model_padded_vocab(m, s->tp);
    bool ends[] = {model_freezes(m, PART_embedding), model_freezes_logits(m),
                   model_freezes(m, PART_head)};
    if (x->embedding || (x->mtp > 0 && !m->tied)) {
        double matrix = (double)vocab * m->hidden; /* positions and norm are not sharded */
        add_end(out, m, ends[0],
                matrix / s->tp + ((double)model_embedding_params(m, vocab) - matrix));
    }
    if (x->head)
        add_end(out, m, ends[2], (double)model_final_norm_params(m));
    if (x->head && !(x->embedding && m->tied))
        add_end(out, m, ends[1], (double)model_head_params(m, vocab) / s->tp);
    for (int i = 0; i < x->mtp; i++) {
        for (int k = 0; k < m->mtp_layers; k++)
            rank_params_add_layer(out, m, m->mtp_layer[k], s, te);
        add_end(out, m, ends[2], (double)model_mtp_params(m) / s->tp);
    }
}

static void add_newtons(struct newton *out, const struct newton *one, double times)
{
    out->dense += times * one->dense;
    out->experts += times * one->experts;
    out->largest = one->most > out->most ? one->largest : out->largest;
    out->most = fmax(out->most, one->most);
}

void rank_params_add_known(struct rank_params *out, const struct model *m, const struct strategy *s,
                           const struct stage_layers *x, bool te, const struct rank_params layer[])
{
    int count[MODEL_MAX_KINDS] = {0};
    assert(x->first >= 0 && x->layers >= 0 && x->first + x->layers <= m->layers);
    for (int i = 0; i < x->layers; i++)
        count[m->layer[x->first + i]]++;
    for (int k = 0; k < m->kinds; k++) {
        out->dense += count[k] * layer[k].dense;
        out->experts += count[k] * layer[k].experts;
        out->frozen += count[k] * layer[k].frozen;
        out->frozen_experts += count[k] * layer[k].frozen_experts;
        out->linear += count[k] * layer[k].linear;
        out->tensors += count[k] * layer[k].tensors;
        if (count[k] > 0)
            add_newtons(&out->newton, &layer[k].newton, count[k]);
    }
    add_ends(out, m, s, x, te);
}

void rank_params_add_stage(struct rank_params *out, const struct model *m, const struct strategy *s,
                           const struct stage_layers *x, bool te)
{
    struct rank_params layer[MODEL_MAX_KINDS] = {{0}};
    for (int k = 0; k < m->kinds; k++)
        rank_params_add_layer(&layer[k], m, k, s, te);
    rank_params_add_known(out, m, s, x, te, layer);
}

/* Beside a bf16 weight the precision-aware optimizer keeps the 16 bits that the master weight has more
 * (store_param_remainders, TE fused_adam.py); with a part on the host, and in fp8, the whole. */
static double master_bytes(const struct strategy *s)
{
    bool rest = s->precision_aware && s->optimizer_offload == 0 && s->precision == PRECISION_BF16;
    return rest ? 2 : 4;
}

/* Bytes of optimizer state per parameter before sharding: master weight and two moments. */
static double optimizer_bytes(const struct strategy *s)
{
    return master_bytes(s) + 2.0 * (s->precision_aware ? s->moments_bytes : 4);
}

double kept_gradient_bytes(const struct strategy *s)
{
    return s->grad_bf16 || s->main_grads_bf16 ? 2 : 4;
}

bool shards_optimizer(const struct strategy *s)
{
    return s->fsdp == FSDP_NONE ? s->dist_opt : s->fsdp >= FSDP_OPTIM;
}

static void add_states(struct memory_use *out, double params, double frozen_bytes, double shards,
                       const struct strategy *s)
{
    bool full = s->fsdp == FSDP_FULL, grads = full || s->fsdp == FSDP_OPTIM_GRADS;
    out->part[MEMORY_weights] += (2 * params + frozen_bytes) / (full ? shards : 1);
    out->part[MEMORY_gradients] += kept_gradient_bytes(s) * params / (grads ? shards : 1);
    out->part[MEMORY_optimizer] += optimizer_bytes(s) * params /
                                   (shards_optimizer(s) ? shards : 1) *
                                   (1 - s->optimizer_offload / 100.0);
}

/* Muon too: three of Megatron's own tests (gpt3_moe_mcore_te_ep8_resume_torch_dist_muon, _dist_muon and _dist_muon_1node of
 * data/published_golden.csv) need what Adam's states make, within 4 %, and up to 5 % more than a master weight and one moment. */
void memory_of_states(const struct rank_params *p, const struct strategy *s, struct memory_use *out)
{
    if (strategy_on_hf(s)) {
        hf_add_states(p, s, out);
        return;
    }
    add_states(out, p->dense, p->frozen, optimizer_shards(s), s);
    add_states(out, p->experts, p->frozen_experts, expert_shards(s), s);
}

/* Gradients kept in 16 bits are copied to fp32 for the step, this rank's share of them. AdamW as
 * torch has it (`stock`) takes the roots of all second moments of an optimizer at once; experts
 * have an optimizer of their own. */
double memory_of_step(const struct rank_params *p, const struct strategy *s, bool stock, bool muon)
{
    if (strategy_on_hf(s))
        return hf_step_bytes(p, s);
    bool copied = s->grad_bf16 && !s->main_grads_bf16, sharded = shards_optimizer(s);
    double dense = p->dense / (sharded ? optimizer_shards(s) : 1);
    double experts = p->experts / (sharded ? expert_shards(s) : 1);
    double roots = stock ? 4 * fmax(dense, experts) * (1 - s->optimizer_offload / 100.0) : 0;
    double iterated = muon ? 3 * 4 * p->newton.largest : 0; /* in fp32: it, the next, a product */
    return (copied ? 4 * (dense + experts) : 0) + roots + iterated;
}

/* Buffers of weights and gradients that are trained are made while the weights that go into them still
 * exist: the dense ones first, then the experts' (param_and_grad_buffer.py). FSDP may have built the
 * whole stage before it shards it. */
double memory_of_setup(const struct rank_params *p, const struct strategy *s, bool whole_init)
{
    double buffers = 2 + kept_gradient_bytes(s), frozen = p->frozen + p->frozen_experts;
    if (s->fsdp >= FSDP_OPTIM)
        return whole_init ? 2 * (p->dense + p->experts) + frozen : 0;
    if (!s->dist_opt)
        return 0;
    return frozen + fmax(2 * (p->dense + p->experts) + buffers * p->dense,
                         2 * p->experts + buffers * (p->dense + p->experts));
}

double memory_reserve(const struct strategy *s, bool te)
{
    return s->fsdp >= FSDP_OPTIM ? RESERVE_FSDP : te ? RESERVE_TE : RESERVE_TORCH;
}

void memory_outside(struct memory_use *use, const struct strategy *s, bool te)
{
    assert(memory_peak(use) >= 0);
    int communicators = 1 + (s->tp > 1) + (s->pp > 1) + (s->cp > 1) + (s->ep > 1) + (s->dp > 1);
    use->part[MEMORY_reserve] = memory_peak(use) * memory_reserve(s, te);
    use->part[MEMORY_context] = CONTEXT_BYTES;
    use->part[MEMORY_communicators] = strategy_gpus(s) > 1 ? communicators * COMMUNICATOR_BYTES : 0;
}
