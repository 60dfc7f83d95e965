#define _POSIX_C_SOURCE 200809L
#include "search/stop.h"

#include <math.h>
#include <stddef.h>
#include <time.h>

double stop_clock_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

bool stop_now(struct stop *s, bool calling)
{
    if (!s)
        return false;
    if (atomic_load_explicit(&s->over, memory_order_relaxed))
        return true;
    bool now = (s->asked && atomic_load_explicit(s->asked, memory_order_relaxed)) ||
               (calling && s->wish && s->wish(s->wish_context)) ||
               (s->until_s < INFINITY && stop_clock_s() >= s->until_s);
    if (now)
        atomic_store(&s->over, true);
    return now;
}
