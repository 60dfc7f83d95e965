/* What the state parameters cost: memory of weights, gradients and optimizer, the data-parallel
 * collectives of a step, and the optimizer's passes over memory. */
#include "simulate/partition.h"

#include "base/arena.h"
#include "base/units.h"
#include "cluster/cluster.h"
#include "model/trained.h"
#include "simulate/hf_state.h"
#include "simulate/host_memory.h"

#include <assert.h>
#include <math.h>

/* The host's Adam is torch's fused AdamW in fp32 (HybridDeviceOptimizer): it reads master, gradient
 * and moments and writes all but the gradient. torchrun gives a rank one thread (OMP_NUM_THREADS=1),
 * which streams 19.6 GB/s (Xeon beside an H200); gradients go down and masters up in fp32, one after
 * the other and after the GPU's own part. doc/evidence/offload.md. */
static const double HOST_ADAM_BYTES = 4 * (4 + 3), HOST_THREAD_BS = 19.6e9;
static const double HOST_COPY_BYTES = 4 + 4, PCIE_EFFICIENCY = 0.8;

/* AdamW as torch has it runs eight passes over lists of tensors (_multi_tensor_adamw): decay, first
 * moment, second moment twice, root, two corrections, step. Bytes of a parameter. */
static const double FOREACH_BYTES = 8 + 12 + 8 + 12 + 8 + 8 + 8 + 16;

static double gradient_bytes(const struct strategy *s)
{
    return s->grad_bf16 ? 2 : 4;
}

/* Bytes of a weight on its way to the other ranks. */
static double gathered_bytes(const struct strategy *s)
{
    return s->fp8_params ? precision_info(s->precision)->gather_bytes : 2;
}

/* Reduction of gradients and, where the optimizer is sharded, the gather of parameters. */
static void add_collectives(const struct costing *on, const struct strategy *s, double params,
                            struct placement p, double buckets, struct rank_times *t)
{
    double each = params / buckets, gradients = gradient_bytes(s) * each;
    if (params <= 0 || p.ranks <= 1)
        return;
    if (shards_optimizer(s)) {
        t->reduce_s += buckets * comm_time(on, COMM_REDUCE_SCATTER, gradients, p);
        t->gather_s += buckets * comm_time(on, COMM_ALL_GATHER, gathered_bytes(s) * each, p);
    } else {
        t->reduce_s += buckets * comm_time(on, COMM_ALL_REDUCE, gradients, p);
    }
}

/* FSDP, per micro-batch and layer: gradients scattered after backward; with sharded parameters a
 * gather before forward and one before backward (grad_reduce_every_bprop in megatron_fsdp.py).
 * Experts are gathered over the ranks that hold the same ones. Gradients travel in the format of the
 * parameters (--megatron-fsdp-main-grads-dtype auto). */
static void add_shards(const struct partition *f, const struct costing *on,
                       const struct strategy *s, double params, double frozen_bytes,
                       struct placement p, struct rank_times *t)
{
    assert(s->fsdp >= FSDP_OPTIM_GRADS);
    double layers = (double)f->scene->model->layers / f->strategy.pp, unit = params / layers;
    double weights = 2 * unit + frozen_bytes / layers;
    if (weights <= 0 || p.ranks <= 1)
        return;
    double gather_s = s->fsdp == FSDP_FULL ? comm_time(on, COMM_ALL_GATHER, weights, p) : 0;
    double scatter_s = params > 0 ? comm_time(on, COMM_REDUCE_SCATTER, 2 * unit, p) : 0;
    t->shard_s += layers * gather_s;
    t->shard_back_s += layers * (gather_s + scatter_s);
    t->shard_tax = fmax(t->shard_tax, p.nodes > 1 ? SENDING_TAX : OVERLAP_TAX);
}

/* Seconds of a parameter that is offloaded. */
static double host_time(const struct costing *on)
{
    double pcie_bs = 1e9 * on->group->gpu->pcie_gbs * PCIE_EFFICIENCY;
    return HOST_COPY_BYTES / pcie_bs + HOST_ADAM_BYTES / HOST_THREAD_BS;
}

/* Clear and norm over all gradients, Adam over this rank's share: reads gradient, master and
 * moments, writes master, moments and weights (30 bytes). Beside an offloaded part the GPU's Adam is
 * fused too, with moments in fp32. */
