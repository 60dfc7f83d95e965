/* One family learned from some rows of its dataset. */
#pragma once

#include "base/file.h"
#include "cost/trees.h"
#include "fit/dataset.h"

struct trained {
    struct text file; /* UBJSON */
    struct trees trees;
    struct memory_curves curves;
    double *offset; /* per line of the GPU table: how a GPU differs from what its numbers say */
    size_t *rows;   /* of each GPU */
};

/* Learns from the rows for which use[i] is not 0. Fails without any. All of it lives in the arena. */
bool train(struct trained *, const struct dataset *, const unsigned char *use, struct arena *,
           struct error *);
/* Seconds of the rows for which which[i] is not 0, into out[i]. */
void trained_predict(const struct trained *, const struct dataset *, const unsigned char *which,
                     double *out);
