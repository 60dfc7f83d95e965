/* Jobs whose meshes run their own tp, dp, micro-batch and recompute, as FlagScale can. */
#pragma once

#include "search/mixed/mixed_cell.h"
#include "search/rounds.h"

struct per_type_list {
    struct mixed_worker *worker;
    struct arena *mem; /* of what the structures point to */
    int64_t cut;       /* ticks: what cannot be faster is left out */
    struct rounds *to;
};

/* All that differ from `base` in what the types beside its first run: the same samples at once (dp
 * x micro-batch), the same cp and experts. The first runs what the base says, recomputed or not. */
void per_type_list_add(struct per_type_list *, const struct structure *base);
