/* A plan held to what one GPU of this machine measures. One rank of each kind of stage runs alone,
 * its process group a fake one, with as few micro-batches as its memory allows to be the same;
 * predicted and measured compute and memory stand side by side. */
#pragma once

#include "simulate/partition.h"

struct query;

enum { VERIFY_STEPS = 4, VERIFY_SUSPECTS = 5 };

/* What tools/rank/rank.py says: the one line `RANK {json}` of a check or of a rank that ran
 * (rank_line.c). Any bytes may come: what is no such line is refused, and so are times and memory
 * that no GPU has; other figures that make no sense count as not said. */

enum { RANK_TEXT = 256 };

/* Of the machine. Texts are "" where there is no such thing, numbers NAN. */
struct rank_check {
    char python[RANK_TEXT], torch[RANK_TEXT], te[RANK_TEXT], megatron[RANK_TEXT], gpu[RANK_TEXT];
    bool cuda, fake_process_group;
    double total_mib, free_mib;
};

/* Of one rank. Numbers are NAN where they are not said. */
struct rank_result {
    char status[RANK_TEXT]; /* "ok", "out of memory", "exit 1", an exception */
    int iterations;
    double peak_mib, reserved_mib, total_mib;
    double compute_ms;                /* of a step, without what stands in for the other ranks */
    double fill_ms;                   /* of a step: that; the median */
    double spread;                    /* of the timed steps: longest over shortest, less 1 */
    double sm_mhz, watts, watt_limit; /* while it ran */
    bool loss_not_finite;
};

/* The JSON behind "RANK ". */
bool rank_check_parse(const char *text, size_t length, struct rank_check *out, struct error *);
bool rank_result_parse(const char *text, size_t length, struct rank_result *out, struct error *);

/* What is compared with what: the strategy as it runs, alone or not. */
struct verify_case {
    struct scene scene;
    struct strategy strategy;
    const struct layout *layout; /* NULL unless split is SPLIT_LAYOUT */
    /* Whether all rules hold for a strategy in this scene; if not, why. */
    bool (*allowed)(void *context, const struct strategy *, const char **why);
    void *context;
};

enum verify_outcome {
    VERIFY_PENDING, /* not run yet, or never (--dry-run) */
    VERIFY_SKIPPED, /* it cannot run on this GPU */
    VERIFY_OK,
    VERIFY_FULL, /* out of memory */
    VERIFY_FAILED
};

struct verify_stage {
    int stage;        /* pipeline rank */
    int64_t rank;     /* of the world */
    const char *kind; /* "first", "middle", "last", "only" */
    int alike;        /* stages of the plan that compute the same, itself included */
    int virtual_stages, layers;
    /* predicted for the rank as it runs */
    const struct gpu *predicted_for;
    bool timed; /* this GPU's times are predicted */
    double compute_s, peak_bytes;
    double lone_bytes; /* on the device, without communicators */
    double expected_error;
    const char *const *command; /* NULL ends */
    enum verify_outcome outcome;
    const char *status; /* "ok", or what became of it */
    const char *log;    /* last lines of its output where it failed, or "" */
    struct rank_result measured;
    double compute_error, memory_error; /* predicted over measured, less 1; NAN = not compared */
    int suspects;
    const char *suspect[VERIFY_SUSPECTS]; /* why the measurement may be no good */
};

struct verify_report {
    const struct plan *plan; /* as asked for: its own stack, all micro-batches */
    const struct plan *run;  /* as it runs: one rank of it alone */
    bool dry_run;
    struct rank_check check; /* of this machine; empty with dry_run */
    const struct gpu *gpu;   /* this machine's, NULL = not known */
    const char *python, *megatron;
    int64_t micro_batches, all_micro_batches;
    size_t flags, plan_flags;
    const char **flag, **plan_flag; /* as it runs; of the plan */
    int stages;
    struct verify_stage *stage;
    int notes;
    const char **note;
    double mean_compute_error, mean_memory_error; /* of their amounts; NAN = none */
    double step_s; /* of the plan, with the compute that was measured; NAN = not said */
    bool confirmed;
    const char *verdict;
};

void verify_note(struct verify_report *, struct arena *, const char *text);

/* Which stages of a plan to run (stages.c). `which` is "distinct", "all" or a list. */
bool verify_choose(const struct plan *, const char *which, struct verify_report *, struct arena *,
                   struct error *);
/* Of these stages the one that computes as stage `stage` does, otherwise the nearest. */
const struct verify_stage *verify_like(const struct verify_report *, int stage);

/* What one rank alone cannot do, or the torch stack, is switched off where that leaves its work the
 * same, with a note each (as_run.c). False with the reason where it would not be the same. */
bool verify_as_run(const struct model *, enum stack, struct strategy *, struct verify_report *,
                   struct arena *, const char **why);

/* The least micro-batches with which every chosen stage is predicted as full as with all of them
 * (shrink.c): at least 2, unless there are fewer. */
int64_t verify_shrink(const struct verify_case *, const struct verify_report *);

/* The case with communication that takes no time (stage_alone.c): stage[].compute_step_s is what one
 * rank of each stage computes in a step. */
void verify_alone(const struct verify_case *, struct arena *, struct plan *out);
/* Seconds of a step where the compute of stage r takes `factor[r]` times as long; NAN where that are
 * weeks. */
double verify_scaled_step(const struct verify_case *, const double *factor);

/* Compares what was measured, and says what it means (judge.c). `plan` is the case of the plan
 * itself. */
void verify_judge(struct verify_report *, const struct verify_case *plan, struct arena *);

/* Notes the types that stages are predicted for and that have no factors though there is a profile
 * (verify_factors.c). False: nothing here is what the file is about. */
bool verify_note_factors(const struct query *, struct verify_report *, struct arena *,
                         struct error *);
