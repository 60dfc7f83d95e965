/* Predictions are not linear in the factors: communication hides behind compute, stages wait for
 * each other. So they are linearised at the factors found so far, by evaluating the plan with each
 * of them a little changed, fitted, and linearised again (Gauss-Newton). Each GPU type and stack has
 * a fit of its own; memory another, of one factor. */
#include "calibrate/calibrate.h"

#include "base/arena.h"
#include "base/csv.h"
#include "calibrate/calibrate_input.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { PASSES = 5, LEAST_ROOMY = 3, FEW_PEAKS = 8 };
/* Of a log factor, either way. A pass waits for the host or does not: a narrow step would not see
 * a host that is a little too fast to matter. */
static const double STEP[FIT_FACTORS] = {[RESIDUAL_compute] = 0.02,
                                         [RESIDUAL_intra] = 0.02,
                                         [RESIDUAL_inter] = 0.02,
                                         [RESIDUAL_host] = 0.2};
static const double LEAST_SHARE = 0.005; /* of a step: below it an input says nothing of a factor */
static const double FARTHEST = 3;        /* log factor */
static const double LIKELY = 3;          /* deviations: what lies beyond is not believed alone */
static const double LEAST_OF_SITE = 0.05, LEAST_OF_RUN = 0.03; /* of the prior's deviations */
static const double SAME = 1e-9; /* predictions that close are of one configuration */

/* An observation in a fit. */
struct fit_point {
    const struct calibrate_input *input;
    const struct observation *o;
    struct calibrated_row *row;
};

/* The observations of seconds, or of bytes, of one entry. */
struct calibration {
    struct fit_prior prior;
    int count;
    struct fit_point *point;
    struct fit_row *row;
    double at[FIT_FACTORS];
    struct fit_result result;
};

/* A step too long to be simulated is taken as it is without factors. */
static double predict(const struct fit_point *p, const double log_factor[FIT_FACTORS])
{
    double value = calibrate_predict(p->input, p->o, log_factor);
    return value > 0 ? value : p->row->before;
}

static double share_of(const struct fit_point *p, const double at[FIT_FACTORS], int factor)
{
    double moved[FIT_FACTORS];
    memcpy(moved, at, sizeof moved);
    moved[factor] = at[factor] + STEP[factor];
    double more = predict(p, moved);
    moved[factor] = at[factor] - STEP[factor];
    return log(more / predict(p, moved)) / (2 * STEP[factor]);
}

static void linearise(struct calibration *p)
{
    for (int i = 0; i < p->count; i++) {
        struct fit_row *row = &p->row[i];
        row->off = log(p->point[i].o->measured / predict(&p->point[i], p->at));
        row->noise = p->point[i].o->noise;
        for (int f = 0; f < FIT_FACTORS; f++)
            row->share[f] = share_of(&p->point[i], p->at, f);
    }
}

static void linearise_memory(struct calibration *p)
{
    for (int i = 0; i < p->count; i++)
        p->row[i] = (struct fit_row){.off = log(p->point[i].o->measured / p->point[i].row->before),
                                     .share = {1},
                                     .same = p->row[i].same,
                                     .alike = p->row[i].alike};
}

/* The number of the first that is like it. */
static void find_same(struct calibration *p)
{
    for (int i = 0; i < p->count; i++) {
        int k = 0;
        while (fabs(p->point[k].row->before / p->point[i].row->before - 1) > SAME ||
               p->point[k].o->stage != p->point[i].o->stage)
            k++;
        p->row[i].same = k;
        p->row[k].alike++;
    }
    for (int i = 0; i < p->count; i++)
        p->row[i].alike = p->row[p->row[i].same].alike;
}

static void fit_times(struct calibration *p)
{
    for (int pass = 0; pass < PASSES; pass++) {
        linearise(p);
        residual_fit(&p->prior, p->row, p->count, p->at, -1, NULL, &p->result);
        for (int f = 0; f < FIT_FACTORS; f++) /* beyond it none is used */
            p->at[f] = fmax(-FARTHEST, fmin(FARTHEST, p->result.log[f]));
    }
    linearise(p);
}

