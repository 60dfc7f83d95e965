/* Samples of one family as a table that a booster can be trained on. */
#ifndef ASTRA_DATASET_H
#define ASTRA_DATASET_H

#include "cost/features.h"
#include "learn/sample.h"

#include <stdint.h>

/* Rows are sorted by what they measure, equal measurements of one source joined to their median, so
 * that the order of the input does not matter. */
struct dataset {
    enum family family;
    int columns;
    size_t rows;
    struct sample *sample; /* [rows] */
    float *x;              /* [rows * columns] */
    float *weight;
    uint32_t *shape; /* equal for rows that must be left out together: weight or head sizes */
};

/* Folds of left-out shapes: row i is of fold shape[i] % SHAPE_FOLDS. */
enum { SHAPE_FOLDS = 5 };

size_t gpu_index(const struct gpu *); /* line of the GPU table */

void dataset_build(struct dataset *, const struct samples *, enum family, struct arena *);

/* The fixed costs and bandwidth shares of memory-bound kinds, from the rows for which use[i] is
 * not 0. */
void dataset_curves(const struct dataset *, const unsigned char *use, struct memory_curves *);

struct source {
    const char *name, *folder;
    bool (*read)(const char *path, struct samples *, struct error *);
    enum regime regime;
    int thin;
    double weight;
    const char *what;
};
const struct source *source_of(enum source_id);

#endif
