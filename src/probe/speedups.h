/* The changes that would make a plan faster, and how far it is from the best on its GPUs. */
#ifndef ASTRA_SPEEDUPS_H
#define ASTRA_SPEEDUPS_H

struct arena;
struct estimate_query;
struct speedups;
struct plan;
struct query;

/* NULL unless the plan is feasible, or its fix is: then the gains are those of the plan with the
 * fix. GPUs, batch, sequence and numerics stay. Runs a search, but for a mixed job. Everything
 * lives in the arena; the same for any number of threads. */
const struct speedups *speedups_of(const struct query *, const struct estimate_query *,
                                   const struct plan *, struct arena *);

#endif