static double optimizer_time(const struct costing *on, const struct strategy *s, double params,
                             double shard, bool stock)
{
    assert(s->optimizer_offload >= 0 && s->optimizer_offload <= 100);
    double off = s->optimizer_offload / 100.0;
    double moments = s->precision_aware && off == 0 ? s->moments_bytes : 4;
    double adam = 4 + 2 * (4 + 2 * moments) + 2;
    double passes = stock && off == 0 ? FOREACH_BYTES - adam + 2 : 0;
    return memory_time(on, MEMORY_GRAD_ZERO, gradient_bytes(s) * params) +
           memory_time(on, MEMORY_GRAD_NORM, 4 * shard) +
           memory_time(on, MEMORY_ADAM, adam * shard * (1 - off)) +
           memory_time(on, MEMORY_COPY, passes * shard) + off * shard * host_time(on);
}

/* What the optimizer's step costs the host for each tensor (gradient handed over, norm, copies), where
 * that is longer: 18 to 56 ms on the ranks of h200_ranks_2.csv for fitting. With TransformerEngine's own
 * optimizer nobody measured it. */
static const double TENSOR_S = 100e-6;

/* Ranks that share parameters: dense ones, and experts. */
struct sharers {
    struct placement dense, experts;
};

static struct sharers sharers_of(const struct partition *f, int mesh, const struct strategy *s)
{
    const struct costing *on = &f->mesh[mesh].costing;
    int blocks = scene_is_mixed(f->scene) ? 0 : f->strategy.pp;
    return (struct sharers){placement_on(on, s->dp * s->cp, s->tp, blocks),
                            placement_on(on, (int)expert_data_parallel(s), s->etp * s->ep, blocks)};
}

/* Muon, of a rank's share of the matrices: as fast as a product of 8,192 cubed. Nobody measured it. */
static double newton_time(const struct partition *f, const struct costing *on,
                          const struct strategy *s, const struct newton *n)
{
    const double side = 8192;
    const struct op o = {.kind = OP_GEMM, .m = side, .n = side, .k = side, .count = 1};
    struct op_time t;
    bool sharded = shards_optimizer(s);
    double flops = n->dense / (sharded ? optimizer_shards(s) : 1) +
                   n->experts / (sharded ? expert_shards(s) : 1);
    cost_predict(on, PRECISION_BF16, true, &o, 1, &t);
    return f->scene->switches.newton_steps * fmax(flops, n->most) * t.forward_s /
           (2 * side * side * side);
}

struct rank_times chunk_times_of(const struct partition *f, int mesh, const struct rank_params *p,
                                 double buckets, const struct strategy *all)
{
    const struct costing *on = &f->mesh[mesh].costing;
    struct strategy room;
    const struct strategy *s = partition_strategy(f, mesh, all, &room);
    struct sharers by = sharers_of(f, mesh, s);
    struct rank_times t = {0};
    if (strategy_on_hf(s)) {
        hf_exposed(f, on, p, s, &t);
        return t;
    }
    if (s->fsdp != FSDP_FULL) { /* experts have buckets of their own */
        double each = fmax(1, p->dense + p->experts) / buckets;
        add_collectives(on, s, p->dense, by.dense, fmax(1, p->dense / each), &t);
        add_collectives(on, s, p->experts, by.experts, fmax(1, p->experts / each), &t);
    }
    if (s->fsdp >= FSDP_OPTIM_GRADS)
        t.reduce_s = 0;
    assert(t.reduce_s >= 0 && t.gather_s >= 0);
    return t;
}

/* Adds the optimizer, and what FSDP does in every pass. */
static void add_rank_times(const struct partition *f, int mesh, const struct rank_params *p,
                           const struct strategy *all, struct rank_times *t)
{
    const struct costing *on = &f->mesh[mesh].costing;
    struct strategy room;
    const struct strategy *s = partition_strategy(f, mesh, all, &room);
    bool full = s->fsdp == FSDP_FULL, sharded = shards_optimizer(s);
    if (strategy_on_hf(s)) {
        hf_times(f, mesh, p, s, t);
        return;
    }
    if (s->fsdp >= FSDP_OPTIM_GRADS) {
        struct sharers by = sharers_of(f, mesh, s);
        add_shards(f, on, s, p->dense, p->frozen, by.dense, t);
        add_shards(f, on, s, p->experts, p->frozen_experts, by.experts, t);
    }
    double shard = sharded ? p->dense / optimizer_shards(s) + p->experts / expert_shards(s)
                           : p->dense + p->experts;
    t->optimizer_s =
        optimizer_time(on, s, full ? shard : p->dense + p->experts, shard, f->scene->stock);
    if (!f->scene->te)
        t->optimizer_s = fmax(t->optimizer_s, TENSOR_S * p->tensors / on->group->host_speed);
    if (f->scene->switches.newton_steps > 0)
        t->optimizer_s += newton_time(f, on, s, &p->newton);
    assert(t->shard_s >= 0 && t->shard_back_s >= 0 && t->optimizer_s >= 0);
}

