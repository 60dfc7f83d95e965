/* Work and traffic of one call, the denominators of every efficiency that is learned. */
#include "cost/operation.h"

#include "cluster/cluster.h"

#include <assert.h>

enum { HALF = 2, SINGLE = 4 }; /* bytes of bf16 or fp16, and of fp32 */

/* Keys that a query sees on average: the first queries of a causal window see fewer than it. */
static double keys_seen(const struct operation *o)
{
    bool narrow = o->window > 0 && o->window < o->n;
    if (!o->causal)
        return narrow ? o->window : o->n;
    return narrow ? o->window * (o->n - o->window / 2) / o->n : o->n / 2;
}

/* Forward two products (scores, output); backward five: scores again and four gradients. */
static double attention_flops(const struct operation *o)
{
    double forward = 2 * o->count * o->m * keys_seen(o) * (o->k + o->value_width);
    return o->pass == PASS_FORWARD ? forward : 2.5 * forward;
}

double operation_flops(const struct operation *o)
{
    switch (o->family) {
    case FAMILY_GEMM:
    case FAMILY_GROUPED:
        return 2 * o->count * o->m * o->n * o->k;
    case FAMILY_ATTENTION:
        return attention_flops(o);
    default:
        return 0;
    }
}

/* Results of forward and dgrad are 16 bits wide whatever goes in; wgrad is added to fp32. */
static double product_bytes(const struct operation *o)
{
    double in = o->dtype == DTYPE_FP8 ? 1 : HALF;
    double x = o->m * o->k, w = o->n * o->k, y = o->m * o->n;
    switch (o->pass) {
    case PASS_FORWARD:
        return o->count * (in * (x + w) + HALF * y);
    case PASS_DGRAD:
        return o->count * (in * (y + w) + HALF * x);
    default:
        return o->count * (in * (x + y) + 2 * SINGLE * w);
    }
}

/* Forward q, k, v in and the output out; backward those four and the output's gradient in, three
 * gradients out. Log-sum-exp is small beside them. */
static double attention_bytes(const struct operation *o)
{
    double query = o->m * o->k, output = o->m * o->value_width;
    double keys_values = o->kv_share * o->n * (o->k + o->value_width);
    double moved = query + output + keys_values;
    return HALF * o->count * (o->pass == PASS_FORWARD ? moved : 2 * moved);
}

double operation_bytes(const struct operation *o)
{
    assert(o->family < FAMILIES);
    switch (o->family) {
    case FAMILY_GEMM:
    case FAMILY_GROUPED:
        return product_bytes(o);
    case FAMILY_ATTENTION:
        return attention_bytes(o);
    default:
        return o->bytes;
    }
}

bool operation_is_large(const struct operation *o)
{
    return o->m >= 1024 && o->n >= 1024 && o->k >= 1024;
}

double dtype_peak(const struct gpu *g, enum dtype dtype)
{
    if (dtype == DTYPE_FP8 && g->fp8_tflops > 0)
        return 1e12 * g->fp8_tflops;
    bool bf16 = dtype != DTYPE_FP16 && g->bf16_tflops > 0;
    return 1e12 * (bf16 ? g->bf16_tflops : g->fp16_tflops);
}
