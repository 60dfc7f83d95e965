/* A plan: one strategy on one group of nodes with everything predicted of it. */
#ifndef ASTRA_PLAN_H
#define ASTRA_PLAN_H

#include "model/model.h"
#include "simulate/memory.h"
#include "strategy/layout.h"
#include "strategy/mesh.h"
#include "strategy/strategy.h"

struct arena;
struct cluster;
struct node_group;

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
    double limit_bytes; /* usable memory of its GPUs less the margin */
    bool fits;
};

/* Another plan for the same job, and what makes it of the one that was asked about. */
struct change {
    const struct plan *plan;
    size_t sets, flags;       /* words */
    const char **set;         /* "tp=8": what differs, as --set takes it */
    const char **flag;        /* launch flags of the plan, as plan.engine has them */
    const char *add, *remove; /* flags that differ, for a shell; "" = none */
};

/* What would make a plan fit whose only fault is a stage that is too full. */
struct fix {
    bool fits;            /* false: nothing on these GPUs does */
    bool numerics;        /* the change rounds numbers of the training differently */
    bool anew;            /* no one or two changes suffice: another plan */
    struct change change; /* to the one that needs least where nothing fits */
    int64_t gpus;         /* where nothing fits: GPUs of this type that would do, 0 = unknown */
};

/* What would make it faster: the best change of each of the kinds that gain most. */
enum { SPEEDUPS_MAX = 3 };
struct speedups {
    const struct plan *from; /* the plan, or what its fix makes of it */
    int count;
    struct speedup {
        struct change change;
        enum breakdown_part part; /* that shrinks most, in seconds */
    } speedup[SPEEDUPS_MAX];      /* fastest first */
    bool found;                   /* the search finds something, perhaps slower than `from`; it is
                                   * not asked about a mixed job */
    struct change searched;       /* to its best plan on the same GPUs */
};

/* What a mixed plan is worth, beside other uses of the same GPUs. */
enum { COMPARISON_SPLITS = 2 };
struct comparison {
    struct more_layer {
        int from;          /* stage that gives a layer away; -1 when none can */
        double seconds;    /* more of a micro-batch, forward and backward, compute only */
        struct plan *plan; /* with the layer moved; NULL when none can be */
    } * more;              /* [stages] the cheapest way to one more layer on each */
    struct comparison_split {
        const char *name, *words;
        const struct plan *plan; /* NULL when there are fewer layers than stages */
    } split[COMPARISON_SPLITS];  /* layers as many on each stage, and by the speed of its GPUs */
    int groups;
    struct comparison_alone {
        const struct node_group *group;
        const struct plan *plan; /* the best on this group alone; NULL when there is none */
    } * alone;                   /* [groups] */
};

/* The file that the plan was read from, or flags. */
struct plan_source {
    const char *file, *kind; /* "train.sh" (NULL = none), "launch script" */
    const char *program;     /* that the flags are for; NULL = not known */
    int line;                /* where it is started */
    int flags, idle;         /* flags that are there, and of these those without effect */
    int notes;
    const char **note; /* what was left out, or planned otherwise */
};

/* What Astra would run on the same GPUs. */
struct better_plan {
    bool found;           /* the search finds something */
    bool better;          /* and it is worth the change */
    const char *why_not;  /* it is not looked for; NULL = it is */
    struct change change; /* to it: the user's own flags with `add`, without `remove` */
    const char *env;      /* "NAME=VALUE" that it needs besides, "" = none */
    const char *unset;    /* variable that must have no such value, "" = none */
};

struct plan {
    const struct model *model; /* borrowed from the query */
    const struct node_group *group;
    const struct mesh_list *meshes; /* of a mixed job, else NULL; `group` is the first one's */
    const struct cluster *cluster;
    const struct run_terms *run; /* as in the scene */
    bool flagscale;              /* it is asked for, though stock Megatron runs the plan too */
    struct strategy strategy;
    int64_t gpus;
    struct layout layout;
    bool te;
    double memory_margin, imbalance; /* as in the scene */
    double attention_dropout, hidden_dropout;
    bool whole_init;
    bool computed; /* false: the strategy cannot be laid out, figures are absent */
    bool feasible;
    int reasons;
    const char **reason; /* why not */
    double step_s, tokens_per_s, tokens_per_s_per_gpu, tflops_per_gpu, mfu;
    double expected_error;
    const char *provenance;
    double breakdown[BREAKDOWN_PARTS];
    int busiest;        /* the rank of `breakdown` */
    double limit_bytes; /* usable memory less the margin; of the fullest stage in a mixed job */
    int stages;
    struct plan_stage *stage;            /* [pp] */
    double usd_per_hour, usd_per_mtoken; /* 0 when no price is known */
    double outages_per_h;                /* of the whole job */
    double slowdown; /* expected time of a run over that without outages and checkpoints, >= 1 */
    double checkpoint_s;     /* training between two checkpoints; INFINITY = none are written */
    double net_tokens_per_s; /* with the time that outages take */
    double hours, usd_total; /* of the run; 0 unless its tokens are known */
    const struct fix *fix;   /* NULL unless asked for, and memory is the only fault */
    const struct speedups *speedups;       /* NULL unless asked for, and it fits, or its fix does */
    const struct plan_source *source;      /* NULL unless read from a file, or flags with notes */
    const struct better_plan *better_plan; /* NULL unless asked for */
    const struct comparison *comparison;   /* NULL unless asked for, mixed and computed */
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
bool plan_fits(const struct plan *); /* every stage does */

const char *plan_stack(const struct plan *); /* "te", "torch" */
/* What runs the plan: "megatron", or "flagscale" where the meshes of a mixed job differ or it is
 * asked for. */
bool plan_meshes_differ(const struct plan *);
bool plan_on_flagscale(const struct plan *);
const char *plan_engine(const struct plan *);

/* Marks the plan infeasible. `text` must live as long as the plan. */
void plan_add_reason(struct plan *, struct arena *, const char *text);

#endif
