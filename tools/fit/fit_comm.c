/* Gradient-boosted trees for log(measured / analytic) of collectives. Rows of one source, GPU, kind
 * and placement are a curve; a curve is thinned to the median row of each quarter octave, so that a
 * source with a thousand sizes does not drown one with ten. Cross-validation asks the same curves
 * that a search asks (powers of two, made to rise, straight lines between them). About 35 trainings
 * of ten thousand points. */
#include "fit/fit_comm.h"

#include "base/arena.h"
#include "base/parallel.h"
#include "base/units.h"
#include "cluster/cluster.h"
#include "cost/comm.h"
#include "cost/trees.h"
#include "fit/booster.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE_FOLDS = 5, CURVE_WEIGHT = 20 };

/* Shallow trees, about 10,000 nodes in all. */
static const struct booster_params TREES = {.rounds = 100,
                                            .depth = 6,
                                            .seed = 1,
                                            .threads = 1,
                                            .rate = 0.2,
                                            .leaf_weight = 1,
                                            .lambda = 1,
                                            .subsample = 1,
                                            .columns = 1};

struct comm_row {
    struct comm_call call;
    int source;
    double bytes, time_s;
    double base_s, floor_s, y; /* y = log(time / base) */
    int curve;                 /* rows of one curve stand together, by size */
    int fold[COMM_SPLITS];
};

/* What is trained on: a measured row, or a point between two of them. */
struct comm_point {
    const struct comm_row *row; /* whose curve it is on */
    double bytes, time_s;
};

struct comm_fit {
    struct comm_row *row;
    size_t rows;
    double *value;              /* scratch, one per row */
    double *error[COMM_RIVALS]; /* of the present split, one per row; NaN = nothing to learn from */
    int folds[COMM_SPLITS];
    struct arena mem;
};

/* One training, without the rows of a fold: independent of the others, so that they can run side by
 * side. */
struct trial {
    const struct comm_fit *fit;
    int split, fold;          /* fold -1: nothing is left out */
    struct comm_point *point; /* owned; curves stand together */
    size_t points, room;
    double *value; /* owned scratch, one per row */
    bool ok;
    struct error err;
};

static int by_double(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int by_call(const struct comm_row *a, const struct comm_row *b)
{
    const struct comm_call *p = &a->call, *q = &b->call;
    double d[] = {(double)a->source - b->source,
                  (double)p->kind - (double)q->kind,
                  strcmp(p->gpu->name, q->gpu->name),
                  (double)p->nodes - q->nodes,
                  (double)p->ranks - q->ranks,
                  (double)p->per_node - q->per_node,
                  p->link_bs - q->link_bs,
                  p->nic_bs - q->nic_bs,
                  (double)p->in_switch - q->in_switch};
    for (size_t i = 0; i < sizeof d / sizeof *d; i++)
        if (d[i] != 0)
            return d[i] < 0 ? -1 : 1;
    return 0;
}

static int by_curve(const void *a, const void *b)
{
    const struct comm_row *p = a, *q = b;
    int order = by_call(p, q);
    if (order == 0)
        order = (p->bytes > q->bytes) - (p->bytes < q->bytes);
    return order ? order : (p->time_s > q->time_s) - (p->time_s < q->time_s);
}

static double base_of(const struct comm_call *c, double bytes)
{
    struct comm_base b = comm_base_of(c, bytes);
    return b.latency_s + b.wire_s;
}

static struct comm_row row_of(const struct comm_sample *s)
{
    struct comm_row r = {.source = s->source, .bytes = s->bytes, .time_s = s->time_s};
    r.call = (struct comm_call){s->kind,    s->ranks,  s->per_node,  s->nodes, s->gpu,
                                s->link_bs, s->nic_bs, s->in_switch, false,    0};
    r.call.pcie = s->link_bs == 1e9 * s->gpu->pcie_gbs;
    r.base_s = base_of(&r.call, s->bytes);
    r.floor_s = comm_base_of(&r.call, s->bytes).floor_s;
    r.y = log(s->time_s / r.base_s);
    return r;
}

/* Distinct sizes of a source, dealt out one by one. */
static void deal_sizes(struct comm_fit *f, int source)
{
    size_t count = 0, distinct = 0;
    for (size_t i = 0; i < f->rows; i++)
        if (f->row[i].source == source)
            f->value[count++] = f->row[i].bytes;
    sort_numbers(f->value, count);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || f->value[i] != f->value[distinct - 1])
            f->value[distinct++] = f->value[i];
    for (size_t i = 0; i < f->rows; i++) {
        struct comm_row *r = &f->row[i];
        if (r->source != source)
            continue;
        double *at = bsearch(&r->bytes, f->value, distinct, sizeof *at, by_double);
        r->fold[COMM_LEFT_SIZES] = (int)(at - f->value) % SIZE_FOLDS;
    }
    f->folds[COMM_LEFT_SIZES] = SIZE_FOLDS;
}

