/* A growing list of command-line words; private to the export stage. */
#pragma once

#include "base/error.h"
#include "export/export.h"
#include "model/model.h"

#include <stddef.h>

struct arena;
struct layout;
struct str;
struct strategy;

enum { WRITER_MAX_WORDS = 2048 }; /* one for each layer count of a long pipeline */

struct writer {
    const struct model *model;
    const struct strategy *strategy;
    const struct layout *layout;
    struct export_run run;
    int release; /* 0.N of Megatron core; INT_MAX = HEAD */
    struct arena *mem;
    const char **word; /* room for WRITER_MAX_WORDS */
    size_t count;
    struct error *err;
    bool failed; /* a flag is too new for the release */
};

void writer_word(struct writer *, const char *word); /* borrowed */
void writer_number(struct writer *, const char *flag, int value);
void writer_pair(struct writer *, const char *flag, const char *value); /* borrowed */
void writer_text(struct writer *, const char *flag, struct str *value); /* released */

/* Whether the release has the flag; the first one it lacks makes the error. */
bool writer_has(struct writer *, const char *flag, int since);

/* A flag with what the model has in this field. */
void writer_meaning(struct writer *, const char *flag, enum model_meaning);

/* The flags of the model's fields, and of what it means (megatron_meaning.c). */
void writer_model(struct writer *);
void writer_meanings(struct writer *);
/* All flags of Megatron; makes room for them and for what an engine adds. */
void writer_megatron(struct writer *);