struct rank_times rank_times_of(const struct partition *f, int mesh, const struct rank_params *p,
                                double buckets, const struct strategy *all)
{
    struct rank_times t = chunk_times_of(f, mesh, p, buckets, all);
    add_rank_times(f, mesh, p, all, &t);
    return t;
}

/* Both ends of a pipeline hold a tied embedding and sum its gradients over the network; the slower
 * end decides. */
static double tied_time(const struct partition *f, const struct strategy *all)
{
    const struct model *m = f->scene->model;
    int ends[] = {0, f->meshes - 1};
    double slower = 0;
    if (!m->tied || all->pp == 1 || model_freezes_logits(m))
        return 0;
    for (int i = 0; i < 2; i++) {
        struct strategy room;
        const struct strategy *s = partition_strategy(f, ends[i], all, &room);
        const struct costing *on = &f->mesh[ends[i]].costing;
        int64_t block = (int64_t)s->tp * s->cp * s->dp;
        enum nearness near = f->meshes > 1 ? OTHER_NODE : nearness_of(on, block, 0, s->pp - 1);
        struct placement p = placement_of_pair(on->group, near);
        double params = (double)model_head_params(m, model_padded_vocab(m, s->tp)) / s->tp;
        slower = fmax(slower, comm_time(on, COMM_ALL_REDUCE, gradient_bytes(s) * params, p));
    }
    return slower;
}

/* Bytes of the weights of one FSDP unit, and of their gradients, `each` of a trained parameter: a layer, the largest of
 * the kinds. */
static double unit_bytes(const struct partition *f, int mesh, double each)
{
    const struct model *m = f->scene->model;
    double most = 0;
    for (int k = 0; k < m->kinds; k++) {
        struct rank_params p = {0};
        rank_params_add_layer(&p, m, k, &f->mesh[mesh].strategy, f->scene->te);
        most = fmax(most, each * (p.dense + p.experts) + p.frozen + p.frozen_experts);
    }
    return most;
}

/* Bytes of narrow copies of a weight that stay from one micro-batch to the next, where it is kept
 * in 16 bits; of one scale for all, on GPUs before Blackwell another transposed. */
static double narrow_copies(const struct gpu *gpu, const struct strategy *s)
{
    bool transposed = s->precision == PRECISION_FP8 && gpu_capability(gpu) < 10;
    return s->fp8_params ? 0 : precision_info(s->precision)->copies_bytes * (transposed ? 2 : 1);
}

/* Every bucket ends on a multiple of the ranks that share it and of 128 parameters
 * (optimizer/param_layout.py). */
static double bucket_padding(const struct strategy *s)
{
    int64_t ranks = (int64_t)optimizer_shards(s);
    return (double)(ranks / common_divisor(ranks, 128) * 128);
}

/* Padding of buckets. FSDP: two units gathered and their gradients whole, this one's and the one
 * before. Copies in fp8. */
double state_buffers(const struct partition *f, int mesh, const struct rank_params *p,
                     const struct strategy *all)
{
    struct strategy room;
    const struct strategy *s = partition_strategy(f, mesh, all, &room);
    double each = 2 + kept_gradient_bytes(s);
    if (strategy_on_hf(s))
        return hf_buffers(
            s, f->scene->model->hidden,
            &(struct hf_sizes){unit_bytes(f, mesh, 2),
                               unit_bytes(f, mesh, 4) - unit_bytes(f, mesh, 2),
                               hf_tail_bytes(f->scene->model),
                               2 * (p->dense + p->experts) + p->frozen + p->frozen_experts});
    double copies = narrow_copies(f->mesh[mesh].costing.group->gpu, s) * p->linear;
    if (s->fsdp == FSDP_FULL)
        return 2 * unit_bytes(f, mesh, each) + copies;
    return copies + (s->dist_opt ? rank_buckets(f, mesh, p) * bucket_padding(s) * each : 0);
}

