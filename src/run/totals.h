/* A search while it is being answered: each type alone, then several at once. */
#pragma once

#include "query/query.h"
#include "run/commands.h"
#include "search/mixed/mixed.h"
#include "search/results.h"
#include "search/stop.h"

enum { MOST_SEARCHES = CLUSTER_MAX_GROUPS + 1 }; /* each type alone, then several at once */

struct progress_part;

struct totals {
    const struct query *query;
    struct search_result result[CLUSTER_MAX_GROUPS];
    int searched;
    struct stop stop;         /* of the search at hand */
    double until_s;           /* when all must be done, by stop_clock_s() */
    bool open[MOST_SEARCHES]; /* not looked at to its end */
    struct limits limits;
    struct results results;
    struct search_query *of[CLUSTER_MAX_GROUPS]; /* the query on each group; NULL: not asked */
    struct mixed_query several;
    struct funnel funnel;
    double *by_rule; /* [user rules] dropped in all groups */
    struct mixed_result mixed;
    struct found first; /* of the list */
    int bests, fronts;
    struct plan *best, *front;
};

/* Runs all that was posed: to its end, or as far as the time goes. */
void totals_search(struct answering *, struct totals *);
/* Searches, from number i on, that did not come to their end. */
int totals_open(const struct totals *, int i);

/* Of the work, where every type is searched once more for the table of what to rent. */
bool asks_offers(const struct query *);
static const double OFFERS_SHARE = 0.5;
/* Tells how far the whole is: of group g alone, or of several at once behind the last. */
struct progress_part *progress_part_of(const struct answering *, int g);
void tell_progress(void *part, double done);

/* What is left to say of a search, into the notes of the report, which has its money. */
void totals_note(struct answering *, const struct totals *);
