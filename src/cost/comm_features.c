/* Analytic collectives. wire = bytes over the nominal bandwidth of the narrowest part of the way;
 * latency = steps of the algorithm NCCL would take. Rings move at the pace of their slowest hop;
 * an all-reduce across nodes is a tree, logarithmic in the nodes. */
#include "cost/comm_features.h"

#include "cluster/cluster.h"

#include <math.h>
#include <string.h>

/* Small messages on 2, 4, 8 H100 of one node: all-gather 5.3, 7.1, 10.1 us, all-reduce 6.2, 9.5,
 * 15.6 us (aiconfigurator). */
static const double START_S = 4.5e-6, LINK_STEP_S = 0.8e-6;
/* A hop of a ring across nodes: 16 MiB over 1,024 GPUs take 4.8 ms (SimAI's ratio at 8 x 400 Gbit/s
 * a node), 32 MiB over 80 H100 0.68 ms, of which 0.08 on the wire (public nccl-tests logs). */
static const double RING_HOP_S = 4.7e-6;
/* One level of a tree across nodes, or a message through two NICs: 17 us for 2 KiB between two
 * H100 nodes (Vidur). */
static const double NIC_HOP_S = 12e-6;
/* A peer of an all-to-all across nodes: 10 nodes, 32 MiB, 10 ranks 0.19 ms and 80 ranks 0.37 ms
 * more than on the wire (public nccl-tests logs). */
static const double PEER_S = 2.5e-6;
/* A group of a wide domain sends through as many NICs at once: all-reduces of 16 GiB over 2 and 20
 * domains of 72 GB200 take what 8 NICs a domain would (CoreWeave's nccl-tests README). */
static const double NICS_USED = 8;

/* Besides what the ranks exchange, a collective spends a part of the message that does not depend
 * on their number: large all-gathers on 2, 4, 8 GPUs take 1.00, 1.18, 1.28 (A100), 0.88, 1.07, 1.18
 * (H100), 1.02, 1.19, 1.29 (B200) messages over the nominal link, while (n - 1) / n is 0.50, 0.75,
 * 0.88 (aiconfigurator). Across nodes it hides behind the NICs. */
static const double OWN_SHARE = 0.5;

bool gpu_reduces_in_switch(const struct gpu *g)
{
    bool link4 = strcmp(g->arch, "Hopper") == 0 || strncmp(g->arch, "Blackwell", 9) == 0 ||
                 strcmp(g->arch, "Rubin") == 0;
    return link4 && g->domain >= 8;
}

/* Steps inside a node, in units of LINK_STEP_S. */
static double link_steps(enum comm_kind kind, double ranks)
{
    switch (kind) {
    case COMM_ALL_REDUCE:
        return fmin(2 * (ranks - 1), 4 * log2(ranks));
    case COMM_ALL_GATHER:
    case COMM_REDUCE_SCATTER:
        return ranks - 1;
    case COMM_ALL_TO_ALL:
        return log2(ranks);
    case COMM_SEND:
        break;
    }
    return 1;
}

static double latency_across(const struct comm_call *c)
{
    double inside = LINK_STEP_S * link_steps(c->kind, c->per_node);
    switch (c->kind) {
    case COMM_ALL_REDUCE:
        return inside + fmin(2 * (c->ranks - 1) * RING_HOP_S, 2 * log2(c->nodes) * NIC_HOP_S);
    case COMM_ALL_GATHER:
    case COMM_REDUCE_SCATTER:
        return (c->ranks - 1) * RING_HOP_S;
    case COMM_ALL_TO_ALL:
        return NIC_HOP_S + (c->ranks - c->per_node) * PEER_S;
    case COMM_SEND:
        break;
    }
    return NIC_HOP_S;
}

/* Bytes that a rank sends or receives over the link for each byte of the message, all NICs of the
 * group's ranks in use. In the switch, a rank sends everything once and its reduced share again;
 * across nodes a rank receives its part of what comes from outside through its own NIC. */
static double link_share(const struct comm_call *c)
{
    double n = c->ranks, p = fmax(c->per_node, c->most), nodes = c->nodes;
    double switched = 1 + 1 / p, ring = 2 * (p - 1) / p;
    switch (c->kind) {
    case COMM_ALL_REDUCE:
        return c->in_switch ? fmin(switched, ring) : ring;
    case COMM_ALL_GATHER:
    case COMM_REDUCE_SCATTER:
        return fmax(0, (n - 1) / n - (nodes - 1) / nodes / p);
    case COMM_ALL_TO_ALL:
        return (p - 1) / n;
    case COMM_SEND:
        break;
    }
    return nodes > 1 ? 0 : 1;
}

/* The least over the NICs of a node, of which `nics` share it: what the other nodes lack. */
static double nic_least(const struct comm_call *c, double nics)
{
    double nodes = c->nodes, outside = (nodes - 1) / nodes;
    switch (c->kind) {
    case COMM_ALL_REDUCE:
        return 2 * outside / nics;
    case COMM_ALL_GATHER:
    case COMM_REDUCE_SCATTER:
        return outside / nics;
    case COMM_ALL_TO_ALL:
        return (double)(c->ranks - c->per_node) / c->ranks;
    case COMM_SEND:
        break;
    }
    return 1;
}

