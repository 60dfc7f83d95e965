/* Plans as something that launches. */
#ifndef ASTRA_EXPORT_H
#define ASTRA_EXPORT_H

#include "base/error.h"

#include <stddef.h>

struct arena;
struct layout;
struct model;
struct strategy;

/* What is no part of the strategy but of the run. */
struct export_run {
    bool stack_torch; /* --transformer-impl local */
    double attention_dropout, hidden_dropout;
};

/* The flags of Megatron-LM's pretrain_gpt.py for this plan, one word each: model, parallelism,
 * batch, recompute, optimizer, overlap, precision. Data, learning rate and run length are the
 * user's. `layout` is needed for split=uneven and split=layout, else may be NULL. `version` is a
 * release of Megatron core ("0.12", "core_v0.12.0"), or NULL or "HEAD" for the newest;
 * `run` may be NULL. False when the version is unknown, or older than a
 * flag the plan needs. */
bool export_megatron_flags(const struct model *, const struct strategy *, const struct layout *,
                           const char *version, const struct export_run *run, struct arena *,
                           const char ***flags, size_t *count, struct error *);

/* Environment variables that Megatron demands or the plan counts on, "NAME=VALUE". */
void export_megatron_env(const struct strategy *, struct arena *, const char ***env, size_t *count);

/* Why no flags of stock Megatron describe this model exactly, or NULL. The flags are then those
 * of the nearest model: fit for estimates and timing runs, not for training. */
const char *export_megatron_gap(const struct model *);

#endif
