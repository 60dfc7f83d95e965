/* How long a search over several types of GPU takes: against its aims, as types, GPUs and layers
 * grow, and beside plain enumeration of a small problem in the same run. These machines are noisy:
 * trust ratios and counts more than seconds. */
#define _DEFAULT_SOURCE
#include "asked.h"
#include "astra.h"
#include "base/json.h"
#include "mixed_reference.h"

#include <math.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static double clock_s(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void give_up(const char *message)
{
    fprintf(stderr, "%s\n", message);
    exit(2);
}

/* What a search did, as its JSON says. */
struct effort {
    double structures, arrangements, assigned, simulated, unproven;
};

/* Absent where the pool has one type. */
static struct effort effort_of(struct astra *a)
{
    struct error err = {0};
    const char *text = astra_print(a, ASTRA_JSON);
    struct json *root = json_parse(text, strlen(text), "answer", &err);
    if (!root)
        give_up(err.text);
    const struct json *m = json_get(root, "mixed");
    struct effort e = {
        json_number_of(json_get(m, "structures")), json_number_of(json_get(m, "arrangements")),
        json_number_of(json_get(m, "assigned")), json_number_of(json_get(m, "simulated")),
        json_number_of(json_get(m, "unproven"))};
    json_release(root);
    return e;
}

struct seconds {
    double wall, cpu;
};

/* `threads` NULL = all cores. */
static struct seconds search_once(const char *model, const char *pool, const char *threads,
                                  struct effort *out)
{
    const char *const options[][2] = {{"model", model}, {"cluster", pool}, {"threads", threads}};
    struct astra *a = astra_new();
    struct seconds start = {clock_s(CLOCK_MONOTONIC), clock_s(CLOCK_PROCESS_CPUTIME_ID)};
    for (size_t i = 0; i < COUNT(options); i++)
        if (options[i][1] && astra_set(a, options[i][0], options[i][1]) != ASTRA_OK)
            give_up(astra_message(a));
    if (astra_search(a) != ASTRA_OK)
        give_up(astra_message(a));
    struct seconds s = {clock_s(CLOCK_MONOTONIC) - start.wall,
                        clock_s(CLOCK_PROCESS_CPUTIME_ID) - start.cpu};
    *out = effort_of(a);
    astra_free(a);
    return s;
}

static void print_effort(const struct effort *e)
{
    printf(" %10.0f %12.0f %9.0f %9.0f %8.0f\n", e->structures, e->arrangements, e->assigned,
           e->simulated, e->unproven);
    fflush(stdout);
}

/* Both tables end with these. */
#define EFFORT "structures arrangements  assigned simulated unproven"

/* Questions that a search should answer in a few seconds of one core, and the aims. */
struct question {
    const char *model, *pool, *gpus, *batch, *mix, *tokens;
    double aim_s;
};
static const struct question QUESTIONS[] = {
    {"llama3-70b", "64x8:H100,64x8:A100,64x8:H200", "1024", "2048", NULL, NULL, 2},
    {"llama3-70b", "128x8:H100,128x8:A100,128x8:H200,128x8:B200", "4096", NULL, NULL, NULL, 2},
#define SIX "1..512x8:H100,1..512x8:A100,1..512x8:H200,1..512x8:B200,1..512x8:H800,1..512x8:L40S"
    {"llama3-70b", SIX, NULL, NULL, "2", NULL, 4},
    {"llama3-70b", SIX, NULL, NULL, "2", "1T", 4},
    {"deepseek-v3", "32x8:H100,32x8:H800", NULL, NULL, NULL, NULL, 3},
    {"deepseek-v3", "64x8:H100,64x8:H800,64x8:H200", "1024", NULL, NULL, NULL, 15},
    {"deepseek-v3", "128x8:H100,128x8:H800,128x8:H200,128x8:B200", "3072", NULL, NULL, NULL, 60},
    {"deepseek-v3", SIX, NULL, NULL, "2", NULL, 60},
};
#undef SIX

struct answer {
    double wall_s, cpu_s, mib, gap, step_s; /* gap 0: proven */
    struct effort effort;
};

