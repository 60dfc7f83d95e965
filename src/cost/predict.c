/* Times of the operators of a block by the learned models: each operator becomes a few kernels
 * (forward, gradients, passes around them), whose times are looked up or predicted together.
 * What no model covers (unfused attention) stays analytic. */
#include "cost/cost.h"

#include "cluster/cluster.h"
#include "cost/group_costs.h"
#include "cost/residual.h"

#include <assert.h>
#include <math.h>

/* A real step is slower than its kernels measured in a mix of others: gaps, lower clocks, work that
 * no operator stands for. torch: the middle of 46 measured ranks (data/measured, data/verified); te: the middle of
 * the sources of published runs. Left-out figures of both: doc/accuracy.md. */
static const double STACK_FACTOR[2] = {[false] = 1.03, [true] = 1.075};

enum { KERNELS = 5 }; /* of one operator at most */

/* Kernels of a product in their order: the three passes, then these two where they are. */
enum { QUANTISE = PASSES, ADD_GRADIENT };

enum { MOST_OPS = 512 }; /* of one call; more are done in pieces */

struct kernels {
    struct operation op[MOST_OPS * KERNELS];
    double time_s[MOST_OPS * KERNELS];
    int count;
};

static void add(struct kernels *k, struct operation o)
{
    assert(k->count < MOST_OPS * KERNELS);
    o.kv_share = o.kv_share > 0 ? o.kv_share : 1;
    k->op[k->count++] = o;
}

static enum dtype dtype_of(const struct gpu *g, int precision)
{
    if (precision_is_narrow(precision) && g->fp8_tflops > 0)
        return DTYPE_FP8;
    return precision == PRECISION_FP16 ? DTYPE_FP16 : DTYPE_BF16;
}

/* Forward, dgrad, wgrad; with fp8 the input and the gradient are quantised first. Without TransformerEngine the weight gradient comes in 16 bits and
 * another pass adds it to the main gradient. Experts one after the other are `count` equal
 * products. */
static void add_product(struct kernels *k, const struct gpu *g, int precision, bool te,
                        const struct op *o)
{
    bool grouped = o->kind == OP_GROUPED;
    double count = grouped ? o->count : 1;
    struct operation op = {.family = grouped ? FAMILY_GROUPED : FAMILY_GEMM,
                           .dtype = dtype_of(g, precision),
                           .m = o->m,
                           .n = o->n,
                           .k = o->k,
                           .count = count};
    struct operation pass = {.family = FAMILY_MEMORY, .kind = MEMORY_CAST_DOWN, .count = 1};
    for (int i = 0; i < PASSES; i++) {
        op.pass = (enum op_pass)i;
        add(k, op);
    }
    double elements = (o->fused_in ? 0 : o->m * o->k) + (o->fused_out ? 0 : o->m * o->n);
    pass.bytes = op.dtype == DTYPE_FP8
                     ? precision_info(precision)->quantised_bytes[grouped] * count * elements
                     : 0;
    add(k, pass);
    pass.kind = MEMORY_RESIDUAL;
    pass.bytes = te ? 0 : (2 + 4 + 4) * count * o->n * o->k;
    add(k, pass);
}

static void add_attention(struct kernels *k, const struct gpu *g, int precision, const struct op *o)
{
    struct operation op = {.family = FAMILY_ATTENTION,
                           .dtype = precision == PRECISION_FP16 ? DTYPE_FP16 : DTYPE_BF16,
                           .m = o->m,
                           .n = o->keys,
                           .k = o->k,
                           .count = o->count,
                           .value_width = o->value_width,
                           .kv_share = o->kv_share,
                           .causal = true,
                           .window = o->window,
                           .kernel = attention_kernel_of(g)};
    add(k, op);
    op.pass = PASS_BACKWARD;
    add(k, op);
}

