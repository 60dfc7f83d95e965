/* What was read of a file; private to the files that read one. */
#pragma once

#include "base/error.h"
#include "import/shell/launch.h"

struct imported {
    struct launch launch;
    struct launch_flags flags;
    const char
        *assumed_nodes; /* "4x8:H100", where the file does not say all of it; NULL = it does */
    const char *assumed_call; /* "7B 1 8" of a comment, and why; NULL = none is assumed */
    const char *call_why;
    const char *named_preset; /* the model that is taken; NULL = none */
    const char *named_model;  /* why the model is taken for a preset; NULL = it is not */
    const char
        *unknown_model;   /* what is known of a name that is no preset's; NULL = none is there */
    struct error trouble; /* why its flags could not be read; none where they could */
};

struct options;
struct text;
/* Whether files beside it may be read: of a text that comes without a file there are none. */
bool imported_follows(const struct options *, const char *path);
/* How a script is to be read: as it is called, as a comment calls it, or so that what is not set shows what it decides
 * (query_script.c). `call`: the arguments that a comment gives, `why` where it stands; NULL = none are taken. */
bool imported_script(struct options *, const struct text *, const char *path, struct launch *,
                     const char **call, const char **why, struct error *);
/* How many things there are to ask, of the flags that were read last (query_questions.c). */
int imported_asks(const struct options *);
/* Takes the preset that the file names, where its flags do not describe the model (query_named.c). */
bool imported_model(struct options *, struct imported *, struct error *);

/* Entries of the vocabulary by what flags of the tokenizer name, and `name`, the part of it that says so; 0 = they do not. `other`
 * is set where they name a file of its own: --tokenizer-type alone does not tell what is in it. */
int imported_vocab(const struct options *, const char **name, bool *other);
