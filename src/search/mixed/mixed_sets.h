/* What a mixed search goes through: sets of types, and the structures of each. */
#pragma once

#include "cluster/cluster.h"
#include "search/mixed/mixed_cell.h"
#include "search/rounds.h"

struct mixed {
    const struct mixed_query *query;
    struct arena *mem;
    struct scene scene[CLUSTER_MAX_GROUPS]; /* of each type alone */
    struct mixed_costs costs[CLUSTER_MAX_GROUPS];
    int sets;
    struct mixed_set *set;
    int workers;
    struct mixed_worker *worker;
    struct rounds rounds;         /* of structures */
    struct rounds_open open;      /* of what was left so far */
    struct results own, *results; /* the query's, or `own` where it has none */
};

/* Fills the types of the pool, and every set of two types and more. */
void mixed_list_sets(struct mixed *);
/* Structures of a set that its rules allow, from this axis on. */
void mixed_list_structures(struct mixed *, const struct mixed_set *, struct walk *, int axis,
                           struct rounds *to);
bool mixed_stopped(struct mixed *);