/* Configurations in which a factor shows. */
static int observations_of(const struct calibration *p, int factor)
{
    int count = 0;
    for (int i = 0; i < p->count; i++)
        count += p->row[i].same == i && p->row[i].share[factor] > LEAST_SHARE;
    return count;
}

/* How far the measurement of row i may lie from a prediction without factors, as a log. */
static double likely_off(const struct calibration *p, int i)
{
    double square = p->prior.scatter * p->prior.scatter;
    for (int f = 0; f < p->prior.factors; f++)
        square += pow(p->row[i].share[f] * p->prior.deviation[f], 2);
    return LIKELY * sqrt(square + p->row[i].noise * p->row[i].noise);
}

static double log_ratio(const struct fit_point *p)
{
    return log(p->o->measured / p->row->before);
}

/* The observation with this factor that lies farthest beyond what is likely; -1 = none does. */
static int unlikeliest(const struct calibration *p, int factor)
{
    int worst = -1;
    for (int i = 0; i < p->count; i++)
        if (p->row[i].share[factor] > LEAST_SHARE &&
            fabs(log_ratio(&p->point[i])) > likely_off(p, i) &&
            (worst < 0 || fabs(log_ratio(&p->point[i])) > fabs(log_ratio(&p->point[worst]))))
            worst = i;
    return worst;
}

static const char *why_not(const struct calibration *p, enum residual_factor f, int column,
                           struct arena *mem)
{
    static const char *const nothing[RESIDUALS] = {
        [RESIDUAL_compute] = "no input has seconds that can be used",
        [RESIDUAL_intra] = "no input has exposed communication inside a node",
        [RESIDUAL_inter] = "no input has exposed communication between nodes",
        [RESIDUAL_host] = "no input waits for the host",
        [RESIDUAL_memory] = "no input has the memory of a rank"};
    int count = observations_of(p, column), far = unlikeliest(p, column);
    if (count == 0)
        return nothing[f];
    if (far >= 0 && column == 0)
        return arena_format(
            mem, "%s is %.3g x its prediction, %.2f to %.2f is likely: too far off to be believed",
            p->point[far].row->input, exp(log_ratio(&p->point[far])), exp(-likely_off(p, far)),
            exp(likely_off(p, far)));
    return arena_format(
        mem,
        "%d observation%s tell%s it to ±%.0f %%, without them it is known to ±%.0f %%:"
        " too little",
        count, count > 1 ? "s" : "", count > 1 ? "" : "s",
        100 * RESIDUAL_DEVIATIONS * p->result.deviation[column],
        100 * RESIDUAL_DEVIATIONS * p->prior.deviation[column]);
}

/* What speaks against a value; NULL = nothing. */
static const char *out_of_range(double value, struct arena *mem)
{
    if (value >= PROFILE_LEAST_FACTOR && value <= PROFILE_MOST_FACTOR)
        return NULL;
    return arena_format(mem, "it would be %.3g, beyond %g to %g", value, PROFILE_LEAST_FACTOR,
                        PROFILE_MOST_FACTOR);
}

static void take_factor(const struct calibration *p, enum residual_factor f, int column,
                        double value, const char *why, struct profile_entry *e)
{
    struct residual *r = &e->residual;
    e->observations[f] = observations_of(p, column);
    e->why[f] = why ? why : "";
    r->fitted[f] = !why;
    r->value[f] = why ? 1 : profile_rounded(value);
    r->error[f] = profile_rounded(why ? RESIDUAL_DEVIATIONS * p->result.deviation[column]
                                      : fit_error(&p->result, column));
}

static void take_time(const struct calibration *p, enum residual_factor f, struct profile_entry *e,
                      struct arena *mem)
{
    double value = exp(p->result.log[f]);
    bool told = p->result.told[f] && observations_of(p, f) > 0;
    take_factor(p, f, f, value, told ? out_of_range(value, mem) : why_not(p, f, f, mem), e);
}

/* Whether another configuration says something too. */
static bool has_others(const struct calibration *p, int i)
{
    for (int k = 0; k < p->count; k++)
        if (p->row[k].same != p->row[i].same)
            return true;
    return false;
}

