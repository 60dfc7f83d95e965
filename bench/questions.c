/* How long questions take, small and large, and how that grows with GPUs, types and layers. Each is a
 * process of its own with one thread. CPU is also given in units of a plain reference measured in the
 * same run (2,000 strategies predicted from scratch), for these machines are noisy. A question ends
 * after a minute. The second argument is where to draw the growth. */
#define _DEFAULT_SOURCE
#include "asked.h"
#include "base/str.h"
#include "base/svg.h"
#include "reference.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SIX "1..512x8:H100,1..512x8:A100,1..512x8:H200,1..512x8:B200,1..512x8:H800,1..512x8:MI300X"
#define FOUR "128x8:H100,128x8:A100,128x8:H200,128x8:B200"

struct question {
    const char *model, *cluster;
    const char *options[4]; /* names and values */
    double aim_s;           /* CPU; 0 = none */
};

static const struct question ROWS[] = {
    {"gpt3-175b", "64x8:A100", {0}, 0},
    {"llama3-70b", "64x8:H100", {0}, 0},
    {"deepseek-v3", "256x8:H800", {0}, 0},
    {"deepseek-v3", "131072x8:H100", {"--global-batch", "61440"}, 4},
    {"llama3-405b", "131072x8:H100", {"--global-batch", "65536"}, 4},
    {"llama3-70b", SIX, {"--tokens", "1T"}, 0},
    {"llama3-70b",
     "64x8:H100,64x8:A100,64x8:H200",
     {"--gpus", "1024", "--global-batch", "2048"},
     2},
    {"llama3-70b", FOUR, {0}, 2},
    {"llama3-70b", SIX, {"--mix", "2"}, 4},
    {"deepseek-v3", "32x8:H100,32x8:A100", {0}, 3},
    {"deepseek-v3", "64x8:H100,64x8:A100,64x8:H200", {"--gpus", "1024"}, 15},
    {"deepseek-v3", FOUR, {"--gpus", "3072"}, 60},
    {"deepseek-v3", SIX, {"--mix", "2"}, 60},
};

struct took {
    double wall, cpu;
    long kilobytes;
};

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + 1e-6 * (double)t.tv_usec;
}

static struct took ask(const char *program, const struct question *q)
{
    const char *argv[16] = {program,    "search",    "--model", q->model,       "--cluster",
                            q->cluster, "--threads", "1",       "--time-limit", "60s"};
    int count = 10, status = 0;
    struct rusage use;
    for (int i = 0; i < 4 && q->options[i]; i++)
        argv[count++] = q->options[i];
    fflush(stdout); /* the child must not print it again */
    double start = now_s();
    pid_t child = fork();
    if (child == 0) {
        if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr))
            _exit(127);
        execv(program, (char *const *)argv);
        _exit(127);
    }
    if (child < 0 || wait4(child, &status, 0, &use) < 0 || !WIFEXITED(status) ||
        WEXITSTATUS(status) > 1) {
        fprintf(stderr, "%s could not be run\n", program);
        exit(3);
    }
    return (struct took){now_s() - start, seconds(use.ru_utime) + seconds(use.ru_stime),
                         use.ru_maxrss};
}

/* CPU seconds of 2,000 strategies, each from scratch. */
static double reference_s(void)
{
    static const char *const options[][2] = {{"model", "llama3-8b"}, {"cluster", "8x8:H100"},
                                             {"set", "pp=1,2"},      {"set", "cp=1"},
                                             {"set", "vpp=1"},       {"set", "tp=2"},
                                             {"set", "split=even"},  {"set", "recompute=none"}};
    struct asked q;
    struct search_query sq;
    struct error err = {0};
    struct reference ref = {.limit = 2000};
    asked_init(&q);
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (!asked_set(&q, options[i][0], options[i][1], &err))
            exit(2);
    if (!asked_resolve(&q, QUERY_SEARCH, &err) || !query_search(&q.query, 0, &q.mem, &sq, NULL))
        exit(2);
    clock_t start = clock();
    reference_run(&ref, &sq, &q.mem);
    double took = (double)(clock() - start) / CLOCKS_PER_SEC;
    reference_release(&ref);
    asked_release(&q);
    return took;
}

static void print_row(const struct question *q, struct took t, double unit)
{
    char what[200];
    snprintf(what, sizeof what, "%s %s %s %s", q->cluster, q->options[0] ? q->options[0] : "",
             q->options[0] ? q->options[1] : "", q->options[2] ? "..." : "");
    printf("  %-12s %-60.60s %8.2f %8.2f %8.2f %5ld", q->model, what, t.cpu, t.wall, t.cpu / unit,
           t.kilobytes / 1024);
    printf(q->aim_s > 0 ? "  aim %.0f s: %s\n" : "\n", q->aim_s,
           t.cpu <= q->aim_s ? "met" : "not met");
}

