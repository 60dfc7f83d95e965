/* A plan: one strategy on one group of nodes with everything predicted of it. */
#pragma once

#include "cost/step_errors.h"
#include "model/model.h"
#include "simulate/expert_room.h"
#include "simulate/memory.h"
#include "strategy/layout.h"
#include "strategy/mesh.h"
#include "strategy/strategy.h"

struct arena;
struct cluster;
struct costing;
struct dataset;
struct task;
struct node_group;
struct rent;
struct rule;
struct rules;

/* Where a step's seconds go on its busiest rank; exposed parts that add up to step_s. */
#define BREAKDOWN_TABLE(X)                                                                         \
    X(compute) X(recompute) X(tp) X(cp) X(ep) X(pp) X(dp) X(bubble) X(optimizer)

enum breakdown_part {
#define X(name) BREAKDOWN_##name,
    BREAKDOWN_TABLE(X)
#undef X
        BREAKDOWN_PARTS
};
const char *breakdown_name(enum breakdown_part);

/* When a rank's memory is fullest. */
#define MOMENT_TABLE(X)                                                                            \
    X(embedding, "in the embedding")                                                               \
    X(layer, "in the last layer that keeps its activations")                                       \
    X(recompute, "in a recomputed layer")                                                          \
    X(mtp, "in multi-token prediction")                                                            \
    X(head, "at the loss")                                                                         \
    X(step, "while the optimizer steps")                                                           \
    X(setup, "while the gradient buffers are made, before the first step")

enum memory_moment {
#define X(name, words) MOMENT_##name,
    MOMENT_TABLE(X)
#undef X
        MOMENTS
};

const char *moment_name(enum memory_moment);
const char *moment_words(enum memory_moment);

struct plan_stage {
    const struct node_group *group;
    int gpus, layers;
    double forward_s,
        backward_s;        /* one micro-batch, all chunks, compute only; backward with recompute */
    double compute_step_s; /* all compute of the rank in one step, optimizer included */
    double idle_s;         /* of one step */
    struct memory_use memory;
    enum memory_moment moment;
    double peak_bytes, device_bytes;
    double limit_bytes;   /* usable memory of its GPUs less the margin */
    double fullness;      /* of what the framework may allocate, as in partition_fullness() */
    double host_bytes;    /* of the host of a node with its ranks */
    double host_fullness; /* of what that has; 0 = nobody said */
    bool fits;            /* on GPU and host */
};

/* Memory above this share of what a GPU may use: less than what is not known of a run may be too
 * much. */
#define CROWDED 0.95

/* What expected_error comes from, a profile apart. */
struct plan_evidence {
    struct step_class class;
    double kernels; /* what those that were never measured add to the step's error */
    struct step_evidence steps;
};

struct plan {
    const struct model *model; /* borrowed from the query */
    const struct node_group *group;
    const struct mesh_list *meshes; /* of a mixed job, else NULL; `group` is the first one's */
    const struct cluster *cluster;
    const struct dataset *dataset; /* as in the scene */
    const struct task *task;
    const struct run_terms *run;
    const struct costing *costing;
    const struct rent *rent;
    bool flagscale; /* it is asked for, though stock Megatron runs the plan too */
    struct strategy strategy;
    int64_t gpus;
    int complexity; /* strategy_complexity(), of a mixed job mesh_list_complexity() */
    struct layout layout;
    bool te, stock;                                    /* stack_of() */
    double memory_margin, imbalance, memory_imbalance; /* as in the scene */
    double attention_dropout, hidden_dropout;
    struct run_switches switches;
    bool computed; /* false: the strategy cannot be laid out, figures are absent */
    bool feasible;
    int reasons;
    const char **reason; /* why not */
    int notes;
    const char **note; /* where its ranks lie: groups that straddle nodes, parts of racks */
    int cautions;
    const struct rule **caution; /* those that hold for it, plan_mind() fills them */
    double step_s, tokens_per_s, tokens_per_s_per_gpu, tflops_per_gpu, mfu;
    double expected_error;
    const char *provenance; /* "measured steps", "measured kernels", "transferred", "datasheet",
                             * "calibrated" */
    struct plan_evidence evidence;
    double late_s; /* of the busiest rank's compute: for the longest samples (doc/dataset.md) */
    double host_s; /* of the busiest rank's compute: waiting for the host */
    double breakdown[BREAKDOWN_PARTS];
    int busiest; /* the rank of `breakdown` */
    double samples_per_s;
    double limit_bytes; /* usable memory less the margin; of the fullest stage in a mixed job */
    double spare_bytes; /* of it, that this stage leaves */
    int stages;
    struct plan_stage *stage;            /* [pp] */
    struct expert_room expert_room;      /* of plans that are reported; else zero */
    double usd_per_hour, usd_per_mtoken; /* 0 when no price is known */
    double outages_per_h;                /* of the whole job */
    double slowdown; /* expected time of a run over that without outages and checkpoints, >= 1 */
    double checkpoint_s;     /* training between two checkpoints; INFINITY = none are written */
    double net_tokens_per_s; /* with the time that outages take */
    double hours, usd_total; /* of the run; 0 unless its tokens are known */
    double hours_per_epoch;  /* 0 unless its dataset's samples are */
};

/* The nodes of a plan, in rank order: one part, or one for each mesh of a mixed job. */
struct plan_part {
    const struct node_group *group;
    int stages; /* 0 where they could not be placed */
    int64_t gpus, nodes;
    int per_node; /* GPUs of each of these nodes that are used */
};
int plan_parts(const struct plan *, struct plan_part part[MESHES_MAX]);

/* The stage that needs most of its memory; the plan must be computed. */
const struct plan_stage *plan_fullest(const struct plan *);
bool plan_fits(const struct plan *);     /* every stage does */
int plan_shortages(const struct plan *); /* of its reasons those of memory: GPU's and host's */
/* The stage whose nodes need most of their host's memory. */
const struct plan_stage *plan_fullest_host(const struct plan *);

enum stack plan_stack_kind(const struct plan *);
const char *plan_stack(const struct plan *); /* its name */
/* What runs the plan: "megatron", or "flagscale" where the meshes of a mixed job differ or it is
 * asked for. */
bool plan_meshes_differ(const struct plan *);
bool plan_on_flagscale(const struct plan *);
const char *plan_engine(const struct plan *);

/* Notes which of the cautions hold for the plan, of a mixed job on any of its groups. They must live
 * as long as the plan. */
void plan_mind(struct plan *, const struct rules *cautions, struct arena *);

/* Marks the plan infeasible. `text` must live as long as the plan. */
void plan_add_reason(struct plan *, struct arena *, const char *text);