static double with_entry(const struct fit_point *p, const struct profile_entry *e)
{
    double used[FIT_FACTORS];
    for (int f = 0; f < FIT_FACTORS; f++)
        used[f] = log(e->residual.value[f]);
    return p->o->memory ? p->row->before * e->residual.value[RESIDUAL_memory] : predict(p, used);
}

/* The largest ratio of measured to predicted bytes, but for configuration `but` (-1: of all), and
 * how many configurations there are. */
static double largest_ratio(const struct calibration *p, int but, int *configurations)
{
    double largest = 0;
    *configurations = 0;
    for (int i = 0; i < p->count; i++)
        if (p->row[i].same != but) {
            largest = fmax(largest, exp(log_ratio(&p->point[i])));
            *configurations += p->row[i].same == i;
        }
    return largest;
}

/* Too little memory ends a run, too much only costs speed: as high as 84 of 100 ranks need, and as
 * the fullest of few, or of ranks that do not agree. */
static double careful(const struct calibration *p, const struct fit_result *r, int but)
{
    int configurations;
    double largest = largest_ratio(p, but, &configurations), value = exp(r->log[0] + r->scatter);
    if (!r->told[0])
        return largest;
    return configurations < FEW_PEAKS ? fmax(value, largest) : value;
}

/* More memory is believed as it is; less takes several ranks that agree, and none above 1. */
static const char *why_not_memory(const struct calibration *p, const struct fit_result *r, int but,
                                  struct arena *mem)
{
    int configurations;
    double largest = largest_ratio(p, but, &configurations), value = careful(p, r, but);
    if (configurations == 0)
        return why_not(p, RESIDUAL_memory, 0, mem);
    if (out_of_range(value, mem) || value > 1)
        return out_of_range(value, mem);
    if (!r->told[0])
        return why_not(p, RESIDUAL_memory, 0, mem);
    if (configurations < LEAST_ROOMY)
        return arena_format(
            mem, "it would be %.3f, and less memory than predicted takes %d observations", value,
            LEAST_ROOMY);
    if (largest > 1)
        return arena_format(mem, "it would be %.3f, and a rank needs %.3f x its prediction", value,
                            largest);
    return NULL;
}

/* With the factors of the entry, and with those of all other configurations. */
static void fill_rows(struct calibration *p, const struct profile_entry *e, struct arena *mem)
{
    for (int i = 0; i < p->count; i++) {
        struct fit_result other;
        struct calibrated_row *row = p->point[i].row;
        int same = p->row[i].same;
        row->after = with_entry(&p->point[i], e);
        residual_fit(&p->prior, p->row, p->count, p->at, same, &p->result, &other);
        if (!has_others(p, i))
            row->without = 0;
        else if (!row->memory)
            row->without = predict(&p->point[i], other.log);
        else
            row->without =
                row->before * (why_not_memory(p, &other, same, mem) ? 1 : careful(p, &other, same));
    }
}

struct calibrating {
    int inputs;
    const struct calibrate_input *input;
    struct calibrate_report *out;
    struct profile *profile;
    struct arena *mem;
};

static bool belongs(const struct calibrated_row *r, const struct profile_entry *e, bool memory)
{
    return r->gpu == e->gpu && r->stack == e->stack && r->memory == memory;
}

/* expected_error holds 80 of 100 runs, 1.28 deviations. Of them OF_SITE is common to the runs of a
 * site, which a factor takes, and OF_RUN each run's own: chosen on threes of runs of sites with A100
 * and H100 (doc/evidence/calibrate.md). The less a GPU is known, the more a run may tell. */
static void set_prior(struct calibration *p)
{
    static const double DEVIATIONS = 1.28, OF_SITE = 0.8, OF_RUN = 0.6;
    double sum = 0;
    for (int i = 0; i < p->count; i++)
        sum += p->point[i].input->stated;
    if (p->count == 0)
        return;
    double off = sum / p->count / DEVIATIONS;
    p->prior.deviation[RESIDUAL_compute] = fmax(LEAST_OF_SITE, OF_SITE * off);
    p->prior.scatter = fmax(LEAST_OF_RUN, OF_RUN * off);
}

