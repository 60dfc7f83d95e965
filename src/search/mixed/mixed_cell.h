/* One structure of a mixed search: every parameter that says what lies where, but for the stages.
 * Structures are independent but for what the search has found before. */
#pragma once

#include "base/arena.h"
#include "search/mixed/mixed.h"
#include "search/mixed/mixed_costs.h"
#include "search/mixed/stage_table.h"
#include "search/one_type/axis_options.h"
#include "search/results.h"

/* Some types of the pool, all of which are used. */
struct mixed_set {
    int groups;
    const struct node_group *group[MIX_MAX];
    struct scene scene[MIX_MAX]; /* of each alone */
    struct space space;
    struct rule_plan plan, cautions;
    struct mixed_costs *costs[MIX_MAX]; /* of each, shared with the other sets */
    double fixed[MIX_MAX][SLOTS];
};

/* Where the meshes of a structure run their own (FlagScale): tp, dp, micro-batch, recompute. */
struct per_type_meshes {
    struct mesh mesh[MIX_MAX];
};

struct structure {
    const struct mixed_set *set;
    const struct per_type_meshes
        *per_type;           /* NULL: one strategy for all, as stock Megatron runs it */
    uint16_t option[PARAMS]; /* by axis */
    int seed;                /* above 0: taken first, the larger the sooner */
    int64_t bound;           /* ticks: nothing is faster */
    bool deferred;           /* some of its assignments were put off */
    bool left;               /* the search was stopped before all of it was looked at */
    bool searched;           /* what was found is there, in the worker's memory: */
    struct shortlist best;
    int fronts, capacity;
    struct found *front; /* of use to the front when found */
};

/* Of one set: its walk and lists of options. */
struct set_worker {
    struct walk walk;
    double other[MIX_MAX][SLOTS];
    struct option_cache pass_times, states;
    struct option_cache per_type_pass_times,
        per_type_states; /* nothing left out: types may refuse a switch */
};

struct mixed_worker {
    const struct mixed_query *query;
    bool calling;                  /* the thread that the search was called in */
    const struct results *results; /* as they were when the round began */
    bool scouting;                 /* hard assignments are put off */
    bool diving;                   /* one plan of a structure will do */
    int64_t ceiling;               /* ticks: only what is below it is looked for */
    int sets;
    struct set_worker *set; /* [sets] */
    const struct mixed_set *first_set;
    struct arena keep;    /* lives as long as the search */
    struct arena scratch; /* of one structure */
    struct arena problem; /* of one assignment */
    uint16_t *start_of, *first_with;
    int starts;
    struct stage_table table[MIX_MAX];
    struct partition *partition; /* of whole splits */
    struct mixed_result counts;
};

void mixed_worker_init(struct mixed_worker *, const struct mixed_query *, const struct results *,
                       const struct mixed_set *sets, int count);
void mixed_worker_release(struct mixed_worker *);

/* The walk of a set in this worker. */
struct walk *mixed_walk(struct mixed_worker *, const struct mixed_set *);

/* Notes that a rule of the query refused something. */
void mixed_note_refused(struct mixed_worker *, const struct rule *);

/* Fills st->bound. */
void structure_bound(struct mixed_worker *, struct structure *);
/* Searches it for what has a place among the results. */
void structure_search(struct mixed_worker *, struct structure *);

/* Its parameters, of the first type where types differ. */
struct strategy structure_strategy(struct mixed_worker *, const struct structure *);
/* Work that all stages of type g do in a second, and that all types must do to be below the cut; in
 * the same unit for all structures that differ in `per_type` alone. */
double type_rate(struct mixed_worker *, const struct structure *, int g);
double rate_needed(struct mixed_worker *, const struct structure *, int64_t cut);

/* Most stages of `block` GPUs on a group: whole nodes unless `any`. */
int most_stages(const struct node_group *, int64_t block, bool any);
