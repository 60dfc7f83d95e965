/* How a mixed plan compares: with one layer moved, other splits, and each of its types alone. */
#ifndef ASTRA_COMPARISON_H
#define ASTRA_COMPARISON_H

struct arena;
struct estimate_query;
struct comparison;
struct plan;
struct query;

/* NULL unless the job is mixed and the plan computed. Batch, sequence and numerics stay. Runs a
 * search on every group. Everything lives in the arena; the same for any number of threads. */
const struct comparison *comparison_of(const struct query *, const struct estimate_query *,
                                       const struct plan *, struct arena *);

#endif