/* Rows of the report are in the order of observations. */
static void collect(const struct calibrating *c, const struct profile_entry *e, bool memory,
                    struct calibration *p)
{
    int at = 0;
    *p = (struct calibration){.prior = memory ? MEMORY_PRIOR : TIME_PRIOR};
    p->point = arena_array(c->mem, (size_t)c->out->rows, sizeof *p->point);
    p->row = arena_array(c->mem, (size_t)c->out->rows, sizeof *p->row);
    for (int i = 0; i < c->inputs; i++)
        for (int k = 0; k < c->input[i].observations; k++, at++)
            if (!c->input[i].held && belongs(&c->out->row[at], e, memory))
                p->point[p->count++] =
                    (struct fit_point){&c->input[i], &c->input[i].observation[k], &c->out->row[at]};
    find_same(p);
    if (!memory)
        set_prior(p);
}

/* The stages of one plan are one configuration. */
static void find_runs(const struct calibration *p, struct residual_runs *out)
{
    const struct calibrate_input *last = NULL;
    for (int i = 0; i < p->count; i++) {
        const struct estimate_query *asked = &p->point[i].input->asked;
        if (p->row[i].same == i && p->point[i].input != last) {
            last = p->point[i].input;
            out->configurations++;
        }
        out->models |= 1U << (asked->scene.model->experts > 0);
        out->precisions |= 1U << asked->strategy.precision;
    }
}

static double scatter_of(const struct calibration *p)
{
    return profile_rounded(fmin(PROFILE_MOST_SCATTER, p->result.scatter));
}

static void fit_entry(const struct calibrating *c, struct profile_entry *e)
{
    struct calibration times, memory;
    residual_init(&e->residual);
    collect(c, e, false, &times);
    collect(c, e, true, &memory);
    fit_times(&times);
    linearise_memory(&memory);
    residual_fit(&memory.prior, memory.row, memory.count, memory.at, -1, NULL, &memory.result);
    for (int f = 0; f < FIT_FACTORS; f++)
        take_time(&times, (enum residual_factor)f, e, c->mem);
    take_factor(&memory, RESIDUAL_memory, 0, careful(&memory, &memory.result, -1),
                why_not_memory(&memory, &memory.result, -1, c->mem), e);
    find_runs(&times, &e->residual.runs);
    e->residual.time_scatter = scatter_of(&times);
    e->residual.memory_scatter = scatter_of(&memory);
    fill_rows(&times, e, c->mem);
    fill_rows(&memory, e, c->mem);
}

static void add_row(struct calibrating *c, const struct calibrate_input *in,
                    const struct observation *o)
{
    c->out->row[c->out->rows++] = (struct calibrated_row){.input = in->path,
                                                          .gpu = in->gpu,
                                                          .stack = in->stack,
                                                          .held = in->held,
                                                          .memory = o->memory,
                                                          .stage = o->stage,
                                                          .measured = o->measured,
                                                          .before = calibrate_predict(in, o, NULL)};
    assert(c->out->row[c->out->rows - 1].before > 0);
    struct profile *p = c->profile;
    if (!in->held && !profile_find(p, in->gpu, in->stack) && p->entries < PROFILE_MAX_ENTRIES)
        p->entry[p->entries++] = (struct profile_entry){.gpu = in->gpu, .stack = in->stack};
}

static void collect_report(struct calibrating *c)
{
    int rows = 0, refusals = 0, notes = 0;
    struct calibrate_report *out = c->out;
    for (int i = 0; i < c->inputs; i++) {
        rows += c->input[i].observations;
        refusals += c->input[i].refusals;
        notes += c->input[i].notes;
    }
    out->row = arena_array(c->mem, (size_t)rows, sizeof *out->row);
    out->refusal = arena_array(c->mem, (size_t)refusals, sizeof *out->refusal);
    out->note = arena_array(c->mem, (size_t)notes, sizeof *out->note);
    for (int i = 0; i < c->inputs; i++) {
        const struct calibrate_input *in = &c->input[i];
        for (int k = 0; k < in->observations; k++)
            add_row(c, in, &in->observation[k]);
        for (int k = 0; k < in->refusals; k++)
            out->refusal[out->refusals++] = (struct calibrated_text){in->path, in->refusal[k]};
        for (int k = 0; k < in->notes; k++)
            out->note[out->notes++] = (struct calibrated_text){in->path, in->note[k]};
    }
}

