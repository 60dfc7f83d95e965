/* The changes that would make a plan faster, and how far it is from the best on its GPUs. */
#ifndef ASTRA_SPEEDUPS_H
#define ASTRA_SPEEDUPS_H

#include "probe/change.h"
#include "simulate/plan.h"

struct arena;
struct estimate_query;
struct fix;
struct query;

/* What would make it faster: the best change of each of the kinds that gain most. */
enum { SPEEDUPS_MAX = 3 };
struct speedups {
    const struct plan *from; /* the plan, or what its fix makes of it */
    int count;
    struct speedup {
        struct change change;
        enum breakdown_part part; /* that shrinks most, in seconds */
    } speedup[SPEEDUPS_MAX];      /* fastest first */
    bool found;                   /* the search finds something, perhaps slower than `from`; it is
                                   * not asked about a mixed job */
    struct change searched;       /* to its best plan on the same GPUs */
};

/* NULL unless the plan is feasible, or its fix is: then the speedups are those of the plan with the
 * fix. GPUs, batch, sequence and numerics stay. Runs a search, but for a mixed job. Everything
 * lives in the arena; the same for any number of threads. */
const struct speedups *speedups_of(const struct query *, const struct estimate_query *,
                                   const struct plan *, const struct fix *, struct arena *);

#endif
