/* What was read of a file; private to the files that read one. */
#pragma once

#include "base/error.h"
#include "import/shell/launch.h"

struct imported {
    struct launch launch;
    struct launch_flags flags;
    const char
        *assumed_nodes;   /* "4x8:H100", where the file does not say all of it; NULL = it does */
    struct error trouble; /* why its flags could not be read; none where they could */
};
