/* `astra fit`: learns the operator models from measurements, says how good they are, writes them.
 *
 * With a folder of sources, or `alone`, everything is learned again from what is given. Otherwise a
 * profile adds its GPU to the models at hand: their trees stay, the GPU gets its own offset, and
 * its rows, none of which the trees have seen, say how good that is. */
#ifndef ASTRA_FIT_H
#define ASTRA_FIT_H

#include "cost/learned.h"
#include "learn/fit_comm.h"
#include "learn/validate.h"

struct str;

enum { FIT_LEAST_ROWS = 20 }; /* of a family, to learn it or to add a GPU to it */

struct fit_query {
    const char *const *profile; /* tables of tools/profile */
    int profiles;
    const char *sources; /* folder with measurements of others, or NULL */
    const char *models;  /* folder of models to add to; NULL: those compiled in */
    const char *output;  /* folder to write to */
    const char *plots;   /* folder for pictures, or NULL */
    bool alone;
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
bool fit_run(const struct fit_query *, struct str *out, struct error *);

/* Parts, each in a file of its own. */
void fit_text(const struct fit *, struct str *out); /* fit_text.c */
void skips_head(struct str *out); /* the table of used and skipped rows; fit_add.c */
void skips_line(const char *source, const size_t skipped[SKIPS], struct str *out);
bool fit_write(const struct fit *, const char *folder, struct error *);  /* fit_write.c */
bool fit_plots(const struct fit *, const char *folder, struct error *);  /* fit_plot.c */
bool fit_add(const struct fit_query *, struct str *out, struct error *); /* fit_add.c */
/* fit_write.c: `added` rows of a profile more than were known. */
bool learned_write(const struct learned *, size_t added, const char *folder, struct error *);

bool of_gpu(const struct sample *, const void *gpu); /* for score_rows */

#endif
