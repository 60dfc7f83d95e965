/* Ask again with one thing changed: the one mechanism of every probe. What can change is a table in
 * each of them.
 *
 *   probe_search  the search, with other terms or on other nodes: advice, fix, speedups, better plan,
 *                 comparison, alternatives
 *   probe_plan    one prediction, with another strategy, layout or nodes: sensitivity, alternatives
 *   trials        predictions of thousands of strategies, cheapest test first: fix, speedups */
#pragma once

#include "base/arena.h"
#include "query/query.h"
#include "simulate/plan.h"

/* Share of a step: less is not worth a change, and less than predictions can tell apart. */
#define LEAST_SPEEDUP 0.01

/* What a search found with something changed. */
struct probe_found {
    bool found;
    struct found best;    /* the fastest */
    char where[256];      /* its GPUs, "64 H100" or "24 A100 and 40 H100" */
    int64_t nodes;        /* of them */
    struct funnel funnel; /* of the last group that was searched, in the scratch; empty: several */
    double fullness;      /* of what came nearest where nothing fits; INFINITY = not known */
    struct strategy nearest;
};

/* With other terms, on other nodes (NULL: the same), on group `g` alone or on any: each alone, then
 * several at once. Fills `out` in any case; false with a message where the query is wrong. */
enum { ANY_GROUP = -1 };
bool probe_search(const struct query *, const struct query_terms *, const struct cluster *, int g,
                  struct arena *scratch, struct probe_found *out, struct error *);
/* Whether there is any plan that fits, on group `g` alone. */
bool probe_fits(const struct query *, const struct query_terms *, const struct cluster *, int g);
/* The best plan of such a search on group `g`, predicted in this scene; NULL when there is none. */
const struct plan *probe_best(const struct query *, const struct query_terms *, int g,
                              const struct scene *, struct arena *);
/* The terms for a search of the same job: GPUs, batch, numerics and engine are the strategy's. */
struct query_terms probe_terms(const struct query *, const struct strategy *);

/* A plan that is tried with other inputs and other values. */
struct probe {
    const struct query *query;
    const struct plan *plan;
    struct rules rules; /* that a prediction is held to */
    struct arena *mem;  /* of what is found */
};
/* With the rules of Megatron and the user, and those of sense where a search is imitated. */
bool probe_init(struct probe *, const struct query *, const struct plan *, bool sense,
                struct arena *, struct error *);
/* Infeasible where a rule does not hold, which is then its first reason. */
struct plan *probe_plan(const struct probe *, const struct scene *, const struct strategy *,
                        const struct layout *);

/* Trials (trials.c). Rules hold as for any estimate; those of a search (sense.rules) but for what the
 * plan itself does not follow. The stages of a mixed job stay where they are. Trials that share a
 * structure share its partition, so that thousands of them take milliseconds. */
struct trials {
    const struct estimate_query *asked;
    struct rules sense;
    bool *relaxed;           /* [sense.count] rules of sense that the plan itself does not follow */
    double (*values)[SLOTS]; /* of each group of nodes */
    struct arena partition_mem, scratch, *mem;
    bool has_partition;
    struct partition *partition; /* of the structure of `partitioned`; NULL where it has none */
    struct strategy partitioned;
    double fullness; /* of what came nearest to fitting */
    struct strategy nearest;
};

/* The query must outlive the trials. */
void trials_init(struct trials *, const struct estimate_query *, struct arena *mem);
void trials_release(struct trials *);

/* True, with the ticks of a step, when the strategy is allowed and fits but for the last bit:
 * plan_evaluate() has the last word. */
bool trials_try(struct trials *, const struct strategy *, int64_t *step);
/* A strategy that does not fit, seen elsewhere, may be the nearest. */
void trials_note(struct trials *, const struct strategy *);

/* The fastest that fits so far. */
struct pick {
    bool found;
    int64_t step; /* ticks */
    struct plan plan;
};
/* Keeps the strategy where it fits and is faster; of equals the first in their order. */
void trials_pick(struct trials *, const struct strategy *, struct pick *);
/* The same of one whose step is known. */
void trials_pick_known(struct trials *, int64_t step, const struct strategy *, struct pick *);
