/* Waits for the client and for the jobs of its calls, in one thread. Cancelling a call, the end of
 * its time and the end of the client are all the same: a job is ended. */
#define _XOPEN_SOURCE 700 /* realpath */
#include "mcp/mcp_server.h"

#include "base/arena.h"
#include "base/file.h"
#include "mcp/mcp_answer.h"
#include "mcp/mcp_job.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct server {
    int in, out;
    const struct mcp_terms *terms;
    struct mcp_session session;
    struct job job[JOBS_MAX];
    struct str line; /* of the client, not whole yet */
    bool skips;      /* the rest of a line that is too long */
    bool no_more;    /* the client has said all */
    bool gone;       /* nobody reads what is written */
};

/* Blocks while the client does not read. */
static void speak(struct server *s)
{
    struct str *out = &s->session.out;
    for (size_t at = 0; at < out->length && !s->gone;) {
        ssize_t n = write(s->out, out->data + at, out->length - at);
        if (n < 0 && errno == EAGAIN)
            poll(&(struct pollfd){.fd = s->out, .events = POLLOUT}, 1, -1);
        else
            s->gone = n < 0 && errno != EINTR;
        at += n > 0 ? (size_t)n : 0;
    }
    str_clear(out);
}

static void take_end_of_line(struct server *s)
{
    if (s->skips)
        session_too_long(&s->session);
    else if (strspn(str_text(&s->line), " \t\r") < s->line.length)
        session_take(&s->session, s->line.data, s->line.length);
    s->skips = false;
    str_clear(&s->line);
}

static void take_bytes(struct server *s, const char *data, size_t length)
{
    while (length > 0) {
        const char *end = memchr(data, '\n', length);
        size_t n = end ? (size_t)(end - data) : length;
        if (s->line.length + n > s->terms->message_bytes)
            s->skips = true;
        if (s->skips)
            str_clear(&s->line);
        else
            str_add_bytes(&s->line, data, n);
        if (!end)
            return;
        take_end_of_line(s);
        speak(s); /* before more is asked than can be kept */
        data += n + 1;
        length -= n + 1;
    }
}

static void hear_client(struct server *s)
{
    char data[65536];
    ssize_t n = read(s->in, data, sizeof data);
    if (n > 0)
        take_bytes(s, data, (size_t)n);
    else if (n == 0 || (errno != EINTR && errno != EAGAIN))
        s->no_more = true;
    if (s->no_more && (s->line.length > 0 || s->skips)) /* a last line without its end */
        take_end_of_line(s);
}

static struct job *free_place(struct server *s)
{
    for (int i = 0; i < JOBS_MAX; i++)
        if (!s->job[i].call)
            return &s->job[i];
    return NULL;
}

static void start_waiting(struct server *s)
{
    struct job *place;
    for (struct mcp_call *c = s->session.calls, *next; c; c = next) {
        next = c->next;
        if (c->state != CALL_WAITS || !(place = free_place(s)))
            continue;
        if (!job_start(place, c, &s->session, s->job, s->in, s->out))
            session_fail(&s->session, c, CODE_INTERNAL, "no process is to be had for the call");
    }
}

static struct job *job_of(struct server *s, const struct mcp_call *c)
{
    for (int i = 0; i < JOBS_MAX; i++)
        if (s->job[i].call == c)
            return &s->job[i];
    return NULL;
}

static void end_cancelled(struct server *s)
{
    for (struct mcp_call *c = s->session.calls, *next; c; c = next) {
        struct job *j = job_of(s, c);
        next = c->next;
        if (c->state != CALL_CANCELLED)
            continue;
        if (j)
            job_end(j);
        session_forget(&s->session, c);
    }
}

