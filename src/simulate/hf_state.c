/* FSDP2 as accelerate sets it up (accelerate 16cb6eb8, utils/fsdp_utils.py): shards of parameters, gradients and
 * moments in fp32, gathered and reduced in 16 bits (MixedPrecisionPolicy of one type); a unit for each
 * decoder layer, one for the embedding, and one for norm and logits that stays until its backward. DeepSpeed
 * (edaa7221, runtime/zero/stage_1_and_2.py, stage3.py): weights and gradients in 16 bits, of which ZeRO-2 shards
 * the gradients and ZeRO-3 both; master weights and moments in fp32, and gradients for the step.
 *
 *     bytes of a parameter, N shards      weights     gradients    optimizer     step
 *     fsdp2                               4 / N       4 / N        8 / N
 *     fsdp2, pure_bf16                    2 / N       2 / N        4 / N
 *     zero2                               2           2 / N        12 / N        4 / N
 *     zero3                               2 / N       2 / N        12 / N        4 / N of 1e9 at most
 *
 * What is offloaded is on the host instead: all of FSDP2, gradients and optimizer of ZeRO. */
#include "simulate/hf_state.h"

#include "cluster/cluster.h"
#include "model/trained.h"
#include "simulate/partition.h"

#include <math.h>

static const double HALF_BYTES = 2, FULL_BYTES = 4;

/* stage3_max_live_parameters, sub_group_size: DeepSpeed's defaults (runtime/zero/config.py). */
static const double LIVE_PARAMS = 1e9, SUB_GROUP = 1e9;

/* CPU-Adam of a node, seconds of a parameter: 2.57 s for 10 billion on two Xeon 8168 (ZeRO-Offload,
 * arXiv 2101.06840, table 4). Torch's fused AdamW moves the same bytes and is taken to be as fast. */
static const double HOST_ADAM_S = 0.257e-9;
static const double COPY_EFFICIENCY = 0.8; /* of PCIe's nominal bandwidth, as in state.c */

static bool is_offloaded(const struct strategy *s)
{
    return s->optimizer_offload > 0;
}

/* Kept between steps by FSDP2: a weight, its gradient; two moments are as large as both. */
static double own_bytes(const struct strategy *s)
{
    return s->pure_bf16 ? HALF_BYTES : FULL_BYTES;
}

/* Without a reduction behind each micro-batch gradients stay whole until the last (accelerate's no_sync). */
static bool keeps_whole(const struct strategy *s)
{
    return !s->sync_each && strategy_micro_batches(s) > 1;
}

static double trained(const struct rank_params *p)
{
    return p->dense + p->experts;
}

/* Bytes: frozen weights stay as they were loaded. */
static double frozen(const struct rank_params *p)
{
    return p->frozen + p->frozen_experts;
}

/* Of all weights as they are gathered. */
static double wire_bytes(const struct rank_params *p)
{
    return HALF_BYTES * trained(p) + frozen(p);
}

static void add_fsdp2(const struct rank_params *p, const struct strategy *s, struct memory_use *out)
{
    double shards = optimizer_shards(s), whole = trained(p);
    double each = is_offloaded(s) ? 0 : own_bytes(s) * whole / shards;
    out->part[MEMORY_weights] += each + (is_offloaded(s) ? 0 : frozen(p) / shards);
    out->part[MEMORY_gradients] += each + (keeps_whole(s) ? HALF_BYTES * whole : 0);
    out->part[MEMORY_optimizer] += 2 * each;
}

static void add_zero(const struct rank_params *p, const struct strategy *s, struct memory_use *out)
{
    double shards = optimizer_shards(s), share = trained(p) / shards;
    bool sharded = s->engine == ENGINE_ZERO3, off = is_offloaded(s);
    out->part[MEMORY_weights] += s->param_offload ? 0 : wire_bytes(p) / (sharded ? shards : 1);
    out->part[MEMORY_gradients] += off ? 0 : HALF_BYTES * share;
    out->part[MEMORY_optimizer] += off ? 0 : 3 * FULL_BYTES * share;
}

void hf_add_states(const struct rank_params *p, const struct strategy *s, struct memory_use *out)
{
    (s->engine == ENGINE_FSDP2 ? add_fsdp2 : add_zero)(p, s, out);
}

