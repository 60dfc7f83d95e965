/* Samples become rows: sorted, repetitions joined to their median, thinned by a fixed hash, and
 * told apart by the shape that has to be left out as a whole. */
#include "learn/dataset.h"

#include "base/arena.h"
#include "cluster/cluster.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const struct source *source_of(enum source_id id)
{
    static const struct source TABLE[SOURCES] = {
#define SOURCE(id, ...) [SOURCE_##id] = {__VA_ARGS__},
#include "learn/sources.def"
#undef SOURCE
    };
    return &TABLE[id];
}

size_t gpu_index(const struct gpu *g)
{
    size_t count;
    return (size_t)(g - gpu_table(&count));
}

enum { KEYS = 15 };

/* What was measured, by whom: rows with equal keys are repetitions. Times do not count. */
static void key_of(const struct sample *s, double key[KEYS])
{
    const struct operation *o = &s->op;
    double all[KEYS] = {s->source,      (double)gpu_index(s->gpu),
                        o->pass,        o->dtype,
                        o->kernel,      o->kind,
                        o->m,           o->n,
                        o->k,           o->count,
                        o->value_width, o->kv_share,
                        o->causal,      o->window,
                        o->bytes};
    memcpy(key, all, sizeof all);
}

static int compare_keys(const struct sample *a, const struct sample *b)
{
    double x[KEYS], y[KEYS];
    key_of(a, x);
    key_of(b, y);
    for (int i = 0; i < KEYS; i++)
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return 0;
}

static int compare(const void *a, const void *b)
{
    const struct sample *x = a, *y = b;
    int keys = compare_keys(x, y);
    return keys ? keys : (x->time_s > y->time_s) - (x->time_s < y->time_s);
}

static uint32_t hash_doubles(const double *value, size_t count)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < count; i++) {
        uint64_t bits;
        memcpy(&bits, &value[i], sizeof bits);
        for (int shift = 0; shift < 64; shift += 8)
            hash = (hash ^ (uint8_t)(bits >> shift)) * 16777619u;
    }
    return hash ^ hash >> 15;
}

/* Weight sizes of products, head configurations of attention, kind and size of passes over
 * memory. */
static uint32_t shape_of(const struct operation *o)
{
    double product[] = {o->n, o->k}, memory[] = {o->kind, o->m, o->n, o->bytes};
    double heads[] = {o->heads, o->kv_share, o->k, o->value_width};
    switch (o->family) {
    case FAMILY_ATTENTION:
        return hash_doubles(heads, sizeof heads / sizeof *heads);
    case FAMILY_MEMORY:
        return hash_doubles(memory, sizeof memory / sizeof *memory);
    default:
        return hash_doubles(product, sizeof product / sizeof *product);
    }
}

static bool is_thinned_out(const struct sample *s)
{
    double key[KEYS];
    key_of(s, key);
    return hash_doubles(key, KEYS) % (uint32_t)source_of(s->source)->thin != 0;
}

static size_t collect(struct dataset *d, const struct samples *all)
{
    size_t count = 0;
    for (size_t i = 0; i < all->ops; i++)
        if (all->op[i].op.family == d->family && !is_thinned_out(&all->op[i]))
            d->sample[count++] = all->op[i];
    return count;
}

/* Sorted rows: equal keys lie together, ordered by time. */
static void join_equal(struct dataset *d, size_t count)
{
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count; end++)
            if (compare_keys(&d->sample[first], &d->sample[end]) != 0)
                break;
        double middle =
            0.5 * (d->sample[(first + end - 1) / 2].time_s + d->sample[(first + end) / 2].time_s);
        d->sample[d->rows] = d->sample[first];
        d->sample[d->rows++].time_s = middle;
    }
}

void dataset_build(struct dataset *d, const struct samples *all, enum family family,
                   struct arena *mem)
{
    *d = (struct dataset){.family = family, .columns = features_count(family)};
    d->sample = arena_array(mem, all->ops + 1, sizeof *d->sample);
    size_t count = collect(d, all);
    qsort(d->sample, count, sizeof *d->sample, compare);
    join_equal(d, count);
    d->x = arena_array(mem, d->rows * (size_t)d->columns + 1, sizeof *d->x);
    d->weight = arena_array(mem, d->rows + 1, sizeof *d->weight);
    d->shape = arena_array(mem, d->rows + 1, sizeof *d->shape);
    for (size_t i = 0; i < d->rows; i++) {
        const struct sample *s = &d->sample[i];
        features_of(&s->op, s->gpu, source_of(s->source)->regime, d->x + i * (size_t)d->columns);
        d->weight[i] = (float)source_of(s->source)->weight;
        d->shape[i] = shape_of(&s->op);
    }
}

/* Least squares of the relative error of the squares: time^2 = fixed^2 + (slope x)^2, x the seconds
 * that the bytes need at full bandwidth. Two unknowns, linear in their squares. */
static struct memory_curve fit_curve(const struct dataset *d, const unsigned char *use, int kind,
                                     bool backward)
{
    double xx = 0, x1 = 0, one = 0, xt = 0, t1 = 0;
    for (size_t i = 0; i < d->rows; i++) {
        const struct sample *s = &d->sample[i];
        if (!use[i] || s->op.kind != kind || (s->op.pass != PASS_FORWARD) != backward)
            continue;
        double w = d->weight[i], t = pow(s->time_s * 1e6, -2); /* us, so that sums stay tame */
        double x = pow(1e6 * pass_time(&s->op, s->gpu), 2) * t;
        xx += w * x * x, x1 += w * x * t, one += w * t * t, xt += w * x, t1 += w * t;
    }
    double det = xx * one - x1 * x1;
    if (!(det > 1e-9 * xx * one))
        return PLAIN_CURVE;
    double slope = (xt * one - t1 * x1) / det, fixed = (t1 * xx - xt * x1) / det;
    if (fixed < 1 || slope <= 0.1) { /* bytes alone */
        fixed = 1;
        slope = fmax((xt - fixed * x1) / xx, 0.1);
    }
    return (struct memory_curve){1e-6 * sqrt(fixed), 1 / sqrt(slope)};
}

void dataset_curves(const struct dataset *d, const unsigned char *use, struct memory_curves *out)
{
    for (int kind = 0; kind < MEMORY_KINDS; kind++)
        for (int backward = 0; backward < 2; backward++)
            out->of[kind][backward] =
                d->family == FAMILY_MEMORY ? fit_curve(d, use, kind, backward) : PLAIN_CURVE;
}
