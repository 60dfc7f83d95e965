/* Where a published plan comes from: containers of NVIDIA with the release of Megatron core in them.
 * Megatron-Bridge docs/releases/software-versions.md and the submodule of its tags v0.2.0 to v0.6.0;
 * NeMo's release notes for those before 25.09; the containers that dgxc-benchmarking's READMEs name. */
#include "experts.h"

#include <string.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

struct origin {
    const char *named; /* in the source; the first that fits */
    const char *group, *release;
};

static const struct origin ORIGINS[] = {
    {"container 26.08", "26.08", "0.19.0"},
    {"container 26.06.01", "26.06.01", "0.18.2"},
    {"container 26.06", "26.06", "0.18.0"},
    {"container 26.04.01", "26.04.01", "0.17.1"},
    {"container 26.04", "26.04", "0.17.0"},
    {"container 26.02.01", "26.02.01", "0.16.1"},
    {"container 26.02", "26.02", "0.16.0"},
    {"container 25.11", "25.11", "0.15.0"},
    {"container 25.09", "25.09", "0.14.0"},
    {"container 25.07", "25.07", "0.13.0"},
    {"container 25.04", "25.04", "0.12.0"},
    {"container 25.02", "25.02", "0.11.0"},
    {"NVIDIA/dgxc-benchmarking v25.12", "25.09", "0.14.0"},
    {"NVIDIA/dgxc-benchmarking v25.10", "25.09", "0.14.0"},
    {"NVIDIA/dgxc-benchmarking v25.05", "25.04", "0.12.0"},
    {"NVIDIA/dgxc-benchmarking v25.04", "24.12", "0.10.0"},
    {"NVIDIA/dgxc-benchmarking v25.02", "24.12", "0.10.0"},
    {"NVIDIA/dgxc-benchmarking v24.11", "24.09", "0.9.0"},
    {"model_verification_cards/qwen3-30b-a3b", "26.06", "0.18.0"},
    {"Megatron-Bridge pull request 1760", "25.11", "0.15.0"},
    {"Megatron-Bridge skills/", "26.04", "0.17.0"}, /* of 2026-05 */
    {"nemo2602", NULL, "0.16.0"},
    {"worklog/2026-0", NULL, "0.16.0"}, /* Together's, 2026-04 and -05 */
    {"SimuMax", NULL, "0.14.0"},        /* doc/evidence/accuracy.md */
    {"training_results_v3.0", "MLPerf 3.0", NULL},
    {"training_results_v3.1", "MLPerf 3.1", NULL},
    {"training_results_v4.0", "MLPerf 4.0", NULL},
    {"training_results_v4.1", "MLPerf 4.1", NULL},
    {"training_results_v5.0", "MLPerf 5.0", NULL},
    {"training_results_v5.1", "MLPerf 5.1", NULL},
};

const char *expert_column(const struct expert *x, const char *name)
{
    int column = csv_column(x->table, name);
    return column < 0 ? "" : csv_at(x->table, x->row, column);
}

static bool is_nvidia(const char *source)
{
    static const char *const first[] = {"NVIDIA", "docs.nvidia.com", "Narayanan", "Korthikanti"};
    for (int i = 0; i < COUNT(first); i++)
        if (strncmp(source, first[i], strlen(first[i])) == 0)
            return true;
    return strstr(source, "NVIDIA/results") != NULL; /* of MLPerf, with partners or without */
}

void expert_place(struct expert *x, struct arena *mem)
{
    const char *source = expert_column(x, "source");
    int i = 0;
    while (i < COUNT(ORIGINS) && !strstr(source, ORIGINS[i].named))
        i++;
    x->nvidia = is_nvidia(source);
    x->release = i < COUNT(ORIGINS) ? ORIGINS[i].release : NULL;
    x->group = i < COUNT(ORIGINS) ? ORIGINS[i].group : NULL;
    if (!x->group)
        x->group = arena_copy(mem, source, strcspn(source, " "));
    else if (!x->nvidia)
        x->group = arena_format(mem, "%s, others", x->group);
    else if (csv_column(x->table, "layout") >= 0) /* the table of models with experts */
        x->group = arena_format(mem, "%s experts", x->group);
}