static void ask(const struct question *q, const char *limit, struct answer *out)
{
    const char *const options[][2] = {{"model", q->model},   {"cluster", q->pool},
                                      {"gpus", q->gpus},     {"global-batch", q->batch},
                                      {"mix", q->mix},       {"tokens", q->tokens},
                                      {"time-limit", limit}, {"threads", "1"}};
    struct astra *a = astra_new();
    double start = clock_s(CLOCK_MONOTONIC);
    for (size_t i = 0; i < COUNT(options); i++)
        if (options[i][1] && astra_set(a, options[i][0], options[i][1]) != ASTRA_OK)
            give_up(astra_message(a));
    if (astra_search(a) != ASTRA_OK)
        give_up(astra_message(a));
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    struct error err = {0};
    const char *text = astra_print(a, ASTRA_JSON);
    struct json *root = json_parse(text, strlen(text), "answer", &err);
    const struct json *gap = json_get(root, "gap");
    const struct json *best = json_at(json_get(root, "best"), 0);
    *out = (struct answer){.wall_s = clock_s(CLOCK_MONOTONIC) - start,
                           .cpu_s = clock_s(CLOCK_PROCESS_CPUTIME_ID),
                           .mib = (double)used.ru_maxrss / 1024,
                           .gap = json_is_null(gap) ? INFINITY : json_number_of(gap),
                           .step_s = json_number_of(json_get(best, "step_s")),
                           .effort = effort_of(a)};
    json_release(root);
    astra_free(a);
}

/* In a process of its own, whose memory it is. */
static struct answer ask_apart(const struct question *q, const char *limit)
{
    struct answer out = {0};
    int end[2];
    if (pipe(end) != 0)
        give_up("no pipe");
    pid_t child = fork();
    if (child == 0) {
        ask(q, limit, &out);
        _exit(write(end[1], &out, sizeof out) == (ssize_t)sizeof out ? 0 : 2);
    }
    close(end[1]);
    if (child < 0 || read(end[0], &out, sizeof out) != (ssize_t)sizeof out)
        give_up("a search ended early");
    close(end[0]);
    waitpid(child, NULL, 0);
    return out;
}

static void questions(void)
{
    puts("Questions: one thread, at most a minute each; then the same with --time-limit 1s");
    printf("  %-8s %-11s %5s %7s %5s %6s %6s | %5s %6s %s\n", "", "", "aim", "CPU s", "MiB", "gap",
           "step", "1s: s", "step", EFFORT);
    for (size_t i = 0; i < COUNT(QUESTIONS); i++) {
        const struct question *q = &QUESTIONS[i];
        struct answer all = ask_apart(q, "60s"), soon = ask_apart(q, "1s");
        printf("  %s, %s\n  %-8s %-11s %5.0f %7.2f %5.0f %5.1f%% %6.3f | %5.2f %5.1f%%", q->model,
               q->pool, q->gpus ? q->gpus : "", all.cpu_s <= q->aim_s && all.gap == 0 ? "met" : "",
               q->aim_s, all.cpu_s, all.mib, 100 * all.gap, all.step_s, soon.wall_s,
               100 * (soon.step_s / all.step_s - 1));
        print_effort(&all.effort);
    }
}

static void print_head(const char *title)
{
    printf("%s; one thread, CPU seconds\n  %-44s %8s %s\n", title, "", "s", EFFORT);
}

static void print_search(const char *what, const char *model, const char *pool)
{
    struct effort e;
    struct seconds s = search_once(model, pool, "1", &e);
    printf("  %-44s %8.2f", what, s.cpu);
    print_effort(&e);
}

/* So many nodes of 8 GPUs over the first `types`, as evenly as possible; one type is the second. */
static void write_pool(int types, int nodes, char *out, size_t size)
{
    static const char *const names[] = {"A100", "H100", "H200", "B200"};
    size_t length = 0;
    for (int i = 0; i < types; i++)
        length += (size_t)snprintf(out + length, size - length, "%s%dx8:%s", i ? "," : "",
                                   nodes / types + (i < nodes % types), names[types == 1 ? 1 : i]);
}

