/* What the state parameters cost: memory of weights, gradients and optimizer, the data-parallel
 * collectives of a step, and the optimizer's passes over memory. */
#include "simulate/frame.h"

#include "base/arena.h"
#include "cluster/cluster.h"

#include <math.h>

/* The host's Adam: bytes per second of one GPU's share of its memory bandwidth (a server of 8 GPUs
 * streams 200-400 GB/s); with it offloaded steps of Qwen3-30B-A3B take 1.9-4.2 times as long. */
static const double HOST_BS = 30e9;

static double gradient_bytes(const struct strategy *s)
{
    return s->grad_bf16 ? 2 : 4;
}

/* Reduction of gradients and, where the optimizer is sharded, the gather of parameters. */
static void add_collectives(const struct frame *f, const struct strategy *s, double params,
                            double ranks, int stride, double *reduce_s, double *gather_s)
{
    const struct node_group *g = f->scene->group;
    struct placement p = placement_of(g, (int)ranks, stride);
    double gradients = gradient_bytes(s) * params;
    if (params <= 0 || ranks <= 1)
        return;
    if (s->dist_opt) {
        *reduce_s += comm_time(g, COMM_REDUCE_SCATTER, gradients, p);
        *gather_s += comm_time(g, COMM_ALL_GATHER, 2 * params, p);
    } else {
        *reduce_s += comm_time(g, COMM_ALL_REDUCE, gradients, p);
    }
}

/* FSDP, per micro-batch and layer: gather before forward and before backward, scatter gradients
 * after. */
static double shard_time(const struct frame *f, double params, double ranks, int stride)
{
    const struct node_group *g = f->scene->group;
    struct placement p = placement_of(g, (int)ranks, stride);
    double layers = (double)f->scene->model->layers / f->strategy.pp, unit = params / layers;
    if (params <= 0 || ranks <= 1)
        return 0;
    return layers * (2 * comm_time(g, COMM_ALL_GATHER, 2 * unit, p) +
                     comm_time(g, COMM_REDUCE_SCATTER, 4 * unit, p));
}

/* Clear and norm over all gradients, Adam over this rank's share: reads gradient, master and
 * moments, writes master, moments and weights (30 bytes); what is offloaded crosses PCIe and
 * runs on the host. */
static double optimizer_time(const struct frame *f, const struct strategy *s, double params,
                             double shard)
{
    const struct node_group *g = f->scene->group;
    double off = s->optimizer_offload / 100.0, moments = s->precision_aware ? s->moments_bytes : 4;
    double adam = 4 + 2 * (4 + 2 * moments) + 2;
    double seconds = memory_time(g, MEMORY_GRAD_ZERO, gradient_bytes(s) * params) +
                     memory_time(g, MEMORY_GRAD_NORM, 4 * shard) +
                     memory_time(g, MEMORY_ADAM, adam * shard * (1 - off));
    if (off > 0)
        seconds += off * shard * (6 / (1e9 * g->gpu->pcie_gbs * 0.8) + adam / HOST_BS);
    return seconds;
}

static void class_times(const struct frame *f, const struct strategy *s, int c, struct state *out)
{
    struct rank_params p = f->class[c].params;
    double ranks = (double)s->dp * s->cp, expert_ranks = expert_data_parallel(s);
    bool full = s->fsdp == FSDP_FULL, sharded = s->dist_opt || s->fsdp >= FSDP_OPTIM;
    if (full) {
        out->shard_s[c] = shard_time(f, p.dense, ranks, s->tp) +
                          shard_time(f, p.experts, expert_ranks, s->etp * s->ep);
    } else {
        add_collectives(f, s, p.dense, ranks, s->tp, &out->reduce_s[c], &out->gather_s[c]);
        add_collectives(f, s, p.experts, expert_ranks, s->etp * s->ep, &out->reduce_s[c],
                        &out->gather_s[c]);
    }
    double shard = sharded ? p.dense / optimizer_shards(s) + p.experts / expert_shards(s)
                           : p.dense + p.experts;
    out->optimizer_s[c] = optimizer_time(f, s, full ? shard : p.dense + p.experts, shard);
}

/* Both ends of a pipeline hold a tied embedding and sum its gradients over the network. */
static double tied_time(const struct frame *f, const struct strategy *s)
{
    const struct model *m = f->scene->model;
    if (!m->tied || s->pp == 1)
        return 0;
    struct placement p = placement_of(f->scene->group, 2, s->tp * s->cp * s->dp * (s->pp - 1));
    double params = (double)model_head_params(m, model_padded_vocab(m, s->tp)) / s->tp;
    return comm_time(f->scene->group, COMM_ALL_REDUCE, gradient_bytes(s) * params, p);
}

void state_of(const struct frame *f, const struct strategy *s, struct arena *mem, struct state *out)
{
    out->timed = false;
    out->bytes = arena_array(mem, (size_t)f->classes, sizeof *out->bytes);
    for (int c = 0; c < f->classes; c++) {
        struct memory_use use = {{0}};
        memory_of_states(&f->class[c].params, s, &use);
        out->bytes[c] = use.part[MEMORY_weights] + use.part[MEMORY_gradients] +
                        use.part[MEMORY_optimizer] + use.part[MEMORY_buffers];
    }
}

void state_times(const struct frame *f, const struct strategy *s, struct arena *mem,
                 struct state *out)
{
    size_t n = (size_t)f->classes;
    double *reals = arena_array(mem, 4 * n, sizeof *reals);
    out->timed = true;
    out->reduce_s = reals;
    out->gather_s = reals + n;
    out->optimizer_s = reals + 2 * n;
    out->shard_s = reals + 3 * n;
    out->tied_s = tied_time(f, s);
    for (int c = 0; c < f->classes; c++)
        class_times(f, s, c, out);
}
