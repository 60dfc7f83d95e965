/* A plan as a change of the flags that the user wrote. */
#ifndef ASTRA_INSTEAD_FLAGS_H
#define ASTRA_INSTEAD_FLAGS_H

#include <stdbool.h>

struct arena;
struct estimate_question;
struct instead;
struct plan;
struct question;

/* Fills `add` and `remove` of the change: the user's flags without the one and with the other
 * behind them are the plan of the change. False when no such list of flags is found. */
bool instead_flags(const struct question *, const struct estimate_question *,
                   const struct plan *asked, struct instead *, struct arena *);

/* Fills what the plan demands of the environment and the one that was asked about did not. */
void instead_environment(const struct plan *asked, struct instead *, struct arena *);

#endif
