#include "strategy/names.h"

#include "base/str.h"
#include "cluster/cluster.h"

#include <assert.h>
#include <string.h>

#define DEPENDS(field) (1ull << PARAM_##field)

static const struct slot_info INFO[SLOTS] = {
#define PARAM(field, ...) [SLOT_PARAM + PARAM_##field] = {#field, PARAM_##field, DEPENDS(field)},
#include "strategy/params.def"
#define FIELD(field, kind, lo, hi, help)                                                           \
    [SLOT_MODEL + MODEL_##field] = {"model." #field, PARAMS, 0},
#include "model/fields.def"
#undef FIELD
#define X(name, depends) [SLOT_##name] = {#name, PARAMS, depends},
    DERIVED_TABLE(X)
#undef X
#define X(name) [SLOT_cluster_##name] = {"cluster." #name, PARAMS, 0},
        CLUSTER_FIELD_TABLE(X)
#undef X
            [SLOT_stack_te] = {"stack.te", PARAMS, 0},
    [SLOT_stack_local] = {"stack.local", PARAMS, 0},
    [SLOT_release] = {"release", PARAMS, 0},
};

static const struct {
    const char *name, *megatron;
} ALIASES[] = {
#define ALIAS(name, megatron) {name, megatron},
#include "strategy/aliases.def"
#undef ALIAS
};

const struct slot_info *slot_info(int slot)
{
    return &INFO[slot];
}

bool slots_derive_from(enum param p)
{
    for (int i = 0; i < SLOTS; i++)
        if (INFO[i].param == PARAMS && INFO[i].depends >> p & 1)
            return true;
    return false;
}

static int find_own(const char *name)
{
    for (int i = 0; i < SLOTS; i++)
        if (strcmp(name, INFO[i].name) == 0)
            return i;
    return -1;
}

int slot_find(const char *name)
{
    int slot = find_own(name);
    for (size_t i = 0; slot < 0 && i < sizeof ALIASES / sizeof *ALIASES; i++)
        if (strcmp(name, ALIASES[i].megatron) == 0)
            slot = find_own(ALIASES[i].name);
    return slot;
}

size_t slot_names(const char *names[SLOT_NAMES_MAX])
{
    enum { ALIAS_COUNT = sizeof ALIASES / sizeof *ALIASES };
    static_assert(SLOTS + ALIAS_COUNT <= SLOT_NAMES_MAX, "slot_names has no room");
    for (int i = 0; i < SLOTS; i++)
        names[i] = INFO[i].name;
    for (int i = 0; i < ALIAS_COUNT; i++)
        names[SLOTS + i] = ALIASES[i].megatron;
    return SLOTS + ALIAS_COUNT;
}

void slots_set_fixed(double values[SLOTS], const struct model *m, const struct node_group *g,
                     int nodes, enum stack stack)
{
    assert(nodes >= 1 && g->per_node >= 1 && g->domain >= 1);
    for (int i = 0; i < MODEL_FIELDS; i++)
        values[SLOT_MODEL + i] = model_field_get(m, (enum model_field)i);
    values[SLOT_cluster_gpus_per_node] = g->per_node;
    values[SLOT_cluster_domain] = g->domain;
    values[SLOT_cluster_nodes] = nodes;
    values[SLOT_cluster_max_gpus] = values[SLOT_cluster_min_gpus] = (double)nodes * g->per_node;
    values[SLOT_cluster_granule] = g->per_node;
    values[SLOT_cluster_compute_capability] = gpu_capability(g->gpu);
    values[SLOT_cluster_host_gbs] = gpu_host_gbs(g->gpu);
    values[SLOT_stack_te] = stack == STACK_TE;
    values[SLOT_stack_local] = stack == STACK_LOCAL;
    values[SLOT_release] = RELEASE_HEAD;
}

void slots_set_derived(double v[SLOTS])
{
    v[SLOT_gpus] = v[PARAM_tp] * v[PARAM_cp] * v[PARAM_pp] * v[PARAM_dp];
    v[SLOT_micro_batches] = v[PARAM_global_batch] / (v[PARAM_micro_batch] * v[PARAM_dp]);
    v[SLOT_expert_dp] = v[PARAM_tp] * v[PARAM_cp] * v[PARAM_dp] / (v[PARAM_etp] * v[PARAM_ep]);
}

void slots_set_strategy(double values[SLOTS], const struct strategy *s)
{
    for (int i = 0; i < PARAMS; i++)
        values[SLOT_PARAM + i] = strategy_get(s, (enum param)i);
    slots_set_derived(values);
}
