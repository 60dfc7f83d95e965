/* How fast the steps of a training are read out of its log, and in how much memory: a gigabyte made
 * here, or the file that is named. Machines are noisy: trust the ratio to a bare search for line
 * breaks more than seconds. */
#define _DEFAULT_SOURCE
#include "base/arena.h"
#include "base/file.h"
#include "import/log/train_steps.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { PIECE = 65536, LINE = 512, MEGABYTES = 1024, OTHERS = 4 };

static const double AIM_S = 5;

/* Lines of other kinds that follow each training line, about as long as real ones. */
static const char *const OTHER[] = {
    ("[default3]:/usr/lib/python3/dist-packages/torch/autograd/graph.py:825: UserWarning: "
     "c10d::broadcast_: an autograd kernel was not registered to the Autograd key(s)\n"),
    "[default5]:    forward-backward ...............................: (26094.39, 26095.09)\n",
    "[default1]:NCCL INFO Channel 03/0 : 17[1] -> 18[2] via P2P/CUMEM/read comm 0x5581 nRanks 64\n",
    "[default6]:saved a part of a checkpoint, 1.25 GiB in 0.83 s, queue 12, waiting for writers\n",
};

struct maker {
    char text[PIECE + LINE];
    size_t length;
    int64_t iteration, lines;
};

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static long peak_kib(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return u.ru_maxrss;
}

static void add_line(struct maker *m)
{
    int64_t i = m->lines++;
    if (i % (OTHERS + 1)) {
        m->length += (size_t)snprintf(m->text + m->length, LINE, "%s", OTHER[i % OTHERS]);
        return;
    }
    m->length += (size_t)snprintf(
        m->text + m->length, LINE,
        "[default7]: [2026-09-11 12:06:52.987995] iteration %8" PRId64
        "/ 7629408 | consumed samples: %12" PRId64
        " | elapsed time per iteration (ms): %.1f | throughput per GPU (TFLOP/s/GPU): 426.8 | "
        "learning rate: 1.406250E-04 | global batch size:    32 | lm loss: 1.107468E+01 | loss "
        "scale: 1.0 | grad norm: 30.066 | num zeros: 1299.0 | number of skipped iterations:   0 | "
        "number of nan iterations:   0 |\n",
        m->iteration, 32 * m->iteration, 2000.0 + (double)(m->iteration * 7919 % 101));
    m->iteration++;
}

/* PIECE bytes of the log, wherever that cuts a line. */
static void make_piece(struct maker *m)
{
    while (m->length < PIECE)
        add_line(m);
}

static void drop_piece(struct maker *m)
{
    m->length -= PIECE;
    memmove(m->text, m->text + PIECE, m->length);
}

static int64_t count_breaks(const char *text, size_t length)
{
    int64_t n = 0;
    for (const char *at = text; (at = memchr(at, '\n', length - (size_t)(at - text))); at++)
        n++;
    return n;
}

static int show(struct train_steps *t)
{
    struct step_summary s;
    struct error err = {0};
    bool ok = train_steps_end(t, &s, &err);
    printf("  %" PRId64 " training lines, %" PRId64 " used: %.4f s a step, spread %.2f %%, trend "
           "%+.2f %%, batch %d, %.1f TFLOP/s\n",
           s.lines, s.steps, s.step_s, 100 * s.spread, 100 * s.trend, s.global_batch,
           s.tflops_per_gpu);
    printf("  left out: %" PRId64 " of warm-up, %" PRId64 " outliers, %" PRId64
           " of other batches, "
           "%" PRId64 " repeated; %" PRId64 " broken; memory of %d ranks\n",
           s.warmup, s.outliers, s.other_batch, s.repeated, s.broken, s.ranks);
    for (int i = 0; i < s.notes; i++)
        printf("  note: %s\n", s.note[i]);
    if (!ok)
        printf("  %s\n", err.text);
    return ok ? 0 : 2;
}

static bool take(void *context, const char *data, size_t length)
{
    train_steps_feed(context, data, length);
    return true;
}

static int read_file(struct train_steps *t, const char *path)
{
    struct error err = {0};
    double start = now_s();
    if (!file_stream(path, take, t, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 2;
    }
    printf("%s: %.2f s, %ld MiB until here\n", path, now_s() - start, peak_kib() >> 10);
    return show(t);
}

static int read_made(struct train_steps *t)
{
    static struct maker m = {.iteration = 1};
    double ours_s = 0, breaks_s = 0;
    int64_t breaks = 0;
    for (int64_t i = 0; i < (int64_t)MEGABYTES * 1048576 / PIECE; i++) {
        make_piece(&m);
        double start = now_s();
        breaks += count_breaks(m.text, PIECE);
        double middle = now_s();
        train_steps_feed(t, m.text, PIECE);
        ours_s += now_s() - middle;
        breaks_s += middle - start;
        drop_piece(&m);
    }
    printf("a training log of %d MiB, %" PRId64 " lines: %.2f s, aim %.0f s; %.1f x a search for "
           "line breaks; %ld MiB until here\n",
           MEGABYTES, breaks, ours_s, AIM_S, ours_s / breaks_s, peak_kib() >> 10);
    int status = show(t);
    return ours_s < AIM_S ? status : 1;
}

int main(int argc, char **argv)
{
    struct arena mem;
    struct train_steps t;
    arena_init(&mem);
    train_steps_init(&t, &mem);
    int status = argc > 1 ? read_file(&t, argv[1]) : read_made(&t);
    train_steps_release(&t);
    arena_release(&mem);
    return status;
}
