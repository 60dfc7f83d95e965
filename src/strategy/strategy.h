/* One way to split a training job over GPUs, and the query it belongs to. */
#pragma once

#include "strategy/precision.h"

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct str;

struct strategy {
#define PARAM(field, ...) int field;
#include "strategy/params.def"
};

/* PARAM_FIRST_x is the first parameter of level x. (PARAM_BEFORE_x is of no use: after it the count
 * goes on with that parameter.) */
enum param {
#define LEVEL(level) PARAM_FIRST_##level, PARAM_BEFORE_##level = PARAM_FIRST_##level - 1,
#define PARAM(field, ...) PARAM_##field,
#include "strategy/params.def"
    PARAMS
};

enum param_kind { PARAM_INT, PARAM_ONOFF, PARAM_WORD, PARAM_SET };

/* The first of what a step is made of that looks at a parameter; all behind it may change too.
 * A search computes each once for all strategies that differ in later ones alone. */
enum param_costs {
    COSTS_LAYER,  /* blocks of a layer: layer_costs_of() */
    COSTS_STAGES, /* a partition: layers of each stage, transfers between them */
    COSTS_PASSES, /* pass times on a partition, and its activations */
    COSTS_STATE,  /* state on a partition: optimizer and data parallelism */
    COSTS_NOTHING /* no effect on time or memory that we know of */
};

/* What two plans are to each other that differ in a parameter alone. */
enum param_differs {
    DIFFERS_JOB,      /* trainings of different jobs: the query says which */
    DIFFERS_NUMERICS, /* they train other numbers: never a search's to choose */
    DIFFERS_ENGINE,   /* they need other engines or kernels: nor this */
    DIFFERS_LAYOUT,   /* plans of two layouts, of each of which a search lists the best */
    DIFFERS_KIND,     /* two kinds of plan of one layout: --variants lists the best of each */
    DIFFERS_VARIANT   /* variants of one kind */
};

/* Which value of a switch comes first in the total order. */
enum param_order {
    ORDER_RISING,      /* the smaller one */
    ORDER_ON_FIRST,    /* on: an overlap that costs nothing */
    ORDER_NEVER_SLOWER /* on, and it moves no bytes and never makes a step longer: off need not be
                        * tried */
};

/* What a launch flag is about: scripts and configurations list flags by section. */
enum section {
    SECTION_MODEL, /* no parameter's */
    SECTION_BATCH,
    SECTION_PARALLEL,
    SECTION_PRECISION,
    SECTION_RECOMPUTE,
    SECTION_OPTIMIZER,
    SECTION_PERF,
    SECTION_COUNT
};

/* Where a report of plans says its value. */
enum param_shown {
    SHOWN_TITLE,  /* once for all: given, not chosen */
    SHOWN_COLUMN, /* in a column of its own */
    SHOWN_WITHIN, /* in the column of the parameter whose axis it is on */
    SHOWN_OPTION  /* among the options, by its short name, where it is not the initial value */
};

/* A point for each doubling of a number, each word behind the first, each member of a set. */
enum { BY_STEP = -1 };

struct param_info {
    const char *name;
    enum param_kind kind;
    int lo, hi, init;
    enum param_costs costs;
    enum param_differs differs;
    enum param_order order;
    enum param axis; /* whose axis of the space has its values: its own, or they go together */
    enum section section;
    enum param_shown shown;
    const char *short_name;
    int alternatives;  /* place on the page of alternatives, from 1 on; 0 = it has none */
    int complexity;    /* points where it is not initial, or BY_STEP */
    const char *words; /* blank-separated, "" unless WORD or SET */
    const char *help;
};

/* Whose layers run: TransformerEngine's; Megatron's local ones with torch's SDPA, norms and fused
 * AdamW put in by our module (tools/rank/astra_sdpa.py); the local ones as they come, with unfused attention
 * and AdamW as torch has it. */
enum stack { STACK_OPEN = -1, STACK_TE, STACK_TORCH, STACK_LOCAL };
const char *stack_name(enum stack); /* "te", "torch", "local" */
bool stack_find(const char *name, enum stack *out);
/* As later stages hold it: `stock` are local layers as they come. */
enum stack stack_of(bool te, bool stock);

/* Newer than every release of Megatron core: 0.N.P is N + P / 100. */
#define RELEASE_HEAD 99.0

/* Modules whose inputs --offload-modules sends to the host. */
enum {
    OFFLOAD_ATTN_NORM = 1,
    OFFLOAD_QKV_LINEAR = 2,
    OFFLOAD_CORE_ATTN = 4,
    OFFLOAD_ATTN_PROJ = 8,
    OFFLOAD_MLP_NORM = 16,
    OFFLOAD_EXPERT_FC1 = 32,
    OFFLOAD_MOE_ACT = 64
};

