/* Plans of engines fsdp2, zero2 and zero3 (hf_flags.c). */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct arena;
struct dataset;
struct model;
struct strategy;

/* Words of `accelerate launch` that train this plan: complete but for the data set and what else is the
 * user's. In the arena. Without a data set, NULL, every sequence is full. */
void export_hf_flags(const struct model *, const struct strategy *, const struct dataset *,
                     int64_t nodes, struct arena *, const char ***words, size_t *count);
/* Environment variables that it counts on. */
void export_hf_env(struct arena *, const char ***env, size_t *count);
