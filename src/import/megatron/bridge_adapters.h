/* Adapters that a recipe of Megatron-Bridge trains. */
#pragma once

#include "import/shell/launch.h"

/* Whether a setting of bridge_recipes.def is one of adapters, and none of Megatron's. */
bool bridge_is_of_adapters(const char *setting);
/* Sets launch.train from the recipe's other settings and the launch's overrides; false where the recipe has no adapters. */
bool bridge_take_adapters(struct launch *, const char *others, struct arena *);
