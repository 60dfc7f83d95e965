/* `astra fit`: adds the GPU of a profile to the learned models. Their trees stay, the GPU gets its own
 * offset, and its rows, none of which the trees have seen, say how good that is. Models are learned
 * anew by tools/fit. */
#pragma once

#include "cost/learned.h"
#include "learn/sample.h"

struct str;

enum { FIT_LEAST_ROWS = 20 }; /* of a family, to learn it or to add a GPU to it */

struct fit_query {
    const char *const *profile; /* tables of tools/profile */
    int profiles;
    const char *models; /* folder of models to add to; NULL: those compiled in */
    const char *output; /* folder to write to */
};

/* `out` gets the report as text. Nothing is written unless everything went well. */
bool fit_run(const struct fit_query *, struct str *out, struct error *);

/* The report's table of used and skipped rows. */
void skips_head(struct str *out);
void skips_line(const char *source, const size_t skipped[SKIPS], struct str *out);

/* fit_write.c: the files of a folder, all of them or none. `added` rows of a profile more than its
 * sources have. */
bool learned_write(const struct learned *, size_t added, const char *folder, struct error *);
