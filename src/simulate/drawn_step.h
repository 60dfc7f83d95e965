/* One step of a plan as it is drawn, in a trace, as a picture and on a page: the passes of the event
 * simulation, and around them what each rank does outside the pipeline. */
#pragma once

#include "simulate/partition.h"

struct arena;
struct plan;

/* struct edges in ticks. */
struct drawn_ticks {
    int64_t delay, after, behind;
};

struct drawn_step {
    struct scene scene;
    const struct strategy *strategy;
    struct partition *partition;
    struct pass_times pass_times;
    struct state state;
    struct pipeline pipeline;
    struct step_parts parts;
    struct drawn_ticks *edges; /* [pp] */
};

/* The same partition, pass times and state as the plan was computed with, which must be computed. What it
 * holds lives in the arena. */
struct drawn_step *drawn_step_new(const struct plan *, struct arena *);

int64_t drawn_ticks(double seconds);

/* Work of a rank outside its passes, in ticks of the step. */
struct drawn_edge {
    int64_t start, end; /* end > start */
    const char *name;
};
enum { DRAWN_EDGES = 5 };
/* Returns how many there are, in the order of their starts. */
int drawn_step_edges(const struct drawn_step *, int rank, struct drawn_edge[DRAWN_EDGES]);

/* Gathers and reductions of a rank that run beside its passes, chunk by chunk and bucket by bucket, in
 * ticks of the step and in the order of their starts: one behind the other. */
void drawn_collectives(const struct drawn_step *, int rank, const struct collective_visit *);

/* Ticks of the whole step. */
int64_t drawn_step_end(const struct drawn_step *);
