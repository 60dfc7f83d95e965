/* What was read of a file; private to the files that read one. */
#pragma once

#include "base/error.h"
#include "import/shell/launch.h"

struct imported {
    struct launch launch;
    struct launch_flags flags;
    const char
        *assumed_nodes;      /* "4x8:H100", where the file does not say all of it; NULL = it does */
    const char *named_model; /* why the model is taken for a preset; NULL = it is not */
    struct error trouble;    /* why its flags could not be read; none where they could */
};

struct options;
/* Takes the preset that the file names, where its flags do not describe the model (query_named.c). */
bool imported_model(struct options *, struct imported *, struct error *);
