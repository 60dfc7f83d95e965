/* When a search ends before it is done: at a moment, or when someone asks for it. What it has found
 * until then stays, and what it left has bounds. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

struct stop {
    double until_s;              /* by stop_clock_s(); INFINITY = no such moment */
    const atomic_bool *asked;    /* from any thread or a signal handler; NULL = nobody asks */
    bool (*wish)(void *context); /* asked now and then by the searching thread; NULL = none */
    void *wish_context;
    atomic_bool over; /* what the others go by */
};

double stop_clock_s(void); /* that never goes back */
/* Whether to end now; once true it stays so. NULL: never. `calling`: this is the thread that the
 * search was called in, which may ask its wish. */
bool stop_now(struct stop *, bool calling);
