/* The cheapest change that makes a plan fit which nothing but memory forbids. */
#ifndef ASTRA_FIX_H
#define ASTRA_FIX_H

#include "probe/change.h"

#include <stdbool.h>
#include <stdint.h>

struct arena;
struct estimate_query;
struct plan;
struct query;

/* What would make a plan fit whose only fault is a stage that is too full. */
struct fix {
    bool fits;            /* false: nothing on these GPUs does */
    bool numerics;        /* the change rounds numbers of the training differently */
    bool searched;        /* no one or two changes suffice: another plan */
    struct change change; /* to the one that needs least where nothing fits */
    int64_t gpus;         /* where nothing fits: GPUs of this type that would do, 0 = unknown */
};

/* NULL unless a stage is too full and that is the plan's only fault. The number of GPUs, the global
 * batch and the sequence stay. Everything lives in the arena. */
const struct fix *fix_of(const struct query *, const struct estimate_query *, const struct plan *,
                         struct arena *);

#endif
