/* Which meshes FlagScale runs. Stock Megatron runs one strategy on all of them; FlagScale gives
 * each its own tp, dp, ep, etp, micro-batch and recompute, within limits. Whatever a rule says of a
 * strategy holds for the strategy of each mesh as well (mesh_strategy) and is not repeated here. */
#pragma once

#include "strategy/mesh.h"

struct arena;
struct model;

/* Whether some mesh runs another strategy than `s`, so that stock Megatron cannot. */
bool meshes_differ(const struct mesh_list *, const struct strategy *s);
/* Whether they differ in what they recompute. */
bool meshes_recompute_differs(const struct mesh_list *, const struct strategy *s);

/* Why FlagScale refuses the meshes, in the arena; NULL when it does not. Global values of the
 * strategy are those of the first mesh, as FlagScale has it. */
const char *meshes_refused(const struct mesh_list *, const struct strategy *, const struct model *,
                           struct arena *);

/* Whether FlagScale then demands --use-partial-reduce-for-shared-embedding: both ends of the
 * pipeline hold the embedding, and different shards of its gradient. */
bool meshes_share_shards(const struct mesh_list *, const struct strategy *, const struct model *);
