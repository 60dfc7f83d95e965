/* Analytic operator times: FLOPs over a sustained rate, with tile and wave quantisation, or
 * bytes over bandwidth, whichever is longer, plus a launch. */
#include "cost/group_costs.h"

#include "cluster/cluster.h"
#include "cost/features.h"
#include "cost/placement.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static const double LAUNCH_S = 4e-6; /* kernel start and tail; cuda launch floor 3-5 us */
static const double MEMORY_FIXED_S =
    6e-6; /* extra of a memory-bound kernel; tens of us in small models */

struct gpu_rates {
    const char *arch;
    double gemm, grouped, attention, attention_back, attention_half, memory;
    const char *source;
};

static const struct gpu_rates TABLE[] = {
#define RATES(...) {__VA_ARGS__},
#include "cost/rates.def"
#undef RATES
};

static const struct gpu_rates *rates_of(const struct gpu *g)
{
    for (size_t i = 0; i < sizeof TABLE / sizeof *TABLE; i++)
        if (strncmp(g->arch, TABLE[i].arch, strlen(TABLE[i].arch)) == 0)
            return &TABLE[i];
    return &TABLE[2];
}

double peak_flops(const struct gpu *g, int precision)
{
    if (precision == PRECISION_NVFP4 && g->fp4_tflops > 0)
        return 1e12 * g->fp4_tflops;
    return dtype_peak(g, precision_is_narrow(precision) ? DTYPE_FP8
                         : precision == PRECISION_FP16  ? DTYPE_FP16
                                                        : DTYPE_BF16);
}

/* The fraction of 128 x 256 tiles' work that is useful, waves over the SMs included, and the
 * cost of filling a short product along k. */
static double tile_efficiency(const struct gpu *g, double m, double n, double k, double count)
{
    double tiles = ceil(m / 128) * ceil(n / 256) * count, sms = gpu_units(g);
    double waves = tiles / sms, tile_use = m * n * count / (tiles * 128 * 256);
    double wave_use = waves / ceil(waves);
    assert(tile_use > 0 && tile_use <= 1 && wave_use > 0 && wave_use <= 1);
    /* small tiles and split-k soften both: half of the loss remains */
    return (0.5 + 0.5 * tile_use) * (0.4 + 0.6 * wave_use) * k / (k + 256);
}

static double gemm_time(const struct gpu *g, double rate, double m, double n, double k,
                        double count)
{
    double flops = 2 * m * n * k * count;
    double bytes = 2 * count * (m * k + k * n + m * n);
    double compute = flops / (rate * tile_efficiency(g, m, n, k, count));
    double memory = bytes / (1e9 * g->memory_gbs * rates_of(g)->memory);
    return (compute > memory ? compute : memory) + LAUNCH_S;
}

double analytic_memory_time(const struct node_group *group, double bytes)
{
    const struct gpu *g = group->gpu;
    return bytes / (1e9 * g->memory_gbs * rates_of(g)->memory) + MEMORY_FIXED_S;
}

static struct op_time predict_gemm(const struct node_group *group, int precision,
                                   const struct op *o)
{
    const struct gpu *g = group->gpu;
    const struct gpu_rates *r = rates_of(g);
    double rate = peak_flops(g, precision) * (o->kind == OP_GROUPED ? r->grouped : r->gemm);
    if (precision_is_narrow(precision))
        rate *= 0.8; /* quantisation passes and lower clocks: fp8 runs reach 1.3-1.6x of bf16 */
    struct op_time t;
    /* experts one after the other, or all in one kernel */
    double kernels = o->kind == OP_GROUPED ? 1 : o->count,
           each = o->kind == OP_GROUPED ? o->count : 1;
    t.forward_s = kernels * gemm_time(g, rate, o->m, o->n, o->k, each);
    t.weight_s =
        kernels * gemm_time(g, rate * 0.96, o->n, o->k, o->m, each); /* wgrad 3-5 % lower */
    t.backward_s = kernels * gemm_time(g, rate, o->m, o->k, o->n, each) + t.weight_s;
    return t;
}

/* Forward: q k^T and p v; backward: five products where forward has two. */
static struct op_time predict_attention(const struct node_group *group, int precision,
                                        const struct op *o)
{
    const struct gpu *g = group->gpu;
    const struct gpu_rates *r = rates_of(g);
    double rate = peak_flops(g, precision_is_narrow(precision) ? PRECISION_BF16 : precision);
    double flops = 2 * o->m * o->n * o->count * (o->k + o->value_width);
    double fill =
        o->m / (o->m + r->attention_half); /* short sequences leave SMs idle at the mask's edge */
    struct op_time t = {0};
    t.forward_s = flops / (rate * r->attention * fill) + LAUNCH_S;
    t.backward_s = 2.5 * flops / (rate * r->attention_back * fill) + 2 * LAUNCH_S;
    return t;
}

/* Times of a pass over memory that those of unfused attention take. Without TransformerEngine they are
 * torch's: filling in the mask and a softmax over long rows forward reach less than half of what other
 * passes do, the mirror images about as much: chosen on ranks (`seen` in data/measured,
 * h200_exported.csv). With the softmax in fp32: 84 measured operators, 4 % off (unfused_attention
 * in data/measured). */
