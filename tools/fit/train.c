/* Boosts log(time / base) and keeps, for each GPU, the mean of what is left: trees see a GPU's
 * generation and how tiles fill its units, but not its name, so that they have to learn what
 * carries over to other GPUs. The remainder of a GPU that was measured is its offset. */
#include "fit/train.h"

#include "base/arena.h"
#include "cluster/cluster.h"
#include "fit/booster.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Sizes keep loading and asking fast; larger ones gain 0.1 % of error. */
static const struct {
    int rounds, depth;
    double rate, leaf_weight, rows, columns; /* shares of rows and columns that a tree sees */
} SIZE[FAMILIES] = {[FAMILY_GEMM] = {350, 6, 0.1, 8, 0.8, 0.75},
                    [FAMILY_GROUPED] = {200, 5, 0.08, 8, 0.8, 0.8},
                    [FAMILY_ATTENTION] = {400, 6, 0.08, 8, 0.8, 0.8},
                    [FAMILY_MEMORY] = {220, 6, 0.11, 1, 0.8, 0.8}};
static const double PRIOR_ROWS = 50; /* as many rows say that a GPU has no offset */

/* Copies the rows of `which` together. Returns how many. */
static size_t pack(const struct dataset *d, const unsigned char *which, float *x)
{
    size_t n = 0, width = (size_t)d->columns;
    for (size_t i = 0; i < d->rows; i++)
        if (which[i])
            memcpy(x + n++ * width, d->x + i * width, width * sizeof *x);
    return n;
}

static double base_of(const struct dataset *d, size_t i, const struct memory_curves *curves)
{
    const struct sample *s = &d->sample[i];
    return base_time(&s->op, s->gpu, source_of(s->source)->regime, curves);
}

/* Weighted mean of what the trees leave, drawn towards 0 where rows are few. */
static void find_offsets(struct trained *t, const struct dataset *d, const unsigned char *use,
                         const float *y, const float *f)
{
    size_t gpus, n = 0;
    gpu_table(&gpus);
    for (size_t g = 0; g < gpus; g++) {
        double sum = 0, weight = 0;
        n = 0;
        for (size_t i = 0; i < d->rows; i++) {
            if (!use[i])
                continue;
            if (gpu_index(d->sample[i].gpu) == g) {
                sum += d->weight[i] * (y[n] - f[n]);
                weight += d->weight[i];
                t->rows[g]++;
            }
            n++;
        }
        double rows = (double)t->rows[g];
        t->offset[g] = weight > 0 ? sum / weight * rows / (rows + PRIOR_ROWS) : 0;
    }
}

static bool boost(struct trained *t, const struct dataset *d, const unsigned char *use, float *x,
                  float *y, float *w, struct arena *mem, struct error *err)
{
    size_t n = 0, rows = pack(d, use, x);
    for (size_t i = 0; i < d->rows; i++)
        if (use[i]) {
            y[n] = (float)log(d->sample[i].time_s / base_of(d, i, &t->curves));
            w[n++] = d->weight[i];
        }
    struct booster_data data = {x, y, w, rows, d->columns};
    struct booster_params p = {.rounds = SIZE[d->family].rounds,
                               .depth = SIZE[d->family].depth,
                               .rate = SIZE[d->family].rate,
                               .seed = 1,
                               .threads = 1, /* more are slower: they wait for each other */
                               .leaf_weight = SIZE[d->family].leaf_weight,
                               .lambda = 1,
                               .subsample = SIZE[d->family].rows,
                               .columns = SIZE[d->family].columns};
    if (rows == 0)
        return fail(err, ERROR_INPUT, "nothing is left to learn from");
    if (!booster_train(&t->file, &data, &p, mem, err) ||
        !trees_read(&t->trees, t->file.data, t->file.length, "what was trained", mem, err))
        return false;
    trees_predict(&t->trees, x, rows, w); /* w has served */
    find_offsets(t, d, use, y, w);
    return true;
}

bool train(struct trained *t, const struct dataset *d, const unsigned char *use, struct arena *mem,
           struct error *err)
{
    size_t gpus;
    gpu_table(&gpus);
    memset(t, 0, sizeof *t);
    t->offset = arena_array(mem, gpus, sizeof *t->offset);
    t->rows = arena_array(mem, gpus, sizeof *t->rows);
    dataset_curves(d, use, &t->curves);
    size_t width = (size_t)d->columns + 2;
    float *x = memory_grow(NULL, (d->rows + 1) * width * sizeof *x);
    float *y = x + d->rows * (size_t)d->columns;
    bool ok = boost(t, d, use, x, y, y + d->rows, mem, err);
    free(x);
    return ok;
}

void trained_predict(const struct trained *t, const struct dataset *d, const unsigned char *which,
                     double *out)
{
    float *x = memory_grow(NULL, (d->rows + 1) * (size_t)(d->columns + 1) * sizeof *x);
    float *f = x + d->rows * (size_t)d->columns;
    size_t rows = pack(d, which, x), n = 0;
    trees_predict(&t->trees, x, rows, f);
    for (size_t i = 0; i < d->rows; i++) {
        const struct sample *s = &d->sample[i];
        if (which[i])
            out[i] = learned_time(&s->op, s->gpu, source_of(s->source)->regime, &t->curves,
                                  f[n++] + t->offset[gpu_index(s->gpu)]);
    }
    free(x);
}
