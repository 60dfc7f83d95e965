/* What Astra would run instead of the plan that was asked about. */
#ifndef ASTRA_BETTER_H
#define ASTRA_BETTER_H

struct arena;
struct estimate_query;
struct better_plan;
struct plan;
struct query;

/* GPUs, batch, sequence and numerics stay. Runs a search; NULL for a job on several groups of
 * nodes, about which the search is not asked. Everything lives in the arena. */
const struct better_plan *better_of(const struct query *, const struct estimate_query *,
                                    const struct plan *, struct arena *);

#endif
