/* A call of a tool in a process of its own. It ends when it is answered, when its time is over, when
 * the call is cancelled, and when the server ends, however that comes about; what it has allocated
 * and what crashes it ends with it. It reads what the server may read and writes nothing. */
#pragma once

#include "mcp/mcp_session.h"

enum { JOBS_MAX = 4, ANSWER_BYTES = 32 << 20 /* of one answer, at most */ };

struct job {
    struct mcp_call *call; /* NULL = the place is free */
    pid_t pid;
    int output;     /* what it says: progress and the result, a line each */
    struct str got; /* a line that is not whole yet */
    struct str result;
};

/* False: no process is to be had. `all` are closed in the new one, as are `in` and `out`. */
bool job_start(struct job *, struct mcp_call *, const struct mcp_session *, const struct job *all,
               int in, int out);
/* Reads what there is, for `s->out` or the result. False: it has ended, or says too much. */
bool job_hear(struct job *, struct mcp_session *);
/* Ends it where it still runs, and frees the place. Its wait status. */
int job_end(struct job *);
