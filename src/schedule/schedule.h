/* In which order a step runs: 1F1B and interleaved 1F1B as Megatron issues them, and when each
 * rank is done. Times are integer picoseconds (ticks), so that sums do not depend on their order
 * and a repeating pattern is recognised exactly. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { SCHEDULE_MAX_RANKS = 1024 };
#define TICKS_PER_S 1e12

struct pipeline {
    int pp, vpp;
    int group; /* micro-batches per group of the interleaved schedule, >= pp */
    int64_t micro_batches;
    bool blocking_send;     /* a rank waits until its tensor is sent (no p2p overlap) */
    const int64_t *forward; /* [vpp * pp] ticks of virtual stage v * pp + rank */
    const int64_t *backward;
    const int64_t
        *send; /* [pp] ticks from rank r to r + 1 (the last: to rank 0), either direction */
};

/* Forward passes a rank does before its first backward. */
int64_t pipeline_warmup(const struct pipeline *, int rank);

/* Micro-batch and chunk of a rank's k-th forward pass (the backward order has chunk vpp - 1 -
 * c). */
struct schedule_item {
    int64_t micro_batch;
    int chunk;
    int64_t group_size; /* of the group it belongs to: the last one may be smaller */
};
struct schedule_item schedule_item(const struct pipeline *, int64_t k);

/* The same one after the other, without a division: passes of one chunk follow each other for a
 * group of micro-batches, then the next chunk's. */
struct schedule_cursor {
    int chunk;
    int64_t index;       /* within the chunk's passes of the group */
    int64_t start, size; /* of the group */
};
struct schedule_cursor schedule_begin(const struct pipeline *);
void schedule_advance(const struct pipeline *, struct schedule_cursor *,
                      int64_t passes); /* <= size - index */

/* When each rank has finished its last backward pass; returns the latest. The exact recurrence
 * of the order, O(pp) per round of one forward and one backward on every rank; rounds that
 * repeat are skipped, so that the cost does not grow with the number of micro-batches. Needs vpp
 * == 1, or micro_batches % group == 0 or >= pp (Megatron's own rule). */
int64_t pipeline_run(const struct pipeline *, int64_t end[]);

/* Moments of the interleaved schedule at which Megatron deals with a chunk's parameters, [vpp * pp]
 * by virtual stage. All ranks launch a chunk's collective together: rank r asks for it r forwards
 * earlier, and reduces r backwards later, than its own passes would allow (align_param_gather and
 * align_grad_reduce: forward_step_helper_preprocess, backward_step_helper_postprocess in
 * pipeline_parallel/schedules.py). */
struct pipeline_marks {
    int64_t *asked;   /* the gather is launched: chunks 0 and 1 before the first pass */
    int64_t *needed;  /* the first forward begins as soon as its input is there */
    int64_t *reduced; /* the reduction is launched; chunk 0 when the rank is done */
};
/* The same with its marks; they need vpp > 1. */
int64_t pipeline_run_marked(const struct pipeline *, int64_t end[], const struct pipeline_marks *);

/* Never above pipeline_run: for each rank, what must pass before its first and after its last
 * operation, its own work, and the waits for the first and last micro-batch to come back. With
 * `after` (may be NULL) ticks of work that rank r still has to do when its pipeline ends, the
 * bound is on the latest end of that. doc/evidence/bounds.md has the proof. */
int64_t pipeline_lower_bound(const struct pipeline *, const int64_t after[]);

/* Bytes of one chunk and micro-batch: kept until its backward; the most alive at once while it runs
 * forward, and in either pass. */
struct chunk_bytes {
    double saved, forward, peak; /* saved <= forward <= peak */
};

/* The fullest moment of a rank. */
struct fullest {
    double bytes; /* most alive at once */
    double saved; /* of them, kept between passes */
    int chunk;    /* that runs then */
};
struct fullest pipeline_fullest(const struct pipeline *, int rank, const struct chunk_bytes[]);
