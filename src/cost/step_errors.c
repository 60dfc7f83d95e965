/* Sizes of errors x = |predicted / measured - 1| are taken as exponential with a mean that differs
 * from scope to scope (all runs, with or without experts, sort of GPU, generation, GPU, number
 * format). The narrower scope starts from the mean of the wider one as if BORROWED sources had said
 * so, and its own sources change it:
 *
 *   weight = BORROWED + sum w_s        w_s = n_s / (1 + (n_s - 1) correlation)
 *   mean   = (BORROWED mean_wider + sum w_s x_s) / weight
 *
 * Runs of a source share its machine, stack and way of measuring, so a source never counts as many
 * as it has runs: w_s is the number of independent ones. With a mean that is known from `weight`
 * sources alone the next error is no longer exponential but Lomax's, whose quantile is wider the
 * fewer there were:
 *
 *   error  = mean x weight x ((1 - HELD)^(-1 / weight) - 1)
 *
 * (1.6 times the mean with many sources, 1.8 with 8.) The pace of a step (host, FSDP, pipeline ...)
 * cuts across scopes: a factor for each, borrowed from 1. O(lines) for each answer: some microseconds. */
#include "cost/step_errors.h"

#include "base/arena.h"
#include "base/csv.h"
#include "base/str.h"
#include "cluster/cluster.h"
#include "cost/features.h"
#include "strategy/precision.h"

#include <assert.h>
#include <math.h>
#include <string.h>

extern const char embedded_efficiency_step_errors_csv[];

static const double HELD = 0.80;    /* share of runs that lie within */
static const double BORROWED = 8;   /* sources: the least left-out loss, doc/evidence/accuracy.md */
static const double NOTHING = 0.25; /* mean size of errors where nobody measured any step */

static const char *const PACE[][2] = {
#define X(name, words) {#name, words},
    PACE_TABLE(X)
#undef X
};

static const char *const SCOPE[][2] = {
#define X(name, words) {#name, words},
    SCOPE_TABLE(X)
#undef X
};

const char *pace_name(enum pace p)
{
    return PACE[p][0];
}

const char *pace_words(enum pace p)
{
    return PACE[p][1];
}

const char *scope_name(enum scope s)
{
    return SCOPE[s][0];
}

const char *scope_words(enum scope s)
{
    return SCOPE[s][1];
}

static bool same_gpu(const struct gpu *a, const struct gpu *b)
{
    return a == b || strcmp(a->name, b->name) == 0;
}

/* The narrowest scope that a line and a class on a GPU of this generation share. */
static enum scope scope_of(const struct step_line *l, const struct step_class *c, int generation)
{
    if (l->of.experts != c->experts)
        return SCOPE_all;
    if (sort_of(l->generation) != sort_of(generation))
        return SCOPE_kind;
    if (l->generation != generation)
        return SCOPE_sort;
    if (!same_gpu(l->of.gpu, c->gpu))
        return SCOPE_generation;
    return l->of.format == c->format ? SCOPE_precision : SCOPE_gpu;
}

/* What some lines say: independent runs, and the sums of their errors' sizes and of the squares of
 * what their kernels added. */
struct opinion {
    double weight, sum, kernels;
    int runs, sources;
    const char *source; /* whose lines come in now, and what they have said so far */
    int own_runs;
    double own_sum, own_kernels;
};

static void close_source(struct opinion *o, double correlation)
{
    double weight = o->own_runs / (1 + (o->own_runs - 1) * correlation);
    if (o->own_runs == 0)
        return;
    o->weight += weight;
    o->sum += weight * o->own_sum / o->own_runs;
    o->kernels += weight * o->own_kernels / o->own_runs;
    o->runs += o->own_runs;
    o->sources++;
    o->own_runs = 0;
    o->own_sum = o->own_kernels = 0;
}

/* Lines come by source. */
static void add_line(struct opinion *o, const struct step_line *l, double size, double correlation)
{
    if (o->source && o->source != l->source)
        close_source(o, correlation);
    o->source = l->source;
    o->own_runs += l->runs;
    o->own_sum += l->runs * size;
    o->own_kernels += l->runs * l->kernels * l->kernels;
}

