/* The operators of a Transformer under a strategy. A layer is two blocks, its mixer and its
 * feed-forward part (layer_kinds.def), or one of them; embedding and head are blocks too. A block's operators depend on few
 * parameters, so that the search builds each block once. */
#pragma once

#include "model/model.h"
#include "strategy/strategy.h"

#include <stdbool.h>

enum block_kind {
    BLOCK_NONE = -1, /* of a layer that lacks that half */
#define MIXER(id, ...) BLOCK_##id,
#define FEED(id, ...) BLOCK_##id,
#include "model/layer_kinds.def"
    BLOCK_EMBEDDING,
    BLOCK_HEAD,
    BLOCK_MTP
};
enum block_kind mixer_block(enum mixer);
enum block_kind feed_block(enum feed);
/* As reports call it. */
const char *block_name(enum block_kind);

/* What a block's operators depend on. */
struct block_shape {
    const struct model *model;
    enum block_kind kind;
    int window; /* of attention; 0 = full */
    bool wide;  /* of a layer that stays in 16 bits: `precision` is its own */
    int tp, cp, ep, etp;
    int micro_batch, seq_len;
    const struct sequence_work *work; /* of padded or packed samples; NULL = full sequences */
    int seq_parallel, tp_sync, precision, cp_comm, dispatcher, grouped_gemm, expert_fusion,
        attention;
    int loss_fusion, loss_te;
    int offload;      /* OFFLOAD_ modules */
    double imbalance; /* rows that reach the fullest rank's experts, of those in a balanced one */
    bool dropout;     /* of hidden states */
    bool attention_dropout;
    bool softmax_fp32;  /* of stock local layers */
    bool softmax_fused; /* there: one kernel masks, scales and takes the softmax of 16-bit scores */
    bool te;            /* TransformerEngine, or Megatron's local layers */
    bool separate_wgrads; /* of TransformerEngine's products too: not added as they are computed */
    bool stock;           /* those as they come */
    bool eager;           /* transformers' layers as they come: nothing fused but attention */
    bool liger;           /* of them norms, activations and the loss are Liger's */
    bool copies_groups;   /* keys and values are copied for every query head before attention */
};

/* Tokens of a sequence that the layers work on: padding counts, what is behind the longest does not. */
double block_tokens(const struct block_shape *);

enum op_kind {
    OP_GEMM, /* m x k times k x n, `count` of them; backward is dgrad and, unless frozen, wgrad */
    OP_GROUPED,   /* `count` experts of m x k times k x n in one kernel */
    OP_ATTENTION, /* flash-type: `count` heads, m queries, n keys on average, k = head width */
    OP_SCORES,    /* unfused attention: batched products and a softmax through memory */
    OP_MEMORY,    /* reads and writes `bytes` forward, `bytes_back` backward: m rows of n elements,
                   * both 0 for one long array; k = vocabulary of an embedding */
    OP_COMM,      /* a collective */
    OP_SCAN /* products of short chunks and passes between them: of m tokens, n channels and k states
                   * `flops` forward, `flops_back` backward, and `bytes` as of OP_MEMORY */
};

/* Memory-bound operators that are told apart. */
enum memory_kind {
    MEMORY_NONE = -1, /* not memory-bound */
#define MEMORY_KIND(id, ...) MEMORY_##id,
#include "layer/memory_kinds.def"
#undef MEMORY_KIND
    MEMORY_KINDS
};

enum comm_kind {
    COMM_ALL_REDUCE,
    COMM_ALL_GATHER,
    COMM_REDUCE_SCATTER,
    COMM_ALL_TO_ALL,
    COMM_SEND
};
enum comm_axis { AXIS_TP, AXIS_CP, AXIS_EP, AXES };

/* Recompute modules as indices of the bits of recompute_modules. */
enum { MODULES = 7 };

struct op {
    const char *name;
    enum op_kind kind;
    double m, n, k, count;
    double value_width;  /* attention: width of a value head */
    double keys, window; /* attention: keys of a sequence; how many a query sees at most, 0 = all */
    double kv_share;     /* attention: key-value heads / query heads */
    double flops, flops_back; /* of a scan */
    double bytes, bytes_back; /* memory operators: inputs read once, outputs written once */
    int memory_kind, memory_kind_back; /* enum memory_kind, forward and backward */
    enum comm_kind comm; /* forward kind; backward runs the mirror image (gather <-> scatter) */
    enum comm_axis axis;
    int ranks, stride;          /* of the group: ranks `stride` apart */
    const struct model *routed; /* tokens that travel once to a rank and once to a node, or NULL */
    bool hidden_back;           /* backward runs it beside the weight-gradient product */
    bool beside_attention;      /* both passes run it beside core attention (context ring) */
    double host_s, host_back_s; /* of the host that issues it (host_calls.def) */
    double calls;               /* passes that it issues beside its own call */
    bool routes, experts;       /* the router; products of experts */
    bool frozen;                /* the product's weights are not trained: no gradient of them */
    bool adapter;               /* it is a product of one */
    bool no_back;               /* it has no backward pass: nothing below is trained */
    int modules;                /* recompute modules that run it again (bits) */
    bool softmax_fp32;          /* unfused attention */
    bool fused_in, fused_out;   /* in fp8 its input, or its output's gradient, comes quantised */
    /* Memory. Bytes of its output (and what else it makes) that stay until the backward of what
     * follows; bytes beside all that is kept so far while it runs forward; bytes beside what the
     * operators before it keep while it runs backward, when its own output is gone. */
    double saved, temporary, temporary_back;
    double offloaded; /* of `saved`, bytes that wait on the host */
    double stays;     /* of `saved`, bytes of inputs that are kept instead where it is recomputed */
};

enum { OPS_MAX = 56 };

/* Fills `out`, returns how many. Bytes and sizes are of one micro-batch on one GPU. */
int block_ops(const struct block_shape *, struct op out[OPS_MAX]);

/* Of a block's operators, fills `offloaded`. */
void mark_offloaded(const struct block_shape *, struct op *, int count);

/* Of `parts` equal parts of the experts, how many a token reaches on average: routing is balanced,
 * and stays within the groups of group-limited routing. Never more than topk. */
double parts_reached(const struct model *, int parts);

/* Bytes of a layer's input as full recompute keeps it, and as a pipeline transfer sends it. */
double boundary_bytes(const struct block_shape *);
