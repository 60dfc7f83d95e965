/* The Python harness on this machine: its files in a folder of their own, what it finds there, and
 * ranks that it runs one after the other. */
#pragma once

#include "verify/verify.h"

#include <sys/types.h>

struct str;

/* Another program, started without a shell: what it prints is read line by line in constant memory.
 * It leads a process group of its own, which ends with it (child.c). */

enum { CHILD_LINE = 65536, CHILD_TAIL_LINES = 40, CHILD_TAIL_BYTES = 240 };

struct child {
    pid_t pid;  /* 0 = none */
    int output; /* standard output and error, to be polled; -1 = at its end */
    int code;   /* once it ended: its exit code */
    int signal; /* that ended it; 0 = none */
    bool found; /* a line with the prefix came; the last one is in `marked` */
    size_t length, marked_length;
    char line[CHILD_LINE];   /* being read */
    char marked[CHILD_LINE]; /* behind the prefix; ends in 0 */
    int tails;               /* lines so far */
    char tail[CHILD_TAIL_LINES][CHILD_TAIL_BYTES];
};

/* Both lists end in NULL. The program is looked for in PATH. */
bool child_start(struct child *, const char *const *words, const char *const *environment,
                 struct error *);
/* Reads what is there without waiting. Of lines that begin with `prefix` the last is kept. */
void child_read(struct child *, const char *prefix);
/* Whether it has ended; then all it wrote is read, and what it started is killed. */
bool child_ended(struct child *, const char *prefix);
void child_kill(struct child *); /* and waits for its end */

/* The last `lines` lines, each ended; what is no printable character is a query mark. */
void child_tail(const struct child *, int lines, struct str *out);

/* While this is held, signals that would end the process (SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE,
 * SIGALRM) are only noted, so that children and files can be cleaned up; letting go then ends it. */
enum { HELD_SIGNALS = 6 };
struct held_signals {
    bool held[HELD_SIGNALS];
};
void signals_hold(struct held_signals *);
bool signals_came(void);
void signals_let_go(struct held_signals *);

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
    enum stack stack;
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
