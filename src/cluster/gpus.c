/* The table of GPU types and looking a name up in it: a walk over some forty lines, names and
 * aliases alike, which is done once per group of nodes. */
#include "cluster/cluster.h"

#include "base/arena.h"
#include "base/str.h"

#include <string.h>

static const struct gpu GPUS[] = {
#define GPU(...) {__VA_ARGS__, NULL},
#include "cluster/gpus.def"
#undef GPU
};

enum { GPU_COUNT = sizeof GPUS / sizeof *GPUS, LONGEST_NAME = 63 };

const struct gpu *gpu_table(size_t *count)
{
    *count = GPU_COUNT;
    return GPUS;
}

static const struct {
    const char *name;
    double speed, link_gbs;
    const char *gpus, *source;
} HOSTS[] = {
#define HOST(...) {__VA_ARGS__},
#include "cluster/hosts.def"
#undef HOST
};
enum { HOST_COUNT = sizeof HOSTS / sizeof *HOSTS };

/* Its line, or HOST_COUNT. */
static size_t host_of(const struct gpu *g)
{
    char word[LONGEST_NAME + 1];
    for (size_t i = 0; i < HOST_COUNT; i++)
        for (const char *at = HOSTS[i].gpus; next_word(&at, word, sizeof word);)
            if (same_name(word, g->name))
                return i;
    return HOST_COUNT;
}

double gpu_host_speed(const struct gpu *g)
{
    size_t host = host_of(g);
    return host < HOST_COUNT ? HOSTS[host].speed : 1;
}

double gpu_host_gbs(const struct gpu *g)
{
    size_t host = host_of(g);
    return host < HOST_COUNT ? HOSTS[host].link_gbs : g->pcie_gbs;
}

static bool has_alias(const struct gpu *g, const char *name)
{
    char word[LONGEST_NAME + 1];
    for (const char *at = g->aliases; next_word(&at, word, sizeof word);)
        if (same_name(word, name))
            return true;
    return false;
}

/* Names first, so that of two equally near ones the suggestion is the full name's. */
static const char **all_names(struct arena *mem, size_t *count)
{
    enum { MOST_NAMES = 16 * GPU_COUNT };
    const char **names = arena_array(mem, MOST_NAMES, sizeof *names);
    char word[LONGEST_NAME + 1];
    *count = 0;
    for (size_t i = 0; i < GPU_COUNT; i++)
        names[(*count)++] = GPUS[i].name;
    for (size_t i = 0; i < GPU_COUNT; i++)
        for (const char *at = GPUS[i].aliases;
             *count < MOST_NAMES && next_word(&at, word, sizeof word);)
            names[(*count)++] = arena_string(mem, word);
    return names;
}

const struct gpu *gpu_find(const char *name, struct error *err)
{
    for (size_t i = 0; i < GPU_COUNT; i++) /* tables say full names: hundreds at every start */
        if (same_name(GPUS[i].name, name))
            return &GPUS[i];
    for (size_t i = 0; i < GPU_COUNT; i++)
        if (has_alias(&GPUS[i], name))
            return &GPUS[i];
    struct arena mem = {0};
    size_t count;
    const char **names = all_names(&mem, &count);
    const char *near = did_you_mean(name, names, count);
    fail(err, ERROR_INPUT, "unknown GPU '%.63s'%s", name,
         *near ? near : " (`astra gpus` lists those known)");
    arena_release(&mem);
    return NULL;
}

const struct gpu *gpu_of_device(const char *said)
{
    static const char *const MAKERS[] = {"NVIDIA ", "AMD ", "Instinct ", "GeForce ", "Tesla "};
    char name[LONGEST_NAME + 1];
    for (size_t i = 0; i < sizeof MAKERS / sizeof *MAKERS; i++)
        if (strncmp(said, MAKERS[i], strlen(MAKERS[i])) == 0)
            said += strlen(MAKERS[i]);
    size_t length = strlen(said);
    if (length > LONGEST_NAME)
        return NULL;
    for (size_t i = 0; i <= length; i++)
        name[i] = said[i] == ' ' ? '-' : said[i];
    return gpu_find(name, NULL);
}

/* CUDA compute capability of a generation (NVIDIA, "CUDA GPUs"); other makers' parts are given
 * that of NVIDIA's with the same number formats: bf16 from 8.0, fp8 from 8.9. CDNA4 is gfx950, which
 * has MXFP8 (Primus docs/02-user-guide/megatron-lm-training.md) and no NVFP4. */
double gpu_capability(const struct gpu *gpu)
{
    static const struct {
        const char *arch;
        double capability;
    } table[] = {{"Volta", 7},      {"Turing", 7.5}, {"Ampere", 8}, {"Ada", 8.9},
                 {"CDNA2", 8},      {"CDNA4", 9.5},  {"Hopper", 9}, {"Blackwell RTX", 12},
                 {"Blackwell", 10}, {"Rubin", 10.7}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (gpu->arch[0] == table[i].arch[0] && /* asked for every rank of a search */
            strncmp(gpu->arch, table[i].arch, strlen(table[i].arch)) == 0)
            return table[i].capability;
    return 9;
}
