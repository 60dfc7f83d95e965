/* How long operators take on a GPU type. Seconds. */
#pragma once

#include "layer/ops.h"

#include <stddef.h>

struct gpu;
struct group_costs;
struct node_group;
struct residual;

/* What times on a group of nodes are made of; all is borrowed. */
struct costing {
    const struct node_group *group;
    struct group_costs *costs;       /* learned times; NULL: analytic */
    const struct residual *residual; /* what own runs say; NULL: nothing */
    int reach; /* GPUs that ranks fill before the next node or domain (placement.h); 0: all of it */
};

/* Where a group of ranks sits. */
struct placement {
    int ranks;
    int per_node;   /* ranks of the group inside one node or scale-up domain: fewest of any */
    int nodes;      /* nodes or domains it spans */
    double link_bs; /* bandwidth between ranks of one node */
    int most;       /* ranks inside the fullest node; 0: per_node */
};
/* `ranks` that are `stride` apart in rank order, wherever such a group starts: that which is worst
 * off. placement.h has the others. */
struct placement placement_of(const struct node_group *, int ranks, int stride);

struct op_time {
    double forward_s;
    double backward_s; /* input and weight gradient together */
    double weight_s;   /* the weight gradient's part of backward_s */
};

/* Times of many operators at once: `precision` as in params.def, `te` the software stack. */
void cost_predict(const struct costing *, int precision, bool te, const struct op *ops,
                  size_t count, struct op_time *out);

/* One collective. `bytes` is the full (gathered) buffer; for all-to-all what one rank sends; for
 * send the message. */
double comm_time(const struct costing *, enum comm_kind, double bytes, struct placement);

/* FLOP/s of the matrix units by the data sheet, dense. */
double peak_flops(const struct gpu *, int precision);

/* A pass over `bytes` of device memory, launch included; `kind` an enum memory_kind. */
double memory_time(const struct costing *, int kind, double bytes);

/* Sums over one block: what the simulation needs to know of it. Doubles only. */
struct block_cost {
    double forward_s, backward_s;           /* compute */
    double comm_s[AXES], comm_back_s[AXES]; /* exposed, no --tp-comm-overlap */
    double again_s[MODULES],
        again_comm_s[MODULES]; /* forward once more when the module is recomputed */
    double forward_comm_s;     /* all of it, for full recompute */
    double weight_s;           /* of backward_s: weight gradients */
    double matrix_s; /* of both passes: products and fused attention, whose work follows */
    double attention_s, attention_back_s; /* of compute */
    double product_flops, attention_flops;
    /* Between dispatch and combine; of comm[AXIS_EP] the dispatch. */
    double experts_s, experts_back_s, experts_weight_s, dispatch_s, dispatch_back_s;
    /* What issuing costs the host; of it in the module, forward; before the dispatch, which CUDA graphs
     * of layers hold; of tensor-parallel collectives. */
    double host_s, host_back_s, host_again_s[MODULES], graphed_s, graphed_back_s, host_tp_s,
        host_tp_back_s;
    double saved;            /* bytes kept for backward */
    double dropped[MODULES]; /* bytes of `saved` not kept when recomputed */
    double offloaded;        /* bytes of `saved` that are on the host until their backward */
    double forward, peak;    /* most bytes of the block alive at once: forward, in either pass */
};

void block_cost_sum(const struct op *ops, const struct op_time *, size_t count,
                    struct block_cost *out);
/* The operator at which the bytes of block_cost.peak are alive: what those before it keep, and what
 * it has itself. `forward_beside` are bytes that wait elsewhere while the block runs forward. */
struct block_peak {
    size_t op;
    bool backward;
    double before, own;
};
struct block_peak block_peak_of(const struct op *ops, size_t count, double forward_beside);
/* Adds a block that runs after another: what that keeps is gone when `sum` runs backward. */
void block_cost_add(struct block_cost *sum, const struct block_cost *part);
/* Adds `times` of a block but for `forward` and `peak`, which depend on the order and are left to the caller. */
void block_cost_add_times(struct block_cost *sum, const struct block_cost *part, double times);
/* Takes the bytes of another, whose seconds do not count. */
void block_cost_take_bytes(struct block_cost *, const struct block_cost *bytes);
void block_cost_scale(struct block_cost *, double times); /* the same block, times >= 1 */
void block_cost_slow(struct block_cost *, double times);  /* its compute takes so much longer */

/* Modules inside a recomputed MoE layer are not recomputed twice. */
int modules_once(int modules);
/* Bytes of `saved` that are not kept on the GPU when these modules are recomputed. */
double block_dropped(const struct block_cost *, int modules);
