/* The Python harness on this machine: its files in a folder of their own, what it finds there, and
 * ranks that it runs one after the other. */
#pragma once

#include "verify/child.h"
#include "verify/rank_line.h"

#include <stdint.h>

struct arena;

struct harness {
    struct arena *mem;
    const char *python, *megatron;
    double limit_s; /* of one rank */
    const char *folder, *script, *lock;
    struct held_signals signals;
};

/* The caller has filled the first four. Interrupts are held and the folder is there until
 * harness_close(), also where opening it failed. */
bool harness_open(struct harness *, struct error *);
void harness_close(struct harness *);

bool harness_check(struct harness *, struct rank_check *out, struct error *);
/* What is missing on this machine, and how to get it. */
bool harness_suffices(const struct harness *, const struct rank_check *, struct error *);

enum harness_outcome {
    HARNESS_WAITS, /* not started */
    HARNESS_ENDED, /* with a result, whatever it is */
    HARNESS_LATE,  /* killed at the time limit */
    HARNESS_DIED   /* without a result that counts */
};

struct harness_rank {
    const char *const *words; /* what it is started with; NULL ends */
    enum harness_outcome outcome;
    const char *why;           /* of HARNESS_DIED: what is wrong, in words */
    struct rank_result result; /* of HARNESS_ENDED */
    const char *log;           /* the last lines of its output; "" unless it failed */
};

/* The words that start rank `rank` of `world`, NULL ends; a folder "" stands for the file alone. */
struct harness_run {
    int64_t world, rank;
    int steps;
    bool te;
    size_t flags;
    const char *const *flag;
};
const char **harness_words(const struct harness *, const struct harness_run *);

/* Ranks wait for each other before they use the GPU, so that the next one starts Python while one
 * runs. `environment` are NAME=VALUE of the plan. False: the system is in the way. */
bool harness_run_all(struct harness *, struct harness_rank *, int count,
                     const char *const *environment, size_t variables,
                     void (*progress)(void *context, double done), void *context, struct error *);

/* The Python files of the harness, compiled in; the Makefile lists them. */
struct harness_file {
    const char *name; /* without folders */
    const char *text;
};
extern const struct harness_file embedded_harness[]; /* name NULL ends */
