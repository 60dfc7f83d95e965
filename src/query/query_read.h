/* What was read of a file; private to the files that read one. */
#pragma once

#include "base/error.h"
#include "import/shell/launch.h"

struct imported {
    struct launch launch;
    struct launch_flags flags;
    struct error trouble; /* why its flags could not be read; none where they could */
};
