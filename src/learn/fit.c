/* Adding a GPU to models that are there: its rows are new to the trees, so their mean residual is
 * an honest offset, and the residual of each fifth under the offset of the other four an honest
 * error. */
#include "learn/fit.h"

#include "base/arena.h"
#include "cluster/cluster.h"

#include <math.h>
#include <string.h>

static const double MOST_ERROR = 100; /* that a manifest may say */

struct addition {
    size_t used; /* rows that changed something */
    struct learned *models;
    struct samples samples;
    struct arena *mem; /* of what is read */
    struct arena *report_mem;
    struct fit_report *report;
};

/* The rows of one family, repetitions joined. */
struct measured_rows {
    struct sample *sample;
    double *residual; /* log(measured / predicted), the offset that the GPU has already included */
    size_t rows;
};

static int fold_of(const struct sample *s)
{
    return (int)(shape_of(&s->op) % SHAPE_FOLDS);
}

static struct gpu_score *slot_of(struct learned_model *m, const struct gpu *g)
{
    for (int i = 0; i < m->gpus; i++)
        if (m->gpu[i].gpu == g)
            return &m->gpu[i];
    if (m->gpus == LEARNED_GPUS)
        return NULL;
    m->gpu[m->gpus] = (struct gpu_score){.gpu = g};
    return &m->gpu[m->gpus++];
}

/* Mean log residual of the rows of a GPU outside (or all, fold -1) of one fold. */
static double offset_of(const struct measured_rows *d, const struct gpu *g, int left_fold)
{
    double sum = 0, count = 0;
    for (size_t i = 0; i < d->rows; i++)
        if (d->sample[i].gpu == g && fold_of(&d->sample[i]) != left_fold)
            sum += d->residual[i], count++;
    return count > 0 ? sum / count : 0;
}

/* With this share of the offset that the rows ask for. */
static double held_out_error(const struct measured_rows *d, const struct gpu *g, double share)
{
    double sum = 0, count = 0, offset[SHAPE_FOLDS];
    for (int fold = 0; fold < SHAPE_FOLDS; fold++)
        offset[fold] = offset_of(d, g, fold);
    for (size_t i = 0; i < d->rows; i++)
        if (d->sample[i].gpu == g) {
            sum += fabs(exp(share * offset[fold_of(&d->sample[i])] - d->residual[i]) - 1);
            count++;
        }
    return count > 0 ? sum / count : 0;
}

static size_t rows_of(const struct measured_rows *d, const struct gpu *g)
{
    size_t count = 0;
    for (size_t i = 0; i < d->rows; i++)
        count += d->sample[i].gpu == g;
    return count;
}

static void find_residuals(struct addition *a, struct measured_rows *d)
{
    for (size_t i = 0; i < d->rows; i++) {
        const struct sample *s = &d->sample[i];
        double predicted;
        learned_predict(a->models, s->gpu, &s->op, 1, &predicted);
        d->residual[i] = log(s->time_s / predicted);
    }
}

/* Peaks catch times in too large a unit, nothing but this those in too small a one. */
static bool is_likely(double offset, const struct learned_model *m, const struct gpu *g,
                      struct error *err)
{
    if (fabs(offset) <= OFFSET_LIMIT)
        return true;
    return fail(
        err, ERROR_INPUT,
        "%s operators of %s take %.3g times as long as predicted, more than any GPU differs "
        "from its kind; is `time_us` in microseconds?",
        m->name, g->name, exp(offset));
}

static void tell(struct addition *a, struct fit_added x)
{
    struct fit_report *r = a->report;
    r->added = arena_room(a->report_mem, r->added, r->count, &r->capacity, sizeof *r->added);
    r->added[r->count++] = x;
}

