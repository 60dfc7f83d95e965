/* One family learned from some rows of its dataset. */
#pragma once

#include "fit/dataset.h"

struct booster;

struct trained {
    struct booster *booster; /* owned */
    struct memory_curves curves;
    double *offset; /* per line of the GPU table: how a GPU differs from what its numbers say */
    size_t *rows;   /* of each GPU */
};

/* Learns from the rows for which use[i] is not 0. Fails without any. */
bool train(struct trained *, const struct dataset *, const unsigned char *use, struct arena *,
           struct error *);
/* Seconds of the rows for which which[i] is not 0, into out[i]. */
bool trained_predict(const struct trained *, const struct dataset *, const unsigned char *which,
                     double *out, struct error *);
void trained_release(struct trained *);
