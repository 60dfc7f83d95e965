/* What tests of the learned models share: the models compiled in, and operations drawn at random,
 * the same ones in every run. Include it behind cmocka.h. */
#pragma once

#include "cluster/cluster.h"
#include "cost/learned.h"

#include <math.h>
#include <stdint.h>

#define COUNT(table) (sizeof(table) / sizeof *(table))

static struct learned *models;

static inline int load_models(void **state)
{
    struct error err = {0};
    (void)state;
    if (learned_load(&models, NULL, &err))
        return 0;
    print_error("%s\n", err.text);
    return -1;
}

static inline int free_models(void **state)
{
    (void)state;
    learned_free(models);
    return 0;
}

/* Operations drawn at random, the same ones in every run. */

static uint64_t seed;

static inline double draw(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(seed >> 11) * 0x1p-53;
}

static inline int pick(int count)
{
    return (int)(draw() * count);
}

static inline double between(double lo, double hi) /* evenly in the logarithm */
{
    return lo * exp(draw() * log(hi / lo));
}

/* Whole numbers up to `hi`: powers of two, multiples of 128, any. */
static inline double any_size(double hi)
{
    double x = floor(between(1, hi));
    int style = pick(3);
    if (style == 0)
        return exp2(floor(log2(x)));
    return style == 1 ? 128 * ceil(x / 128) : x;
}

static inline double multiple(double lo, double hi, double of)
{
    return of * ceil(between(lo, hi) / of);
}

static inline void draw_product(struct operation *o)
{
    o->pass = (enum op_pass)pick(PASSES);
    o->dtype = (enum dtype)pick(DTYPES);
    o->kernel = o->dtype == DTYPE_FP8 ? pick(2) : 0;
    o->m = any_size(1048576);
    o->n = any_size(1048576);
    o->k = any_size(1048576);
    o->count = o->family == FAMILY_GROUPED ? floor(between(1, 257)) : 1;
}

static inline void draw_attention(struct operation *o)
{
    o->pass = (enum op_pass)pick(2);
    o->dtype = (enum dtype)pick(2);
    o->m = any_size(1048576);
    o->n = pick(2) ? o->m : any_size(1048576);
    o->heads = floor(between(1, 513));
    o->count = o->heads * (pick(3) ? 1 : pick(8) + 1);
    o->k = 32 * (double)(1 + pick(18));
    o->value_width = pick(2) ? o->k : fmin(o->k, 128);
    o->kv_share = exp2(-pick(7));
    o->causal = pick(2);
    o->window = pick(2) ? 0 : any_size(65536);
    o->kernel = pick(2) ? ATTENTION_CUDNN_KERNEL : ATTENTION_FLASH2_KERNEL;
}

static inline void draw_memory(struct operation *o)
{
    o->kind = pick(MEMORY_KINDS);
    o->pass = (enum op_pass)pick(2);
    o->bytes = floor(between(1, 1e12));
    if (pick(2)) {
        o->n = any_size(262144);
        o->m = ceil(o->bytes / (4 * o->n));
        o->k = o->kind == MEMORY_EMBEDDING ? any_size(262144) : 0;
    }
}

/* What a search asks: whole tiles, sizes of real models, square causal attention. */
static inline void draw_usual(struct operation *o, const struct gpu *g)
{
    static const double WIDTH[] = {64, 96, 128, 192, 256};
    o->m = multiple(512, 65536, 128);
    o->n = multiple(512, 65536, 128);
    o->k = multiple(512, 65536, 128);
    o->pass = (enum op_pass)pick(o->family <= FAMILY_GROUPED ? PASSES : 2);
    if (o->family == FAMILY_GEMM)
        o->dtype = (enum dtype)pick(DTYPES);
    if (o->family == FAMILY_GROUPED)
        o->count = floor(between(1, 65));
    if (o->family == FAMILY_ATTENTION) {
        o->n = o->m;
        o->heads = o->count = floor(between(1, 129));
        o->k = WIDTH[pick((int)COUNT(WIDTH))];
        o->value_width = fmin(o->k, 128);
        o->kv_share = exp2(-pick(4));
        o->causal = true;
        o->kernel = attention_kernel_of(g);
    }
    if (o->family == FAMILY_MEMORY) {
        o->kind = pick(MEMORY_KINDS);
        o->k = o->kind == MEMORY_EMBEDDING ? 128256 : 0;
        o->bytes = (double)(2 + pick(10)) * o->m * o->n;
    }
}

static inline struct operation draw_operation(enum family family, const struct gpu *g, bool usual)
{
    struct operation o = {.family = family, .count = 1, .kv_share = 1};
    if (usual)
        draw_usual(&o, g);
    else if (family == FAMILY_ATTENTION)
        draw_attention(&o);
    else if (family == FAMILY_MEMORY)
        draw_memory(&o);
    else
        draw_product(&o);
    return o;
}

static inline void say(const struct operation *o, const struct gpu *g)
{
    print_error("%s %s pass %d type %d m %.0f n %.0f k %.0f count %.0f values %.0f kv %g causal %d "
                "window %.0f kernel %d kind %d bytes %.0f\n",
                g->name, model_name((int)o->family), (int)o->pass, (int)o->dtype, o->m, o->n, o->k,
                o->count, o->value_width, o->kv_share, o->causal, o->window, o->kernel, o->kind,
                o->bytes);
}

static inline void ask(const struct learned *l, const struct gpu *g, const struct operation *op,
                       size_t count, double *out)
{
    learned_predict(l, g, op, count, out);
}
