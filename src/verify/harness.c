/* Nothing is run through a shell: words are handed over as they are. */
#define _POSIX_C_SOURCE 200809L
#define _XOPEN_SOURCE 700
#include "verify/harness.h"

#include "base/arena.h"
#include "base/file.h"
#include "base/str.h"

#include <errno.h>
#include <ftw.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

#define PREFIX "RANK "
#define SCRIPT "rank.py"

enum { TOGETHER = 2, TICK_MS = 200, LOG_LINES = 12 };

/* Of steps behind the warm-up, at least: clock and power are read some twenty times a second. */
#define TIMED_SECONDS "3"

static bool write_files(const struct harness *h, struct error *err)
{
    for (const struct harness_file *f = embedded_harness; f->name; f++) {
        const char *path = arena_format(h->mem, "%s/%s", h->folder, f->name);
        if (!file_write(path, f->text, strlen(f->text), err))
            return false;
    }
    return true;
}

bool harness_open(struct harness *h, struct error *err)
{
    const char *place = getenv("TMPDIR");
    char *folder = arena_format(h->mem, "%s/astra-verify-XXXXXX", place && *place ? place : "/tmp");
    signals_hold(&h->signals);
    h->folder = NULL;
    if (!mkdtemp(folder))
        return fail(err, ERROR_SYSTEM, "%s: cannot be made: %s (TMPDIR names another place)",
                    folder, strerror(errno));
    h->folder = folder;
    h->script = arena_format(h->mem, "%s/" SCRIPT, folder);
    h->lock = arena_format(h->mem, "%s/turn", folder);
    return write_files(h, err);
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *where)
{
    (void)st, (void)kind, (void)where;
    remove(path);
    return 0;
}