struct rank_state rank_state_of(const struct partition *f, int mesh, const struct rank_params *p,
                                const struct strategy *all)
{
    struct memory_use use = {{0}};
    struct strategy room;
    const struct strategy *s = partition_strategy(f, mesh, all, &room);
    memory_of_states(p, s, &use);
    return (struct rank_state){
        memory_peak(&use) + state_buffers(f, mesh, p, all),
        memory_of_step(p, s, f->scene->stock, f->scene->switches.newton_steps > 0),
        memory_of_setup(p, s, f->scene->switches.whole_init), f->hosts ? host_of_states(p, s) : 0};
}

double state_stretch(const struct partition *f, const struct strategy *s)
{
    return (1 + memory_reserve(s, f->scene->te)) / (1 + memory_reserve(&f->strategy, f->scene->te));
}

struct state state_bytes(const struct partition *f, struct arena *mem)
{
    double *bytes = arena_array(mem, STATE_ARRAYS * (size_t)f->classes, sizeof *bytes);
    return (struct state){.bytes = bytes,
                          .step_bytes = bytes + f->classes,
                          .setup_bytes = bytes + 2 * f->classes,
                          .host_bytes = bytes + 3 * f->classes,
                          .stretch = 1};
}

void state_of(const struct partition *f, const struct strategy *s, struct arena *mem,
              struct state *out)
{
    *out = state_bytes(f, mem);
    out->stretch = state_stretch(f, s);
    for (int c = 0; c < f->classes; c++) {
        struct rank_state x = rank_state_of(f, f->class[c].mesh, &f->class[c].params, s);
        out->bytes[c] = x.bytes;
        out->step_bytes[c] = x.step_bytes;
        out->setup_bytes[c] = x.setup_bytes;
        out->host_bytes[c] = x.host_bytes;
    }
}

/* Seconds of the collectives of each chunk. */
static void set_chunks(const struct partition *f, const struct strategy *s, struct state *out)
{
    for (int i = 0; i < f->shapes; i++) {
        double buckets = stage_buckets(f, i == f->shape_of[0] ? 0 : 1); /* the embedding's */
        struct rank_times t = chunk_times_of(f, f->shape[i].mesh, &f->sums[i].params, buckets, s);
        out->reduce_s[i] = t.reduce_s;
        out->gather_s[i] = t.gather_s;
    }
    for (int c = 0; c < f->classes; c++) {
        out->reduce_all_s[c] = out->gather_all_s[c] = 0;
        for (int i = f->class[c].rank; i < f->layout.stages; i += f->strategy.pp) {
            out->reduce_all_s[c] += out->reduce_s[f->shape_of[i]];
            out->gather_all_s[c] += out->gather_s[f->shape_of[i]];
        }
    }
}

static double crosses_nodes(const struct partition *f, int mesh, const struct strategy *all)
{
    struct strategy room;
    struct sharers by = sharers_of(f, mesh, partition_strategy(f, mesh, all, &room));
    return by.dense.nodes > 1;
}

void state_times(const struct partition *f, const struct strategy *s, struct arena *mem,
                 struct state *out)
{
    size_t n = (size_t)f->classes, shapes = (size_t)f->shapes;
    double *reals = arena_array(mem, 2 * shapes + 7 * n, sizeof *reals);
    assert(!out->timed);
    out->timed = true;
    out->reduce_s = reals;
    out->gather_s = reals + shapes;
    out->optimizer_s = out->gather_s + shapes;
    out->shard_s = out->optimizer_s + n;
    out->shard_back_s = out->optimizer_s + 2 * n;
    out->shard_tax = out->optimizer_s + 3 * n;
    out->crossing = out->optimizer_s + 4 * n;
    out->reduce_all_s = out->optimizer_s + 5 * n;
    out->gather_all_s = out->optimizer_s + 6 * n;
    out->tied_s = tied_time(f, s);
    set_chunks(f, s, out);
    for (int c = 0; c < f->classes; c++) {
        struct rank_times t = {0};
        add_rank_times(f, f->class[c].mesh, &f->class[c].params, s, &t);
        out->optimizer_s[c] = t.optimizer_s;
        out->shard_s[c] = t.shard_s;
        out->shard_back_s[c] = t.shard_back_s;
        out->shard_tax[c] = t.shard_tax;
        out->crossing[c] = crosses_nodes(f, f->class[c].mesh, s);
    }
}
