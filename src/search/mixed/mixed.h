/* The exact optimizer for jobs on several types of GPU: which of them, how many, in which order
 * along the pipeline, how many stages on each, how many layers on each stage, and all other
 * parameters. */
#pragma once

#include "rules/rules.h"
#include "search/search.h"
#include "simulate/partition.h"
#include "strategy/space.h"

struct cluster;
struct stop;

enum { MIX_MAX = 4 }; /* types in one job */

struct mixed_query {
    struct scene scene; /* `group` and `meshes` are the search's to set */
    const struct cluster *cluster;
    struct strategy base;           /* global_batch, seq_len, precision */
    const struct setting *settings; /* [PARAMS] */
    const struct setting *usual;    /* [PARAMS] where the space has them, these alone; NULL: all */
    bool production;                /* numerics that NVIDIA's recipes set are tried too */
    const struct rules *rules;
    const struct rules *cautions; /* said, never dropped by; NULL: none */
    int64_t gpus;                 /* exactly so many; 0 = at most the pool */
    int mix;                      /* most types in one job, at least 2 are used */
    bool layouts;                 /* stock Megatron: virtual stages too, and ends without layers */
    bool
        per_type_meshes; /* types may have their own tp, dp, micro-batch and recompute (FlagScale) */
    bool front;          /* every plan that no other beats in speed and money, not the best alone */
    int top;             /* how many rows to return */
    const struct limits *limits; /* NULL: speed, without limits */
    struct results *results;     /* of all searches of a query: only what has a place among them
                                  * is looked for, and joins them; NULL: this is the only one */
    int threads;
    struct stop *stop; /* when to end early; NULL: never */
    void (*progress)(void *context, double done);
    void *progress_context;
};

struct mixed_found {
    int64_t step; /* ticks */
    int64_t gpus;
    struct strategy strategy; /* split is SPLIT_LAYOUT */
    struct mesh_list meshes;
    struct layout layout;
};

struct mixed_result {
    int best;
    struct mixed_found *found; /* [best] best first, one of each row */
    int pareto;                /* of the results' front, those on several types */
    double generated;          /* strategies of every set of types, stages not counted */
    double structures;         /* sets of parameters but for stages, pass times and state */
    double judged;             /* pass times, stages of each type, order: bounded over all splits */
    double problems;           /* the same with a state: layers to assign */
    double simulated;          /* splits run exactly */
    double unproven;           /* of these, given up at the limit of their search */
    double left;     /* structures that were not searched to their end, for want of time */
    bool *refused;   /* [rules] whether it refused anything that was looked at */
    double open_key; /* no plan in them, or in what was given up, has a smaller objective; 0: not
                      * known, INFINITY: nothing is left */
};

/* One row of a list: the same parameters as on one type, and the same stages of each type. */
bool mixed_same_row(const struct mixed_found *, const struct mixed_found *, enum row_of);

/* Results live in the arena. The same bytes for any number of threads. */
void mixed_run(const struct mixed_query *, struct arena *, struct mixed_result *);
