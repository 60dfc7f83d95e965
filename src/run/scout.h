/* A first look for searches with little time: the same search over a few ways that are usually good.
 * What it finds are plans of the whole space, which cut the search that follows. */
#pragma once

#include "strategy/space.h"

struct arena;

/* What was set, and where nothing was the usual ways; lives in the arena. */
const struct setting *scout_settings(const struct setting settings[PARAMS], bool experts,
                                     struct arena *);
