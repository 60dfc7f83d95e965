/* A first look for searches with little time: the same search over a few ways that are usually good.
 * What it finds are plans of the whole space, which cut the search that follows. */
#pragma once

#include "strategy/space.h"

struct arena;

/* The usual ways, for space_narrow(); lives in the arena. */
const struct setting *scout_settings(bool experts, struct arena *);