/* A job that ended without a result: its time was over, or something is wrong with us. */
static void tell_end(struct server *s, struct mcp_call *c, int status, bool too_long)
{
    struct str result = {0};
    char text[256];
    if (too_long)
        snprintf(text, sizeof text,
                 "the answer is longer than %d MiB: ask for less, as a smaller top",
                 ANSWER_BYTES >> 20);
    else
        snprintf(
            text, sizeof text,
            "not answered within %.0f s, which is the limit of this server: ask about fewer GPUs "
            "or types, or fix parameters with set; --call-limit of the server changes it",
            s->terms->call_s);
    if (too_long || (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)) {
        result_failed(text, &result);
        session_answer(&s->session, c, str_text(&result));
    } else {
        session_fail(&s->session, c, CODE_INTERNAL, "the call ended without an answer");
    }
    str_release(&result);
}

static void finish(struct server *s, struct job *j)
{
    struct mcp_call *c = j->call;
    bool too_long = j->got.length > ANSWER_BYTES;
    if (j->result.length > 0) {
        session_answer(&s->session, c, str_text(&j->result));
        job_end(j);
    } else {
        tell_end(s, c, job_end(j), too_long);
    }
}

/* The client, what it reads, the jobs. */
enum { WATCH_IN, WATCH_OUT, WATCH_JOBS, WATCHED = WATCH_JOBS + JOBS_MAX };

static void wait_for_something(struct server *s)
{
    struct pollfd watched[WATCHED];
    watched[WATCH_IN] = (struct pollfd){.fd = s->no_more ? -1 : s->in, .events = POLLIN};
    watched[WATCH_OUT] = (struct pollfd){.fd = s->out}; /* that nobody reads it is always told */
    for (int i = 0; i < JOBS_MAX; i++)
        watched[WATCH_JOBS + i] =
            (struct pollfd){.fd = s->job[i].call ? s->job[i].output : -1, .events = POLLIN};
    if (poll(watched, WATCHED, -1) < 0)
        return;
    s->gone |= (watched[WATCH_OUT].revents & (POLLERR | POLLHUP | POLLNVAL)) != 0;
    if (watched[WATCH_IN].revents)
        hear_client(s);
    for (int i = 0; i < JOBS_MAX; i++)
        if (watched[WATCH_JOBS + i].revents && s->job[i].call->state == CALL_RUNS &&
            !job_hear(&s->job[i], &s->session))
            finish(s, &s->job[i]);
}

static void serve(struct server *s)
{
    while (!s->gone) {
        end_cancelled(s);
        start_waiting(s);
        speak(s);
        if (s->no_more && !s->session.calls)
            return;
        if (!s->gone)
            wait_for_something(s);
    }
}

bool mcp_allow(struct mcp_terms *terms, const char *const *folders, int count, struct arena *mem,
               struct error *err)
{
    const char **names = arena_array(mem, (size_t)count + 1, sizeof *names);
    for (int i = 0; i < count; i++) {
        char *real = realpath(folders[i], NULL);
        bool there = real && folder_exists(real);
        names[i] = there ? arena_string(mem, real) : NULL;
        free(real);
        if (!there)
            return fail(err, ERROR_INPUT, "--allow %s: is no folder", folders[i]);
    }
    terms->allow = names;
    return true;
}

bool mcp_serve(const struct mcp_terms *terms, int in, int out, struct error *err)
{
    struct server s = {.in = in, .out = out, .terms = terms};
    struct sigaction ignore = {.sa_handler = SIG_IGN}, usual = {.sa_handler = SIG_DFL};
    struct sigaction pipe_before, child_before;
    sigemptyset(&ignore.sa_mask);
    sigemptyset(&usual.sa_mask);
    if (sigaction(SIGPIPE, &ignore, &pipe_before) != 0 ||
        sigaction(SIGCHLD, &usual, &child_before) != 0) /* ignored, how jobs end is not told */
        return fail(err, ERROR_SYSTEM, "signals: %s", strerror(errno));
    session_init(&s.session, terms);
    serve(&s);
    for (int i = 0; i < JOBS_MAX; i++)
        if (s.job[i].call)
            job_end(&s.job[i]);
    session_release(&s.session);
    str_release(&s.line);
    sigaction(SIGPIPE, &pipe_before, NULL);
    sigaction(SIGCHLD, &child_before, NULL);
    return true;
}