static bool add_gpu(struct addition *a, const struct measured_rows *d, enum family family,
                    const struct gpu *g, struct error *err)
{
    struct learned_model *m = &a->models->model[family];
    size_t rows = rows_of(d, g);
    if (rows < FIT_LEAST_ROWS) {
        if (rows > 0)
            tell(a, (struct fit_added){.family = family, .gpu = g, .rows = rows});
        return true;
    }
    struct gpu_score *s = slot_of(m, g);
    if (!s)
        return fail(err, ERROR_INPUT, "the models know %d GPU types, there is no room for %s",
                    LEARNED_GPUS, g->name);
    double before = 0;
    for (size_t i = 0; i < d->rows; i++)
        before += d->sample[i].gpu == g ? fabs(exp(-d->residual[i]) - 1) : 0;
    /* what was measured before keeps its weight, a row of a profile counting as in training */
    double old_rows = (double)s->rows / PROFILE_WEIGHT;
    double share = (double)rows / ((double)rows + old_rows), shift = offset_of(d, g, -1);
    double now = held_out_error(d, g, share);
    if (!is_likely(shift, m, g, err) || !is_likely(s->offset + share * shift, m, g, err))
        return false;
    if (s->rows == 0)
        s->gpu_error = fmin(before / (double)rows, MOST_ERROR);
    s->rows += rows;
    s->offset += share * shift;
    /* a GPU that the trees have seen is not better known than it was */
    s->shape_error = fmin(fmax(s->shape_error, now), MOST_ERROR);
    a->used += rows;
    tell(a, (struct fit_added){family, g, rows, true, before / (double)rows, now});
    return true;
}

static struct measured_rows rows_of_family(const struct samples *all, enum family family,
                                           struct arena *mem)
{
    struct measured_rows d = {.sample = arena_array(mem, all->ops + 1, sizeof *d.sample)};
    for (size_t i = 0; i < all->ops; i++)
        if (all->op[i].op.family == family)
            d.sample[d.rows++] = all->op[i];
    d.rows = samples_join(d.sample, d.rows);
    d.residual = arena_array(mem, d.rows + 1, sizeof *d.residual);
    return d;
}

static bool add_family(struct addition *a, enum family family, struct error *err)
{
    struct measured_rows d = rows_of_family(&a->samples, family, a->mem);
    size_t count;
    const struct gpu *table = gpu_table(&count);
    find_residuals(a, &d);
    for (size_t g = 0; g < count; g++)
        if (!add_gpu(a, &d, family, &table[g], err))
            return false;
    return true;
}

static bool nothing_usable(const struct samples *s, struct error *err)
{
    const size_t *n = s->skipped;
    if (*s->unknown_gpu)
        return fail(
            err, ERROR_INPUT,
            "no row of the profile can be used: %zu are of GPUs that are not known, such as "
            "'%s'; astra gpus lists those that are",
            n[SKIP_UNKNOWN_GPU], s->unknown_gpu);
    return fail(
        err, ERROR_INPUT,
        "no row of the profile can be used: %zu without a number, %zu not above 0, %zu faster "
        "than the peak, %zu of another kind (products in bf16 need a GPU with bf16 units)",
        n[SKIP_NOT_A_NUMBER], n[SKIP_NOT_POSITIVE], n[SKIP_ABOVE_PEAK], n[SKIP_OTHER_KIND]);
}

static bool add(const struct fit_query *q, struct addition *a, struct error *err)
{
    for (int i = 0; i < q->profiles; i++)
        if (!read_profile(q->profile[i], &a->samples, err))
            return false;
    memcpy(a->report->skipped, a->samples.skipped, sizeof a->report->skipped);
    a->report->collectives = a->samples.comms;
    if (a->samples.ops == 0 && a->samples.comms > 0)
        return fail(err, ERROR_INPUT,
                    "the tables have collectives alone, which cannot be added: `make fit` learns "
                    "from them");
    if (a->samples.ops == 0)
        return nothing_usable(&a->samples, err);
    for (int i = 0; i < FAMILIES; i++)
        if (!add_family(a, (enum family)i, err))
            return false;
    if (a->used == 0)
        return fail(err, ERROR_INPUT,
                    "no operators of a GPU have %d usable rows: there is nothing to add",
                    FIT_LEAST_ROWS);
    return learned_write(a->models, a->used, q->output, err);
}

bool fit_run(const struct fit_query *q, struct arena *report_mem, struct fit_report *out,
             struct error *err)
{
    struct arena mem = {0};
    struct addition a = {.mem = &mem, .report_mem = report_mem, .report = out};
    *out = (struct fit_report){0};
    if (!learned_load(&a.models, q->models, err))
        return false;
    samples_init(&a.samples, &mem);
    bool ok = add(q, &a, err);
    arena_release(&mem);
    learned_free(a.models);
    return ok;
}
