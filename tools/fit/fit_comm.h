/* Learns the factor between analytic and measured collectives, and says how well it does on what it
 * has not seen. */
#pragma once

#include "base/file.h"
#include "fit/dataset.h"

/* What is left out: every fifth message of each source; one count of ranks and nodes in all sources
 * at once; a whole source, which is what a user's machine is. */
enum comm_split { COMM_LEFT_SIZES, COMM_LEFT_RANKS, COMM_LEFT_SOURCE, COMM_SPLITS };

/* Who predicts. CONSTANT: one share of the nominal bandwidth per source and kind. NEAREST: the
 * nearest measurement in log(bytes), log(ranks) and log(nodes), of the same source and GPU if there
 * is one, scaled by the analytic time. */
enum comm_rival { COMM_BY_MODEL, COMM_BY_ANALYTIC, COMM_BY_CONSTANT, COMM_BY_NEAREST, COMM_RIVALS };

struct comm_score {
    double median, mean; /* of |predicted / measured - 1| */
    size_t rows;         /* 0: nothing was left to learn from */
};

struct comm_report {
    struct comm_score score[SOURCES][COMM_SPLITS][COMM_RIVALS];
    int folds[COMM_SPLITS];
    size_t trained_rows; /* of the final model, after thinning */
};

/* Deterministic, whatever the threads. `report` NULL: no cross-validation (well below a
 * second instead of five). Fails when there are no collectives among the samples. The model's file,
 * UBJSON, is put into the arena. */
bool fit_comm(const struct samples *, int threads, struct text *model, struct comm_report *report,
              struct arena *, struct error *);