/* One line of the plot: how CPU grows with one thing. */
enum { POINTS = 5 };
struct growth {
    const char *what;
    double at[POINTS], cpu[POINTS];
};

static void grow(const char *program, struct growth g[3])
{
    static const char *const types[] = {"A100", "H100", "H200", "B200", "H800"};
    for (int i = 0; i < POINTS; i++) {
        char pool[200] = "", cluster[40], model[120];
        for (int k = 0; k <= i; k++)
            snprintf(pool + strlen(pool), sizeof pool - strlen(pool), "%s%dx8:%s", k ? "," : "",
                     60 / (i + 1), types[k]);
        snprintf(cluster, sizeof cluster, "%dx8:H100", 16 << 2 * i);
        snprintf(model, sizeof model, "layers=%d,hidden=8192,ffn=28672,heads=64,kv=8,vocab=128256",
                 20 << i);
        struct question gpus = {"llama3-70b", cluster, {"--global-batch", "16384"}, 0};
        struct question kinds = {"llama3-8b", pool, {0}, 0};
        struct question layers = {model, "64x8:H100", {0}, 0};
        g[0].at[i] = 8 * (16 << 2 * i);
        g[0].cpu[i] = ask(program, &gpus).cpu;
        g[1].at[i] = i + 1;
        g[1].cpu[i] = ask(program, &kinds).cpu;
        g[2].at[i] = 20 << i;
        g[2].cpu[i] = ask(program, &layers).cpu;
    }
}

static const char STYLE[] = "text{font:26px sans-serif;fill:#24292f}.line{fill:none;stroke:#1f6feb;"
                            "stroke-width:4}.frame{fill:none;stroke:#8b949e}.dot{fill:#1f6feb}\n";

/* Three panels side by side; both axes logarithmic, CPU from 10 ms to 100 s. */
static void draw(const struct growth g[3], const char *path)
{
    enum { WIDE = 460, HIGH = 520, LEFT = 90, TOP = 70, STEP = 560 };
    struct str svg, line;
    str_init(&svg);
    str_init(&line);
    svg_begin(&svg, LEFT + 3 * STEP, TOP + HIGH + 110, "CPU seconds of a search", STYLE);
    for (int p = 0; p < 3; p++) {
        int x0 = LEFT + p * STEP;
        double span = log(g[p].at[POINTS - 1] / g[p].at[0]);
        svg_rect(&svg, "frame", x0, TOP, WIDE, HIGH);
        svg_words(&svg, "title", x0, TOP - 20, g[p].what);
        for (int k = 0; k <= 4; k++) {
            static const char *const ticks[] = {"10 ms", "0.1 s", "1 s", "10 s", "100 s"};
            svg_words(&svg, "tick", x0 - 85, TOP + HIGH - k * HIGH / 4 + 8, ticks[k]);
        }
        str_clear(&line);
        for (int i = 0; i < POINTS; i++) {
            char text[40];
            int x = x0 + (int)(WIDE * log(g[p].at[i] / g[p].at[0]) / span);
            int y = TOP + HIGH - (int)(HIGH * (log10(fmax(0.01, g[p].cpu[i])) + 2) / 4);
            str_addf(&line, "%s%d %d", i ? " L" : "M", x, y);
            snprintf(text, sizeof text, "%.0f", g[p].at[i]);
            svg_words(&svg, "tick", x - 10, TOP + HIGH + 36, text);
            svg_mark(&svg, "dot", SVG_CIRCLE, x, y, 9, text);
        }
        svg_path(&svg, "line", line.data);
    }
    svg_end(&svg);
    FILE *f = fopen(path, "w");
    if (!f || fputs(svg.data, f) < 0 || fclose(f) != 0) {
        fprintf(stderr, "%s cannot be written\n", path);
        exit(3);
    }
    str_release(&line);
    str_release(&svg);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: questions ASTRA [PICTURE.svg]\n");
        return 2;
    }
    double unit = reference_s();
    printf(
        "Questions, one thread, at most a minute each; a unit is %.2f s of CPU: 2,000 strategies "
        "one by one\n  %-12s %-60s %8s %8s %8s %5s\n",
        unit, "", "", "CPU s", "wall s", "units", "MB");
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++)
        print_row(&ROWS[i], ask(argv[1], &ROWS[i]), unit);
    struct growth g[3] = {{.what = "GPUs"}, {.what = "types of GPU"}, {.what = "layers"}};
    grow(argv[1], g);
    for (int p = 0; p < 3; p++) {
        printf("Growth with %s:", g[p].what);
        for (int i = 0; i < POINTS; i++)
            printf("  %.0f: %.2f s", g[p].at[i], g[p].cpu[i]);
        printf("\n");
    }
    if (argc > 2)
        draw(g, argv[2]);
    return 0;
}
