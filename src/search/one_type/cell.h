/* One cell of the search: the strategies that share tp, cp, pp and dp. Cells are independent but
 * for what the search has found before, so that threads can take them in any order. */
#pragma once

#include "base/arena.h"
#include "search/one_type/axis_options.h"
#include "search/one_type/costs_table.h"
#include "search/results.h"
#include "search/search.h"

/* Reasons of dropping that are not rules; counted behind them. */
enum { DROP_SPLIT, DROP_MEMORY, DROP_HOST, DROP_SLOWER, DROP_FIXED };

enum { CELL_AXES = PARAM_FIRST_PART }; /* at most one axis for each parameter of a cell */

struct cell {
    uint16_t option[CELL_AXES]; /* of the axes before first_part */
    int64_t gpus;
    struct rental rental;  /* of these GPUs */
    int64_t bound;         /* ticks: no strategy of the cell is faster */
    double key;            /* what the objective makes of it */
    int64_t cut_list[2];   /* ticks: slower ones cannot enter the shortlist, or are beyond a limit;
                           * the second where a caution holds */
    int64_t cut_front;     /* ... nor the front */
    struct shortlist best; /* what was found; in the worker's memory */
    struct found *fastest; /* NULL, or in the worker's memory */
    bool fits;             /* something was found before: what comes nearest is not asked for */
    double fullness;       /* of what came nearest to fitting, in all cells known before and this */
    struct strategy *nearest; /* NULL, or in the worker's memory */
    bool left;                /* the search was stopped before all of it was looked at */
};

/* Least over everything else, by the options of tp, cp and micro_batch. */
struct least_table {
    int tp_axis, cp_axis, batch_axis;
    uint64_t known; /* parameters that are bound while it is filled */
    struct least *entry;
    struct least *part; /* over the rest alone, by the options of a part that costs depend on */
};

/* What pass times keep without CUDA graphs. Overlap of experts and delayed weight gradients change
 * nothing of it. */
struct known_memory {
    struct strategy s;
    double *activations; /* [2 * classes] and what is beside them; NULL: none yet */
    double *hosted;
    bool too_much; /* not even with the smallest states */
};

/* What ranks keep under each state of a list: the same for all partitions of a part in which they have
 * the same parameters. */
enum { KNOWN_RANKS = 32 };
struct known_rank {
    struct rank_params params;
    struct rank_state *state; /* [states] and the least of each of their bytes behind them */
};
struct known_states {
    const struct cell *cell;
    const struct option_list *list;
    int ep, etp, forgotten; /* of the list's cache */
    int ranks;
    struct known_rank rank[KNOWN_RANKS];
    struct arena mem;
};

/* Pass times that were too slow when they were judged: what differs from them by slower switches or
 * by more recompute takes no less. */
enum { SLOW_PASS_TIMES = 64 };
struct slow_pass_times {
    struct strategy s;
    int64_t bound; /* ticks, of the pipeline */
};

struct worker {
    const struct search_query *query;
    bool calling; /* the thread that the search was called in */
    const struct limits *limits;
    struct costs_table *costs;
    const struct least_table *table;
    struct walk walk;
    struct rule_plan cautions; /* by the axis at which each can be told */
    int cautioned;             /* how many hold, whatever is bound next */
    struct partition partition;
    struct arena keep;    /* lives as long as the search */
    struct arena scratch; /* emptied after every partition */
    struct option_cache partitions, pass_times, states;
    struct cell *cell;
    struct least least;
    double framework_limit; /* bytes, of the cell */
    double layer_states;    /* least bytes of the states of one layer; 0 when not known */
    double all_states;      /* ... of all layers together */
    int state_count, state_capacity;
    struct state *state;     /* owned: of the partition, by option of `state_list` */
    int8_t *state_cautioned; /* owned: a caution holds under it, whatever the pass times */
    const struct option_list *state_list;
    int64_t least_beside; /* ticks: no state of the partition has less beside the pipeline */
    int asked_beside, cut_beside; /* of how many partitions of the cell, and how many it has cut */
    struct known_states known_states;
    struct state smallest;                  /* least bytes of any of them, class by class */
    struct known_memory known_memory[2][4]; /* exact or from below; by overlaps */
    struct strategy without_graphs;         /* the last pass times without CUDA graphs ... */
    bool waited;        /* ... and whether a pass of theirs waits for the host */
    bool graphs_decide; /* speaks_of_no_graph() */
    int slows;
    struct slow_pass_times slow[SLOW_PASS_TIMES]; /* of the partition */
    int64_t cut[2]; /* cut_of() without and with a caution; 0: to be found again */
    int64_t judged, simulated, kept;
    int64_t *dropped; /* [rules + DROP_FIXED] */
};

void worker_init(struct worker *, const struct search_query *, const struct limits *,
                 struct costs_table *, const struct least_table *, const struct space *,
                 const struct rule_plan *, const double fixed[SLOTS]);
void worker_release(struct worker *);

/* Searches the cell within its cuts. */
void cell_search(struct worker *, struct cell *);

void count_dropped(struct worker *, const struct rule *, int axis);
