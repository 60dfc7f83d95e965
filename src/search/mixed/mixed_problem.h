/* One arrangement as an assignment of layers to ranks: what assign.c asks, answered by the tables of
 * its types. */
#pragma once

#include "search/mixed/assign.h"
#include "search/mixed/mixed_parts.h"

struct problem {
    struct mixed_cell *c;
    int pp, type[SCHEDULE_MAX_RANKS]; /* of each rank */
    struct mesh_list meshes;
    struct scene scene;
    struct layout layout;
    int least[SCHEDULE_MAX_RANKS], most[SCHEDULE_MAX_RANKS]; /* layers of each rank */
    int64_t send[SCHEDULE_MAX_RANKS];
    int64_t tax;                 /* transfer_tax() */
    bool weighs;                 /* more than time decides */
    bool crowded;                /* the last split: partition_crowded() */
    bool uncrowded;              /* only splits that are not */
    struct mixed_found plan;     /* this one, without its layers */
    struct found found;          /* the same in the order of plans */
    struct assign_chains chains; /* that one state has learned, for the next */
};

/* Ranks, meshes and transfers of c->stages in c->order. */
void problem_place(struct problem *, struct mixed_cell *);
/* What assign.c needs under c->state for a step below the cut. False: too little room. */
bool problem_pose(struct problem *, int64_t cut, struct assign_problem *out);
/* What a rank with these layers takes, whether it fits or not. */
void problem_set_cost(struct problem *, int rank, int first, int count, struct rank_cost *out);
/* Whether the split that is best is crowded: its layers stay in p->layout. */
bool problem_split_crowded(struct problem *, const int layers[]);
