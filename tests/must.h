/* What a test cannot go on without. */
#pragma once

#include "base/error.h"

#include <stdbool.h>

#define COUNT(table) (sizeof(table) / sizeof *(table))

/* Needs cmocka.h before it. */
static void must(bool ok, const struct error *err)
{
    if (!ok)
        fail_msg("%s", err->text);
}
