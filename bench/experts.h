/* What the parts of the comparison with published plans share. */
#pragma once

#include "base/arena.h"
#include "base/csv.h"
#include "base/str.h"
#include "strategy/strategy.h"

struct search_query;
struct rules;

struct searched {
    const char *key; /* the whole query; NULL = not asked yet */
    bool found;
    struct strategy strategy;
    double step_s;
};

struct expert {
    const struct csv *table;
    int row;
    const char *id, *cluster;
    const char *group;   /* container, benchmark or source: what the row is counted under */
    const char *release; /* of Megatron core; NULL = not known, the newest */
    bool nvidia;
    struct strategy strategy;
    double measured_s, step_s, expected_error;
    bool allowed; /* by Megatron's rules and the engine's */
    bool fits;
    bool inside; /* the search could come upon it, memory apart */
    const struct searched *best;
};

/* A fact and the plans it is true of. */
struct note {
    struct note *next; /* by text */
    const char *text;
    int rows, nvidia;
    struct str ids; /* the first few */
};

struct bench {
    struct arena mem;
    int experts;
    struct expert *expert; /* [experts] */
    int searches;
    struct searched *searched; /* [experts], the first of them used */
    struct note *notes;
};

/* What a column says of a row ("" where the table has none of that name). */
const char *expert_column(const struct expert *, const char *name);
/* Who published it, and with which release of Megatron core (experts_source.c). */
void expert_place(struct expert *, struct arena *);

/* experts_inside.c: whether rules of a search or of an estimate hold, and whether a search could
 * come upon the plan at all; what stands in the way is noted. */
void add_note(struct bench *, const struct expert *, const char *text);
bool rules_hold(struct bench *, const struct rules *, double *values, const struct expert *,
                const char *otherwise);
bool is_inside(struct bench *, const struct search_query *, const struct expert *);

/* Prints it all (experts_text.c). How many plans are slower than one that the search could have
 * found. */
int print_experts(struct bench *);
