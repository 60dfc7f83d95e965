/* Samples become rows: thinned by a fixed hash, repetitions joined, with features and weights. */
#include "fit/dataset.h"

#include "base/arena.h"
#include "cluster/cluster.h"
#include "fit/readers.h"

#include <math.h>

const struct source *source_of(int id)
{
    static const struct source TABLE[SOURCES] = {
#define SOURCE(id, ...) [SOURCE_##id] = {__VA_ARGS__},
#include "fit/sources.def"
#undef SOURCE
    };
    return &TABLE[id];
}

static bool is_thinned_out(const struct sample *s)
{
    return sample_hash(s) % (uint32_t)source_of(s->source)->thin != 0;
}

static size_t collect(struct dataset *d, const struct samples *all)
{
    size_t count = 0;
    for (size_t i = 0; i < all->ops; i++)
        if (all->op[i].op.family == d->family && !is_thinned_out(&all->op[i]))
            d->sample[count++] = all->op[i];
    return count;
}

void dataset_build(struct dataset *d, const struct samples *all, enum family family,
                   struct arena *mem)
{
    *d = (struct dataset){.family = family, .columns = features_count(family)};
    d->sample = arena_array(mem, all->ops + 1, sizeof *d->sample);
    d->rows = samples_join(d->sample, collect(d, all));
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
        return curve_unmeasured(kind);
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
            out->of[kind][backward] = d->family == FAMILY_MEMORY ? fit_curve(d, use, kind, backward)
                                                                 : curve_unmeasured(kind);
}
