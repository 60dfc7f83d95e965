/* Consecutive pipeline ranks on one group of nodes. A job on one type of GPU is one mesh; a mixed
 * one has several, in rank order. */
#pragma once

#include "strategy/strategy.h"

struct node_group;

/* What the ranks of a mesh may have of their own where the engine can (FlagScale). */
#define MESH_TABLE(X)                                                                              \
    X(tp)                                                                                          \
    X(dp)                                                                                          \
    X(ep)                                                                                          \
    X(etp) X(micro_batch) X(recompute) X(recompute_method) X(recompute_layers) X(recompute_modules)

struct mesh {
    const struct node_group *group;
    int stages; /* pipeline ranks */
    bool own;   /* the values below are its own, otherwise they are the strategy's */
#define X(name) int name;
    MESH_TABLE(X)
#undef X
};

enum { MESHES_MAX = 16 };

struct mesh_list {
    int count;
    struct mesh mesh[MESHES_MAX];
};

/* The strategy as the ranks of a mesh run it: `s` itself, or a copy in `room`. Sequence parallelism
 * and overlap of tensor-parallel communication are off where tp is 1, as Megatron has it. */
const struct strategy *mesh_strategy(const struct mesh *, const struct strategy *s,
                                     struct strategy *room);

/* GPUs of one of its stages, and of the whole job. */
int64_t mesh_stage_gpus(const struct mesh *, const struct strategy *);
int64_t mesh_list_gpus(const struct mesh_list *, const struct strategy *);

/* strategy_complexity() on the mesh that has most, and more for each type of GPU beyond the first. */
int mesh_list_complexity(const struct mesh_list *, const struct strategy *);

/* Whether one strategy runs on all ranks, so that stock Megatron can. */
bool mesh_list_uniform(const struct mesh_list *);
