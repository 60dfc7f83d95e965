/* Memory of one pipeline rank. Bytes, per GPU, at the fullest moment of the step. */
#pragma once

#include "strategy/strategy.h"

struct model;

/* Parts in the order they are reported. Those of the framework add up to peak_bytes; with the
 * rest they add up to device_bytes.
 *      name            framework  what */
#define MEMORY_TABLE(X)                                                                            \
    X(weights, true, "parameters in 16 bits")                                                      \
    X(gradients, true, "gradient buffers")                                                         \
    X(optimizer, true, "master weights and moments")                                               \
    X(activations, true, "saved for backward, all micro-batches in flight")                        \
    X(temporary, true, "beside them at that moment, recomputed layers included")                   \
    X(buffers, true, "workspaces, buffers of communication and of gradient buckets")               \
    X(expert_reserve, false, "room for experts fuller than those of the run predicted")            \
    X(reserve, false, "allocator reserve beyond what is allocated")                                \
    X(context, false, "driver context and libraries")                                              \
    X(communicators, false, "NCCL")

enum memory_part {
#define X(name, framework, help) MEMORY_##name,
    MEMORY_TABLE(X)
#undef X
        MEMORY_PARTS
};

struct memory_use {
    double part[MEMORY_PARTS];
};

struct memory_part_info {
    const char *name;
    bool framework;
    const char *help;
};
const struct memory_part_info *memory_part_info(enum memory_part);

double memory_peak(const struct memory_use *);   /* what the framework allocates */
double memory_device(const struct memory_use *); /* what the GPU must have */

/* Parameters held by one GPU of a pipeline rank. `te` as in ops.h. */
struct rank_params {
    double dense;          /* trained: reduced over dp x cp */
    double experts;        /* trained: reduced over expert data parallelism */
    double frozen;         /* bytes of weights that are not, of the same ranks as `dense` */
    double frozen_experts; /* of the same ranks as `experts` */
    double linear;         /* of all, in the products of layers: what fp8 converts */
    double tensors;        /* that the trained ones come in */
    struct newton {
        double dense,
            experts;    /* FLOPs of one step of Newton and Schulz over all matrices, each whole */
        double most;    /* of the largest of them */
        double largest; /* its parameters, whole */
    } newton;           /* Muon */
};
/* The layers [first, first + layers) of a virtual stage, and what else it has. */
struct stage_layers {
    int first, layers;
    bool embedding, head;
    int mtp;
};
void rank_params_add_stage(struct rank_params *, const struct model *, const struct strategy *,
                           const struct stage_layers *, bool te);
/* The same where the parameters of one layer of each kind are known. */
void rank_params_add_known(struct rank_params *, const struct model *, const struct strategy *,
                           const struct stage_layers *, bool te, const struct rank_params layer[]);

/* One decoder layer of a kind, added. */
void rank_params_add_layer(struct rank_params *, const struct model *, int kind,
                           const struct strategy *, bool te);

/* Weights, gradients and optimizer: proportional to the parameters. */
void memory_of_states(const struct rank_params *, const struct strategy *, struct memory_use *out);

/* Bytes that are there only while the optimizer steps; and all of them while the buffers of the
 * distributed optimizer are set up, before there is an optimizer. */
double memory_of_step(const struct rank_params *, const struct strategy *, bool stock, bool muon);
double memory_of_setup(const struct rank_params *, const struct strategy *, bool whole_init);

double kept_gradient_bytes(const struct strategy *); /* of one parameter */

/* Of what is allocated, that the allocator holds beyond it. */
double memory_reserve(const struct strategy *, bool te);

/* The parts outside the framework's allocator, from what is already in `use`. */
void memory_outside(struct memory_use *use, const struct strategy *, bool te);

/* Every data-parallel rank has a part of the optimizer. FSDP has its own way, whatever the
 * distributed optimizer's switch says: no_shard divides nothing (megatron_fsdp's README). */
bool shards_optimizer(const struct strategy *);

/* Ways the optimizer of dense and of expert parameters is sharded over. */
double optimizer_shards(const struct strategy *);
double expert_data_parallel(const struct strategy *);
double expert_shards(const struct strategy *);