/* What NCCL sends. Gathers and scatters are rings, every hop of which carries all but the last
 * rank's part; so is an all-reduce, twice, unless a switch reduces inside the nodes first. Large
 * ones of two nodes with 8 A100 have a bus bandwidth of 192 GB/s through 8 x 200 Gbit/s (NVIDIA,
 * nccl issue 812) and 100 through 8 x 100 (nccl-tests issue 169): all NICs, as in a ring. With H100
 * and 8 x 400 it is 487 (public nccl-tests logs). */
static double nic_share(const struct comm_call *c, double nics)
{
    double n = c->ranks, hop = (n - 1) / n / nics;
    switch (c->kind) {
    case COMM_ALL_REDUCE:
        return c->in_switch ? nic_least(c, nics) : 2 * hop;
    case COMM_ALL_GATHER:
    case COMM_REDUCE_SCATTER:
        return hop;
    case COMM_ALL_TO_ALL:
    case COMM_SEND:
        break;
    }
    return nic_least(c, nics);
}

/* Both ways are busy at once: the slower one hides most of the faster. */
static double beside(double a, double b)
{
    return cbrt(a * a * a + b * b * b);
}

struct comm_base comm_base_of(const struct comm_call *c, double bytes)
{
    double share = link_share(c), own = c->kind == COMM_SEND || share == 0 ? 0 : OWN_SHARE;
    struct comm_base b = {.latency_s = START_S, .floor_s = bytes * share / c->link_bs};
    if (c->nodes <= 1) {
        b.latency_s += LINK_STEP_S * link_steps(c->kind, c->ranks);
        b.wire_s = bytes * (share + own) / c->link_bs;
        return b;
    }
    double used = nic_share(c, fmin(c->per_node, NICS_USED)), most = nic_least(c, c->per_node);
    b.latency_s += latency_across(c);
    b.wire_s = beside(bytes * share / c->link_bs, bytes * used / c->nic_bs);
    b.floor_s = fmax(b.floor_s, bytes * most / c->nic_bs);
    return b;
}

/* Generations of NVIDIA's link and of NCCL's tuning for it; AMD's parts, of which there are no
 * measurements, stand with Ampere: no reduction in a switch. */
static const struct {
    const char *arch;
    float generation;
} GENERATION[] = {{"Volta", 0},  {"Turing", 1},    {"Ampere", 2},          {"Ada", 2},
                  {"Hopper", 3}, {"Blackwell", 4}, {"Blackwell Ultra", 4}, {"Blackwell RTX", 4},
                  {"Rubin", 4}};

static float link_generation(const struct gpu *g)
{
    for (size_t i = 0; i < sizeof GENERATION / sizeof *GENERATION; i++)
        if (strcmp(g->arch, GENERATION[i].arch) == 0)
            return GENERATION[i].generation;
    return 2;
}

/* GeForce and TITAN cards cannot read each other's memory over PCIe. */
static bool is_consumer(const struct gpu *g)
{
    static const char *const NAMES[] = {"RTX2080", "RTX3090", "RTX4090", "RTX5090", "TITAN"};
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (strncmp(g->name, NAMES[i], strlen(NAMES[i])) == 0)
            return true;
    return false;
}

/* The largest group that was measured: beyond it only the analytic time goes on. */
static const double MOST_RANKS = 1440;

/* Across nodes the network decides, and measurements are of few generations; cards that copy
 * through host memory are alike. */
static float generation_seen(const struct comm_call *c)
{
    if (c->nodes > 1)
        return -1;
    return c->pcie && is_consumer(c->gpu) ? -2 : link_generation(c->gpu);
}

void comm_features(const struct comm_call *c, double bytes, float out[COMM_FEATURES])
{
    memset(out, 0, COMM_FEATURES * sizeof *out);
    out[COMM_IS_REDUCE + (int)c->kind] = 1;
    double sharers = c->kind == COMM_SEND ? 1 : fmin(c->ranks, MOST_RANKS);
    out[COMM_LOG_SHARE] = (float)log2(bytes / sharers);
    out[COMM_LOG_ALONE] = c->nodes > 1 ? -1 : (float)log2(c->ranks);
    out[COMM_LOG_PER_NODE] = c->nodes > 1 ? (float)log2(c->per_node) : -1;
    out[COMM_LOG_NODES] = (float)log2(c->nodes);
    out[COMM_GENERATION] = generation_seen(c);
    out[COMM_PCIE] = c->pcie;
    out[COMM_CONSUMER] = is_consumer(c->gpu);
    out[COMM_BRIDGED] = c->nodes == 1 && !c->pcie && c->gpu->domain < 8;
    out[COMM_IN_SWITCH] = c->nodes == 1 && c->in_switch;
}
