/* Costs of the blocks of a layer on one type of GPU, for all sets that it is of: each computed once,
 * by whichever thread needs it first. */
#pragma once

#include "simulate/partition.h"

#include <stdatomic.h>

struct costs_entry;

struct mixed_costs {
    const struct scene *scene; /* of the type alone */
    int params;
    enum param param[PARAMS]; /* that block costs depend on */
    _Atomic(struct costs_entry *) *bucket;
};

void mixed_costs_init(struct mixed_costs *, const struct scene *, struct arena *);
/* `mem` is the calling thread's, and lives as long as the table. */
const struct layer_costs *mixed_costs_get(struct mixed_costs *, const struct strategy *,
                                          struct arena *mem);
