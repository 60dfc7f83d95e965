/* A plain event simulation of a pipeline step: the judge of schedule/'s recurrence, and what
 * explain and traces draw. It issues every pass of every rank in Megatron's order. */
#pragma once

#include "schedule/schedule.h"

/* One pass of one rank, as it ran. */
struct event {
    int rank, chunk;
    bool backward;
    int64_t micro_batch;
    int64_t start, end; /* ticks */
    int64_t sent;       /* when its output has arrived; `end` when it goes nowhere */
};

/* Calls `visit` for each pass in an order in which every pass follows what it needs; returns the
 * end of the step, or -1 when the order cannot be completed. O(passes), memory for all of them. */
int64_t events_run(const struct pipeline *, void (*visit)(void *context, const struct event *),
                   void *context);

/* The same with gathers and reductions of parameters beside the passes, which wait for the one and
 * launch the other: the end of the last of all. */
struct step_collectives;
int64_t events_run_step(const struct pipeline *, const struct step_collectives *);
