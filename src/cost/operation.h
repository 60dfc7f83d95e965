/* One call of one kernel as the learned models see it: what it computes, not who asked. */
#pragma once

#include "layer/ops.h"

#include <stdbool.h>

struct gpu;

/* One model each. */
enum family { FAMILY_GEMM, FAMILY_GROUPED, FAMILY_ATTENTION, FAMILY_MEMORY, FAMILIES };

/* Backward of attention and of memory-bound operators is one pass; a product has two. Optimizer
 * passes count as forward. */
enum op_pass { PASS_FORWARD, PASS_BACKWARD, PASS_DGRAD = PASS_BACKWARD, PASS_WGRAD, PASSES };

enum dtype { DTYPE_BF16, DTYPE_FP16, DTYPE_FP8, DTYPES };

/* Kernel classes of attention: what TransformerEngine runs on Hopper and later (cuDNN),
 * FlashAttention-2, and the forward kernels of inference servers. */
enum attention_kernel {
    ATTENTION_CUDNN_KERNEL,
    ATTENTION_FLASH2_KERNEL,
    ATTENTION_SERVER_KERNEL,
    ATTENTION_KERNELS
};

struct operation {
    enum family family;
    enum op_pass pass;
    enum dtype dtype;
    /* Products: m rows (tokens) by an n x k weight, the same three for every pass; `count` experts
     * of m rows each in one grouped kernel. Attention: m queries and n keys of `count` heads
     * (batch times heads), query and key width k, value width. */
    double m, n, k, count;
    double value_width;
    double heads;    /* attention: query heads of one sequence; tells configurations apart */
    double kv_share; /* attention: key-value heads / query heads, 1 without grouping */
    bool causal;     /* attention: half of the pairs are masked */
    double window;   /* attention: keys a query sees at most, 0 = all */
    int kernel;      /* attention: enum attention_kernel; fp8 product: 1 if it also quantises */
    int kind;        /* memory-bound: enum memory_kind */
    double bytes;    /* memory-bound: read and written by one pass if nothing is moved twice;
                         * m rows of n elements, n = 0 where rows make no difference; k the
                         * vocabulary of an embedding */
};

/* Useful floating-point operations: masked pairs do not count, backward of attention is 2.5 times
 * forward. 0 for memory-bound operators. */
double operation_flops(const struct operation *);
/* Bytes that have to move: operands and result once, wgrad reads and writes an fp32 result. */
double operation_bytes(const struct operation *);
/* m, n and k of 1024 and more: what most of a step is. */
bool operation_is_large(const struct operation *);
/* Dense FLOP/s of the data sheet. What a GPU has no unit for runs as 16-bit numbers. */
double dtype_peak(const struct gpu *, enum dtype);