void harness_close(struct harness *h)
{
    if (h->folder)
        nftw(h->folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    h->folder = NULL;
    signals_let_go(&h->signals);
}

/* Ours, and the plan's where it has a value; NULL ends. */
static const char **environment_of(const struct harness *h, const char *const *more, size_t count)
{
    const char *own[] = {arena_format(h->mem, "MEGATRON=%s", h->megatron ? h->megatron : ""),
                         "PYTHONDONTWRITEBYTECODE=1", "PYTHONUNBUFFERED=1"};
    enum { OWN = sizeof own / sizeof *own };
    size_t given = 0, n = 0;
    while (environ[given])
        given++;
    const char **list = arena_array(h->mem, OWN + count + given + 1, sizeof *list);
    for (size_t i = 0; i < OWN + count; i++)
        list[n++] = i < OWN ? own[i] : more[i - OWN];
    for (size_t i = 0, k; i < given; i++) {
        size_t name = strcspn(environ[i], "=") + 1;
        for (k = 0; k < OWN + count && strncmp(list[k], environ[i], name) != 0;)
            k++;
        if (k == OWN + count)
            list[n++] = environ[i];
    }
    return list;
}

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Sleeps until a child writes, for a tick at most: an end or a signal is seen by then. */
static void wait_for(struct child *const *child, int count)
{
    struct pollfd at[TOGETHER];
    for (int i = 0; i < count; i++)
        at[i] = (struct pollfd){.fd = child[i] ? child[i]->output : -1, .events = POLLIN};
    poll(at, (nfds_t)count, TICK_MS);
    for (int i = 0; i < count; i++)
        if (child[i])
            child_read(child[i], PREFIX);
}

static const char *log_of(const struct child *c, struct arena *mem)
{
    struct str text = {0};
    child_tail(c, LOG_LINES, &text);
    return str_keep(&text, mem);
}

static bool interrupted(struct error *err)
{
    return signals_came() && !fail(err, ERROR_SYSTEM, "interrupted");
}

static bool start(const struct harness *h, struct child *c, const char *const *words,
                  const char *const *environment, struct error *err)
{
    struct error why = {0};
    if (child_start(c, words, environment, &why))
        return true;
    return fail(err, ERROR_SYSTEM, "%s (--python names the interpreter, %s is asked now)", why.text,
                h->python);
}

/* Until it ends, or its time is over. */
static bool wait_for_end(const struct harness *h, struct child *c, struct error *err)
{
    double begin = now_s();
    while (!child_ended(c, PREFIX)) {
        if (interrupted(err) || now_s() - begin > h->limit_s) {
            child_kill(c);
            return signals_came() || fail(err, ERROR_SYSTEM,
                                          "%s: found out nothing about torch and the GPU in %.0f s "
                                          "(--timeout allows more)",
                                          h->python, h->limit_s);
        }
        wait_for(&c, 1);
    }
    return true;
}

static bool ended_well(const struct child *c)
{
    return c->code == 0 && c->signal == 0;
}

static const char *end_of(const struct child *c, struct arena *mem)
{
    return c->signal ? arena_format(mem, "signal %d", c->signal)
                     : arena_format(mem, "exit code %d", c->code);
}

bool harness_check(struct harness *h, struct rank_check *out, struct error *err)
{
    const char *words[] = {h->python, h->script, "--check", NULL};
    struct child *c = arena_alloc(h->mem, sizeof *c);
    struct error why = {0};
    if (!start(h, c, words, environment_of(h, NULL, 0), err) || !wait_for_end(h, c, err) ||
        interrupted(err))
        return false;
    if (c->found && ended_well(c) && rank_check_parse(c->marked, c->marked_length, out, &why))
        return true;
    return fail(err, ERROR_SYSTEM, "%s: does not run the harness (%s%s%s)%s%s", h->python,
                end_of(c, h->mem), *why.text ? ", " : "", why.text, c->tails ? ":\n" : "",
                log_of(c, h->mem));
}

/* "3.12.1", "0.20.0rc1": at least major.minor. */
static bool reaches(const char *version, int major, int minor)
{
    int a = 0, b = 0;
    return sscanf(version, "%d.%d", &a, &b) == 2 && (a > major || (a == major && b >= minor));
}

bool harness_suffices(const struct harness *h, const struct rank_check *c, struct error *err)
{
    if (!reaches(c->python, 3, 10))
        return fail(err, ERROR_SYSTEM, "%s is Python %s, 3.10 or newer is needed (--python PATH)",
                    h->python, c->python);
    if (!*c->torch)
        return fail(err, ERROR_SYSTEM,
                    "%s has no PyTorch: install torch, or name another interpreter (--python PATH)",
                    h->python);
    if (!c->cuda || !*c->gpu)
        return fail(err, ERROR_SYSTEM,
                    "PyTorch %s finds no CUDA GPU here: verify runs ranks on one (--dry-run shows "
                    "what it would run)",
                    c->torch);
    if (!*c->megatron)
        return fail(err, ERROR_SYSTEM, "%s: Megatron core is not found in it", h->megatron);
    if (!reaches(c->megatron, 0, 16) || !c->fake_process_group)
        return fail(err, ERROR_SYSTEM,
                    "%s: Megatron core %s runs no rank alone: --fake-process-group is needed, "
                    "which core 0.16 and newer have",
                    h->megatron, c->megatron);
    return true;
}

const char **harness_words(const struct harness *h, const struct harness_run *r)
{
    const char *head[] = {h->python,
                          h->script ? h->script : SCRIPT,
                          "--world",
                          arena_format(h->mem, "%lld", (long long)r->world),
                          "--rank",
                          arena_format(h->mem, "%lld", (long long)r->rank),
                          "--iterations",
                          arena_format(h->mem, "%d", r->steps),
                          "--seconds",
                          TIMED_SECONDS,
                          "--stack",
                          stack_name(r->stack),
                          "--lock",
                          h->lock,
                          "--"};
    enum { HEAD = sizeof head / sizeof *head };
    const char **words = arena_array(h->mem, HEAD + r->flags + 1, sizeof *words);
    size_t n = 0;
    for (size_t i = 0; i < HEAD; i++)
        if (h->lock || (head[i] && strcmp(head[i], "--lock") != 0))
            words[n++] = head[i];
    for (size_t i = 0; i < r->flags; i++)
        words[n++] = r->flag[i];
    return words;
}

/* What runs at the moment. */
struct runner {
    struct harness *harness;
    struct child *child[TOGETHER]; /* NULL = free */
    struct harness_rank *rank[TOGETHER];
    double since_s[TOGETHER]; /* started, or another one ended: from then on it has the GPU */
    int ended;
};

/* rank.py ends with 0 where it is through, or out of memory. */
static bool is_through(const struct rank_result *r)
{
    return strcmp(r->status, "ok") == 0 || strcmp(r->status, "out of memory") == 0;
}

/* Of a child that ended by itself: its result, or why it counts as none. */
static const char *take_result(const struct child *c, struct rank_result *out, struct arena *mem)
{
    struct error why = {0};
    bool read = c->found && rank_result_parse(c->marked, c->marked_length, out, &why);
    if (!read)
        return arena_format(mem, "it ended without a result (%s%s%s)", end_of(c, mem),
                            *why.text ? ", " : "", why.text);
    if (is_through(out) && !ended_well(c))
        return arena_format(mem, "it said '%s', then it ended with %s", out->status,
                            end_of(c, mem));
    return NULL;
}

static void finish(struct runner *r, int i, enum harness_outcome outcome)
{
    struct harness_rank *rank = r->rank[i];
    const struct child *c = r->child[i];
    rank->outcome = outcome;
    rank->why = outcome == HARNESS_ENDED ? take_result(c, &rank->result, r->harness->mem) : NULL;
    if (rank->why)
        rank->outcome = HARNESS_DIED;
    bool good = rank->outcome == HARNESS_ENDED && strcmp(rank->result.status, "ok") == 0;
    rank->log = good ? "" : log_of(c, r->harness->mem);
    r->child[i] = NULL;
    r->ended++;
    for (int k = 0; k < TOGETHER; k++)
        r->since_s[k] = now_s();
}

/* The one that started first: others may wait for it. -1 when none runs. */
static int oldest(const struct runner *r)
{
    int first = -1;
    for (int i = 0; i < TOGETHER; i++)
        if (r->child[i] && (first < 0 || r->since_s[i] < r->since_s[first]))
            first = i;
    return first;
}

static void look_after(struct runner *r)
{
    wait_for(r->child, TOGETHER);
    for (int i = 0; i < TOGETHER; i++)
        if (r->child[i] && child_ended(r->child[i], PREFIX))
            finish(r, i, HARNESS_ENDED);
    int first = oldest(r);
    if (first >= 0 && now_s() - r->since_s[first] > r->harness->limit_s) {
        child_kill(r->child[first]);
        finish(r, first, HARNESS_LATE);
    }
}

static bool start_next(struct runner *r, struct harness_rank *rank, const char *const *environment,
                       struct child *room, struct error *err)
{
    for (int i = 0; i < TOGETHER; i++) {
        if (r->child[i])
            continue;
        r->rank[i] = rank;
        r->since_s[i] = now_s();
        if (!start(r->harness, &room[i], rank->words, environment, err))
            return false;
        r->child[i] = &room[i];
        return true;
    }
    return true;
}

static int running(const struct runner *r)
{
    int n = 0;
    for (int i = 0; i < TOGETHER; i++)
        n += r->child[i] != NULL;
    return n;
}

bool harness_run_all(struct harness *h, struct harness_rank *rank, int count,
                     const char *const *environment, size_t variables,
                     void (*progress)(void *context, double done), void *context, struct error *err)
{
    struct child *room = arena_array(h->mem, TOGETHER, sizeof *room);
    const char **all = environment_of(h, environment, variables);
    struct runner r = {.harness = h};
    bool ok = true;
    int next = 0;
    while (ok && (next < count || running(&r) > 0)) {
        if (next < count && running(&r) < TOGETHER)
            ok = start_next(&r, &rank[next++], all, room, err);
        else
            look_after(&r);
        ok = ok && !interrupted(err);
        if (progress)
            progress(context, (double)r.ended / count);
    }
    for (int i = 0; i < TOGETHER; i++)
        if (r.child[i])
            child_kill(r.child[i]);
    return ok;
}
