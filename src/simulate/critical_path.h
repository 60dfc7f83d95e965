/* The chain of passes that decides when a step ends. */
#pragma once

#include "schedule/schedule.h"

struct arena;

/* A chain of passes and transfers, each waiting for the one before. Whatever the ticks of the
 * passes, no step of the same schedule and transfers ends before
 *     constant + sum of forward[i] x forward ticks of stage i + the same of backward + after[end_rank]
 * for the order of passes and what they wait for do not depend on how long they take. */
struct path {
    int end_rank;
    int64_t constant;            /* ticks of transfers */
    int64_t *forward, *backward; /* [vpp * pp] how often the chain has each pass */
};

/* The longest one; equal to the latest of pipeline_run's ends plus `after` (of the rank).
 * O(passes), memory for all of them. */
void critical_path(const struct pipeline *, const int64_t after[], struct arena *,
                   struct path *out);