/* ZeRO: master, moments, a gradient in fp32 and one in 16 bits; ZeRO-3 its weights too, if asked. */
double hf_host_bytes(const struct rank_params *p, const struct strategy *s)
{
    double share = trained(p) / optimizer_shards(s);
    double zero = 4 * FULL_BYTES + HALF_BYTES + (s->param_offload ? HALF_BYTES : 0);
    if (!is_offloaded(s))
        return 0;
    return share * (s->engine == ENGINE_FSDP2 ? 4 * own_bytes(s) : zero) +
           (s->param_offload ? frozen(p) / optimizer_shards(s) : 0);
}

double hf_step_bytes(const struct rank_params *p, const struct strategy *s)
{
    double share = trained(p) / optimizer_shards(s);
    if (s->engine == ENGINE_FSDP2 || is_offloaded(s))
        return 0;
    return FULL_BYTES * (s->engine == ENGINE_ZERO3 ? fmin(SUB_GROUP, share) : share);
}

/* FSDP2: two gathered units and the buffer that the second came in; gradients of a unit, and those being
 * reduced; the logits' unit. ZeRO-3: what may be live. Both stages of ZeRO: two buckets of hidden x hidden
 * gradients (`auto` of transformers' integration). */
double hf_buffers(const struct strategy *s, double hidden, const struct hf_sizes *x)
{
    double buckets = 2 * HALF_BYTES * hidden * hidden, working = 2 * x->unit + x->tail;
    if (s->engine == ENGINE_FSDP2)
        return (s->reshard ? working : x->all) + x->unit + 2 * x->unit_gradients;
    if (s->engine == ENGINE_ZERO2)
        return buckets;
    return buckets + fmin(x->all, fmax(HALF_BYTES * LIVE_PARAMS, working));
}

/* What the ranks of one set of shards, and those with the same shard, are. */
struct hf_groups {
    const struct costing *on;
    struct placement shards, replicas;
    double copy_bs; /* to and from the host */
};

static struct hf_groups groups_of(const struct costing *on, const struct strategy *s)
{
    int shards = (int)fmax(1, optimizer_shards(s));
    return (struct hf_groups){on, placement_on(on, shards, 1, 0),
                              placement_on(on, s->optimizer_instances, shards, 0),
                              1e9 * on->group->gpu->pcie_gbs * COPY_EFFICIENCY};
}

/* Weights and gradients of a unit: bytes of the weights on the wire, parameters that are trained. */
struct hf_unit {
    double bytes, trained;
};

/* Bytes of a shard that come from the host to be gathered; of a trained parameter, that go there reduced. */
static double fetched_bytes(const struct strategy *s, struct hf_unit x)
{
    double wider = s->engine == ENGINE_FSDP2 ? own_bytes(s) - HALF_BYTES : 0;
    return s->param_offload ? x.bytes + wider * x.trained : 0;
}

static double returned_bytes(const struct strategy *s)
{
    return !is_offloaded(s) ? 0 : s->engine == ENGINE_FSDP2 ? own_bytes(s) : HALF_BYTES;
}

static double gather_time(const struct hf_groups *g, const struct strategy *s, struct hf_unit x)
{
    double wire_s = g->shards.ranks > 1 && x.bytes > 0
                        ? comm_time(g->on, COMM_ALL_GATHER, x.bytes, g->shards)
                        : 0;
    return wire_s + fetched_bytes(s, x) / g->shards.ranks / g->copy_bs;
}

static double reduce_time(const struct hf_groups *g, const struct strategy *s, struct hf_unit x)
{
    double share = x.trained / g->shards.ranks, t = returned_bytes(s) * share / g->copy_bs;
    if (g->shards.ranks > 1 && x.trained > 0)
        t += comm_time(g->on, COMM_REDUCE_SCATTER, HALF_BYTES * x.trained, g->shards);
    if (g->replicas.ranks > 1 && x.trained > 0)
        t += comm_time(g->on, COMM_ALL_REDUCE, HALF_BYTES * share, g->replicas);
    return t;
}

/* What is gathered and reduced at a time: `layers` equal units, and both ends. */
struct hf_units {
    double layers;
    struct hf_unit layer, embedding, tail;
};