/* Kinds that have been measured in one direction only look the same in the other. */
static enum op_pass pass_of(int kind)
{
    return kind == MEMORY_RESIDUAL || kind == MEMORY_COPY || kind == MEMORY_CAST_UP ||
                   kind == MEMORY_CAST_DOWN || kind == MEMORY_PERMUTE
               ? PASS_FORWARD
               : PASS_BACKWARD;
}

static void add_memory(struct kernels *k, const struct op *o)
{
    struct operation op = {.family = FAMILY_MEMORY,
                           .kind = o->memory_kind,
                           .count = 1,
                           .m = o->m,
                           .n = o->n,
                           .k = o->k,
                           .bytes = o->bytes};
    add(k, op);
    op.kind = o->memory_kind_back;
    op.pass = pass_of(op.kind);
    op.bytes = o->bytes_back;
    add(k, op);
}

/* Its products are short inside; so is one of all tokens and channels over the states. */
static void add_scan(struct kernels *k, int precision, const struct op *o)
{
    struct operation product = {.family = FAMILY_GEMM,
                                .dtype = precision == PRECISION_FP16 ? DTYPE_FP16 : DTYPE_BF16,
                                .m = o->m,
                                .n = o->n,
                                .k = o->k,
                                .count = 1};
    struct operation pass = {
        .family = FAMILY_MEMORY, .kind = MEMORY_COPY, .count = 1, .bytes = o->bytes};
    add(k, product);
    add(k, pass);
    pass.bytes = o->bytes_back;
    add(k, pass);
}

static struct op_time scan_time(const struct gpu *g, const struct op *o, const double *t)
{
    double flop_s = t[0] / (2 * o->m * o->n * o->k);
    return (struct op_time){.forward_s = scan_seconds(g, o->bytes, flop_s * o->flops, t[1]),
                            .backward_s =
                                scan_seconds(g, o->bytes_back, flop_s * o->flops_back, t[2])};
}

static void scale(struct op_time *t, double factor)
{
    t->forward_s *= factor;
    t->backward_s *= factor;
    t->weight_s *= factor;
}

/* What a product in 4 bits loses beyond its time at the peak, of what the same product loses in 8 bits. The sum of twelve
 * products of a layer of 4096 x 16384 with 15,872 tokens on a B300, quantised before (TransformerEngine d0067d0d,
 * docs/examples/gemm_profiling/gemm_profiling.rst): MXFP8 7.16 ms, NVFP4 3.76, at the peaks 4.26 and 1.42. */
static const double FP4_LOSS = 0.81;

/* Seconds of one of the three products of an operator in 4 bits that takes `t` in 8. */
static double time_in_fp4(const struct gpu *g, const struct op *o, double t)
{
    double flops = 2 * o->m * o->n * o->k * (o->kind == OP_GROUPED ? o->count : 1);
    double peak_s = flops / (1e12 * g->fp8_tflops);
    return peak_s * g->fp8_tflops / g->fp4_tflops + FP4_LOSS * fmax(0, t - peak_s);
}

/* Seconds of the pass of a product; `t` as the models have it. */
static double pass_seconds(const struct gpu *g, int precision, const struct op *o, double t)
{
    bool fp4 = precision == PRECISION_NVFP4 && g->fp4_tflops > g->fp8_tflops && g->fp8_tflops > 0;
    t *= precision_info(precision)->product;
    return fp4 ? time_in_fp4(g, o, t) : t;
}

static struct op_time product_time(const struct gpu *g, int precision, const struct op *o,
                                   const double *t, double factor)
{
    double kernels = o->kind == OP_GROUPED ? 1 : o->count;
    double quantise = t[QUANTISE] / 2; /* half of the bytes in each direction */
    double weight = pass_seconds(g, precision, o, t[PASS_WGRAD]) + t[ADD_GRADIENT];
    double forward = pass_seconds(g, precision, o, t[PASS_FORWARD]);
    double dgrad = pass_seconds(g, precision, o, t[PASS_DGRAD]);
    struct op_time r = {.forward_s = kernels * (forward + quantise),
                        .backward_s = kernels * (dgrad + weight + quantise),
                        .weight_s = kernels * weight};
    scale(&r, factor);
    assert(r.forward_s >= 0 && r.weight_s >= 0 && r.backward_s >= r.weight_s);
    return r;
}

