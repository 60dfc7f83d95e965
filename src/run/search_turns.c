/* Whose turn it is: the searches of an answer one after the other, with a limit of time each for its
 * part, after a look at the usual ways of all (run/scout.h). */
#include "run/totals.h"

#include "base/arena.h"
#include "run/scout.h"

#include <math.h>

/* One of the searches of an answer tells how far the whole is: each type alone, and several at
 * once, which takes most of the time where there is any to speak of. */
struct progress_part {
    const struct answering *answering;
    double before, share;
};

void tell_progress(void *context, double done)
{
    const struct progress_part *p = context;
    p->answering->progress(p->answering->progress_context, p->before + p->share * done);
}

static const double SEVERAL_SHARE = 0.9;

bool asks_offers(const struct query *q)
{
    return q->run.tokens > 0 && q->cluster.groups > 1;
}

/* Of group g alone, or of several at once behind the last. */
struct progress_part *progress_part_of(const struct answering *a, int g)
{
    int groups = a->query->cluster.groups;
    double share = a->share * (asks_offers(a->query) ? 1 - OFFERS_SHARE : 1);
    double alone = share * (query_mixes(a->query) ? 1 - SEVERAL_SHARE : 1);
    struct progress_part *p = arena_alloc(a->mem, sizeof *p);
    *p = (struct progress_part){a, a->done_before + alone * g / groups,
                                g < groups ? alone / groups : share - alone};
    return p;
}

/* Searches number i until that moment: a type, or several at once behind the last. */
static void search_until(struct answering *a, struct totals *all, int i, double until_s)
{
    all->stop.until_s = until_s;
    atomic_store(&all->stop.over, false);
    if (i < a->query->cluster.groups) {
        struct search_result *r = &all->result[i];
        search_run(all->of[i], a->mem, r);
        all->open[i] = r->left > 0;
    } else {
        mixed_run(&all->several, a->mem, &all->mixed);
        all->open[i] = all->mixed.left > 0;
    }
}

int totals_open(const struct totals *all, int i)
{
    int count = 0;
    for (; i < MOST_SEARCHES; i++)
        count += all->open[i];
    return count;
}

/* One after the other, each with an equal part of what is left until then. Those that have time
 * enough leave theirs to the others. */
static void search_open(struct answering *a, struct totals *all, double until_s)
{
    for (int i = 0; i < MOST_SEARCHES; i++) {
        if (!all->open[i])
            continue;
        double now = stop_clock_s(), part = (until_s - now) / totals_open(all, i);
        search_until(a, all, i, isinf(until_s) ? INFINITY : now + part);
    }
}

static bool cancelled(const struct answering *a)
{
    return (a->cancel && atomic_load(a->cancel)) ||
           (a->cancelled && a->cancelled(a->cancelled_context));
}

static const double SCOUT_SHARE = 0.4; /* of the time */

/* The usual ways of a search alone: its results join the others, its counters nothing. */
static void scout(struct answering *a, struct totals *all, int i, double until_s)
{
    bool experts = a->query->model.experts > 0;
    all->stop.until_s = until_s;
    atomic_store(&all->stop.over, false);
    if (i < a->query->cluster.groups) {
        struct search_query few = *all->of[i];
        struct search_result r;
        few.usual = scout_settings(experts, a->mem);
        few.progress = NULL;
        search_run(&few, a->mem, &r);
    } else {
        struct mixed_query few = all->several;
        struct mixed_result r;
        few.usual = scout_settings(experts, a->mem);
        few.progress = NULL;
        few.front = false;
        mixed_run(&few, a->mem, &r);
    }
}

static void scout_all(struct answering *a, struct totals *all, double until_s)
{
    for (int i = 0; i < MOST_SEARCHES; i++)
        if (all->open[i]) {
            double now = stop_clock_s();
            scout(a, all, i, now + (until_s - now) / totals_open(all, i));
        }
}

/* With little time every search gets some, for any of them may have the best plans. Where time is
 * left, those that were stopped begin again, cut by all that was found. */
void totals_search(struct answering *a, struct totals *all)
{
    double now = stop_clock_s();
    if (!isinf(all->until_s))
        scout_all(a, all, now + (all->until_s - now) * SCOUT_SHARE);
    search_open(a, all, all->until_s);
    while (totals_open(all, 0) > 0 && !cancelled(a) && stop_clock_s() < all->until_s)
        search_open(a, all, all->until_s);
}