/* Counts of ranks and nodes in the order in which they are met. */
static void deal_ranks(struct comm_fit *f)
{
    int *folds = &f->folds[COMM_LEFT_RANKS];
    const struct comm_row **first = arena_array(&f->mem, f->rows, sizeof(struct comm_row *));
    for (size_t i = 0; i < f->rows; i++) {
        struct comm_row *r = &f->row[i];
        int at = 0;
        while (at < *folds &&
               (first[at]->call.ranks != r->call.ranks || first[at]->call.nodes != r->call.nodes))
            at++;
        if (at == *folds)
            first[(*folds)++] = r;
        r->fold[COMM_LEFT_RANKS] = at;
    }
}

/* Sources without rows make no fold. */
static void deal_sources(struct comm_fit *f)
{
    int *fold = &f->folds[COMM_LEFT_SOURCE];
    for (int source = 0; source < SOURCES; source++) {
        bool any = false;
        for (size_t i = 0; i < f->rows; i++)
            if (f->row[i].source == source) {
                f->row[i].fold[COMM_LEFT_SOURCE] = *fold;
                any = true;
            }
        *fold += any;
    }
}

static void fit_init(struct comm_fit *f, const struct samples *s)
{
    memset(f, 0, sizeof *f);
    arena_init(&f->mem);
    f->rows = s->comms;
    f->row = arena_array(&f->mem, f->rows, sizeof *f->row);
    f->value = arena_array(&f->mem, f->rows, sizeof *f->value);
    for (size_t i = 0; i < f->rows; i++)
        f->row[i] = row_of(&s->comm[i]);
    qsort(f->row, f->rows, sizeof *f->row, by_curve);
    for (size_t i = 1; i < f->rows; i++)
        f->row[i].curve = f->row[i - 1].curve + (by_call(&f->row[i - 1], &f->row[i]) != 0);
    for (int source = 0; source < SOURCES; source++)
        deal_sizes(f, source);
    deal_ranks(f);
    deal_sources(f);
}

static void trial_init(struct trial *t, const struct comm_fit *f, int split, int fold)
{
    *t = (struct trial){.fit = f, .split = split, .fold = fold};
    t->value = memory_grow(NULL, f->rows * sizeof *t->value);
}

static void trial_release(struct trial *t)
{
    free(t->value);
    free(t->point);
}

static bool is_left_out(const struct trial *t, const struct comm_row *r)
{
    return r->fold[t->split] == t->fold;
}

static int bin_of(const struct comm_row *r)
{
    return (int)floor(4 * log2(r->bytes));
}

static void add_point(struct trial *t, struct comm_point p)
{
    if (t->points == t->room) {
        t->room = t->room ? 2 * t->room : 4096;
        t->point = memory_grow(t->point, t->room * sizeof *t->point);
    }
    t->point[t->points++] = p;
}

/* Trees are flat between their points: where neighbours of a curve are up to two octaves apart, the
 * quarter octaves between them are filled in, time straight in bytes. */
static void add_row(struct trial *t, const struct comm_row *r)
{
    struct comm_point last = t->points ? t->point[t->points - 1] : (struct comm_point){0};
    double octaves = last.row && last.row->curve == r->curve ? log2(r->bytes / last.bytes) : 0;
    int steps = octaves <= 2.01 ? (int)(4 * octaves + 0.01) : 0;
    for (int i = 1; i < steps; i++) {
        double bytes = last.bytes * exp2(octaves * i / steps);
        double slope = (r->time_s - last.time_s) / (r->bytes - last.bytes);
        add_point(t, (struct comm_point){r, bytes, last.time_s + slope * (bytes - last.bytes)});
    }
    add_point(t, (struct comm_point){r, r->bytes, r->time_s});
}

