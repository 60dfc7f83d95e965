/* Costs of the blocks of a layer for every combination of the parameters they depend on, each
 * computed once, by whichever thread needs it first. */
#pragma once

#include "rules/walk.h"
#include "simulate/partition.h"

#include <stdatomic.h>
#include <stddef.h>

/* Least seconds of blocks, one micro-batch forward and backward: what bounds are made of. */
struct least {
    double layers; /* all of them, where every pass hides what it can of its experts' transfers */
    double apart;  /* ... and where none has another pass to hide them behind */
    double one_layer; /* the cheapest */
    double ends, head;
    double again;    /* forward of one layer once more */
    double saved;    /* bytes one layer keeps with every module recomputed */
    double boundary; /* bytes of one layer's input */
};

struct known_costs {
    struct layer_costs costs;
    struct least least; /* of these costs */
};

struct costs_table {
    const struct scene *scene;
    double kind_layers[MODEL_MAX_KINDS]; /* how many layers the model has of each */
    size_t stride[PARAMS];               /* by axis; 0 where block costs do not depend on it */
    size_t count;
    _Atomic(const struct known_costs *) *slot; /* [count * REACHES] by reaches_of() */
};

void costs_table_init(struct costs_table *, const struct scene *, const struct space *,
                      struct arena *);

/* Of the walk's strategy. `mem` is the calling thread's, and lives as long as the table. */
const struct known_costs *costs_table_get(struct costs_table *, const struct walk *,
                                          struct arena *mem);
/* The same with pp and dp still open: of way `seat` to sit, NULL behind the last. */
const struct known_costs *costs_table_any(struct costs_table *, const struct walk *, int seat,
                                          struct arena *mem);
