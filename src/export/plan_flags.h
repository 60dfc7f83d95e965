/* A plan as words for the engine that runs it: stock Megatron, or FlagScale. */
#pragma once

#include "export/export.h"

struct plan;

/* Words of the launch flags, in the arena. False when there are none: the layers could not be
 * split, or no release of Megatron can say it. */
bool plan_flags(const struct plan *, struct arena *, const char ***words, size_t *count);
/* The same for a release of Megatron core, NULL = HEAD; says what is in the way. */
bool plan_flags_for(const struct plan *, const char *version, struct arena *, const char ***words,
                    size_t *count, struct error *);
/* Environment variables "NAME=VALUE" that all its ranks need. */
void plan_environment(const struct plan *, struct arena *, const char ***env, size_t *count);