/* Of rows first..end-1 that are trained on, the one with the median y. */
static void keep_median(struct trial *t, size_t first, size_t end)
{
    size_t count = 0;
    for (size_t i = first; i < end; i++)
        if (!is_left_out(t, &t->fit->row[i]))
            t->value[count++] = t->fit->row[i].y;
    if (count == 0)
        return;
    sort_numbers(t->value, count);
    double y = t->value[(count - 1) / 2];
    for (size_t i = first; i < end; i++)
        if (!is_left_out(t, &t->fit->row[i]) && t->fit->row[i].y == y) {
            add_row(t, &t->fit->row[i]);
            return;
        }
}

static void thin(struct trial *t)
{
    t->points = 0;
    for (size_t i = 0, end; i < t->fit->rows; i = end) {
        for (end = i + 1; end < t->fit->rows && t->fit->row[end].curve == t->fit->row[i].curve &&
                          bin_of(&t->fit->row[end]) == bin_of(&t->fit->row[i]);)
            end++;
        keep_median(t, i, end);
    }
}

/* SimAI's bandwidth is inferred, not stated, and its gathers and scatters are one measurement. */
static double source_weight(int source)
{
    return source == SOURCE_SIMAI ? 0.5 : 1;
}

/* Long curves count as much as CURVE_WEIGHT points. */
static void weigh(const struct trial *t, float *weight)
{
    for (size_t k = 0, end; k < t->points; k = end) {
        const struct comm_row *r = t->point[k].row;
        for (end = k + 1; end < t->points && t->point[end].row->curve == r->curve;)
            end++;
        double each = source_weight(r->source) * fmin(1, CURVE_WEIGHT / (double)(end - k));
        for (size_t i = k; i < end; i++)
            weight[i] = (float)each;
    }
}

static bool train(const struct trial *t, struct text *out, struct arena *keep, struct error *err)
{
    struct arena mem;
    arena_init(&mem);
    float *x = arena_array(&mem, t->points * COMM_FEATURES, sizeof *x);
    float *y = arena_array(&mem, t->points, sizeof *y);
    float *weight = arena_array(&mem, t->points, sizeof *weight);
    for (size_t k = 0; k < t->points; k++) {
        const struct comm_point *p = &t->point[k];
        comm_features(&p->row->call, p->bytes, x + k * COMM_FEATURES);
        y[k] = (float)log(p->time_s / base_of(&p->row->call, p->bytes));
    }
    weigh(t, weight);
    struct booster_data data = {x, y, weight, t->points, COMM_FEATURES};
    bool ok = booster_train(out, &data, &TREES, keep, err);
    arena_release(&mem);
    return ok;
}

/* Trials leave out different rows: no two of them write to one place. */
static void note(const struct trial *t, enum comm_rival who, size_t i, double time_s)
{
    t->fit->error[who][i] = fabs(time_s / t->fit->row[i].time_s - 1);
}

/* The curve with the model, or without (NULL). */
static void try_curves(struct trial *t, const struct trees *model)
{
    enum comm_rival who = model ? COMM_BY_MODEL : COMM_BY_ANALYTIC;
    struct comm_curve curve;
    int have = -1;
    for (size_t i = 0; i < t->fit->rows; i++) {
        const struct comm_row *r = &t->fit->row[i];
        if (!is_left_out(t, r))
            continue;
        if (r->curve != have)
            comm_curve_fill(&curve, model, &r->call);
        have = r->curve;
        note(t, who, i, comm_curve_time(&curve, r->bytes));
    }
}

/* Median share of the wire among training rows of a kind, of one source or (SOURCES) of all; 0 when
 * there are none. */
static double constant_share(struct trial *t, enum comm_kind kind, int source)
{
    size_t count = 0;
    for (size_t i = 0; i < t->fit->rows; i++) {
        const struct comm_row *r = &t->fit->row[i];
        if (!is_left_out(t, r) && r->call.kind == kind &&
            (source == SOURCES || r->source == source))
            t->value[count++] = r->floor_s / r->time_s;
    }
    return count ? median_of(t->value, count) : 0;
}

static void try_constant(struct trial *t)
{
    for (int kind = 0; kind <= COMM_SEND; kind++)
        for (int source = 0; source < SOURCES; source++) {
            double share = constant_share(t, (enum comm_kind)kind, source);
            if (share == 0)
                share = constant_share(t, (enum comm_kind)kind, SOURCES);
            for (size_t i = 0; i < t->fit->rows; i++)
                if (is_left_out(t, &t->fit->row[i]) && t->fit->row[i].source == source &&
                    (int)t->fit->row[i].call.kind == kind)
                    note(t, COMM_BY_CONSTANT, i,
                         share > 0 ? t->fit->row[i].floor_s / share : t->fit->row[i].base_s);
        }
}

