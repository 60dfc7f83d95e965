/* A plan as a change of the flags that the user wrote. */
#ifndef ASTRA_BETTER_FLAGS_H
#define ASTRA_BETTER_FLAGS_H

#include <stdbool.h>

struct arena;
struct estimate_query;
struct better_plan;
struct plan;
struct query;

/* Fills `add` and `remove` of the change: the user's flags without the one and with the other
 * behind them are the plan of the change. False when no such list of flags is found. */
bool better_flags(const struct query *, const struct estimate_query *, const struct plan *asked,
                  struct better_plan *, struct arena *);

/* Fills what the plan demands of the environment and the one that was asked about did not. */
void better_environment(const struct plan *asked, struct better_plan *, struct arena *);

#endif
