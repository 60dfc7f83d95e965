/* Cross-validation: every fold of every split trains on the rest and predicts what was left out,
 * the model and its rivals alike. O(folds * training); folds run side by side. */
#include "fit/validate.h"

#include "base/arena.h"
#include "base/parallel.h"
#include "cluster/cluster.h"
#include "fit/train.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { MANY_FOLDS = 64 };

static int fold_of(const struct dataset *d, size_t row, enum split split)
{
    const struct sample *s = &d->sample[row];
    switch (split) {
    case LEFT_SHAPES:
        return (int)(d->shape[row] % SHAPE_FOLDS);
    case LEFT_GPU:
        return (int)gpu_index(s->gpu);
    default:
        return generation_of(s->gpu);
    }
}

/* One fold of one split. */
struct fold_job {
    struct validation *v;
    const struct dataset *d;
    bool failed[SPLITS * MANY_FOLDS];
    struct error err[SPLITS * MANY_FOLDS];
};

static bool split_rows(const struct dataset *d, enum split split, int fold, unsigned char *use,
                       unsigned char *which)
{
    size_t used = 0, left = 0;
    for (size_t i = 0; i < d->rows; i++) {
        which[i] = fold_of(d, i, split) == fold;
        use[i] = !which[i];
        used += use[i], left += which[i];
    }
    return used > 0 && left > 0;
}

static bool run_fold(const struct fold_job *j, enum split split, const unsigned char *use,
                     const unsigned char *which, struct arena *mem, struct error *err)
{
    struct trained t;
    double **predicted = j->v->predicted[split];
    if (!train(&t, j->d, use, mem, err))
        return false;
    trained_predict(&t, j->d, which, predicted[BY_MODEL]);
    for (int r = BY_CONSTANT; r < RIVALS; r++)
        rival_predict((enum rival)r, j->d, use, which, predicted[r]);
    return true;
}

/* Rows of different folds are different rows: no two jobs write to the same place. */
static void work(void *context, int worker, long item)
{
    struct fold_job *j = context;
    enum split split = (enum split)(item / MANY_FOLDS);
    struct arena mem;
    (void)worker;
    arena_init(&mem);
    unsigned char *use = arena_alloc(&mem, j->d->rows + 1);
    unsigned char *which = arena_alloc(&mem, j->d->rows + 1);
    if (split_rows(j->d, split, (int)(item % MANY_FOLDS), use, which))
        j->failed[item] = !run_fold(j, split, use, which, &mem, &j->err[item]);
    arena_release(&mem);
}

bool validate(struct validation *v, const struct dataset *d, int threads, struct arena *mem,
              struct error *err)
{
    struct fold_job *j = arena_alloc(mem, sizeof *j);
    size_t gpus;
    gpu_table(&gpus);
    assert(gpus <= MANY_FOLDS);
    j->v = v;
    j->d = d;
    for (int s = 0; s < SPLITS; s++)
        for (int r = 0; r < RIVALS; r++)
            v->predicted[s][r] = arena_array(mem, d->rows + 1, sizeof(double));
    parallel_for(threads, SPLITS * MANY_FOLDS, work, j);
    for (int i = 0; i < SPLITS * MANY_FOLDS; i++)
        if (j->failed[i])
            return fail(err, j->err[i].kind, "%s", j->err[i].text);
    return true;
}

struct fit_score score_rows(const struct dataset *d, const double *predicted,
                            bool (*want)(const struct sample *, const void *), const void *context)
{
    struct fit_score s = {0};
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
