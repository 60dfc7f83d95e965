/* What Astra would run instead of the plan that was asked about. */
#ifndef ASTRA_BETTER_H
#define ASTRA_BETTER_H

#include "probe/change.h"

#include <stdbool.h>

struct arena;
struct estimate_query;
struct plan;
struct query;

/* What Astra would run on the same GPUs. */
struct better_plan {
    bool found;           /* the search finds something */
    bool better;          /* and it is worth the change */
    const char *why_not;  /* it is not looked for; NULL = it is */
    struct change change; /* to it: the user's own flags with `add`, without `remove` */
    const char *env;      /* "NAME=VALUE" that it needs besides, "" = none */
    const char *unset;    /* variable that must have no such value, "" = none */
};

/* GPUs, batch, sequence and numerics stay. Runs a search; NULL for a job on several groups of
 * nodes, about which the search is not asked. Everything lives in the arena. */
const struct better_plan *better_of(const struct query *, const struct estimate_query *,
                                    const struct plan *, struct arena *);

/* (better_flags.c) Fills `add` and `remove` of the change: the user's flags without the one and with the other
 * behind them are the plan of the change. False when no such list of flags is found. */
bool better_flags(const struct query *, const struct estimate_query *, const struct plan *asked,
                  struct better_plan *, struct arena *);

/* Fills what the plan demands of the environment and the one that was asked about did not. */
void better_environment(const struct plan *asked, struct better_plan *, struct arena *);

#endif
