/* Plans as something that launches. */
#pragma once

#include "base/error.h"
#include "import/megatron/flags.h"
#include "strategy/strategy.h"

#include <stddef.h>

struct arena;
struct gpu;
struct layout;
struct mesh_list;
struct model;
struct plan;
struct strategy;

/* What is no part of the strategy but of the run. */
struct export_run {
    enum stack stack;
    double attention_dropout, hidden_dropout;
    struct run_switches switches;
    bool wide_domain; /* NVLink reaches further than eight GPUs */
};

/* Names a hybrid's layers and stages; who trains it is another program. */
#define HYBRID_PATTERN "--hybrid-layer-pattern"
#define HYBRID_PROGRAM "pretrain_mamba.py"

/* The flags of Megatron-LM's pretrain_gpt.py for this plan, one word each: model, parallelism,
 * batch, recompute, optimizer, overlap, precision. Data, learning rate and run length are the
 * user's. `layout` is needed where layout_is_string(), else may be NULL. `version` is a
 * release of Megatron core ("0.12", "core_v0.12.0"), or NULL or "HEAD" for the newest;
 * `run` may be NULL. False when the version is unknown, or older than a
 * flag the plan needs. */
bool export_megatron_flags(const struct model *, const struct strategy *, const struct layout *,
                           const char *version, const struct export_run *run, struct arena *,
                           const char ***flags, size_t *count, struct error *);

/* The numbers of a release: 12 and 1 of "0.12.1"; INT_MAX and 0 of NULL and HEAD. Both pointers
 * may be NULL. False with a message where it is none. */
bool export_release(const char *version, int *release, int *patch, struct error *);

/* The flags of FlagScale's train_gpt.py for a mixed job, its meshes alike or not: Megatron's with
 * the values of the first mesh, and those of the meshes. Each host adds the type of its GPUs as
 * --hetero-current-device-type, which FlagScale's runner takes from the hostfile. The layout is
 * needed. False when no list of layers by stage says it: virtual stages, or loss or MTP layers
 * elsewhere than on the last; what else FlagScale refuses is meshes_refused()'s to say. */
bool export_flagscale_flags(const struct model *, const struct strategy *, const struct layout *,
                            const struct mesh_list *, const struct export_run *run, struct arena *,
                            const char ***flags, size_t *count, struct error *);

/* What FlagScale calls the GPUs of a mesh, in flags and hostfile: one name for each group of nodes.
 * A short name of the GPU, numbered from
 * the second group of the same GPU on: "A100", "A100-2". */
const char *export_device_type(const struct mesh_list *, int mesh, struct arena *);

/* The same of a plan, whose meshes are NULL where it is on one type. */
const char *export_type_name(const struct mesh_list *, int mesh, const struct gpu *,
                             struct arena *);

/* Environment variables that Megatron demands or the plan counts on, "NAME=VALUE". */
void export_megatron_env(const struct strategy *, struct arena *, const char ***env, size_t *count);

/* The module that flags of stack torch name with --spec: what its layers need beside Megatron's own.
 * Python finds it in a folder of PYTHONPATH. */
#define EXPORT_MODULE TORCH_MODULE
#define EXPORT_MODULE_FUNCTION "layer_spec"
const char *export_module(void); /* its text */

/* What no flags of release 0.N of stock Megatron say of this model, "embed_scale is 64: Megatron does
 * not scale embeddings"; INT_MAX = HEAD. The flags are then those of the nearest model: fit for estimates
 * and timing runs, not for training. Returns how many. */
size_t export_untold(const struct model *, int release, struct arena *, const char ***texts);
/* The same as one text, NULL = nothing. */
const char *export_untold_text(const struct model *, int release, struct arena *);

/* What a plan's program does not do with its samples, NULL = nothing. `takes_samples`: it trains on samples of
 * many lengths, which pretrain_gpt.py does not. */
const char *export_data_gap(const struct plan *, bool takes_samples, struct arena *);
/* "a; b", or the one that there is. */
const char *export_join_gaps(const char *, const char *, struct arena *);

/* A plan as words for the engine that runs it: stock Megatron, or FlagScale (plan_flags.c). */

/* Words of the launch flags, in the arena. False when there are none: the layers could not be
 * split, or no release of Megatron can say it. */
bool plan_flags(const struct plan *, struct arena *, const char ***words, size_t *count);
/* The same for a release of Megatron core, NULL = HEAD; says what is in the way. */
bool plan_flags_for(const struct plan *, const char *version, struct arena *, const char ***words,
                    size_t *count, struct error *);
/* Environment variables "NAME=VALUE" that all its ranks need. */
void plan_environment(const struct plan *, struct arena *, const char ***env, size_t *count);
