/* Rules belong to an engine: what Megatron-LM refuses, a fork of it or an earlier release may run. What is lifted becomes a
 * caution, which names who runs it. */
#pragma once

#include "base/error.h"

#include <stddef.h>

struct arena;
struct rules;

/* Takes the rules out that do not hold for a launch file of this fork (NULL = none is known), and adds the part of them that
 * holds all the same, and a caution of each. Cautions that are about another engine go. */
bool rules_lift(struct rules *, struct rules *cautions, const char *fork, struct arena *,
                struct error *);

/* Who runs what this reason refuses, "DeepSpeed: ..."; NULL = nobody is known. */
const char *fork_runs(const char *reason, const char *fork, struct arena *);

/* One line of the table, for tests. False behind the last. */
bool fork_rule_at(size_t i, const char **fork, const char **reason);
