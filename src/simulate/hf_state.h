/* Engines of transformers' layers: what a rank keeps of parameters, gradients and optimizer, and how long
 * it takes to shard, gather and step. FSDP2 as accelerate sets it up, DeepSpeed ZeRO-2 and -3. */
#pragma once

#include "simulate/memory.h"

struct costing;
struct model;
struct partition;
struct rank_times;

/* Adds to weights, gradients and optimizer, on the GPU. */
void hf_add_states(const struct rank_params *, const struct strategy *, struct memory_use *);
/* Of the host, in bytes. */
double hf_host_bytes(const struct rank_params *, const struct strategy *);
/* Beside the states while the optimizer steps. */
double hf_step_bytes(const struct rank_params *, const struct strategy *);
/* Weights as they are gathered, bytes: of the largest layer, of what belongs to the logits, of all; and of
 * the layer's gradients. */
struct hf_sizes {
    double unit, unit_gradients, tail, all;
};
/* Gathered parameters and gradients on their way. */
double hf_buffers(const struct strategy *, double hidden, const struct hf_sizes *);

double hf_tail_bytes(const struct model *);

/* Collectives that nothing hides, of a whole step: those of the embedding, ZeRO-2's gather of parameters. */
void hf_exposed(const struct partition *, const struct costing *, const struct rank_params *,
                const struct strategy *, struct rank_times *);
/* Collectives beside the passes of a micro-batch, and the optimizer. */
void hf_times(const struct partition *, int mesh, const struct rank_params *,
              const struct strategy *, struct rank_times *);