static double distance(const struct comm_row *a, const struct comm_row *b)
{
    double bytes = log2(a->bytes / b->bytes);
    double ranks = log2((double)a->call.ranks / b->call.ranks);
    double nodes = log2((double)a->call.nodes / b->call.nodes);
    double other = a->source != b->source || a->call.gpu != b->call.gpu ? 1e4 : 0;
    return bytes * bytes + ranks * ranks + nodes * nodes + other;
}

static void try_nearest(struct trial *t)
{
    for (size_t i = 0; i < t->fit->rows; i++) {
        const struct comm_row *r = &t->fit->row[i], *best = NULL;
        double least = INFINITY;
        if (!is_left_out(t, r))
            continue;
        for (size_t k = 0; k < t->points; k++) {
            const struct comm_row *q = t->point[k].row;
            double d = q->call.kind == r->call.kind ? distance(r, q) : INFINITY;
            if (d < least) {
                least = d;
                best = q;
            }
        }
        note(t, COMM_BY_NEAREST, i, best ? best->time_s * r->base_s / best->base_s : r->base_s);
    }
}

static bool try_rivals(struct trial *t)
{
    struct arena mem = {0};
    struct text file;
    struct trees model;
    thin(t);
    if (t->points == 0)
        return true; /* everything is left out */
    bool ok = train(t, &file, &mem, &t->err) &&
              trees_read(&model, file.data, file.length, "what was trained", &mem, &t->err);
    if (ok) {
        try_curves(t, &model);
        try_curves(t, NULL);
        try_nearest(t);
        try_constant(t);
    }
    arena_release(&mem);
    return ok;
}

static void run_trial(void *context, int worker, long item)
{
    struct trial *t = (struct trial *)context + item;
    (void)worker;
    t->ok = try_rivals(t);
}

static struct comm_score score_of(struct comm_fit *f, int source, const double *error)
{
    struct comm_score s = {0};
    for (size_t i = 0; i < f->rows; i++)
        if (f->row[i].source == source && !isnan(error[i])) {
            s.mean += error[i];
            f->value[s.rows++] = error[i];
        }
    if (s.rows > 0) {
        s.mean /= (double)s.rows;
        s.median = median_of(f->value, s.rows);
    }
    return s;
}

/* All folds of a split; the first trouble in their order is told. */
static bool try_split(struct comm_fit *f, int split, int threads, struct error *err)
{
    struct arena mem;
    int folds = f->folds[split];
    bool ok = true;
    arena_init(&mem);
    struct trial *trial = arena_array(&mem, (size_t)folds, sizeof *trial);
    for (int i = 0; i < folds; i++)
        trial_init(&trial[i], f, split, i);
    parallel_for(threads, folds, run_trial, trial);
    for (int i = 0; i < folds; i++) {
        if (ok && !trial[i].ok)
            ok = fail(err, trial[i].err.kind, "%s", trial[i].err.text);
        trial_release(&trial[i]);
    }
    arena_release(&mem);
    return ok;
}

static bool cross_validate(struct comm_fit *f, int threads, struct comm_report *report,
                           struct error *err)
{
    for (int who = 0; who < COMM_RIVALS; who++)
        f->error[who] = arena_array(&f->mem, f->rows, sizeof *f->error[who]);
    for (int split = 0; split < COMM_SPLITS; split++) {
        for (int who = 0; who < COMM_RIVALS; who++)
            for (size_t i = 0; i < f->rows; i++)
                f->error[who][i] = NAN;
        if (!try_split(f, split, threads, err))
            return false;
        for (int source = 0; source < SOURCES; source++)
            for (int who = 0; who < COMM_RIVALS; who++)
                report->score[source][split][who] = score_of(f, source, f->error[who]);
        report->folds[split] = f->folds[split];
    }
    return true;
}

bool fit_comm(const struct samples *s, int threads, struct text *model, struct comm_report *report,
              struct arena *mem, struct error *err)
{
    struct comm_fit f;
    struct trial all;
    if (s->comms == 0)
        return fail(err, ERROR_INPUT, "no collectives among the measurements");
    fit_init(&f, s);
    trial_init(&all, &f, COMM_LEFT_SIZES, -1);
    thin(&all);
    bool ok = (!report || cross_validate(&f, threads, report, err)) && train(&all, model, mem, err);
    if (report)
        report->trained_rows = all.points;
    trial_release(&all);
    arena_release(&f.mem);
    return ok;
}