struct slow {
    double forward, back;
};
static const struct slow SLOW_TE = {1, 1}, SLOW_STOCK = {2.4, 1.02}, SLOW_FP32 = {1.35, 1.32};

/* Products and passes one after the other. */
static struct op_time predict_scores(const struct node_group *group, int precision, bool te,
                                     const struct op *o)
{
    const struct slow *slow = te ? &SLOW_TE : o->softmax_fp32 ? &SLOW_FP32 : &SLOW_STOCK;
    double flops = 2 * o->m * o->n * o->count * (o->k + o->value_width), rate = te ? 0.7 : 1;
    struct op_time t = {0};
    rate *= peak_flops(group->gpu, precision) * rates_of(group->gpu)->gemm;
    t.forward_s = flops / rate + analytic_memory_time(group, slow->forward * o->bytes);
    t.backward_s = 2 * flops / rate + analytic_memory_time(group, slow->back * o->bytes_back);
    return t;
}

/* Bytes that a multiprocessor gets through in a clock in kernels that scan chunks of tokens: the middle of five GPUs
 * whose memory has more (H200 14.0, B200 13.3, GB200 11.9, B300 14.2, GB300 13.1), of 850 forward times of the delta rule
 * of flash-linear-attention (chunk_gated_delta_rule, TensorRT-LLM 1.3.0rc20; ai-dynamo/aiconfigurator 095f58a5,
 * linear_attention/trtllm), by the bytes that linear_scan.c counts. H100 and L40S reach 0.89 and 0.85 of their
 * memory's bandwidth. Dao's convolution gets through as many: 12.2 (H200) to 13.3 (GB300), same source, mamba2_perf. */
static const double SCAN_BYTES_PER_CLOCK = 13.3;

double scan_seconds(const struct gpu *g, double bytes, double flop_s, double copy_s)
{
    double clocks = 1e6 * g->boost_mhz * g->sms;
    double issue_s = clocks > 0 ? bytes / (SCAN_BYTES_PER_CLOCK * clocks) : 0;
    return fmax(flop_s, fmax(copy_s, issue_s));
}

static struct op_time predict_scan(const struct node_group *group, int precision,
                                   const struct op *o)
{
    const struct gpu *g = group->gpu;
    int wide = precision_is_narrow(precision) ? PRECISION_BF16 : precision;
    double rate = peak_flops(g, wide) * rates_of(g)->gemm * tile_efficiency(g, o->m, o->n, o->k, 1);
    return (struct op_time){.forward_s = scan_seconds(g, o->bytes, o->flops / rate,
                                                      analytic_memory_time(group, o->bytes)),
                            .backward_s = scan_seconds(g, o->bytes_back, o->flops_back / rate,
                                                       analytic_memory_time(group, o->bytes_back))};
}

/* Tokens that travel once to each node and are handed on inside it, both ways at the same time
 * (DeepEP, HybridEP). */
static double routed_time(const struct costing *on, const struct op *o, struct placement p)
{
    double rows = o->bytes / parts_reached(o->routed, o->ranks);
    int most = p.most > p.per_node ? p.most : p.per_node;
    struct placement inside = {most, most, 1, p.link_bs, 0};
    struct placement across = {p.nodes, 1, p.nodes, p.link_bs, 0};
    double node_s = comm_time(on, o->comm, rows * parts_reached(o->routed, p.nodes), across);
    return fmax(node_s, comm_time(on, o->comm, o->bytes, inside));
}

/* Gather and scatter are each other's mirror image; the others are their own. */
static struct op_time predict_comm(const struct costing *on, const struct op *o)
{
    struct placement p = placement_on(on, o->ranks, o->stride, 0);
    struct op_time t = {0};
    t.forward_s =
        o->routed && p.nodes > 1 ? routed_time(on, o, p) : comm_time(on, o->comm, o->bytes, p);
    t.backward_s = t.forward_s;
    if (o->comm == COMM_ALL_GATHER && o->axis == AXIS_CP)
        t.backward_s *= 2; /* keys and values again, and their gradients */
    return t;
}

struct op_time analytic_time_of(const struct costing *on, int precision, bool te,
                                const struct op *o)
{
    const struct node_group *group = on->group;
    struct op_time t = {0};
    switch (o->kind) {
    case OP_GEMM:
    case OP_GROUPED:
        return predict_gemm(group, precision, o);
    case OP_ATTENTION:
        return predict_attention(group, precision, o);
    case OP_SCORES:
        return predict_scores(group, precision, te, o);
    case OP_COMM:
        return predict_comm(on, o);
    case OP_SCAN:
        return predict_scan(group, precision, o);
    case OP_MEMORY:
        t.forward_s = analytic_memory_time(
            group, o->bytes * (te ? 1.0 : 1.4)); /* unfused passes: 1.4 measured */
        t.backward_s = analytic_memory_time(group, o->bytes_back * (te ? 1.0 : 1.4));
    }
    return t;
}
