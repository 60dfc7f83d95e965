/* How well a family is predicted where nothing was measured. */
#pragma once

#include "fit/rivals.h"

/* What is left out: a fifth of the shapes at a time, in all sources; one GPU; one generation. */
enum split { LEFT_SHAPES, LEFT_GPU, LEFT_GENERATION, SPLITS };

struct validation {
    double *predicted[SPLITS][RIVALS]; /* seconds per row; 0: not predicted */
};

/* Folds run on `threads` threads, each on one. Deterministic, whatever their number. */
bool validate(struct validation *, const struct dataset *, int threads, struct arena *,
              struct error *);

/* Errors over the rows that `want` accepts. */
struct fit_score {
    double mean, bias; /* of |predicted / measured - 1|, and with its sign */
    size_t rows;
};
struct fit_score score_rows(const struct dataset *, const double *predicted,
                            bool (*want)(const struct sample *, const void *), const void *context);
