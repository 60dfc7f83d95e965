/* Every name a rule may use, each with a slot in a table of values: parameters (tp), derived values
 * (micro_batches), model fields (model.heads) and cluster fields (cluster.gpus_per_node). */
#pragma once

#include "model/model.h"
#include "strategy/strategy.h"

#include <stdint.h>

struct node_group;

/* Derived values: functions of parameters, bound when the last of those is.
 *      name            the parameters it depends on */
#define DERIVED_TABLE(X)                                                                           \
    X(gpus, DEPENDS(tp) | DEPENDS(cp) | DEPENDS(pp) | DEPENDS(dp))                                 \
    X(micro_batches, DEPENDS(global_batch) | DEPENDS(micro_batch) | DEPENDS(dp))                   \
    X(expert_dp, DEPENDS(tp) | DEPENDS(cp) | DEPENDS(dp) | DEPENDS(ep) | DEPENDS(etp))

#define CLUSTER_FIELD_TABLE(X)                                                                     \
    X(gpus_per_node)                                                                               \
    X(domain) X(nodes) X(max_gpus) X(min_gpus) X(granule) X(compute_capability) X(host_gbs)

enum slot {
    SLOT_PARAM = 0,
    SLOT_MODEL = SLOT_PARAM + PARAMS,
    SLOT_BEFORE_DERIVED = SLOT_MODEL + MODEL_FIELDS - 1,
#define X(name, depends) SLOT_##name,
    DERIVED_TABLE(X)
#undef X
#define X(name) SLOT_cluster_##name,
        CLUSTER_FIELD_TABLE(X)
#undef X
            SLOT_stack_te, /* 1 or 0, as the next */
    SLOT_stack_local,
    SLOT_release, /* of Megatron core: 18 is 0.18.0, 18.02 is 0.18.2; RELEASE_HEAD */
    SLOTS
};

struct slot_info {
    const char *name; /* "tp", "model.heads", "cluster.domain" */
    enum param param; /* PARAMS unless the slot is a parameter: its words apply */
    uint64_t depends; /* bit per enum param that must be bound first; 0 = always bound */
};

const struct slot_info *slot_info(int slot);
/* Whether any derived value is a function of this parameter. */
bool slots_derive_from(enum param);
/* Our name or Megatron's with underscores (aliases.def), without a leading '$'; slot or -1. */
int slot_find(const char *name);

/* Every name slot_find takes, for suggestions: ours, then Megatron's. */
enum { SLOT_NAMES_MAX = 256 };
size_t slot_names(const char *names[SLOT_NAMES_MAX]);

/* What does not change during a search, with the newest release. `nodes` is how many of the group are
 * used at most. */
void slots_set_fixed(double values[SLOTS], const struct model *, const struct node_group *,
                     int nodes, enum stack);
/* Parameters and derived values of one strategy. Derived values may be fractions or infinite
 * while a division does not come out: rules test that. */
void slots_set_strategy(double values[SLOTS], const struct strategy *);
/* Derived values alone, from the parameters already in the table. */
void slots_set_derived(double values[SLOTS]);
