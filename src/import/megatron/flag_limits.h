/* What flags that are no part of a strategy allow another plan to be. */
#pragma once

#include "strategy/space.h"

struct arena;
struct flags_result;
struct rules;

/* Adds what a plan must keep to go with the flags, whose own strategy is `asked`. Returns why no
 * plan can be promised to go with them, or NULL. Rules and text live in the arena. */
const char *flag_limits(const struct flags_result *, const struct strategy *asked,
                        struct setting settings[PARAMS], struct rules *, struct arena *);
