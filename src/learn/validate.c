#include "learn/validate.h"

#include "base/arena.h"
#include "cluster/cluster.h"
#include "learn/train.h"

#include <math.h>
#include <string.h>

enum { FOLDS = 5, MANY_FOLDS = 64 };

static int fold_of(const struct dataset *d, size_t row, enum split split)
{
    const struct sample *s = &d->sample[row];
    switch (split) {
    case LEFT_SHAPES:
        return (int)(d->shape[row] % FOLDS);
    case LEFT_GPU:
        return (int)gpu_index(s->gpu);
    default:
        return generation_of(s->gpu);
    }
}

struct masks {
    unsigned char *use, *which;
};

static bool split_rows(const struct dataset *d, enum split split, int fold, struct masks *m)
{
    size_t used = 0, left = 0;
    for (size_t i = 0; i < d->rows; i++) {
        m->which[i] = fold_of(d, i, split) == fold;
        m->use[i] = !m->which[i];
        used += m->use[i], left += m->which[i];
    }
    return used > 0 && left > 0;
}

static bool run_fold(struct validation *v, const struct dataset *d, enum split split,
                     const struct masks *m, int threads, struct arena *mem, struct error *err)
{
    struct trained t;
    bool ok = train(&t, d, m->use, threads, mem, err) &&
              trained_predict(&t, d, m->which, v->predicted[split][BY_MODEL], err);
    trained_release(&t);
    for (int r = BY_CONSTANT; ok && r < RIVALS; r++)
        rival_predict((enum rival)r, d, m->use, m->which, v->predicted[split][r]);
    return ok;
}

bool validate(struct validation *v, const struct dataset *d, int threads, struct arena *mem,
              struct error *err)
{
    struct masks m = {arena_alloc(mem, d->rows + 1), arena_alloc(mem, d->rows + 1)};
    for (int s = 0; s < SPLITS; s++) {
        for (int r = 0; r < RIVALS; r++)
            v->predicted[s][r] = arena_array(mem, d->rows + 1, sizeof(double));
        for (int fold = 0; fold < MANY_FOLDS; fold++)
            if (split_rows(d, (enum split)s, fold, &m) &&
                !run_fold(v, d, (enum split)s, &m, threads, mem, err))
                return false;
    }
    return true;
}

struct score score_rows(const struct dataset *d, const double *predicted,
                        bool (*want)(const struct sample *, const void *), const void *context)
{
    struct score s = {0};
    for (size_t i = 0; i < d->rows; i++) {
        if (predicted[i] <= 0 || !want(&d->sample[i], context))
            continue;
        double error = predicted[i] / d->sample[i].time_s - 1;
        s.mean += fabs(error);
        s.bias += error;
        s.rows++;
    }
    if (s.rows > 0) {
        s.mean /= (double)s.rows;
        s.bias /= (double)s.rows;
    }
    return s;
}
