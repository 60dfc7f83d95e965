/* Seconds of the steps of a training and the memory of its ranks, out of its log, read piece by
 * piece in constant memory. What is left out and why: doc/logs.md. */
#pragma once

#include "base/error.h"
#include "base/str.h"
#include "import/log/log_block.h"
#include "import/log/step_store.h"

struct arena;

/* The run since it was started, or started again. */
struct run_start {
    uint32_t index;
    int64_t lines; /* training lines */
    int64_t first_iteration, last_iteration;
};

/* The most memory that each rank said it had, out of its memory lines. */
enum { STEP_RANKS_MAX = 4096 };

struct rank_peak {
    int rank;
    double allocated_bytes, reserved_bytes; /* reserved: 0 = not said */
};

/* After the first step the state of the optimizer can still be missing. */
struct rank_peaks {
    struct rank_peak *first, *later; /* of the arena, by rank: after one step, after two or more */
    int firsts, laters;
    bool full; /* there are more ranks than can be kept */
};

void rank_peaks_add(struct rank_peaks *, int64_t iterations, struct rank_peak, struct arena *);

struct train_steps {
    struct arena *mem;
    struct str line;    /* the open one, cut where it is longer than any line of ours */
    struct str scratch; /* a line without colours */
    size_t open;        /* length of the open line, as it stands in the log */
    int64_t number;     /* of the open line */
    struct log_block block;
    int block_lines; /* that the open block has; 0 = none is open */
    struct run_start start;
    struct step_store store;
    struct rank_peaks peaks;
    bool bridge;      /* the steps are Megatron-Bridge's own lines, no ordinary one came yet */
    bool early_lines; /* training lines came before the first block, none since */
    int64_t foreign;  /* training lines before the first block that were dropped */
    int64_t lines, warmup, bad, repeated, broken, broken_memory;
    int64_t again_line;   /* where the run was started again first; 0 = never */
    int64_t stopped_line; /* where reading stopped; 0 = not yet */
};

/* Counts are training lines: one is about as many steps as --log-interval says. The store of
 * step_store.h is a part of very long logs: there the counts of outliers, other batches and some of
 * the warm-up are estimates. */
struct step_summary {
    int64_t lines;       /* that were read: steps and all that was left out but for broken ones */
    int64_t steps;       /* of these, used */
    int64_t warmup;      /* left out: just after a start */
    int64_t outliers;    /* far above the median: checkpoints, evaluation, stalls */
    int64_t other_batch; /* of another global batch, or with skipped or nan iterations */
    int64_t repeated;    /* of an iteration that was there just before */
    int64_t broken;      /* began like a training line but could not be read */
    double step_s;       /* median over lines */
    double spread;       /* of one line around it, relative: 1.4826 x median absolute deviation */
    double trend;        /* relative change from the first to the last quarter of the used lines */
    int global_batch;    /* of the used lines; 0 = not said */
    double tflops_per_gpu, watts_per_gpu;    /* median as logged; 0 = not logged */
    int64_t first_iteration, last_iteration; /* of the used lines; 0 = not said */
    int ranks;
    const struct rank_peak *rank; /* by rank; the most after at least two steps */
    int notes;
    const char **note; /* what a reader should know */
};

void train_steps_init(struct train_steps *, struct arena *);
void train_steps_release(struct train_steps *);
void train_steps_feed(struct train_steps *, const char *data, size_t length);
/* What was read, in the arena. False: no step can be used; the message says why, without a path,
 * and `out` has the counts, ranks and notes all the same. */
bool train_steps_end(struct train_steps *, struct step_summary *out, struct error *);

/* step_figures.c: which steps count, median, spread and trend. `out` has the lines and the warm-up that
 * were counted while reading; times are known to `resolution_s`. Leaves zeros where the store is
 * empty. */
void step_figures(const struct step_store *, double resolution_s, struct step_summary *out);