static struct hf_unit end_unit(double params, bool is_frozen)
{
    return (struct hf_unit){HALF_BYTES * params, is_frozen ? 0 : params};
}

static struct hf_units units_of(const struct model *m, const struct rank_params *p)
{
    int64_t vocab = model_padded_vocab(m, 1);
    struct hf_units u = {.layers = m->layers};
    u.tail = end_unit((double)(model_head_params(m, vocab) + model_final_norm_params(m)),
                      model_freezes_logits(m));
    u.embedding = end_unit(m->tied ? 0 : (double)model_embedding_params(m, vocab),
                           model_freezes(m, PART_embedding));
    u.layer.bytes = fmax(0, wire_bytes(p) - u.tail.bytes - u.embedding.bytes) / u.layers;
    u.layer.trained = fmax(0, trained(p) - u.tail.trained - u.embedding.trained) / u.layers;
    return u;
}

double hf_tail_bytes(const struct model *m)
{
    return units_of(m, &(struct rank_params){0}).tail.bytes;
}

/* Reductions of a step over those of all its micro-batches. */
static double synced(const struct strategy *s)
{
    return keeps_whole(s) ? 1.0 / (double)strategy_micro_batches(s) : 1;
}

void hf_exposed(const struct partition *f, const struct costing *on, const struct rank_params *p,
                const struct strategy *s, struct rank_times *t)
{
    struct hf_groups g = groups_of(on, s);
    struct hf_units u = units_of(f->scene->model, p);
    double times = (double)f->micro_batches;
    if (s->engine == ENGINE_ZERO2) { /* of what changed */
        t->gather_s = gather_time(&g, s, (struct hf_unit){HALF_BYTES * trained(p), trained(p)});
        return;
    }
    t->gather_s = times * gather_time(&g, s, u.embedding);
    t->reduce_s = times * synced(s) * reduce_time(&g, s, u.embedding);
}

/* Of a micro-batch, beside its passes. */
static void add_passes(const struct hf_groups *g, const struct strategy *s,
                       const struct hf_units *u, struct rank_times *t)
{
    double gather_s = u->layers * gather_time(g, s, u->layer);
    double reduce_s = u->layers * reduce_time(g, s, u->layer) + reduce_time(g, s, u->tail);
    if (s->engine == ENGINE_ZERO2) {
        t->shard_back_s += reduce_s + reduce_time(g, s, u->embedding);
        return;
    }
    t->shard_s += gather_s + gather_time(g, s, u->tail);
    t->shard_back_s += synced(s) * reduce_s;
    if (s->reshard)
        t->shard_back_s += gather_s + gather_time(g, s, u->embedding);
}

/* AdamW over this rank's share: it reads weight, gradient and two moments, writes all but the gradient;
 * ZeRO also widens gradients, scales them, and writes weights in 16 bits. All clip by a norm. */
static double step_time(const struct hf_groups *g, const struct strategy *s, double share,
                        int ranks_of_host)
{
    double each = s->engine == ENGINE_FSDP2 ? own_bytes(s) : FULL_BYTES;
    double more = s->engine == ENGINE_FSDP2 ? 0 : 6 + 8 + 6;
    if (is_offloaded(s))
        return HOST_ADAM_S * share * ranks_of_host +
               (s->engine == ENGINE_FSDP2 ? 0 : HALF_BYTES * share / g->copy_bs);
    return memory_time(g->on, MEMORY_GRAD_NORM, each * share) +
           memory_time(g->on, MEMORY_ADAM, 7 * each * share) +
           memory_time(g->on, MEMORY_COPY, more * share);
}

void hf_times(const struct partition *f, int mesh, const struct rank_params *p,
              const struct strategy *s, struct rank_times *t)
{
    const struct costing *on = &f->mesh[mesh].costing;
    struct hf_groups g = groups_of(on, s);
    struct hf_units u = units_of(f->scene->model, p);
    double share = trained(p) / optimizer_shards(s);
    add_passes(&g, s, &u, t);
    t->shard_tax = g.shards.nodes > 1 ? SENDING_TAX : OVERLAP_TAX;
    t->optimizer_s = step_time(&g, s, share, f->mesh[mesh].host_ranks);
}
