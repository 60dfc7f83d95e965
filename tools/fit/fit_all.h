/* Learning all models anew: read, validate, train on all, write. The report has the errors on what was
 * left out, beside those of simple rivals. */
#pragma once

#include "fit/fit_comm.h"
#include "fit/validate.h"
#include "learn/fit.h"

struct fit_all_query {
    const char *const *profile; /* tables of tools/profile */
    int profiles;
    const char *sources; /* folder with measurements of others, or NULL */
    const char *output;  /* folder to write to */
    const char *plots;   /* folder for pictures, or NULL */
    int threads;
};

struct family_fit {
    struct dataset data;
    struct validation check;
    struct learned_model model; /* scores; bytes in the arena */
    struct memory_curves curves;
    bool kept; /* too few rows: the model compiled in */
};

struct fit {
    struct arena *mem;
    struct samples samples;
    size_t skipped[SOURCES][SKIPS];
    struct family_fit family[FAMILIES];
    struct comm_report comm;
    const void *comm_bytes;
    size_t comm_size;
};

/* `out` gets the report as text. Nothing is written unless everything went well. */
bool fit_all(const struct fit_all_query *, struct str *out, struct error *);

/* Parts, each in a file of its own. */
void fit_text(const struct fit *, struct str *out);
bool fit_plots(const struct fit *, const char *folder, struct error *);