/* Switches of a run that are no part of its strategy and change what it keeps. */
struct run_switches {
    bool softmax_fp32;    /* of attention in stock local layers */
    bool softmax_fused;   /* there: Apex's kernel masks and scales too, where it can */
    bool separate_wgrads; /* a product's weight gradient is added to the buffer afterwards */
    bool batch_mask;      /* micro-batches come with a mask of a byte for each query and key */
    int offload;          /* OFFLOAD_ modules */
    int newton_steps; /* of Muon, the optimizer of the layers' matrices; 0: Adam is that of all */
    int deferred_wgrads; /* of the logits, in micro-batches, until the pipeline drains */
    bool even_experts;   /* routing is forced to balance, or drops what an expert cannot take */
    bool whole_init;     /* FSDP that builds the whole stage on every GPU before it shards it */
};

struct gpu;
/* Flash kernels need GPUs of this compute capability. */
#define FLASH_CAPABILITY 8.0
/* Whether core attention runs its scores through memory: `attention` of a strategy counts with
 * TransformerEngine alone. */
bool attention_is_unfused(enum stack, int attention, const struct gpu *);
/* Whether TransformerEngine runs it with the package flash-attn, not with cuDNN. */
bool attention_is_flash(enum stack, int attention, const struct gpu *, bool dropout);

/* The words of params.def as constants; a unit test holds them to the table. */
/* Those of `precision` are in strategy/precision.h. */
enum { ENGINE_MEGATRON, ENGINE_FSDP2, ENGINE_ZERO2, ENGINE_ZERO3 };
enum {
    SPLIT_EVEN,
    SPLIT_EMBEDDING,
    SPLIT_LOSS,
    SPLIT_BOTH,
    SPLIT_UNEVEN,
    SPLIT_REST,
    SPLIT_ENDS,
    SPLIT_LAYOUT
};
enum { CP_P2P, CP_A2A, CP_ALLGATHER };
enum { DISPATCH_ALLGATHER, DISPATCH_ALLTOALL, DISPATCH_FLEX };
enum { GRAPH_NONE, GRAPH_LOCAL, GRAPH_TE, GRAPH_STEP };
enum { ATTENTION_AUTO, ATTENTION_FLASH, ATTENTION_FUSED, ATTENTION_UNFUSED, ATTENTION_LOCAL };
enum { RECOMPUTE_NONE, RECOMPUTE_SELECTIVE, RECOMPUTE_FULL };
enum { METHOD_NONE, METHOD_UNIFORM, METHOD_BLOCK };
enum {
    MODULE_CORE_ATTN = 1,
    MODULE_LAYERNORM = 2,
    MODULE_MLP = 4,
    MODULE_MOE = 8,
    MODULE_MOE_ACT = 16,
    MODULE_MLA_UP = 32,
    MODULE_SHARED = 64
};
enum { FSDP_NONE, FSDP_NO_SHARD, FSDP_OPTIM, FSDP_OPTIM_GRADS, FSDP_FULL };

/* Whether another program than Megatron-LM trains: transformers' layers, sharded over data-parallel ranks
 * alone. Of its parameters a search tries those that engine_varies() says; the others have one value. */
bool strategy_on_hf(const struct strategy *);
bool engine_varies(enum param);
int engine_value(int engine, enum param);
const char *engine_title(int engine); /* "transformers with FSDP2" */

const struct param_info *param_info(enum param);
int param_find(const char *name); /* index, or -1 */
int strategy_get(const struct strategy *, enum param);
void strategy_set(struct strategy *, enum param, int value);

void strategy_init(struct strategy *); /* every field at its init value */

/* A total order: fields in table order, smaller values first, but overlap before none. Negative,
 * zero, positive. */
int strategy_compare(const struct strategy *, const struct strategy *);

/* Which strategies are alternatives of one row of a list. */
enum row_of { ROW_LAYOUT, ROW_KIND };
/* The same layout: tp, cp, pp, dp, ep and etp. The same kind: micro-batch and vpp too; plans that
 * differ only in recompute, overlap, optimizer and split are variants of it. */
bool strategy_same_row(const struct strategy *, const struct strategy *, enum row_of);

/* What a plan asks of those who set it up and look after it: the sum of the points of params.def. */
int strategy_complexity(const struct strategy *);

/* "full", "4", "on", "core_attn,mlp" <-> the integer of this parameter. */
bool param_parse(enum param, const char *text, int *value, struct error *);
void param_print(enum param, int value, struct str *out);

/* GPUs used, and micro-batches per step (0 when global_batch is no multiple of micro_batch *
 * dp). */
int64_t strategy_gpus(const struct strategy *);
int64_t strategy_micro_batches(const struct strategy *);

/* "tp=8 pp=4 dp=16 mbs=1 ..." : what differs from the defaults, for people. */
void strategy_print(const struct strategy *, struct str *out);
