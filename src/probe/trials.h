/* Trials of changed strategies, and the search asked again: what fixes and gains share. */
#ifndef ASTRA_TRIALS_H
#define ASTRA_TRIALS_H

#include "base/arena.h"
#include "query/query.h"
#include "rules/rules.h"

/* Rules hold as for any estimate; those of a search (sense.rules) but for what the plan itself
 * does not follow. The stages of a mixed job stay where they are. Trials that share a structure
 * share its frame, so that thousands of them take milliseconds. */
struct trials {
    const struct estimate_query *asked;
    struct rules sense;
    bool *relaxed;           /* [sense.count] rules of sense that the plan itself does not follow */
    double (*values)[SLOTS]; /* of each group of nodes */
    struct arena partition_mem, scratch, *mem;
    bool has_frame;
    struct partition *partition; /* of the structure of `framed`; NULL where that has none */
    struct strategy framed;
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

/* The same query to the search: GPUs, batch, numerics and engine are the strategy's. */
struct query_terms query_repeat(const struct query *asked, const struct strategy *);
/* The fastest plan of the query with these terms on group `g` of a cluster (NULL: the query's)
 * alone; in `nearest`, unless NULL, what came nearest when there is none. */
bool repeat_search(const struct query *, const struct query_terms *, const struct cluster *, int g,
                   struct found *out, struct strategy *nearest);

#endif
