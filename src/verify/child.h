/* Another program, started without a shell: what it prints is read line by line in constant memory.
 * It leads a process group of its own, which ends with it. */
#pragma once

#include "base/error.h"

#include <stddef.h>
#include <sys/types.h>

struct str;

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
