/* How long it takes to ask what to rent: many types, any number of nodes, then mixes of two. Aims
 * are those of DESIGN 10's queries. These machines are noisy: trust ratios more than seconds. */
#define _DEFAULT_SOURCE
#include "astra.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static const char POOL[] = "1..512x8:H100,1..512x8:H200,1..512x8:A100,1..512x8:B200,"
                           "1..512x8:A100-40GB,1..512x8:L40S";

static const struct {
    const char *what;
    const char *options[8]; /* names and values, NULL ends */
    double aim_s;           /* 0 = none */
    int repeats;
} QUERIES[] = {
    {"one type, 1 to 512 nodes", {"cluster", "1..512x8:H100", NULL}, 0, 5},
    {"six types", {"cluster", POOL, NULL}, 2, 5},
    {"six types, cheapest in 30 days",
     {"cluster", POOL, "tokens", "10T", "deadline", "30d", NULL},
     2,
     5},
    {"six types, mixes of two", {"cluster", POOL, "mix", "2", NULL}, 10, 1},
};

static double clock_s(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void must(struct astra *a, enum astra_status status)
{
    if (status == ASTRA_OK)
        return;
    fprintf(stderr, "%s\n", astra_message(a));
    exit(2);
}

static void ask(const char *const *options, double *wall, double *cpu)
{
    struct astra *a = astra_new();
    must(a, astra_set(a, "model", "llama3-70b"));
    for (int i = 0; options[i]; i += 2)
        must(a, astra_set(a, options[i], options[i + 1]));
    double start = clock_s(CLOCK_MONOTONIC), work = clock_s(CLOCK_PROCESS_CPUTIME_ID);
    must(a, astra_search(a));
    *wall = clock_s(CLOCK_MONOTONIC) - start;
    *cpu = clock_s(CLOCK_PROCESS_CPUTIME_ID) - work;
    astra_free(a);
}

int main(void)
{
    double first = 0;
    printf("what to rent for llama3-70b, the best of some runs\n");
    for (size_t i = 0; i < sizeof QUERIES / sizeof *QUERIES; i++) {
        double least = 1e9, least_cpu = 1e9;
        for (int k = 0; k < QUERIES[i].repeats; k++) {
            double wall, cpu;
            ask(QUERIES[i].options, &wall, &cpu);
            least = wall < least ? wall : least;
            least_cpu = cpu < least_cpu ? cpu : least_cpu;
        }
        first = i == 0 ? least_cpu : first;
        printf("  %-32s %7.2f s, %6.2f s of all cores, %5.1f x one type", QUERIES[i].what, least,
               least_cpu, least_cpu / first);
        if (QUERIES[i].aim_s > 0)
            printf(", aim %.0f s", QUERIES[i].aim_s);
        printf("\n");
    }
    return 0;
}
