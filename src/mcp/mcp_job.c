#define _GNU_SOURCE
#include "mcp/mcp_job.h"

#include "base/file.h"
#include "base/json.h"
#include "mcp/mcp_answer.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* What a line of a job is, by its first character. */
enum { LINE_PROGRESS = 'p', LINE_RESULT = 'r' };

static const double PROGRESS_S = 0.1; /* between two notifications */

/* In the job: what it says goes here. */
struct speaker {
    int output;
    const struct mcp_call *call;
    double said_s, done; /* when it last said how far it is, and how far */
};

static void say(int output, char kind, const struct str *text)
{
    struct str line = {0};
    str_add_bytes(&line, &kind, 1);
    str_add(&line, str_text(text));
    str_add(&line, "\n");
    for (size_t at = 0; at < line.length;) {
        ssize_t n = write(output, line.data + at, line.length - at);
        if (n < 0 && errno != EINTR)
            _exit(1);
        at += n > 0 ? (size_t)n : 0;
    }
    str_release(&line);
}

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The protocol wants each to be more than the one before. */
static void say_progress(void *context, double done)
{
    struct speaker *s = context;
    struct str text = {0};
    double now = now_s();
    if (done < s->done + 1e-4 || now < s->said_s + PROGRESS_S)
        return;
    s->done = done;
    s->said_s = now;
    call_progress(s->call, done, &text);
    say(s->output, LINE_PROGRESS, &text);
    str_release(&text);
}

/* Whoever started the server may have held signals back. */
static void reset_signals(void)
{
    sigset_t none;
    sigemptyset(&none);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGALRM, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Beside the judge of names, the kernel's word: no file grows, not even a core dump. */
static void write_nothing(void)
{
    const struct rlimit none = {0, 0};
    setrlimit(RLIMIT_FSIZE, &none);
    setrlimit(RLIMIT_CORE, &none);
}

/* The client's pipes are the server's alone, and it does not outlive that. */
static void settle(const struct mcp_terms *terms, pid_t server, int in, int out)
{
    int nothing = open("/dev/null", O_RDWR);
    if (nothing >= 0) {
        dup2(nothing, in);
        dup2(nothing, out);
    } else {
        close(in);
        close(out);
    }
    reset_signals();
    write_nothing();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != server)
        _exit(1);
    alarm((unsigned)ceil(terms->call_s));
    files_confine(terms->allow);
    if (*terms->allow && chdir(*terms->allow) != 0)
        _exit(1);
}

static void answer(const struct mcp_call *c, const struct mcp_session *s, int output)
{
    struct speaker speaker = {.output = output, .call = c, .said_s = -PROGRESS_S};
    struct json *arguments = json_parse(c->arguments, strlen(c->arguments), "arguments", NULL);
    const struct mcp_question q = {.tool = c->tool,
                                   .arguments = arguments,
                                   .terms = s->terms,
                                   .revision = s->revision,
                                   .progress = c->token ? say_progress : NULL,
                                   .progress_context = &speaker};
    struct str result = {0};
    question_answer(&q, &result);
    say(output, LINE_RESULT, &result);
}

static bool open_pipe(int ends[2])
{
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    return true;
}

static void close_outputs(const struct job *all)
{
    for (int i = 0; i < JOBS_MAX; i++)
        if (all[i].call)
            close(all[i].output);
}

bool job_start(struct job *j, struct mcp_call *c, const struct mcp_session *s,
               const struct job *all, int in, int out)
{
    int ends[2];
    pid_t server = getpid();
    if (!open_pipe(ends))
        return false;
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        close_outputs(all);
        settle(s->terms, server, in, out);
        answer(c, s, ends[1]);
        _exit(0);
    }
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return false;
    }
    *j = (struct job){.call = c, .pid = pid, .output = ends[0]};
    c->state = CALL_RUNS;
    return true;
}

static void take_line(struct job *j, struct mcp_session *s, const char *line, size_t length)
{
    if (length > 0 && line[0] == LINE_RESULT)
        str_add_bytes(&j->result, line + 1, length - 1);
    else if (length > 0) {
        str_add_bytes(&s->out, line + 1, length - 1);
        str_add(&s->out, "\n");
    }
}

static void take_lines(struct job *j, struct mcp_session *s, const char *data, size_t length)
{
    while (length > 0) {
        const char *end = memchr(data, '\n', length);
        size_t n = end ? (size_t)(end - data) : length;
        str_add_bytes(&j->got, data, n);
        if (!end)
            return;
        take_line(j, s, j->got.data, j->got.length);
        str_clear(&j->got);
        data += n + 1;
        length -= n + 1;
    }
}

bool job_hear(struct job *j, struct mcp_session *s)
{
    char data[65536];
    ssize_t n = read(j->output, data, sizeof data);
    if (n < 0)
        return errno == EINTR || errno == EAGAIN;
    take_lines(j, s, data, (size_t)n);
    return n > 0 && j->got.length <= ANSWER_BYTES;
}

int job_end(struct job *j)
{
    int status = 0;
    kill(j->pid, SIGKILL); /* one that ends by itself keeps its status */
    while (waitpid(j->pid, &status, 0) < 0 && errno == EINTR)
        continue;
    close(j->output);
    str_release(&j->got);
    str_release(&j->result);
    *j = (struct job){0};
    return status;
}
