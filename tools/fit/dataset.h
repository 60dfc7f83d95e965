/* Samples of one family as a table that a booster can be trained on. */
#pragma once

#include "cost/features.h"
#include "learn/sample.h"

#include <stdint.h>

struct dataset {
    enum family family;
    int columns;
    size_t rows;
    struct sample *sample; /* [rows] */
    float *x;              /* [rows * columns] */
    float *weight;
    uint32_t *shape; /* shape_of() */
};

void dataset_build(struct dataset *, const struct samples *, enum family, struct arena *);

/* The fixed costs and bandwidth shares of memory-bound kinds, from the rows for which use[i] is
 * not 0. */
void dataset_curves(const struct dataset *, const unsigned char *use, struct memory_curves *);

enum source_id {
#define SOURCE(id, ...) SOURCE_##id,
#include "fit/sources.def"
#undef SOURCE
    SOURCES
};

struct source {
    const char *name, *folder;
    bool (*read)(const char *path, struct samples *, struct error *);
    enum regime regime;
    int thin;
    double weight;
    const char *what;
};
const struct source *source_of(int id);
