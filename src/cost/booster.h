/* Gradient-boosted trees. libxgboost stands behind it and is included by booster.c alone. */
#pragma once

#include "base/error.h"

#include <stddef.h>

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

/* Deterministic: the same data and parameters give the same bytes, whatever the threads. */
bool booster_train(struct booster **out, const struct booster_data *, const struct booster_params *,
                   struct error *);
/* Safe from several threads at once. */
bool booster_predict(const struct booster *, const float *x, size_t rows, int columns, float *out,
                     struct error *);
/* UBJSON. */
bool booster_save(const struct booster *, struct arena *, const void **bytes, size_t *size,
                  struct error *);
/* `name` stands in messages. The bytes must have been checked to be what booster_save wrote. */
bool booster_load(struct booster **out, const void *bytes, size_t size, const char *name,
                  struct error *);
void booster_free(struct booster *);
