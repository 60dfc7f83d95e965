/* Three predictors without trees, for comparison in the report of a fit. NEAREST is quadratic in
 * the rows of a GPU and class, some seconds in all. */
#include "fit/rivals.h"

#include "base/arena.h"
#include "cluster/cluster.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

static const double LAUNCH_S = 4e-6; /* kernel start and tail: the launch floor is 3 to 5 us */

/* Rows of one class run the same kind of kernel. */
static int class_of(const struct operation *o)
{
    return (((int)o->pass * DTYPES + (int)o->dtype) * 4 + o->kernel) * MEMORY_KINDS + o->kind;
}

static double roofline(const struct sample *s)
{
    const struct operation *o = &s->op;
    double compute = operation_flops(o) / dtype_peak(s->gpu, o->dtype);
    return fmax(compute, operation_bytes(o) / (1e9 * s->gpu->memory_gbs));
}

/* Whole tiles in whole waves, and a launch. */
static double quantised(const struct sample *s)
{
    const struct operation *o = &s->op;
    double memory = operation_bytes(o) / (1e9 * s->gpu->memory_gbs);
    if (o->family == FAMILY_MEMORY)
        return memory + LAUNCH_S;
    double compute = operation_flops(o) / dtype_peak(s->gpu, o->dtype);
    return fmax(compute * whole_waves(o, s->gpu), memory) + LAUNCH_S;
}

/* Mean log ratio of time to `bound` over the rows like `s`: of its GPU and class if any, else of
 * its class, else of all. Slow and simple: classes are few, so answers are kept in a table by
 * class and GPU. */
enum { CLASSES = PASSES * DTYPES * 4 * MEMORY_KINDS, ALL_GPUS = 64 };

struct ratio_table {
    double sum[CLASSES][ALL_GPUS + 1], weight[CLASSES][ALL_GPUS + 1];
    double all_sum, all_weight;
};

static struct ratio_table *ratios(const struct dataset *d, const unsigned char *use,
                                  double (*bound)(const struct sample *))
{
    struct ratio_table *t = memory_grow(NULL, sizeof *t);
    size_t gpus;
    gpu_table(&gpus);
    assert(gpus <= ALL_GPUS);
    *t = (struct ratio_table){0};
    for (size_t i = 0; i < d->rows; i++) {
        if (!use[i])
            continue;
        const struct sample *s = &d->sample[i];
        double y = log(s->time_s / bound(s)), w = d->weight[i];
        int c = class_of(&s->op);
        t->sum[c][gpu_index(s->gpu)] += w * y, t->weight[c][gpu_index(s->gpu)] += w;
        t->sum[c][ALL_GPUS] += w * y, t->weight[c][ALL_GPUS] += w;
        t->all_sum += w * y, t->all_weight += w;
    }
    return t;
}

static double ratio_of(const struct ratio_table *t, const struct sample *s)
{
    int c = class_of(&s->op);
    size_t g = gpu_index(s->gpu);
    if (t->weight[c][g] > 0)
        return exp(t->sum[c][g] / t->weight[c][g]);
    if (t->weight[c][ALL_GPUS] > 0)
        return exp(t->sum[c][ALL_GPUS] / t->weight[c][ALL_GPUS]);
    return t->all_weight > 0 ? exp(t->all_sum / t->all_weight) : 1;
}

static void by_ratio(const struct dataset *d, const unsigned char *use, const unsigned char *which,
                     double (*bound)(const struct sample *), double *out)
{
    struct ratio_table *t = ratios(d, use, bound);
    for (size_t i = 0; i < d->rows; i++)
        if (which[i])
            out[i] = bound(&d->sample[i]) * ratio_of(t, &d->sample[i]);
    free(t);
}

static double distance(const struct operation *a, const struct operation *b)
{
    double m = log((a->m + 1) / (b->m + 1)), n = log((a->n + 1) / (b->n + 1));
    double k = log((a->k + 1) / (b->k + 1)), count = log(a->count / b->count);
    double bytes = log((a->bytes + 1) / (b->bytes + 1));
    return m * m + n * n + k * k + count * count + bytes * bytes;
}

/* Of rows of another GPU only every eighth is looked at: there are very many. */
static const struct sample *nearest(const struct dataset *d, const unsigned char *use,
                                    const struct sample *to, bool same_gpu)
{
    const struct sample *best = NULL;
    double least = INFINITY;
    for (size_t i = 0; i < d->rows; i += same_gpu ? 1 : 8) {
        const struct sample *s = &d->sample[i];
        if (!use[i] || (same_gpu && s->gpu != to->gpu) || class_of(&s->op) != class_of(&to->op))
            continue;
        double far = distance(&s->op, &to->op);
        if (far < least)
            least = far, best = s;
    }
    return best;
}

static void by_nearest(const struct dataset *d, const unsigned char *use,
                       const unsigned char *which, double *out)
{
    struct ratio_table *t = ratios(d, use, roofline);
    for (size_t i = 0; i < d->rows; i++) {
        if (!which[i])
            continue;
        const struct sample *s = &d->sample[i], *n = nearest(d, use, s, true);
        if (!n)
            n = nearest(d, use, s, false);
        out[i] = roofline(s) * (n ? n->time_s / roofline(n) : ratio_of(t, s));
    }
    free(t);
}

void rival_predict(enum rival rival, const struct dataset *d, const unsigned char *use,
                   const unsigned char *which, double *out)
{
    if (rival == BY_CONSTANT)
        by_ratio(d, use, which, roofline, out);
    else if (rival == BY_QUANTISED)
        by_ratio(d, use, which, quantised, out);
    else
        by_nearest(d, use, which, out);
}
