/* Which results to keep: those that may be listed, and the front of speed and money.
 *
 * The order of plans (doc/search.md). A plan's key is its time or cost, CAUTION_SHARE more where a
 * caution holds. First comes, of those whose key is within the resolution of the least, the one with
 * least trouble: fewest cautions, then memory that is not crowded, then least complexity; then the
 * smaller key. The next is chosen likewise of the rows that are left. */
#pragma once

#include "search/search.h"
#include "simulate/score.h"

#define CAUTION_SHARE 0.10 /* of a plan's time or cost, in the order: all its cautions together */

/* What decides between plans that are as good; more is worse. */
unsigned trouble_of(int cautions, bool crowded, int complexity);
int trouble_cautions(unsigned trouble);
/* Bits of enum param that it looks at, but for memory. */
uint64_t trouble_depends(const struct rules *cautions);

/* Sets score and key of a plan with its step and trouble, on these GPUs. */
void found_judge(struct found *, const struct limits *, const struct rental *);

/* A total order: the key, then the shorter step, then the strategy. */
bool found_before(const struct found *, const struct found *);

/* Alternatives of one row of the list. No other is both before one and no more trouble. */
struct plan_row {
    int count, capacity;
    struct found *variant; /* [count] in order: trouble falls */
};

/* What may be listed, whatever is still to come. Only what is within the limits of the query, and
 * within the resolution of the best of its row and of the last row that is listed. Independent of
 * the order of insertion. */
struct shortlist {
    const struct limits *limits;
    int top; /* rows to list */
    int count, capacity;
    struct plan_row *row; /* [count] by their first variants */
    struct arena *mem;
};
void shortlist_init(struct shortlist *, const struct limits *, int top, struct arena *);
void shortlist_add(struct shortlist *, const struct found *);
/* Whether this would not be added. */
bool shortlist_refuses(const struct shortlist *, const struct found *);
/* No plan on these GPUs with a longer step, and this trouble or more, can enter; the second: of the
 * row of this one. */
int64_t shortlist_limit(const struct shortlist *, const struct rental *, unsigned trouble);
int64_t shortlist_row_limit(const struct shortlist *, const struct rental *, const struct found *);
/* The step from which on a plan of this row and trouble, on these GPUs, is beaten. */
int64_t shortlist_beaten_from(const struct shortlist *, const struct rental *,
                              const struct found *);
/* The list, best first; returns its length, at most `top`. */
int shortlist_rank(const struct shortlist *, struct found out[]);

/* Plans that no other dominates in time and cost, whatever the limits and the order. Of those with
 * equal scores the first. */
struct front {
    int count, capacity;
    struct found *entry; /* owned; fastest and dearest first */
};
void front_init(struct front *);
void front_release(struct front *);
void front_add(struct front *, const struct found *);
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
