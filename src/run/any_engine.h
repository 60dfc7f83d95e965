/* Which engine answers where any may. */
#pragma once

#include "run/commands.h"

enum { ENGINES_SAID = 4 };
struct engines_said {
    int count;
    const char *text[ENGINES_SAID]; /* notes: the best plan of each */
};
/* The query itself, or that of the best engine. */
const struct query *any_engine(struct answering *, struct engines_said *);
