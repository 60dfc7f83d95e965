/* Collectives: wire bytes over bandwidth times an efficiency that grows with the message, plus
 * latency per step. Inside a scale-up domain the link carries them; across domains each node's
 * NICs do, as many as the group has ranks in the node (a ring of one rank per node gets one NIC:
 * NIC sharing). */
#include "cost/cost.h"

#include "cluster/cluster.h"

#include <math.h>

/* Large-message efficiency of the scale-up link and of NICs, message at which half of it is
 * reached per rank, and latency per step. H100: all-gather 335 of 450 GB/s on 8 GPUs at 512 MiB,
 * 48.7 of 50 GB/s send / receive over the NIC (public nccl-tests logs; see doc/cost.md). */
static const double LINK_ETA = 0.76, NIC_ETA = 0.85;
static const double LINK_HALF_BYTES = 1.0e6, NIC_HALF_BYTES = 2.0e6;
static const double LINK_STEP_S = 1.2e-6, NIC_STEP_S = 4e-6, START_S = 8e-6;
static const double SWITCH_REDUCE =
    1.3; /* in-switch reduction of all-reduce: 445 against 335 GB/s */

/* Ranks of one node talk over the scale-up link where it joins them all, else over PCIe, which the
 * GPUs of a node share in pairs. */
struct placement placement_of(const struct node_group *g, int ranks, int stride)
{
    int reach = g->domain > g->per_node ? g->domain : g->per_node;
    int per_node = reach / stride;
    if (per_node < 1)
        per_node = 1;
    if (per_node > ranks)
        per_node = ranks;
    struct placement p = {ranks, per_node, (ranks + per_node - 1) / per_node, g->link_bs};
    if ((per_node - 1) * stride >= g->domain)
        p.link_bs = fmin(g->link_bs, 1e9 * g->gpu->pcie_gbs / 2);
    return p;
}

static double efficiency(double eta, double half, double bytes)
{
    return eta * bytes / (bytes + half);
}

/* The bandwidth one rank gets for data that leaves its domain, when `sharers` ranks of the group
 * send from each node. */
static double nic_bandwidth(const struct node_group *g, int sharers, double bytes)
{
    double bw = g->nic_bs * sharers / g->oversubscription;
    return bw * efficiency(NIC_ETA, NIC_HALF_BYTES * sharers, bytes);
}

static double ring_time(const struct node_group *g, double bytes, struct placement p, double rounds)
{
    double share = bytes * (p.ranks - 1) / p.ranks;
    double link = share / (p.link_bs * efficiency(LINK_ETA, LINK_HALF_BYTES * p.ranks, bytes));
    double steps = LINK_STEP_S * (p.per_node - 1), wire = link;
    if (p.nodes > 1) {
        double nic = bytes * (p.nodes - 1) / p.nodes / nic_bandwidth(g, p.per_node, bytes);
        wire = p.per_node > 1 ? fmax(nic, link) : nic;
        /* tree-like phases across nodes: logarithmic latency up to a limit */
        steps += NIC_STEP_S * fmin(p.nodes - 1, 4 * log2(p.nodes) + 4);
    }
    return START_S + rounds * (wire + steps);
}

static double all_to_all_time(const struct node_group *g, double bytes, struct placement p)
{
    double inside = bytes * (p.per_node - 1) / p.ranks;
    double outside = bytes * (p.ranks - p.per_node) / p.ranks;
    double t =
        START_S + inside / (p.link_bs * efficiency(LINK_ETA, LINK_HALF_BYTES * p.ranks, bytes));
    if (p.nodes > 1) {
        double nic = g->nic_bs / g->oversubscription * efficiency(NIC_ETA, NIC_HALF_BYTES, bytes);
        t = fmax(t, START_S + outside / nic) + NIC_STEP_S * 4 * log2(p.nodes);
    }
    return t;
}

double comm_time(const struct node_group *g, enum comm_kind kind, double bytes, struct placement p)
{
    if (p.ranks <= 1 || bytes <= 0)
        return 0;
    switch (kind) {
    case COMM_ALL_REDUCE: {
        double gain = p.nodes == 1 && g->domain >= 8 ? SWITCH_REDUCE : 1;
        return START_S + (ring_time(g, bytes, p, 2) - START_S) / gain;
    }
    case COMM_ALL_GATHER:
    case COMM_REDUCE_SCATTER:
        return ring_time(g, bytes, p, 1);
    case COMM_ALL_TO_ALL:
        return all_to_all_time(g, bytes, p);
    case COMM_SEND:
        break;
    }
    double bw = p.nodes > 1
                    ? g->nic_bs / g->oversubscription * efficiency(NIC_ETA, NIC_HALF_BYTES, bytes)
                    : p.link_bs * efficiency(LINK_ETA, LINK_HALF_BYTES, bytes);
    return START_S + bytes / bw;
}
