/* Features of the learned models: logarithms of the sizes, how tiles fill the GPU, alignment, and
 * the GPU in a few numbers (facts and figures behind the choice: doc/operators.md). */
#include "cost/features.h"

#include "cluster/cluster.h"
#include "cost/clock.h"

#include <math.h>
#include <string.h>

/* A kernel takes this long even when it has nothing to do: start, fetch, tail. */
static const double FLOOR_S = 2e-6;

enum { PRODUCT_COLUMNS = 15, ATTENTION_COLUMNS = 13, MEMORY_COLUMNS = 6, GPU_COLUMNS = 2 };

static const char *const PRODUCT_NAMES[PRODUCT_COLUMNS] = {"log2 rows",
                                                           "log2 columns",
                                                           "log2 depth",
                                                           "log2 count",
                                                           "log2 intensity",
                                                           "pass",
                                                           "fp8",
                                                           "tile use",
                                                           "log2 wide waves",
                                                           "wide wave use",
                                                           "square waves",
                                                           "depth per unit",
                                                           "alignment of n",
                                                           "alignment of k",
                                                           "least alignment"};
static const char *const ATTENTION_NAMES[ATTENTION_COLUMNS] = {
    "log2 queries", "log2 keys", "log2 heads", "width",    "value width", "log2 kv share", "pass",
    "causal",       "window",    "kernel",     "wave use", "log2 waves",  "log2 work"};
static const char *const MEMORY_NAMES[MEMORY_COLUMNS] = {
    "kind", "pass", "log2 bytes", "log2 rows", "log2 width", "log2 vocabulary"};
static const char *const GPU_NAMES[GPU_COLUMNS] = {"generation", "sustained product"};

static int own_columns(enum family family)
{
    static const int COLUMNS[FAMILIES] = {[FAMILY_GEMM] = PRODUCT_COLUMNS,
                                          [FAMILY_GROUPED] = PRODUCT_COLUMNS,
                                          [FAMILY_ATTENTION] = ATTENTION_COLUMNS,
                                          [FAMILY_MEMORY] = MEMORY_COLUMNS};
    return COLUMNS[family];
}

int features_count(enum family family)
{
    return own_columns(family) + GPU_COLUMNS;
}

const char *feature_name(enum family family, int column)
{
    static const char *const *const NAMES[FAMILIES] = {[FAMILY_GEMM] = PRODUCT_NAMES,
                                                       [FAMILY_GROUPED] = PRODUCT_NAMES,
                                                       [FAMILY_ATTENTION] = ATTENTION_NAMES,
                                                       [FAMILY_MEMORY] = MEMORY_NAMES};
    int own = own_columns(family);
    return column < own ? NAMES[family][column] : GPU_NAMES[column - own];
}

/* Chips for graphics have narrower matrix units than those of the same generation for computing,
 * and higher clocks. */
int generation_of(const struct gpu *g)
{
    static const struct {
        const char *arch;
        double graphics_mhz; /* clock from which a chip is one for graphics */
        int compute, graphics;
    } ORDER[] = {
        {"Volta", 1e9, 0, 0},      {"Ampere", 1600, 1, 6}, {"Hopper", 1e9, 2, 2},
        {"Blackwell", 2200, 3, 8}, {"Turing", 1e9, 5, 5},  {"Ada", 0, 7, 7},
        {"CDNA", 1e9, 10, 10},     {"Rubin", 1e9, 3, 3}}; /* no measurements: as Blackwell */
    for (size_t i = 0; i < sizeof ORDER / sizeof *ORDER; i++)
        if (g->arch[0] == ORDER[i].arch[0] &&
            strncmp(g->arch, ORDER[i].arch, strlen(ORDER[i].arch)) == 0)
            return g->boost_mhz > ORDER[i].graphics_mhz ? ORDER[i].graphics : ORDER[i].compute;
    return 2;
}

enum sort sort_of(int generation)
{
    return generation >= 10 ? AMD : generation >= 5 ? GRAPHICS : COMPUTING;
}

double gpu_units(const struct gpu *g)
{
    return g->sms > 0 ? g->sms : 108;
}

static float log2_of(double x)
{
    return (float)log2(x > 0 ? x : 1e-9);
}

/* The generation alone, so that trees have to learn what carries over; offsets of GPUs that were
 * measured come on top (learned.h). */
static void gpu_features(const struct gpu *g, bool sustained_product, float *out)
{
    *out++ = (float)generation_of(g);
    *out++ = sustained_product;
}

double wave_use(double tiles, double units)
{
    double waves = tiles / units;
    return waves / ceil(waves);
}

/* The product that a pass runs: `rows` x `columns`, summed over `depth`. */
struct product {
    double rows, columns, depth;
};

static struct product product_of(const struct operation *o)
{
    switch (o->pass) {
    case PASS_DGRAD:
        return (struct product){o->m, o->k, o->n};
    case PASS_WGRAD:
        return (struct product){o->n, o->k, o->m};
    default:
        return (struct product){o->m, o->n, o->k};
    }
}

/* The largest power of two, up to 256, that divides a size. */
static double divisor(double x)
{
    long size = x < 1e15 ? (long)x : 256;
    long power = size & -size;
    return power > 256 || power == 0 ? 256 : (double)power;
}

