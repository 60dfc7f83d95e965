/* What the two halves of the comparison with published plans share. */
#pragma once

#include "base/arena.h"
#include "base/csv.h"
#include "base/str.h"
#include "strategy/strategy.h"

enum freedom {
    EVERYTHING,   /* all that a search tries */
    OWN_FEATURES, /* what the expert left off stays off */
    FREEDOMS
};

struct searched {
    const char *key; /* the whole query; NULL = not asked yet */
    bool found;
    struct strategy strategy;
    double step_s;
};

struct expert {
    const char *id, *cluster;
    char source[48];
    struct strategy strategy;
    double step_s, expected_error;
    bool allowed; /* by Megatron's rules and the engine's */
    bool fits;
    bool inside[FREEDOMS]; /* the search could come upon it, memory apart */
    const struct searched *best[FREEDOMS];
};

/* A fact and the plans it is true of. */
struct note {
    struct note *next; /* by text */
    const char *text;
    int rows;
    struct str ids; /* the first few */
};

struct bench {
    struct csv table;
    struct arena mem;
    struct expert *expert; /* [table.rows] */
    int searches;
    struct searched *searched; /* [FREEDOMS * table.rows] */
    struct note *notes;
};

/* Prints it all (experts_text.c). How many plans are slower than one that the search could have
 * found. */
int print_experts(struct bench *);