static void opinions_of(const struct step_errors *e, const struct step_class *c,
                        struct opinion out[SCOPES])
{
    int generation = generation_of(c->gpu);
    memset(out, 0, SCOPES * sizeof *out);
    for (int i = 0; i < e->lines; i++)
        for (int s = scope_of(&e->line[i], c, generation); s >= 0; s--)
            add_line(&out[s], &e->line[i], e->line[i].mean_abs, e->correlation);
    for (int s = 0; s < SCOPES; s++)
        close_source(&out[s], e->correlation);
}

struct estimate {
    double mean, weight;
    double kernels; /* mean square of what kernels added in the runs behind `mean` */
    struct step_evidence from;
};

static void narrow(struct estimate *x, const struct opinion *o, double borrowed, enum scope s)
{
    x->weight = borrowed + o->weight;
    x->mean = (borrowed * x->mean + o->sum) / x->weight;
    x->kernels = (borrowed * x->kernels + o->kernels) / x->weight;
    if (o->runs > 0)
        x->from = (struct step_evidence){0, o->runs, o->sources, s};
}

/* Own steps of a GPU say what its kernels' errors come to; those of others do not. */
static struct estimate settle(const struct opinion o[SCOPES], double kernels)
{
    struct estimate x = {.mean = NOTHING};
    for (int s = 0; s < SCOPES; s++) {
        if (s == SCOPE_gpu)
            x.mean = sqrt(x.mean * x.mean + fmax(0, kernels * kernels - x.kernels));
        narrow(&x, &o[s], s == 0 ? 1 : BORROWED, (enum scope)s);
    }
    return x;
}

struct step_evidence step_error_of(const struct step_errors *e, const struct step_class *c,
                                   double kernels)
{
    struct opinion o[SCOPES];
    opinions_of(e, c, o);
    struct estimate x = settle(o, kernels);
    x.from.error = x.mean * x.weight * (pow(1 - HELD, -1 / x.weight) - 1) * e->paces[c->pace];
    assert(x.from.error > 0);
    return x.from;
}

/* The mean size of the errors of a line's class, whatever its pace; 0 where all were exact. The
 * first of its lines says how many classes there are. */
static double class_mean(const struct step_errors *e, int line, bool *first)
{
    const struct step_line *of = &e->line[line];
    double runs = 0, sum = 0;
    *first = true;
    for (int i = 0; i < e->lines; i++) {
        const struct step_line *l = &e->line[i];
        if (scope_of(l, &of->of, of->generation) < SCOPE_precision)
            continue;
        *first = *first && i >= line;
        runs += l->runs;
        sum += l->runs * l->mean_abs;
    }
    return sum / runs;
}

/* One-way analysis of variance within classes, sizes as shares of the class's mean: how much of their
 * spread lies between lines. */
static double correlation_of(const struct step_errors *e)
{
    double runs = 0, squares = 0, between = 0, within = 0;
    int classes = 0;
    for (int i = 0; i < e->lines; i++) {
        const struct step_line *l = &e->line[i];
        bool first;
        double mean = class_mean(e, i, &first), n = l->runs;
        classes += first;
        runs += n;
        squares += n * n;
        between += mean > 0 ? n * pow(l->mean_abs / mean - 1, 2) : 0;
        within += mean > 0 ? n * pow(l->deviation / mean, 2) : 0;
    }
    if (e->lines <= classes || runs <= e->lines)
        return 1;
    between /= e->lines - classes;
    within /= runs - e->lines;
    double lines_vary = (between - within) / ((runs - squares / runs) / (e->lines - 1));
    return lines_vary > 0 ? lines_vary / (lines_vary + within) : 0;
}

/* What the scope of each line says of it, whatever its pace. Lines of one class hear the same
 * opinions: they are asked once. */
static const double *scope_means(const struct step_errors *e, struct arena *mem)
{
    double *mean = arena_array(mem, (size_t)e->lines, sizeof *mean);
    for (int i = 0; i < e->lines; i++) {
        const struct step_line *l = &e->line[i];
        struct opinion o[SCOPES];
        if (mean[i] > 0)
            continue;
        opinions_of(e, &l->of, o);
        for (int j = i; j < e->lines; j++)
            if (scope_of(&e->line[j], &l->of, l->generation) == SCOPE_precision)
                mean[j] = settle(o, e->line[j].kernels).mean;
    }
    return mean;
}

