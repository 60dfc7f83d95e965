/* One structure while it is searched: shared by the files that search it.
 *
 *   mixed_structure.c   what it costs on each type
 *   mixed_bounds.c      a bound of all its plans, and of numbers of stages
 *   mixed_score.c       what its GPUs cost, and the step at which it is of no use any more
 *   mixed_room.c        layers that time and memory leave a stage
 *   mixed_options.c     numbers of stages, pass times and states that rules leave
 *   mixed_classes.c     pass times, those that differ in recompute together first
 *   mixed_cell.c        numbers of stages, types in order
 *   mixed_solve.c       one arrangement of stages, under each state
 *   mixed_problem.c     the same as layers to assign, for assign.c */
#pragma once

#include "search/mixed/mixed_cell.h"

/* Layers that fit on a stage, by type and micro-batches in flight. */
struct room {
    int pass_times;                 /* the number of the pass times it is of */
    uint16_t *layers[MIX_MAX];      /* [alive_max + 1] */
    int rules_pp, rules_pass_times; /* what the rules were asked of last, */
    bool rules_allow;               /* and their answer */
    unsigned trouble;               /* and that of plans whose memory is not crowded */
    uint32_t ends_asked[MIX_MAX];   /* c->asked of: */
    double ends[MIX_MAX];           /* least delay and reduction of a first rank of each type */
    uint32_t *chunks_fit; /* by crowded or not, type, rank and layers: twice c->asked, and whether
                           * they fit on a rank with several chunks; NULL: not asked yet */
};

/* A number of stages that may be of use. */
struct stage_count {
    int pp;
    int64_t cut;       /* of the stages of each type that leave most time */
    int most[MIX_MAX]; /* of each type among those of use */
    double *behind;    /* [states] cell_least_behind(); below 0: not asked yet */
    double *ends;      /* [states] the same of cell_least_ends() */
};

/* Stages of each type, and the orders of the types that may be of use: bits by their number. */
struct arrangement {
    struct stage_count *at;
    int stages[MIX_MAX];
    uint32_t orders;
};
struct arrangements {
    int count, capacity;
    struct arrangement *of;
};

/* Stages of each type that a dive looks at, those that may be fastest. */
enum { DIVE_BOUNDS = 24 };
struct dive_stages {
    int count, most;
    double bound[DIVE_BOUNDS]; /* rising */
    struct arrangement of[DIVE_BOUNDS];
};

/* Pass times that differ in recompute alone. */
struct pass_class {
    int count;
    uint16_t *index; /* in mixed_cell.option */
};

/* One structure while it is searched. */
struct mixed_cell {
    struct mixed_worker *w;
    struct structure *st;
    const struct mixed_set *set;
    struct strategy s;         /* with pass times and state as they are bound */
    struct strategy keeps;     /* whose recompute says what stays in memory */
    bool relaxed;              /* both are of several pass times: only bounds are asked for */
    struct strategy *option;   /* pass times that may be of use */
    double drops[MODULES];     /* bytes of each module, when recomputed */
    struct arrangements *left; /* where relaxed: those that may be of use */
    struct dive {              /* of them the one with the least bound */
        int64_t bound;
        struct stage_count *at;
        int stages[MIX_MAX], order[MIX_MAX];
    } dive;
    struct dive_stages *collects; /* not NULL: stages are collected, not bounded */
    const struct layer_costs *costs[MIX_MAX];
    struct scene scene[MIX_MAX];     /* of each type, with what it has of its own */
    struct mesh_list alone[MIX_MAX]; /* its mesh, for that */
    int64_t block[MIX_MAX];          /* GPUs of a stage */
    int64_t micro_batches;
    unsigned trouble; /* that all of its plans have, at least */
    bool any;
    int layers;
    int64_t step[MIX_MAX]; /* stages of each type come in multiples of it */
    int fewest[MIX_MAX], most[MIX_MAX];
    struct rental rental;        /* of the stages at hand, or the least of several */
    double rate[MIX_MAX], units; /* work a tick of a stage of each type, and of all layers */
    /* Least ticks of a layer of each kind and of any on each type, how many there are, and what both
     * ends have beside layers. */
    double least[MODEL_MAX_KINDS + 1][MIX_MAX], embedding[MIX_MAX], head[MIX_MAX];
    int of_kind[MODEL_MAX_KINDS + 1];
    double backward;      /* of a stage's ticks those that are surely backward */
    double work;          /* least ticks of all layers, once */
    double more[MIX_MAX]; /* least ticks that a layer takes longer on each type */
    double send, cross;   /* least ticks of a transfer, and of one between types */
    double behind;        /* least ticks of optimizer and what follows, for the pp at hand */
    int64_t crossing[MIX_MAX][MIX_MAX];
    int64_t sends[MIX_MAX][NEARNESSES];
    int pps;
    struct stage_count *pp; /* [pps] numbers of stages that may be of use, most first */
    struct stage_count *at; /* of them the one at hand */
    int by_time[MIX_MAX];   /* layers of a stage that the cut allows, for the pp at hand */
    int longest[MIX_MAX];   /* the same of any pp: rooms are not asked of more */
    int alive_max;          /* micro-batches in flight */
    int states;
    const struct option_list *state_list;
    struct room *room; /* [states + 1 + STATE_KINDS] layers that fit; behind them of the smallest */
    int state;         /* that `room` and costs are asked of, or any of several: */
    int any_state;     /* those at hand, ANY_STATE or any_of_kind() */
    int kinds;         /* bits of the kinds that there are */
    uint32_t asked;    /* the number of the pass times and stages at hand */
    bool uniform;      /* full recompute of all layers is among the pass times */
    int stages[MIX_MAX]; /* of each type, while they are chosen */
    int order[MIX_MAX];  /* types along the pipeline */
};

