/* slime (`python3 train.py --actor-num-nodes ... --rollout-batch-size ...`): what its own flags say of Megatron's. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct launch;

bool slime_is(const struct launch *);
/* The GPUs that train. */
void slime_count_gpus(struct launch *);
/* Sequences of a step; -1 = not known, or Megatron's own flag says it. */
int64_t slime_batch(const struct launch *);
/* The longest sequence, and how many of them are a micro-batch (0 = not counted by tokens); false = not known. */
bool slime_sequences(const struct launch *, int64_t *longest, int64_t *micro);
