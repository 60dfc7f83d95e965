/* An arena for each test of a program: cmocka_unit_test_setup_teardown(test, open_memory,
 * close_memory). */
#pragma once

#include "base/arena.h"

static struct arena mem;

static int open_memory(void **state)
{
    (void)state;
    arena_init(&mem);
    return 0;
}

static int close_memory(void **state)
{
    (void)state;
    arena_release(&mem);
    return 0;
}
