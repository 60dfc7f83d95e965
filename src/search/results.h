/* Which results to keep: the best of each kind, and the front of speed and money. */
#pragma once

#include "search/search.h"
#include "simulate/score.h"

/* A total order: the objective, then the shorter step, then the strategy. */
bool found_before(const struct limits *, const struct found *, const struct found *);

/* A short list, best first, at most `limit` entries and one of each kind, all within the limits of
 * the query. Ties are broken by found_before, so that the order of insertion does not
 * matter. */
struct shortlist {
    int count, limit;
    struct found *entry; /* [limit] */
};
void shortlist_init(struct shortlist *, int limit, struct arena *);
void shortlist_add(struct shortlist *, const struct limits *, const struct found *);
/* No plan on these GPUs with a longer step can enter. */
int64_t shortlist_limit(const struct shortlist *, const struct limits *, const struct rental *);

/* Plans that no other dominates, whatever the limits. Of those with equal scores the first in the
 * total order. */
struct front {
    int count, capacity;
    struct found *entry; /* owned; fastest and dearest first */
};
void front_init(struct front *);
void front_release(struct front *);
void front_add(struct front *, const struct limits *, const struct found *);
/* A plan on these GPUs with a longer step is dominated; INT64_MAX when none is. */
int64_t front_limit(const struct front *, const struct rental *);

/* Both, of all searches of a query. */
struct results {
    const struct limits *limits;
    struct shortlist best;
    struct front front;
};
/* Those that are given, which a search joins, or its own where there are none. `limits` may be
 * NULL: speed alone. */
struct results *results_join(struct results *given, struct results *own, const struct limits *,
                             int top, struct arena *);
void results_init(struct results *, const struct limits *, int top, struct arena *);
void results_release(struct results *);
void results_add(struct results *, const struct found *);
