/* Which results to keep: the fastest of each kind, and the front of speed and money. */
#ifndef ASTRA_SELECT_H
#define ASTRA_SELECT_H

#include "search/search.h"

/* A short list, fastest first, at most `limit` entries and one of each kind. Ties are broken by
 * strategy_compare, so that the order of insertion does not matter. */
struct shortlist {
    int count, limit;
    struct found *entry; /* [limit] */
};
void shortlist_init(struct shortlist *, int limit, struct arena *);
void shortlist_add(struct shortlist *, const struct found *);
/* No plan slower than this can enter; INT64_MAX while there is room. */
int64_t shortlist_threshold(const struct shortlist *);

bool found_before(const struct found *,
                  const struct found *); /* total order: step, then strategy */

/* The best plan for each number of GPUs that is not dominated: a plan is dominated when another
 * is at least as fast on no more GPU-seconds a step, and better in one of the two. GPUs of one
 * type cost the same, so GPU-seconds stand for money. */
struct front {
    int count, capacity;
    struct found *entry; /* owned; fewest GPUs first */
};
void front_init(struct front *);
void front_release(struct front *);
void front_add(struct front *, const struct found *);
/* A plan on this many GPUs that is slower than this is dominated; INT64_MAX when none is. */
int64_t front_limit(const struct front *, int64_t gpus);

#endif
