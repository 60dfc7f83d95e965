/* The exact optimizer: the fastest strategies of a space on one group of nodes, and the front of
 * speed and money over the number of GPUs. */
#pragma once

#include "rules/rules.h"
#include "simulate/partition.h"
#include "simulate/score.h"
#include "strategy/space.h"

#include <stdint.h>

struct arena;
struct mixed_found;
struct results;
struct stop;

/* What happened to the strategies of a space. Every strategy is counted once: generated is the
 * sum of what was dropped (early cuts by their product) and kept. */
struct drop {
    const char *reason;
    double count;
};

struct funnel {
    double generated;
    double judged;    /* memory, and a time or a bound, computed one by one */
    double simulated; /* pipelines run exactly, each for all judged strategies that share it */
    double kept;      /* of the judged: fit, and were the best of their kind when found */
    int drops;
    struct drop *drop; /* most first */
    double *by_rule;   /* [rules] dropped by each rule of the query */
};

struct found {
    int64_t step; /* ticks */
    int64_t gpus;
    struct strategy strategy;
    struct score score;
    double key;                      /* found_judge(): what the order compares */
    unsigned trouble;                /* ... and what decides between keys that are alike */
    const struct node_group *group;  /* the first one's where there are several */
    const struct mixed_found *mixed; /* where the stages of a mixed job lie; NULL: on one group */
};

struct search_query {
    struct scene scene;
    struct strategy base;           /* global_batch, seq_len, precision */
    const struct setting *settings; /* [PARAMS] */
    const struct setting *usual;    /* [PARAMS] where the space has them, these alone; NULL: all */
    bool production;                /* numerics that NVIDIA's recipes set are tried too */
    const struct rules *rules;      /* all that apply */
    const struct rules *cautions;   /* said, never dropped by; NULL: none */
    int64_t gpus_min, gpus_max;     /* to use */
    bool any_gpus;                  /* false: whole nodes only */
    int top;                        /* how many rows to return */
    const struct limits *limits;    /* NULL: speed, without limits */
    struct results *results;        /* of all searches of a query, which what is found joins;
                                     * NULL: this is the only one */
    int threads;
    bool any;                                     /* one plan that fits is enough */
    bool exhaustive;                              /* no bounds: run every strategy that fits */
    struct stop *stop;                            /* when to end early; NULL: never */
    void (*progress)(void *context, double done); /* may be NULL; 0..1, from the calling thread */
    void *progress_context;
};

struct search_result {
    int best;
    struct found *found; /* [best] best first: at most one of each row: strategy_same_row() */
    int front;
    struct found *pareto; /* [front] cheapest first: none is both slower and dearer than another */
    struct funnel funnel;
    double left;     /* cells that were not searched to their end; 0: the answer is proven */
    double open_key; /* no plan in them has a smaller objective (score_key); INFINITY: none left */
    double fullness; /* of the strategy that came nearest to fitting, when nothing fits */
    struct strategy nearest;
};

/* What a search walks; it lives in the arena. */
void search_space(const struct search_query *, struct arena *, struct space *);
/* The values of what is no parameter, as the rules of a search see them. */
void search_fixed(const struct search_query *, double values[SLOTS]);

/* Results live in the arena: those on this group among the results. The same bytes for any number
 * of threads. */
void search_run(const struct search_query *, struct arena *, struct search_result *);

/* Recomputes a found plan from scratch: rules, GPUs, layers, memory, order of events. False,
 * with what is wrong, if anything differs. */
bool search_check(const struct search_query *, const struct found *, struct error *);
