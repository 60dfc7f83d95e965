/* Plan 1 of a search under other inputs, and beside other values of its parameters. */
#pragma once

#include "base/error.h"
#include "strategy/strategy.h"

struct arena;
struct plan;
struct query;

/* The plan as it stands, with one input changed. */
struct sensitivity {
    const char *input, *change; /* "network", "half as fast" */
    const struct plan *plan;    /* not feasible: its first reason says why */
};

/* The plan's GPUs with one parameter at a given value. */
struct alternative {
    enum param param;
    const char *value; /* "8", "full" */
    bool chosen;       /* the plan has it */
    bool best;         /* `plan` is the best that has it; false: the plan, otherwise unchanged */
    const struct plan *plan; /* NULL, or not feasible: `reason` says why */
    const char *reason;      /* NULL where it is feasible */
};

/* Lists live in the arena; alternatives are in the order of parameters and values. */
bool sensitivity_of(const struct query *, const struct plan *, struct arena *,
                    const struct sensitivity **list, int *count, struct error *);
bool alternatives_of(const struct query *, const struct plan *, struct arena *,
                     const struct alternative **list, int *count, struct error *);
