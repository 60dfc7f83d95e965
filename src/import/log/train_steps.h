/* Seconds of the steps of a training and the memory of its ranks, out of its log, read piece by
 * piece in constant memory. What is left out and why: doc/logs.md. */
#pragma once

#include "base/error.h"
#include "base/str.h"

#include <stdint.h>

struct arena;

/* Whether the blocks of arguments in a log, one for each start of the run, say the same
 * (log_block.c). Constant memory: of an argument only hashes are kept. */

enum { BLOCK_ARGUMENTS = 2048, BLOCK_NAME = 64 };

struct block_argument {
    uint64_t name, value;
    int block; /* the latest that has it */
};

struct log_block {
    struct block_argument *argument; /* of the arena; those of the first block */
    int count;
    int blocks;             /* that began */
    int found;              /* arguments of the first that this block has */
    char other[BLOCK_NAME]; /* the first argument of this block that differs; "" = none */
};

void log_block_begin(struct log_block *, struct arena *);
void log_block_line(struct log_block *, const char *line);
/* Whether it says what the first block says, but for paths, lengths and the like. */
bool log_block_same(const struct log_block *);

/* Steps of a training in limited memory (step_store.c): all of them up to STORE_STEPS, of more a random part, one
 * in 2, 4, 8 ..., the same in every run. The median of a part of n has a standard error of 1.25
 * spreads / sqrt(n): with the 131,072 or so that are left at least, 0.0035 spreads, under 0.02 %
 * where steps vary by 5 %. */

enum { STORE_STEPS = 1 << 18 };

/* A line of the log, which is about `span` steps. */
struct step {
    double step_s;
    int64_t iteration;
    float tflops, watts; /* per GPU; 0 = not said */
    int batch;           /* 0 = not said */
    int span;
    uint32_t start; /* which start of the run, from 0 */
    uint32_t lot;
    bool early; /* soon after a start */
};

struct step_store {
    struct step *step; /* owned; in the order of the log */
    size_t count, capacity;
    int64_t offered; /* lines given, kept or not */
    uint32_t mask;   /* kept are those whose lot has none of these bits */
};

void step_store_init(struct step_store *);
void step_store_release(struct step_store *);
void step_store_clear(struct step_store *);
void step_store_add(struct step_store *, struct step); /* draws the lot */

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

/* Records in a line of a training log: training lines and memory lines of Megatron (step_lines.c).
 * Processes that write at the same time glue them together: a line can hold several, whole or
 * broken. */

enum record_kind {
    RECORD_NONE,
    RECORD_STEP,
    RECORD_MEMORY,
    RECORD_BROKEN_STEP,
    RECORD_BROKEN_MEMORY
};

enum record_field {
    FIELD_STEP_S,
    FIELD_TFLOPS, /* per GPU */
    FIELD_WATTS,  /* per GPU */
    FIELD_BATCH,
    FIELD_SKIPPED, /* iterations */
    FIELD_NAN,     /* iterations */
    FIELD_MAX_ALLOCATED_BYTES,
    FIELD_RESERVED_BYTES,
    FIELD_MAX_RESERVED_BYTES,
    RECORD_FIELDS
};

struct log_record {
    enum record_kind kind;
    int64_t iteration;           /* of a memory line: after so many */
    int64_t rank;                /* of a memory line */
    double value[RECORD_FIELDS]; /* 0 = not said */
};

struct log_line {
    const char *at, *end;
    bool ended;              /* a line break was there: the last number is whole */
    struct log_record begun; /* seen behind the record before it */
};

/* The text is borrowed, without its line break and without colours. */
void log_line_init(struct log_line *, const char *text, size_t length, bool ended);
/* False when there is none any more. */
bool log_line_next(struct log_line *, struct log_record *out);

/* Megatron-Bridge's "Step Time : 1.23s GPU utilization: 423.4MODEL_TFLOP/s/GPU". */
bool log_line_bridge(const char *text, size_t length, struct log_record *out);
