/* Single changes of a strategy that a user would consider. */
#pragma once

#include "strategy/strategy.h"

#include <stdbool.h>

struct model;

/* What there must be for a change to mean something. */
enum need {
    NEEDS_NOTHING,
    NEEDS_TENSOR_PARALLEL,
    NEEDS_CONTEXT_PARALLEL,
    NEEDS_INTERLEAVED,
    NEEDS_EXPERTS,
    NEEDS_SHARED
};

/* Columns of moves.def. */
enum { SAME = false, ROUNDS = true, TIME = false, MEMORY = true };

struct move {
    /* Changes the strategy; false when there is nothing to change that way. NULL: `param` gets
     * `value` plus the option, where what it needs is there. */
    bool (*apply)(const struct model *, struct strategy *, int option);
    enum param param;
    int value;
    enum need need;
    int options;
    bool numerics; /* the numbers of the training change */
    bool saves;    /* memory: of use to a fix; speedups take all that leave the numbers alone */
};
/* In the order in which two of them are applied. */
const struct move *moves(size_t *count);
/* False when there is nothing to change that way; the strategy may be anything then. */
bool move_apply(const struct move *, const struct model *, struct strategy *, int option);