void cell_init(struct mixed_cell *, struct mixed_worker *, struct structure *);
/* Whether the search is to end: then what is left of the structure stays open. */
bool structure_stopped(const struct mixed_cell *);
/* All layers on the type that is fastest for each, and how much more a layer takes at least
 * elsewhere. */
void cell_find_work(struct mixed_cell *);
void cell_find_rates(struct mixed_cell *);

/* A plan on the GPUs of c->rental that is not faster than this is of no use. */
int64_t cell_cut(const struct mixed_cell *);
/* The same of plans of the row and trouble of this one. */
int64_t cell_cut_of(const struct mixed_cell *, const struct found *);
/* Whether a plan with this score, of any row, is of use to the front. */
bool cell_front_of_use(const struct mixed_cell *, const struct found *);
/* Whether its bound, and what its work costs at least, leave the structure a place among the results. */
bool cell_within_reach(const struct mixed_cell *);
/* Sets the rental: for c->stages of each type, or the least that any pp stages take. */
void cell_rent(struct mixed_cell *);
void cell_rent_least(struct mixed_cell *, int pp);
/* Whether c->stages have as many GPUs as the query asks for, if it does. */
bool cell_gpus_asked(const struct mixed_cell *);
/* Takes a number of stages: sets the least rental and the most of each type, and returns the cut. */
int64_t cell_enter_pp(struct mixed_cell *, const struct stage_count *);
/* Whether a step on c->stages of each type, pp in all, may be below the cut. */
bool stages_of_use(const struct mixed_cell *, int pp, int64_t cut);
/* Whether a step of pp stages, so many of each type as are best, may be of use. */
bool cell_pp_of_use(struct mixed_cell *, int pp, struct stage_count *);

/* What one micro-batch may take on a stage for the step to stay below the cut. */
struct allowed {
    double both; /* ticks of its passes and transfers */
    double one;  /* ticks of the longer pass and its transfer */
};
/* For a pipeline of pp stages that have `work` ticks for one micro-batch in all. */
struct allowed cell_allowed(const struct mixed_cell *, int pp, double work, int64_t cut);
bool stage_allowed(const struct mixed_cell *, struct allowed, const struct stage_time *);

/* Most layers of a middle stage of a type below the cut. */
int cell_layers_by_time(struct mixed_cell *, int g, struct allowed);
/* Sets by_time; whether the stages of all types then hold all layers. */
bool cell_has_time(struct mixed_cell *, int pp, int64_t cut);
/* Sets `longest`: the most that by_time is for any number of stages. */
void cell_find_longest(struct mixed_cell *);
/* Of the current pass times and state; the second: as far as it is known. */
const struct room *cell_room(struct mixed_cell *);
struct room *cell_room_at(const struct mixed_cell *);
int cell_alive(const struct mixed_cell *, int rank, int pp);
/* Whether all layers find room by memory and by_time: the best type at every place. */
bool cell_has_memory(struct mixed_cell *, int pp);
/* Ticks: no step on c->stages of each type, pp in all, is shorter. */
double stages_bound(const struct mixed_cell *, int pp);
/* Whether some number of stages has room by time, and by memory if asked. */
bool cell_has_room(struct mixed_cell *, bool memory);

/* The optimizer of the stage that has most, under the current state. Ticks. */
double cell_least_behind(struct mixed_cell *);
/* Delay and reduction of the first rank, whatever its type and the pass times are. Ticks. */
double cell_least_ends(struct mixed_cell *);
/* Whether c->stages of each type in c->order may be of use; if so, and unless relaxed, the best
 * layers are found. */
bool cell_solve(struct mixed_cell *);

/* Fills c->pp: numbers of stages that the pool, --gpus and rules allow, most first. */
void cell_list_pps(struct mixed_cell *);
/* What the rules let pass, of the first type alone where types differ: the others are asked at the
 * end. */
void cell_list_options(struct mixed_cell *, const struct option_list **pass_times,
                       const struct option_list **states);
/* Rules on the number of stages, and those on pass times and state at once. */
bool cell_rules_allow(struct mixed_cell *);
/* Whether recompute of all layers goes with every number of stages and state that there is. */
bool cell_uniform_goes(struct mixed_cell *);
/* Whether a caution holds on some type, whatever stages, pass times and state are. */
bool cell_cautioned(struct mixed_cell *);

/* Searches pass times [count] of c->option. */
void cell_search_classes(struct mixed_cell *, int count);
/* Where `diving`: solves the arrangement of c->dive. */
void cell_solve_dive(struct mixed_cell *);
/* What pass times were asked of before is forgotten. */
void cell_new_pass_times(struct mixed_cell *);
/* Whether c->state is one of those at hand. */
bool state_at_hand(const struct mixed_cell *);
/* The arrangements of use under c->s, of those given or of all. */
void cell_search_pass_times(struct mixed_cell *, const struct arrangements *among);