static double pace_factor(const struct step_errors *e, const double *mean, enum pace p)
{
    struct opinion o = {0};
    for (int i = 0; i < e->lines; i++)
        if (e->line[i].of.pace == p)
            add_line(&o, &e->line[i], e->line[i].mean_abs / mean[i], e->correlation);
    close_source(&o, e->correlation);
    return (BORROWED + o.sum) / (BORROWED + o.weight);
}

static void finish(struct step_errors *e, struct arena *mem)
{
    e->correlation = correlation_of(e);
    const double *mean = scope_means(e, mem);
    for (int p = 0; p < PACES; p++)
        e->paces[p] = pace_factor(e, mean, (enum pace)p);
}

void step_errors_without(struct step_errors *out, const struct step_errors *e, const char *source,
                         struct arena *mem)
{
    out->line = arena_array(mem, (size_t)e->lines, sizeof *out->line);
    out->lines = 0;
    for (int i = 0; i < e->lines; i++)
        if (strcmp(e->line[i].source, source) != 0)
            out->line[out->lines++] = e->line[i];
    finish(out, mem);
}

/* The word's place in a list; -1 for none. */
static int find_word(const char *word, const char *const list[][2], int count)
{
    for (int i = 0; i < count; i++)
        if (strcmp(word, list[i][0]) == 0)
            return i;
    return -1;
}

enum { COLUMNS = 10 };

/* "16" or a word of precisions.def; -1 for none. */
static int find_format(const char *word)
{
    for (int p = PRECISION_FP8; p < PRECISIONS; p++)
        if (strcmp(word, precision_info(p)->word) == 0)
            return p;
    return strcmp(word, "16") == 0 ? PRECISION_BF16 : -1;
}

static bool read_line(const struct csv *c, int row, struct step_line *l)
{
    static const char *const KIND[][2] = {{"dense", ""}, {"experts", ""}};
    const char *at[COLUMNS];
    int64_t runs;
    for (int i = 0; i < COLUMNS; i++)
        at[i] = csv_at(c, row, i);
    int experts = find_word(at[2], KIND, 2), format = find_format(at[3]),
        pace = find_word(at[4], PACE, PACES);
    l->source = at[0];
    l->of = (struct step_class){gpu_find(at[1], NULL), experts > 0, format, (enum pace)pace};
    if (!l->of.gpu || experts < 0 || format < 0 || pace < 0 || !parse_int(at[5], &runs) ||
        runs < 1 || !parse_real(at[6], &l->mean) || !parse_real(at[7], &l->mean_abs) ||
        l->mean_abs < 0 || !parse_real(at[8], &l->deviation) || l->deviation < 0 ||
        !parse_real(at[9], &l->kernels))
        return false;
    l->runs = (int)runs;
    l->generation = generation_of(l->of.gpu);
    int order = row > 0 ? strcmp(l[-1].source, l->source) : -1;
    if (order == 0)
        l->source = l[-1].source;
    return order <= 0;
}

bool step_errors_parse(struct step_errors *e, const char *text, size_t length, const char *name,
                       struct arena *mem, struct error *err)
{
    struct csv c;
    if (!csv_parse(&c, text, length, name, mem, err))
        return false;
    if (c.columns != COLUMNS)
        return fail(err, ERROR_INPUT, "%s: %d columns, %d are right", name, c.columns, COLUMNS);
    e->lines = c.rows;
    e->line = arena_array(mem, (size_t)c.rows, sizeof *e->line);
    for (int i = 0; i < c.rows; i++)
        if (!read_line(&c, i, &e->line[i]))
            return fail(
                err, ERROR_INPUT,
                "%s:%d: not a line by source with GPU, dense or experts, 16 or a narrower format, "
                "pace, runs and errors; `make step-errors` writes this file",
                name, c.line[i]);
    finish(e, mem);
    return true;
}

bool step_errors_load(struct step_errors *e, struct arena *mem, struct error *err)
{
    const char *text = embedded_efficiency_step_errors_csv;
    return step_errors_parse(e, text, strlen(text), "errors of steps compiled in", mem, err);
}