static void growth_of_types(void)
{
    char pool[128];
    print_head("Growth with types: llama3-70b, 512 GPUs in all");
    for (int types = 1; types <= MIX_MAX; types++) {
        write_pool(types, 64, pool, sizeof pool);
        print_search(pool, "llama3-70b", pool);
    }
}

static void growth_of_pool(void)
{
    char pool[128], what[160];
    print_head("Growth with GPUs: llama3-70b, three types");
    for (int nodes = 16; nodes <= 512; nodes *= 2) {
        write_pool(3, nodes, pool, sizeof pool);
        snprintf(what, sizeof what, "%4d GPUs: %s", 8 * nodes, pool);
        print_search(what, "llama3-70b", pool);
    }
}

static void growth_of_layers(void)
{
    static const int layers[] = {16, 32, 80, 126};
    char pool[128], model[128], what[64];
    write_pool(3, 64, pool, sizeof pool);
    print_head("Growth with layers: those of llama3-70b, three types, 512 GPUs");
    for (size_t i = 0; i < COUNT(layers); i++) {
        snprintf(model, sizeof model, "layers=%d,hidden=8192,ffn=28672,heads=64,kv=8,vocab=128256",
                 layers[i]);
        snprintf(what, sizeof what, "%3d layers", layers[i]);
        print_search(what, model, pool);
    }
}

/* The same space for both: what brute force can walk. */
static void ask_small(struct asked *q, int layers)
{
    static const char *const fixed[][2] = {{"cluster", "2x4:A100,2x4:H100"},
                                           {"global-batch", "32"},
                                           {"set", "cp=1"},
                                           {"set", "tp=2,4"},
                                           {"set", "vpp=1"},
                                           {"set", "micro_batch=1,2"},
                                           {"set", "recompute=none"},
                                           {"set", "loss_fusion=on"},
                                           {"set", "fsdp=none"},
                                           {"set", "optimizer_offload=0"},
                                           {"threads", "1"},
                                           {"top", "1"}};
    struct error err = {0};
    char model[128];
    snprintf(model, sizeof model, "layers=%d,hidden=4096,ffn=14336,heads=32,kv=8,vocab=128256",
             layers);
    asked_init(q);
    if (!asked_set(q, "model", model, &err))
        give_up(err.text);
    for (size_t i = 0; i < COUNT(fixed); i++)
        if (!asked_set(q, fixed[i][0], fixed[i][1], &err))
            give_up(err.text);
    if (!asked_resolve(q, QUERY_SEARCH, &err))
        give_up(err.text);
}

/* Both find the same step, or the benchmark ends. Operators are timed before both. */
static void beside_plain(int layers)
{
    struct asked q;
    struct mixed_query mq;
    struct mixed_result r;
    struct mixed_reference plain = {0};
    struct error err = {0};
    ask_small(&q, layers);
    if (!query_mixed(&q.query, &q.mem, &mq, &err))
        give_up(err.text);
    mixed_run(&mq, &q.mem, &r);
    double start = clock_s(CLOCK_MONOTONIC);
    mixed_run(&mq, &q.mem, &r);
    double fast = clock_s(CLOCK_MONOTONIC) - start;
    start = clock_s(CLOCK_MONOTONIC);
    mixed_reference_run(&plain, &mq);
    double slow = clock_s(CLOCK_MONOTONIC) - start;
    const struct found *best = mixed_reference_best(&plain);
    if (r.best < 1 || !best || r.found[0].step != best->step)
        give_up("the search and plain enumeration differ: one of them is wrong");
    printf("  %2d layers  %8.4f s (%5.0f simulated)  plain %8.2f s (%7.0f plans, each simulated)  "
           "%6.0f times\n",
           layers, fast, r.simulated, slow, plain.plans, slow / fast);
    fflush(stdout);
    mixed_reference_release(&plain);
    asked_release(&q);
}

int main(void)
{
    questions();
    growth_of_types();
    growth_of_pool();
    growth_of_layers();
    puts("Beside plain enumeration, one core: 2x4:A100,2x4:H100, a small space, the same answer");
    for (int layers = 4; layers <= 8; layers += 2)
        beside_plain(layers);
    return 0;
}
