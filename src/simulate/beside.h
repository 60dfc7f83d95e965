/* A rank's compute and the data-parallel collectives beside it, as events: what simulate/step.c says
 * in closed form. Collectives run one behind the other; beside a pass both are slower. Ticks. */
#pragma once

#include "schedule/schedule.h"
#include "simulate/overlap.h"

struct arena;

/* Of a whole step. */
struct step_collectives {
    bool gathers, reductions;      /* that run beside passes */
    const double *gather, *reduce; /* [vpp * pp] of each virtual stage */
    int64_t buckets;               /* of virtual stage 0 */
    const struct company *company; /* [pp] */
};

struct beside {
    const struct pipeline *p;
    const struct step_collectives *c;
    int rank;
    double now; /* compute and collectives have run until then */
    int64_t launched, finished;
    double *left;      /* by launch: what is left of it */
    int64_t *gathered; /* [vpp] launch of each chunk's gather */
};

/* One pass, the k-th of its direction on the rank. */
struct beside_pass {
    bool backward;
    int chunk;
    int64_t k;
};

void beside_init(struct beside *, const struct pipeline *, const struct step_collectives *,
                 int rank, struct arena *);
/* Runs a pass whose input is there at `start`; returns its end. */
int64_t beside_run(struct beside *, const struct beside_pass *, int64_t start);
/* When all that was launched is done. */
int64_t beside_end(struct beside *);