/* The router's product is PyTorch's, in 16 bits (moe_utils.py router_gating_linear). */
static int precision_of(const struct op *o, int precision)
{
    return layer_precision(precision, o->routes);
}

static void add_kernels(struct kernels *k, const struct gpu *g, int precision, bool te,
                        const struct op *o)
{
    precision = precision_of(o, precision);
    if (o->kind == OP_GEMM || o->kind == OP_GROUPED)
        add_product(k, g, precision, te, o);
    else if (o->kind == OP_ATTENTION)
        add_attention(k, g, precision, o);
    else if (o->kind == OP_MEMORY)
        add_memory(k, o);
    else if (o->kind == OP_SCAN)
        add_scan(k, precision, o);
}

static struct op_time time_of(const struct costing *on, int precision, bool te, const struct op *o,
                              const double *t)
{
    precision = precision_of(o, precision);
    if (o->kind == OP_GEMM || o->kind == OP_GROUPED)
        return product_time(on->group->gpu, precision, o, t, STACK_FACTOR[te]);
    if (o->kind == OP_COMM)
        return analytic_time_of(on, precision, te, o);
    struct op_time r;
    if (o->kind == OP_SCORES)
        r = analytic_time_of(on, precision, te, o);
    else if (o->kind == OP_SCAN)
        r = scan_time(on->group->gpu, o, t);
    else
        r = (struct op_time){.forward_s = t[0], .backward_s = t[1]};
    scale(&r, STACK_FACTOR[te]);
    return r;
}

static void predict(const struct costing *on, int precision, bool te, const struct op *ops,
                    size_t count, struct op_time *out)
{
    struct kernels k;
    int first[MOST_OPS];
    assert(count <= MOST_OPS);
    k.count = 0;
    for (size_t i = 0; i < count; i++) {
        first[i] = k.count;
        add_kernels(&k, on->group->gpu, precision, te, &ops[i]);
    }
    group_costs_times(on->costs, k.op, (size_t)k.count, k.time_s);
    for (size_t i = 0; i < count; i++)
        out[i] = time_of(on, precision, te, &ops[i], k.time_s + first[i]);
}

/* What is not computed because weights are frozen. */
static void leave_out(const struct op *o, struct op_time *t)
{
    if (o->frozen || o->no_back) {
        t->backward_s = o->no_back ? 0 : t->backward_s - t->weight_s;
        t->weight_s = 0;
    }
}

void cost_predict(const struct costing *on, int precision, bool te, const struct op *ops,
                  size_t count, struct op_time *out)
{
    size_t some;
    for (size_t at = 0; on->costs && at < count; at += some) {
        some = count - at < MOST_OPS ? count - at : MOST_OPS;
        predict(on, precision, te, ops + at, some, out + at);
    }
    for (size_t i = 0; !on->costs && i < count; i++)
        out[i] = analytic_time_of(on, precision_of(&ops[i], precision), te, &ops[i]);
    for (size_t i = 0; on->residual && i < count; i++)
        if (ops[i].kind != OP_COMM) /* has its own: comm_time */
            scale(&out[i], residual_of(on, RESIDUAL_compute));
    for (size_t i = 0; i < count; i++)
        leave_out(&ops[i], &out[i]);
}

static double model_memory_time(const struct costing *on, int kind, double bytes)
{
    if (!on->costs)
        return analytic_memory_time(on->group, bytes);
    struct operation o = {.family = FAMILY_MEMORY, .kind = kind, .bytes = bytes};
    return bytes > 0
               ? base_time(&o, on->group->gpu, SUSTAINED, &group_costs_models(on->costs)->curves)
               : 0;
}

double memory_time(const struct costing *on, int kind, double bytes)
{
    return residual_of(on, RESIDUAL_compute) * model_memory_time(on, kind, bytes);
}
