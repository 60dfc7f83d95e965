/* Which results to keep: the best of each kind, and the front of speed and money. */
#ifndef ASTRA_SELECT_H
#define ASTRA_SELECT_H

#include "search/search.h"
#include "simulate/score.h"

/* A total order: what is wanted, then the shorter step, then the strategy. */
bool found_before(const struct wanted *, const struct found *, const struct found *);

/* A short list, best first, at most `limit` entries and one of each kind, all within the limits of
 * what is wanted. Ties are broken by found_before, so that the order of insertion does not
 * matter. */
struct shortlist {
    int count, limit;
    struct found *entry; /* [limit] */
};
void shortlist_init(struct shortlist *, int limit, struct arena *);
void shortlist_add(struct shortlist *, const struct wanted *, const struct found *);
/* No plan on these GPUs with a longer step can enter. */
int64_t shortlist_limit(const struct shortlist *, const struct wanted *, const struct holding *);

/* Plans that no other dominates, whatever the limits. Of those with equal worth the first in the
 * total order. */
struct front {
    int count, capacity;
    struct found *entry; /* owned; fastest and dearest first */
};
void front_init(struct front *);
void front_release(struct front *);
void front_add(struct front *, const struct wanted *, const struct found *);
/* A plan on these GPUs with a longer step is dominated; INT64_MAX when none is. */
int64_t front_limit(const struct front *, const struct holding *);

/* Both, of all searches of a question. */
struct standings {
    const struct wanted *wanted;
    struct shortlist best;
    struct front front;
};
void standings_init(struct standings *, const struct wanted *, int top, struct arena *);
void standings_release(struct standings *);
void standings_add(struct standings *, const struct found *);

#endif
