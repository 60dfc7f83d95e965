/* How fast the search is: whole processes, strategies judged per second and core, growth with
 * the pool, and a plain reference that judges every strategy from scratch, in the same run.
 * These machines are noisy: trust ratios more than seconds. */
#define _DEFAULT_SOURCE
#include "asked.h"
#include "reference.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { REPEATS = 5 };

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A query, or the end of the benchmark with what is wrong. */
static void ask(struct asked *q, const char *const options[][2])
{
    struct error err = {0};
    asked_init(q);
    for (int i = 0; options[i][0]; i++)
        if (!asked_set(q, options[i][0], options[i][1], &err)) {
            fprintf(stderr, "%s\n", err.text);
            exit(2);
        }
    if (!asked_resolve(q, QUERY_SEARCH, &err)) {
        fprintf(stderr, "%s\n", err.text);
        exit(2);
    }
}

/* Wall seconds and resident kilobytes of one process, its output thrown away. */
static double run_process(const char *const *argv, long *kilobytes)
{
    struct rusage use;
    int status;
    fflush(stdout); /* the child must not print it again */
    double start = now_s();
    pid_t child = fork();
    if (child == 0) {
        if (!freopen("/dev/null", "w", stdout))
            _exit(127);
        execv(argv[0], (char *const *)argv);
        _exit(127);
    }
    if (child < 0 || wait4(child, &status, 0, &use) < 0 || !WIFEXITED(status) ||
        WEXITSTATUS(status) != 0) {
        fprintf(stderr, "%s could not be run\n", argv[0]);
        exit(3);
    }
    *kilobytes = use.ru_maxrss;
    return now_s() - start;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void whole_processes(const char *program)
{
    static const char *const rows[][6] = {
        {"gpt3-175b", "64x8:A100", "1536", "2048"},
        {"llama3-70b", "64x8:H100", "512", "8192"},
        {"mixtral-8x7b", "64x8:H100", "512", "8192"},
        {"deepseek-v3", "256x8:H100", "512", "4096"},
    };
    puts("Whole processes, all cores, start included (median and fastest of 5)");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *argv[] = {program,    "search",         "--model",  rows[i][0],  "--cluster",
                              rows[i][1], "--global-batch", rows[i][2], "--seq-len", rows[i][3],
                              NULL};
        double seconds[REPEATS];
        long kilobytes = 0;
        for (int k = 0; k < REPEATS; k++)
            seconds[k] = run_process(argv, &kilobytes);
        qsort(seconds, REPEATS, sizeof *seconds, compare_doubles);
        printf("  %-14s %-12s %7.3f s  %7.3f s  %4ld MB\n", rows[i][0], rows[i][1],
               seconds[REPEATS / 2], seconds[0], kilobytes / 1024);
    }
}

/* Judged one by one on one core: every strategy that fits gets its exact step (no bounds). */
static double judging_rate(const char *model, const char *pool)
{
    const char *const options[][2] = {{"model", model},   {"cluster", pool},     {"threads", "1"},
                                      {"exhaustive", ""}, {"set", "pp=1,2,4,8"}, {"set", "cp=1"},
                                      {NULL, NULL}};
    struct asked q;
    struct search_query sq;
    struct search_result r;
    double best = 0;
    for (int k = 0; k < 3; k++) {
        ask(&q, options);
        if (!query_search(&q.query, 0, &q.mem, &sq, NULL))
            exit(2);
        double start = now_s();
        search_run(&sq, &q.mem, &r);
        best = fmax(best, r.funnel.judged / (now_s() - start));
        asked_release(&q);
    }
    printf("  search, exhaustive   %-10s %-10s %9.0f judged/s and core (%.0f judged, each "
           "simulated exactly)\n",
           model, pool, best, r.funnel.judged);
    return best;
}

static double reference_rate(const char *model, const char *pool)
{
    const char *const options[][2] = {
        {"model", model},   {"cluster", pool}, {"set", "pp=1,2,4,8"}, {"set", "cp=1"},
        {"set", "vpp=1,2"}, {"set", "tp=2"},   {"set", "split=even"}, {NULL, NULL}};
    struct asked q;
    struct search_query sq;
    struct reference ref = {.limit = 20000};
    ask(&q, options);
    if (!query_search(&q.query, 0, &q.mem, &sq, NULL))
        exit(2);
    double start = now_s();
    reference_run(&ref, &sq, &q.mem);
    double rate = ref.valid / (now_s() - start);
    printf(
        "  plain reference      %-10s %-10s %9.0f judged/s and core (%.0f valid of %.0f tried)\n",
        model, pool, rate, ref.valid, ref.tried);
    reference_release(&ref);
    asked_release(&q);
    return rate;
}

static void growth(void)
{
    static const char *const pools[] = {"64x8:H100", "256x8:H100", "1024x8:H100", "4096x8:H100",
                                        "12500x8:H100"};
    puts("Growth: llama3-405b, global batch 4096, one thread");
    for (size_t i = 0; i < sizeof pools / sizeof *pools; i++) {
        const char *const options[][2] = {{"model", "llama3-405b"},
                                          {"cluster", pools[i]},
                                          {"global-batch", "4096"},
                                          {"threads", "1"},
                                          {NULL, NULL}};
        struct asked q;
        struct search_query sq;
        struct search_result r;
        ask(&q, options);
        if (!query_search(&q.query, 0, &q.mem, &sq, NULL))
            exit(2);
        double start = now_s(), pool_cut = 0;
        search_run(&sq, &q.mem, &r);
        for (int k = 0; k < r.funnel.drops; k++)
            if (strcmp(r.funnel.drop[k].reason, "more GPUs than the pool has") == 0)
                pool_cut = r.funnel.drop[k].count;
        printf("  %-13s %7.3f s  %.2e strategies within the pool  %7.0f judged\n", pools[i],
               now_s() - start, r.funnel.generated - pool_cut, r.funnel.judged);
        asked_release(&q);
    }
}

int main(int argc, char **argv)
{
    whole_processes(argc > 1 ? argv[1] : "build/astra");
    puts("Judging, one core");
    double fast = judging_rate("llama3-8b", "4x8:A100");
    judging_rate("gpt3-13b", "8x8:A100");
    printf("  ratio                %.0f\n", fast / reference_rate("llama3-8b", "4x8:A100"));
    growth();
    return 0;
}
