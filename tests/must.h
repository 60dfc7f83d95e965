/* What a test cannot go on without. */
#ifndef ASTRA_TESTS_MUST_H
#define ASTRA_TESTS_MUST_H

#include "base/error.h"

#include <stdbool.h>

#define COUNT(table) (sizeof(table) / sizeof *(table))

/* Needs cmocka.h before it. */
static void must(bool ok, const struct error *err)
{
    if (!ok)
        fail_msg("%s", err->text);
}

#endif