static void product_features(const struct operation *o, const struct gpu *g, float *out)
{
    struct product p = product_of(o);
    double wide = ceil(p.rows / 128) * ceil(p.columns / 256) * o->count;
    double square = ceil(p.rows / 128) * ceil(p.columns / 128) * o->count;
    double useful = p.rows * p.columns * o->count / (square * 128 * 128);
    *out++ = log2_of(p.rows);
    *out++ = log2_of(p.columns);
    *out++ = log2_of(p.depth);
    *out++ = log2_of(o->count);
    *out++ = log2_of(operation_flops(o) / operation_bytes(o));
    *out++ = (float)o->pass;
    *out++ = o->dtype == DTYPE_FP8 ? 1 + (float)o->kernel : 0;
    *out++ = (float)useful;
    *out++ = log2_of(wide / gpu_units(g));
    *out++ = (float)wave_use(wide, gpu_units(g));
    *out++ = (float)wave_use(square, gpu_units(g));
    *out++ = log2_of(p.depth * square / gpu_units(g));
    *out++ = log2_of(divisor(o->n)); /* rows of all operands in memory are n or k long */
    *out++ = log2_of(divisor(o->k));
    *out++ = log2_of(fmin(divisor(o->n), divisor(o->k)));
}

static double keys_of(const struct operation *o)
{
    return o->window > 0 && o->window < o->n ? o->window : o->n;
}

static void attention_features(const struct operation *o, const struct gpu *g, float *out)
{
    *out++ = log2_of(o->m);
    *out++ = log2_of(keys_of(o));
    *out++ = log2_of(o->count);
    *out++ = (float)o->k;
    *out++ = (float)o->value_width;
    *out++ = log2_of(o->kv_share);
    *out++ = (float)o->pass;
    *out++ = o->causal;
    *out++ = o->window > 0 && o->window < o->n;
    *out++ = (float)o->kernel;
    double tiles = ceil(o->m / 128) * o->count;
    *out++ = (float)wave_use(tiles, gpu_units(g));
    *out++ = log2_of(tiles / gpu_units(g));
    *out++ = log2_of(operation_flops(o));
}

static void memory_features(const struct operation *o, float *out)
{
    *out++ = (float)o->kind;
    *out++ = (float)o->pass;
    *out++ = log2_of(o->bytes);
    *out++ = o->n > 0 ? log2_of(o->m) : 0;
    *out++ = o->n > 0 ? log2_of(o->n) : 0;
    *out++ = o->k > 0 ? log2_of(o->k) : 0;
}

void features_of(const struct operation *o, const struct gpu *g, enum regime regime, float *out)
{
    switch (o->family) {
    case FAMILY_GEMM:
    case FAMILY_GROUPED:
        product_features(o, g, out);
        break;
    case FAMILY_ATTENTION:
        attention_features(o, g, out);
        break;
    default:
        memory_features(o, out);
    }
    bool product = o->family == FAMILY_GEMM || o->family == FAMILY_GROUPED;
    gpu_features(g, product && regime == SUSTAINED, out + own_columns(o->family));
}

/* Launch floor of 3 to 5 us; residual, copy and GELU of the H200 profile reach 0.7 to 0.9 of the
 * bandwidth. Rows of tokens that are sorted by expert do not: SimuMax's fit of TransformerEngine's
 * kernels on a B200 (0.50 of 8 TB/s, 30 us). */
struct memory_curve curve_unmeasured(int kind)
{
    bool sorts = kind == MEMORY_PERMUTE;
    return (struct memory_curve){sorts ? 30e-6 : 4e-6, sorts ? 0.52 : 0.8};
}

/* The gradient of an embedding adds token rows to a table one by one: an element of them takes as
 * long as some 50 bytes in passing (H200: 12 to 20 ps against 0.3 ps a byte). */
static double passing_bytes(const struct operation *o)
{
    bool scatter = o->kind == MEMORY_EMBEDDING && o->pass == PASS_BACKWARD;
    return o->bytes + (scatter ? 48 * o->m * o->n : 0);
}

/* Dense products know ways around (split sums, other tiles); their trees are told of waves
 * instead. */
double whole_waves(const struct operation *o, const struct gpu *g)
{
    struct product p = product_of(o);
    double wide = o->family == FAMILY_ATTENTION ? 1 : p.columns / 128;
    double rows = o->family == FAMILY_ATTENTION ? o->m / 128 : p.rows / 128;
    double tiles = ceil(rows) * ceil(wide) * o->count;
    return tiles / (rows * wide * o->count) / wave_use(tiles, gpu_units(g));
}

double pass_time(const struct operation *o, const struct gpu *g)
{
    return passing_bytes(o) / (1e9 * g->memory_gbs);
}

double base_time(const struct operation *o, const struct gpu *g, enum regime regime,
                 const struct memory_curves *curves)
{
    double compute =
        operation_flops(o) / dtype_peak(g, o->dtype) * throttle(g, o->dtype, regime == BURST);
    double memory = operation_bytes(o) / (1e9 * g->memory_gbs);
    if (o->family == FAMILY_GROUPED || o->family == FAMILY_ATTENTION)
        compute *= whole_waves(o, g);
    if (o->family == FAMILY_MEMORY) {
        const struct memory_curve *c = &curves->of[o->kind][o->pass != PASS_FORWARD];
        return hypot(c->fixed_s, pass_time(o, g) / c->share);
    }
    return fmax(compute, memory) + FLOOR_S;
}

double learned_time(const struct operation *o, const struct gpu *g, enum regime regime,
                    const struct memory_curves *curves, double f)
{
    double compute = operation_flops(o) / dtype_peak(g, o->dtype);
    return fmax(base_time(o, g, regime, curves) * exp(f), compute);
}
