/* Medians all the way: a log has stalls of minutes beside steps of seconds. Steps of the batch that
 * most steps have are looked at first; then those soon after a start go while they are far from the
 * median of the settled ones; then those far above the median of the rest. O(n log n) of at most
 * STORE_STEPS lines. */
#include "import/log/train_steps.h"

#include "base/arena.h"
#include "base/units.h"

#include <math.h>
#include <stdlib.h>

enum verdict { USED, OTHER_BATCH, WARM_UP, OUTLIER, VERDICTS };
enum { SETTLED_LEAST = 5 };

#define MAD_TO_SIGMA 1.4826 /* of a normal distribution */
#define LEAST_SPREAD 1e-3   /* relative; equal steps must not make every other one far */
#define WARM_UP_SPREADS 3.0
#define WARM_UP_LEAST 0.05 /* relative */
#define WARM_UP_SHARE 0.2  /* of all lines, at most */
#define OUTLIER_SPREADS 5.0

struct figures {
    const struct step *step;
    size_t count;
    unsigned char *verdict; /* owned */
    double *value;          /* owned; room for one number of each step */
    double resolution_s;
};

struct centre {
    double median_s, spread_s;
};

static size_t used_times(const struct figures *f, bool settled)
{
    size_t n = 0;
    for (size_t i = 0; i < f->count; i++)
        if (f->verdict[i] == USED && !(settled && f->step[i].early))
            f->value[n++] = f->step[i].step_s;
    return n;
}

/* Of the steps that are used so far; of those long after a start where there are some. */
static struct centre centre_of(const struct figures *f, bool settled)
{
    size_t n = used_times(f, settled);
    if (settled && n < SETTLED_LEAST)
        n = used_times(f, false);
    double m = median_of(f->value, n);
    for (size_t i = 0; i < n; i++)
        f->value[i] = fabs(f->value[i] - m);
    return (struct centre){m, MAD_TO_SIGMA * median_of(f->value, n)};
}

/* How far a step may be from the median. */
static double reach(const struct figures *f, const struct centre *c, double spreads)
{
    double s = fmax(c->spread_s, LEAST_SPREAD * c->median_s);
    return spreads * fmax(s, f->resolution_s);
}

struct batch_span {
    int batch, span;
};

static int by_batch(const void *a, const void *b)
{
    const struct batch_span *x = a, *y = b;
    return (x->batch > y->batch) - (x->batch < y->batch);
}

/* The batch of most steps, not lines; of batches that tie, the larger. */
static int most_common_batch(const struct figures *f)
{
    struct batch_span *b = memory_grow(NULL, f->count * sizeof *b);
    int64_t most = 0, sum = 0;
    int best = 0;
    for (size_t i = 0; i < f->count; i++)
        b[i] = (struct batch_span){f->step[i].batch, f->step[i].span};
    qsort(b, f->count, sizeof *b, by_batch);
    for (size_t i = 0; i < f->count; i++) {
        sum = (i > 0 && b[i].batch == b[i - 1].batch ? sum : 0) + b[i].span;
        if (sum >= most) {
            most = sum;
            best = b[i].batch;
        }
    }
    free(b);
    return best;
}

static void drop_other_batches(struct figures *f, int batch)
{
    for (size_t i = 0; i < f->count; i++)
        if (f->step[i].batch != batch)
            f->verdict[i] = OTHER_BATCH;
}

/* The first steps of every start, up to one that is not far. */
static void drop_warm_up(struct figures *f, int64_t at_most)
{
    struct centre c = centre_of(f, true);
    double far = fmax(reach(f, &c, WARM_UP_SPREADS), WARM_UP_LEAST * c.median_s);
    bool open = true;
    for (size_t i = 0; i < f->count && at_most > 0; i++) {
        if (i > 0 && f->step[i].start != f->step[i - 1].start)
            open = true;
        if (f->verdict[i] != USED)
            continue;
        open &= f->step[i].early && fabs(f->step[i].step_s - c.median_s) > far;
        if (!open)
            continue;
        f->verdict[i] = WARM_UP;
        at_most--;
    }
}

static void drop_outliers(struct figures *f)
{
    struct centre c = centre_of(f, false);
    double most = c.median_s + reach(f, &c, OUTLIER_SPREADS);
    for (size_t i = 0; i < f->count; i++)
        if (f->verdict[i] == USED && f->step[i].step_s > most)
            f->verdict[i] = OUTLIER;
}

/* Lines of the log for those of the store. */
static void count_lines(const struct figures *f, int64_t offered, struct step_summary *out)
{
    int64_t n[VERDICTS] = {0};
    double each = (double)offered / (double)f->count;
    for (size_t i = 0; i < f->count; i++)
        n[f->verdict[i]]++;
    int64_t warm = llround(each * (double)n[WARM_UP]);
    int64_t other = llround(each * (double)n[OTHER_BATCH]);
    out->outliers = llround(each * (double)n[OUTLIER]);
    out->warmup += warm;
    out->other_batch += other;
    out->steps = offered - warm - other - out->outliers;
}

static double change(const struct figures *f)
{
    size_t n = used_times(f, false), part = n / 4;
    if (part == 0)
        return 0;
    double last = median_of(f->value + n - part, part), first = median_of(f->value, part);
    return last / first - 1;
}

/* Of the used steps that say it. */
static double logged(const struct figures *f, bool watts)
{
    size_t n = 0;
    for (size_t i = 0; i < f->count; i++) {
        double v = watts ? f->step[i].watts : f->step[i].tflops;
        if (f->verdict[i] == USED && v > 0)
            f->value[n++] = v;
    }
    return median_of(f->value, n);
}

static void name_iterations(const struct figures *f, struct step_summary *out)
{
    out->first_iteration = INT64_MAX;
    for (size_t i = 0; i < f->count; i++) {
        int64_t at = f->step[i].iteration;
        if (f->verdict[i] != USED)
            continue;
        out->first_iteration = at < out->first_iteration ? at : out->first_iteration;
        out->last_iteration = at > out->last_iteration ? at : out->last_iteration;
    }
}

void step_figures(const struct step_store *s, double resolution_s, struct step_summary *out)
{
    if (s->count == 0)
        return;
    struct figures f = {s->step, s->count, memory_grow(NULL, s->count),
                        memory_grow(NULL, s->count * sizeof(double)), resolution_s};
    for (size_t i = 0; i < f.count; i++)
        f.verdict[i] = USED;
    out->global_batch = most_common_batch(&f);
    drop_other_batches(&f, out->global_batch);
    drop_warm_up(&f, (int64_t)(WARM_UP_SHARE * (double)out->lines) - out->warmup);
    drop_outliers(&f);
    struct centre c = centre_of(&f, false);
    out->step_s = c.median_s;
    out->spread = c.spread_s / c.median_s;
    out->trend = change(&f);
    out->tflops_per_gpu = logged(&f, false);
    out->watts_per_gpu = logged(&f, true);
    name_iterations(&f, out);
    count_lines(&f, s->offered, out);
    free(f.verdict);
    free(f.value);
}