/* What was held out beside what the factors make of it; without an entry they are 1. */
static void fill_held(const struct calibrating *c)
{
    int at = 0;
    for (int i = 0; i < c->inputs; i++)
        for (int k = 0; k < c->input[i].observations; k++, at++) {
            struct calibrated_row *r = &c->out->row[at];
            struct fit_point p = {&c->input[i], &c->input[i].observation[k], r};
            const struct profile_entry *e = profile_find(c->profile, r->gpu, r->stack);
            if (r->held)
                r->after = r->without = e ? with_entry(&p, e) : r->before;
        }
}

bool calibrate_fit(const struct calibrate_input *input, int count, struct arena *mem,
                   struct calibrate_report *out, struct error *err)
{
    struct calibrating c = {.inputs = count, .input = input, .out = out, .mem = mem};
    c.profile = arena_alloc(mem, sizeof *c.profile);
    collect_report(&c);
    if (c.profile->entries == 0)
        return fail(err, ERROR_INFEASIBLE, "nothing to calibrate with: %s: %s",
                    out->refusals ? out->refusal[0].input : input[0].path,
                    out->refusals ? out->refusal[0].text : "it has no figures");
    for (int i = 0; i < c.profile->entries; i++)
        fit_entry(&c, &c.profile->entry[i]);
    fill_held(&c);
    out->profile = c.profile;
    return true;
}

bool calibrate_told(const struct calibrate_report *r, struct error *err)
{
    for (int i = 0; i < r->profile->entries; i++)
        for (int f = 0; f < RESIDUALS; f++)
            if (r->profile->entry[i].residual.fitted[f])
                return true;
    return fail(err, ERROR_INFEASIBLE, "no factor can be fitted: compute: %s",
                r->profile->entry[0].why[RESIDUAL_compute]);
}

/* A file that is given: one input, or a table of them. */
struct given_file {
    const char *path;
    bool held, table;
    struct csv csv;
};

static bool open_files(const struct options *o, struct given_file *file, int files, int *inputs,
                       struct arena *mem, struct error *err)
{
    const struct texts *from = &o->calibrate.from, *held_out = &o->calibrate.held_out;
    for (int i = 0; i < files; i++) {
        struct given_file *f = &file[i];
        f->held = i >= from->count;
        f->path = f->held ? held_out->text[i - from->count] : from->text[i];
        f->table = calibrate_is_table(f->path);
        if (f->table && !calibrate_table_load(f->path, &f->csv, mem, err))
            return false;
        *inputs += f->table ? f->csv.rows : 1;
    }
    return true;
}

static bool read_file(const struct given_file *f, const struct options *o,
                      struct resources *resources, struct calibrate_input *input, struct arena *mem,
                      struct error *err)
{
    if (!f->table) {
        bool ok = calibrate_input_read(input, o, resources, f->path, mem, err);
        input->held = f->held;
        return ok;
    }
    for (int row = 0; row < f->csv.rows; row++) {
        if (!calibrate_table_row(&input[row], o, resources, f->path, &f->csv, row, mem, err))
            return false;
        input[row].held = f->held;
    }
    return true;
}

bool calibrate_run(const struct options *o, struct resources *resources, struct arena *mem,
                   struct calibrate_report *out, struct error *err)
{
    const struct texts *from = &o->calibrate.from;
    int files = from->count + o->calibrate.held_out.count, inputs = 0, at = 0;
    *out = (struct calibrate_report){.inputs = from->count, .input = from->text};
    if (from->count == 0)
        return fail(err, ERROR_INPUT,
                    "no input is given: astra calibrate run.log --gpu H100 -o profile.json");
    struct given_file *file = arena_array(mem, (size_t)files, sizeof *file);
    if (!open_files(o, file, files, &inputs, mem, err))
        return false;
    struct calibrate_input *input = arena_array(mem, (size_t)inputs, sizeof *input);
    for (int i = 0; i < files; i++) {
        if (!read_file(&file[i], o, resources, &input[at], mem, err))
            return false;
        at += file[i].table ? file[i].csv.rows : 1;
    }
    assert(at == inputs);
    return calibrate_fit(input, inputs, mem, out, err);
}
