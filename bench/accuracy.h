/* What the parts of the scoreboard share: tables that are read, and their rows predicted. */
#ifndef ASTRA_ACCURACY_H
#define ASTRA_ACCURACY_H

#include "base/csv.h"
#include "simulate/plan.h"

/* A published run (data/published.csv). */
struct row {
    const char *id;
    char group[80]; /* source and GPU */
    char kind[80];  /* GPU and precision */
    double error;   /* of the step time: predicted over measured, less 1 */
    bool fits;
    bool allowed; /* as in struct judged */
    bool has_memory;
    double memory_error; /* of the fullest stage's peak, where the source has one */
};

struct judged {
    struct plan plan;
    bool allowed;        /* by the rules of `astra estimate`; memory apart */
    double usable_bytes; /* of a GPU, before the margin */
};

bool load_table(const char *path, struct csv *, struct arena *, struct error *);
double real_at(const struct csv *, int row, const char *column); /* 0 where there is none */

/* A row with model and strategy in columns, and one with the flags of Megatron. */
bool predict_run(const struct csv *, int row, struct judged *, struct arena *, struct error *);
bool predict_rank(const struct csv *, int row, struct judged *, struct arena *, struct error *);

/* Peak memory and fit decisions (accuracy_memory.c). `row` sorted by group. */
bool board_memory(const struct row *row, int rows, struct arena *, struct error *);

#endif
