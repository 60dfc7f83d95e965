/* Memory of the host that a rank needs: its process, what it offloads, and what pinning rounds up. What
 * the page cache holds of the data set and what checkpoints are staged in is not counted. */
#include "simulate/host_memory.h"

#include "base/units.h"
#include "cluster/cluster.h"
#include "simulate/hf_state.h"
#include "simulate/partition.h"

#include <assert.h>
#include <math.h>

/* Torch 2.11 with CUDA context, cuBLAS, NCCL and its compiler is 1.2 GiB (H200, 2026-11-16); two
 * workers of the data loader (Megatron's default) are counted as much each. */
static const double PROCESS_BYTES = 4 * GIB;

/* PyTorch pins blocks of a power of two and gives none back: 4/3 of sizes spread evenly between two of
 * them; weights of a layer measured 1.24 (doc/evidence/offload.md). */
static const double PINNED = 4.0 / 3;

/* HybridDeviceOptimizer is built twice: of all parameters of the rank, before the distributed optimizer
 * has shared them out, and of this rank's share. Each time the offloaded ones get a pinned fp32 master;
 * the share also a pinned fp32 gradient and two moments. FSDP's are shared out before. */
static double offloaded_bytes(double params, double shards, const struct strategy *s)
{
    double share = params / (shards_optimizer(s) ? shards : 1);
    double before = s->fsdp == FSDP_NONE && shards_optimizer(s) ? params : 0;
    return s->optimizer_offload / 100.0 * (PINNED * (4 * before + 8 * share) + 8 * share);
}

double host_of_states(const struct rank_params *p, const struct strategy *s)
{
    if (strategy_on_hf(s))
        return hf_host_bytes(p, s);
    return offloaded_bytes(p->dense, optimizer_shards(s), s) +
           offloaded_bytes(p->experts, expert_shards(s), s);
}

double host_of_rank(double states, double activations)
{
    return PROCESS_BYTES + states + PINNED * activations;
}

int host_ranks(const struct node_group *g, int64_t gpus)
{
    return gpus < g->per_node ? (int)gpus : g->per_node;
}

double host_of_node(const struct partition_mesh *m, double states, double activations)
{
    return m->host_ranks * host_of_rank(states, activations);
}

double host_fullness(const struct partition_mesh *m, double states, double activations)
{
    double limit = m->costing.group->host_bytes;
    return limit > 0 ? host_of_node(m, states, activations) / limit : 0;
}

double shape_hosted(const struct partition *f, const struct strategy *all, int shape)
{
    const struct stage_shape *x = &f->shape[shape];
    const struct layer_costs *costs = f->mesh[x->mesh].costs;
    const struct model *m = f->scene->model;
    struct strategy room;
    const struct strategy *s = partition_strategy(f, x->mesh, all, &room);
    double sum = x->has.mtp * costs->mtp.offloaded;
    for (int i = layers_again(s, x->has.layers); i < x->has.layers; i++)
        sum += costs->kind[m->layer[x->has.first + i]].offloaded;
    return f->scene->switches.offload ? sum : 0;
}
