/* Layers to pipeline ranks, exactly: the split whose step is shortest.
 *
 * For a given schedule the end of a step is the longest of many chains of passes, and each chain's
 * length is a sum over the ranks of something that depends on the rank's own layers alone. So every
 * chain is a lower bound (a cut), and its least value over all splits that give the first ranks
 * certain layers is a small dynamic program. Branch and bound over the ranks, with the most of these
 * bounds; where a split turns out longer than every known chain says, its own longest chain is a new
 * one. */
#pragma once

#include "schedule/schedule.h"

struct arena;

/* One rank with some layers. Ticks. */
struct rank_cost {
    const int64_t *forward, *backward; /* [vpp] of its chunks, one micro-batch */
    int64_t delay;  /* before its first forward: hidden while others fill, or without
                                          virtual stages added up */
    int64_t after;  /* between its last backward and the optimizer */
    int64_t behind; /* optimizer and what follows */
};

/* Chains that were the longest of some split: those of one pipeline hold for any times of its
 * passes. */
enum { ASSIGN_MAX_CHAINS = 64 };
struct assign_chains {
    int count;
    struct assign_chain {
        int64_t *forward, *backward; /* [vpp * pp] how often it has each pass */
        int64_t constant;            /* transfers */
        int end_rank;                /* whose `after` is its end */
    } chain[ASSIGN_MAX_CHAINS];
};

struct assign_problem {
    struct pipeline pipeline; /* forward and backward are not looked at */
    int layers;
    const int *least, *most; /* [pp] layers a rank may have; most is never below least */
    bool edges;              /* ranks have delay, after and behind */
    int64_t fixed;           /* ticks of every step beside the pipeline and what is behind it */
    const uint16_t
        *start_of; /* [layers + 1] costs depend on this of a rank's first layer; NULL: not */
    /* Of a rank that holds layers [first, first + count), or, where vpp > 1, that many in chunks.
     * False: it does not fit. What it points to lives as long as the problem. */
    bool (*cost)(void *context, int rank, int first, int count, struct rank_cost *out);
    /* The whole step, exactly, and of it the pipeline; INT64_MAX when it does not fit. */
    int64_t (*step)(void *context, const int layers[], int64_t *pipeline);
    bool (*stopped)(void *context); /* whether to give up now; NULL: never */
    void *context;
    int64_t nodes;                /* give up after so many; 0 = many */
    struct assign_chains *chains; /* known of before, and learned; NULL: none, and kept to itself */
};

struct assign_result {
    int64_t step;  /* INT64_MAX: no split is below the cut */
    int *layers;   /* [pp] */
    bool proven;   /* no split is shorter */
    int64_t bound; /* nothing is below it; step where proven */
    int64_t nodes, steps, cuts;
};

/* No split is shorter, as far as chains without a simulation tell: INT64_MAX where none is below
 * the cut. */
int64_t assign_bound(const struct assign_problem *, int64_t cut, struct arena *);

/* The shortest step below `cut`; the arena holds the result and the work. */
void assign_run(const struct assign_problem *, int64_t cut, struct arena *,
                struct assign_result *out);
