/* libxgboost: it trains trees, and tests judge the tables of cost/trees.h by what it predicts. Nothing
 * else needs it: it is included by booster.c and linked by the programs of tools/fit alone. */
#pragma once

#include "base/file.h"

struct arena;
struct booster;

struct booster_data {
    const float *x; /* rows * columns */
    const float *y;
    const float *weight; /* of rows, or NULL */
    size_t rows;
    int columns;
};

struct booster_params {
    int rounds, depth, seed, threads;
    double rate;               /* learning rate */
    double leaf_weight;        /* least sum of weights in a leaf */
    double lambda;             /* L2 penalty of leaf values */
    double subsample, columns; /* shares drawn for a tree, 1 = all */
};

/* The model's file, UBJSON, in the arena. Deterministic: the same data and parameters give the same
 * bytes, whatever the threads. */
bool booster_train(struct text *out, const struct booster_data *, const struct booster_params *,
                   struct arena *, struct error *);

/* The judge, with one thread: a file that booster_train() wrote, loaded and asked. */
bool booster_load(struct booster **out, struct text file, struct error *);
bool booster_predict(const struct booster *, const float *x, size_t rows, int columns, float *out,
                     struct error *);
void booster_free(struct booster *);
