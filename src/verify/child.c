#define _POSIX_C_SOURCE 200809L
#include "verify/harness.h"

#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const int SIGNALS[HELD_SIGNALS] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGALRM};

static volatile sig_atomic_t signal_came;

static void note_signal(int number)
{
    signal_came = number;
}

void signals_hold(struct held_signals *h)
{
    struct sigaction note = {.sa_handler = note_signal}, old;
    sigemptyset(&note.sa_mask);
    signal_came = 0;
    for (int i = 0; i < HELD_SIGNALS; i++) {
        h->held[i] = sigaction(SIGNALS[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL &&
                     !(old.sa_flags & SA_SIGINFO);
        if (h->held[i])
            sigaction(SIGNALS[i], &note, NULL);
    }
}

bool signals_came(void)
{
    return signal_came != 0;
}

void signals_let_go(struct held_signals *h)
{
    struct sigaction usual = {.sa_handler = SIG_DFL};
    sigemptyset(&usual.sa_mask);
    for (int i = 0; i < HELD_SIGNALS; i++)
        if (h->held[i])
            sigaction(SIGNALS[i], &usual, NULL);
    if (signal_came)
        raise(signal_came);
}

/* Neither end is seen by other children. */
static bool open_pipe(int ends[2], struct error *err)
{
    if (pipe(ends) != 0)
        return fail(err, ERROR_SYSTEM, "no pipe: %s", strerror(errno));
    for (int i = 0; i < 2; i++)
        fcntl(ends[i], F_SETFD, FD_CLOEXEC);
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    return true;
}

/* Signals are as a shell would have them, the group is its own, standard input is empty. */
static int spawn(pid_t *pid, int output, const char *const *words, const char *const *environment)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    sigset_t usual;
    sigemptyset(&usual);
    posix_spawnattr_init(&how);
    posix_spawnattr_setsigmask(&how, &usual);
    for (int i = 0; i < HELD_SIGNALS; i++)
        sigaddset(&usual, SIGNALS[i]);
    posix_spawnattr_setsigdefault(&how, &usual);
    posix_spawnattr_setpgroup(&how, 0);
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                       POSIX_SPAWN_SETSIGDEF);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, output, 1);
    posix_spawn_file_actions_adddup2(&files, output, 2);
    int why =
        posix_spawnp(pid, words[0], &files, &how, (char *const *)words, (char *const *)environment);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&how);
    return why;
}

bool child_start(struct child *c, const char *const *words, const char *const *environment,
                 struct error *err)
{
    int ends[2];
    memset(c, 0, sizeof *c);
    c->output = -1;
    if (!open_pipe(ends, err))
        return false;
    int why = spawn(&c->pid, ends[1], words, environment);
    close(ends[1]);
    c->output = ends[0];
    if (why == 0)
        return true;
    close(ends[0]);
    c->output = -1;
    c->pid = 0;
    return fail(err, ERROR_SYSTEM, "%s: cannot be started: %s", words[0], strerror(why));
}

static bool is_printable(char c)
{
    return (unsigned char)c >= ' ' && c != 127;
}

static void keep_tail(struct child *c)
{
    char *kept = c->tail[c->tails % CHILD_TAIL_LINES];
    size_t n = c->length < CHILD_TAIL_BYTES - 1 ? c->length : CHILD_TAIL_BYTES - 1;
    for (size_t i = 0; i < n; i++)
        kept[i] = is_printable(c->line[i]) ? c->line[i] : '?';
    kept[n] = 0;
    c->tails = c->tails == 2 * CHILD_TAIL_LINES - 1 ? CHILD_TAIL_LINES : c->tails + 1;
}

static void end_line(struct child *c, const char *prefix)
{
    size_t n = strlen(prefix);
    if (c->length > 0 && c->line[c->length - 1] == '\r')
        c->length--;
    if (c->length > n && memcmp(c->line, prefix, n) == 0) {
        c->found = true;
        c->marked_length = c->length - n;
        memcpy(c->marked, c->line + n, c->marked_length);
        c->marked[c->marked_length] = 0;
    } else if (c->length > 0) {
        keep_tail(c);
    }
    c->length = 0;
}

/* What a line has beyond the room for it is lost. */
static void take(struct child *c, const char *data, size_t count, const char *prefix)
{
    for (size_t i = 0; i < count; i++)
        if (data[i] == '\n')
            end_line(c, prefix);
        else if (c->length < CHILD_LINE - 1)
            c->line[c->length++] = data[i];
}

/* Of one call, so that a child that never stops writing does not hold its reader; more than a pipe
 * holds. */
enum { READS = 128 };

void child_read(struct child *c, const char *prefix)
{
    char data[16384];
    ssize_t n = c->output < 0 ? -1 : 1;
    for (int i = 0; n > 0 && i < READS; i++) {
        n = read(c->output, data, sizeof data);
        if (n > 0)
            take(c, data, (size_t)n, prefix);
        else if (n < 0 && errno == EINTR)
            n = 1;
    }
    if (c->output >= 0 && n == 0) {
        close(c->output);
        c->output = -1;
    }
}

static void clean_up(struct child *c)
{
    kill(-c->pid, SIGKILL);
    c->pid = 0;
    if (c->output >= 0)
        close(c->output);
    c->output = -1;
}

bool child_ended(struct child *c, const char *prefix)
{
    int status = 0;
    pid_t who = waitpid(c->pid, &status, WNOHANG);
    if (who == 0 || (who < 0 && errno == EINTR))
        return false;
    c->code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    c->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    child_read(c, prefix);
    if (c->length > 0)
        end_line(c, prefix);
    clean_up(c);
    return true;
}

void child_kill(struct child *c)
{
    if (c->pid == 0)
        return;
    kill(-c->pid, SIGKILL);
    while (waitpid(c->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    clean_up(c);
}

void child_tail(const struct child *c, int lines, struct str *out)
{
    int have = c->tails < CHILD_TAIL_LINES ? c->tails : CHILD_TAIL_LINES;
    int from = c->tails - (lines < have ? lines : have);
    for (int i = from; i < c->tails; i++)
        str_addf(out, "%s\n", c->tail[i % CHILD_TAIL_LINES]);
}
