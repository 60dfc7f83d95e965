/* Model states after Megatron's buffers: 2 bytes of weight and 4 of gradient per parameter
 * (contiguous buffers), 12 of optimizer divided over the ranks that share it (megatron.md
 * section 4). */
#include "memory/memory.h"

#include "base/units.h"
#include "model/model.h"
#include "space/layout.h"

/* Allocated to reserved: 1.03-1.09 in real runs without expandable segments, next to nothing
 * with them (the torch stack); context and libraries measured as device-used minus reserved; a
 * communicator costs 0.5-0.7 GB on NVLink machines (nccl issues 864, 964). */
static const double RESERVE_TE = 0.03, RESERVE_TORCH = 0.015;
static const double CONTEXT_BYTES = 0.7 * GIB, COMMUNICATOR_BYTES = 0.35 * GIB;

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

void rank_params_add_layer(struct rank_params *out, const struct model *m, int kind,
                           const struct strategy *s)
{
    struct layer_params p = model_layer_params(m, &m->kind[kind]);
    out->dense += (double)(p.attention_linear + p.mlp) / s->tp;
    out->dense += (double)(p.attention_replicated + p.mlp_replicated);
    out->experts += (double)p.experts / ((double)s->ep * s->etp);
}

/* Embedding on the first virtual stage; final norm and output matrix on the one with the loss. A
 * tied matrix is held by both ends of a pipeline, once when they are the same rank. */
static void add_ends(struct rank_params *out, const struct model *m, const struct strategy *s,
                     const struct layout *l, int rank)
{
    int64_t vocab = model_padded_vocab(m, s->tp);
    bool first = rank == 0, last = l->loss_stage % s->pp == rank,
         mtp = l->mtp_stage % s->pp == rank;
    if (first || (mtp && m->mtp > 0 && !m->tied))
        out->dense += (double)model_embedding_params(m, vocab) / s->tp;
    if (last)
        out->dense += (double)model_final_norm_params(m);
    if (last && !(first && m->tied))
        out->dense += (double)model_head_params(m, vocab) / s->tp;
    if (mtp)
        for (int i = 0; i < m->mtp; i++) {
            rank_params_add_layer(out, m, m->layer[m->layers - 1], s);
            out->dense += (double)model_mtp_params(m) / s->tp;
        }
}

struct rank_params rank_params_of(const struct model *m, const struct strategy *s,
                                  const struct layout *l, int rank)
{
    struct rank_params out = {0}, one;
    int count[MODEL_MAX_KINDS] = {0};
    for (int stage = rank; stage < l->stages; stage += s->pp)
        for (int i = 0; i < l->layers[stage]; i++)
            count[m->layer[l->first[stage] + i]]++;
    for (int k = 0; k < m->kinds; k++) {
        one = (struct rank_params){0};
        rank_params_add_layer(&one, m, k, s);
        out.dense += count[k] * one.dense;
        out.experts += count[k] * one.experts;
    }
    add_ends(&out, m, s, l, rank);
    return out;
}

/* Bytes of optimizer state per parameter before sharding: master weight and two moments. */
static double optimizer_bytes(const struct strategy *s)
{
    return 4 + 2.0 * (s->precision_aware ? s->moments_bytes : 4);
}

static void add_states(struct memory_use *out, double params, double shards,
                       const struct strategy *s)
{
    bool full = s->fsdp == FSDP_FULL, grads = full || s->fsdp == FSDP_OPTIM_GRADS;
    bool optimizer = s->dist_opt || grads || s->fsdp == FSDP_OPTIM;
    double gradient = s->grad_bf16 || s->main_grads_bf16 ? 2 : 4;
    double states = optimizer_bytes(s);
    if (s->grad_bf16 && !s->main_grads_bf16)
        states += 4; /* the fp32 gradient shard is made at the step */
    out->part[MEMORY_weights] += 2 * params / (full ? shards : 1);
    out->part[MEMORY_gradients] += gradient * params / (grads ? shards : 1);
    out->part[MEMORY_optimizer] +=
        states * params / (optimizer ? shards : 1) * (1 - s->optimizer_offload / 100.0);
}

void memory_of_states(const struct rank_params *p, const struct strategy *s, struct memory_use *out)
{
    add_states(out, p->dense, optimizer_shards(s), s);
    add_states(out, p->experts, expert_shards(s), s);
    /* FSDP: gathered weights of two layers' worth of units and their gradients, about 1/16 of
     * the rank */
    if (s->fsdp == FSDP_FULL)
        out->part[MEMORY_buffers] += 6 * (p->dense + p->experts) / 16;
}

void memory_outside(struct memory_use *use, const struct strategy *s, bool te)
{
    int communicators = 1 + (s->tp > 1) + (s->pp > 1) + (s->cp > 1) + (s->ep > 1) + (s->dp > 1);
    use->part[MEMORY_reserve] = memory_peak(use) * (te ? RESERVE_TE : RESERVE_TORCH);
    use->part[MEMORY_context] = CONTEXT_BYTES;
    use->part[MEMORY_communicators] = strategy_gpus(s) > 1 ? communicators * COMMUNICATOR_BYTES : 0;
}
