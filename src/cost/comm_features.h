/* A collective as the model sees it: an analytic time from the nominal bandwidths, and the features
 * of the factor that is learned on top of it. */
#pragma once

#include "layer/ops.h"

struct gpu;

/* Everything but the message: what is called, where, over what. */
struct comm_call {
    enum comm_kind kind;
    int ranks, per_node, nodes; /* nodes or scale-up domains; the fewest ranks of one */
    const struct gpu *gpu;
    double link_bs, nic_bs; /* nominal, per GPU and direction; nic_bs of no use inside one node */
    bool in_switch;         /* the switch of the domain can reduce */
    bool pcie;              /* link_bs is PCIe: the scale-up link does not join these ranks */
    int most;               /* ranks of the fullest node where they differ; 0 = per_node */
};

/* Seconds. Both fall, or stay, when a bandwidth rises. */
struct comm_base {
    double latency_s, wire_s; /* the analytic time is their sum */
    double floor_s;           /* no collective is faster: bytes that have to cross the wire */
};
struct comm_base comm_base_of(const struct comm_call *, double bytes);

/* Whether the GPUs' scale-up switch reduces (NVLink 4 and later behind NVSwitch). */
bool gpu_reduces_in_switch(const struct gpu *);

enum comm_feature {
    COMM_IS_REDUCE,
    COMM_IS_GATHER,
    COMM_IS_SCATTER,
    COMM_IS_EXCHANGE,
    COMM_IS_SEND,
    COMM_LOG_SHARE,    /* log2 of the bytes of one rank */
    COMM_LOG_ALONE,    /* log2 of the ranks of a group inside one node, else -1 */
    COMM_LOG_PER_NODE, /* of the ranks in each node of a group across nodes, else -1 */
    COMM_LOG_NODES,
    COMM_GENERATION,
    COMM_PCIE,
    COMM_CONSUMER, /* no peer-to-peer over PCIe: copies through host memory */
    COMM_BRIDGED,  /* a few GPUs joined one to one, not through a switch */
    COMM_IN_SWITCH,
    COMM_FEATURES
};
/* Bandwidths are left out on purpose: they act through the analytic time alone, so that more
 * bandwidth can never be slower. */
void comm_features(const struct comm_call *, double bytes, float out[COMM_FEATURES]);
