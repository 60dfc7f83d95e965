/* `astra fit`: adds the GPU of a profile to the learned models. Their trees stay, the GPU gets its own
 * offset, and its rows, none of which the trees have seen, say how good that is. Models are learned
 * again by tools/fit. */
#pragma once

#include "base/file.h"
#include "cost/learned.h"
#include "learn/sample.h"

struct arena;

enum { FIT_LEAST_ROWS = 20 }; /* of a family, to learn it or to add a GPU to it */

struct fit_query {
    const char *const *profile; /* tables of tools/profile */
    int profiles;
    const char *models; /* folder of models to add to; NULL: those compiled in */
    const char *output; /* folder to write to */
};

/* A GPU and a family of operators that the profile has rows of. */
struct fit_added {
    enum family family;
    const struct gpu *gpu;
    size_t rows;
    bool used;          /* false: fewer than FIT_LEAST_ROWS */
    double before, now; /* mean errors, now on left-out shapes */
};

struct fit_report {
    size_t skipped[SKIPS]; /* rows by what became of them */
    size_t collectives;    /* that were not added */
    int count, capacity;
    struct fit_added *added; /* [count] */
};

/* The report lives in the arena. Nothing is written unless everything went well. */
bool fit_run(const struct fit_query *, struct arena *, struct fit_report *out, struct error *);

/* model_file.c: a model's file; that of one that is compiled in is put into the arena. */
struct text model_file(const struct learned_model *, int model, struct arena *);

/* fit_write.c: the files of a folder, all of them or none. `added` rows of a profile more than its
 * sources have. */
bool learned_write(const struct learned *, size_t added, const char *folder, struct error *);
