/* Predictions are not linear in the factors: communication hides behind compute, stages wait for
 * each other. So they are linearised at the factors found so far, by evaluating the plan with each
 * of them a little changed, fitted, and linearised again (Gauss-Newton). Each GPU type and stack has
 * a fit of its own; memory another, of one factor. */
#include "calibrate.h"

#include "base/arena.h"
#include "calibrate_input.h"
#include "report/calibrate_out.h"

#include <math.h>
#include <string.h>

enum { PASSES = 5, LEAST_ROOMY = 3 };
static const double STEP = 0.02;         /* of a log factor, either way */
static const double LEAST_SHARE = 0.005; /* of a step: below it an input says nothing of a factor */
static const double FARTHEST = 3;        /* log factor */
static const double SAME = 1e-9;         /* predictions that close are of one configuration */

/* An observation in a fit. */
struct point {
    const struct calibrate_input *input;
    const struct observation *o;
    struct calibrated_row *row;
};

/* The observations of seconds, or of bytes, of one entry. */
struct problem {
    const struct fit_prior *prior;
    int count;
    struct point *point;
    struct fit_row *row;
    double at[FIT_FACTORS];
    struct fit_result result;
};

/* A step too long to be simulated is taken as it is without factors. */
static double predict(const struct point *p, const double log_factor[FIT_FACTORS])
{
    struct arena scratch;
    arena_init(&scratch);
    double value = calibrate_predict(p->input, p->o, log_factor, &scratch);
    arena_release(&scratch);
    return value > 0 ? value : p->row->before;
}

static double share_of(const struct point *p, const double at[FIT_FACTORS], int factor)
{
    double moved[FIT_FACTORS];
    memcpy(moved, at, sizeof moved);
    moved[factor] = at[factor] + STEP;
    double more = predict(p, moved);
    moved[factor] = at[factor] - STEP;
    return log(more / predict(p, moved)) / (2 * STEP);
}

static void linearise(struct problem *p)
{
    for (int i = 0; i < p->count; i++) {
        struct fit_row *row = &p->row[i];
        row->off = log(p->point[i].o->measured / predict(&p->point[i], p->at));
        row->noise = p->point[i].o->noise;
        for (int f = 0; f < FIT_FACTORS; f++)
            row->share[f] = share_of(&p->point[i], p->at, f);
    }
}

static void linearise_memory(struct problem *p)
{
    for (int i = 0; i < p->count; i++)
        p->row[i] = (struct fit_row){.off = log(p->point[i].o->measured / p->point[i].row->before),
                                     .share = {1},
                                     .same = p->row[i].same};
}

/* The number of the first that is like it. */
static void find_same(struct problem *p)
{
    for (int i = 0; i < p->count; i++) {
        int k = 0;
        while (fabs(p->point[k].row->before / p->point[i].row->before - 1) > SAME ||
               p->point[k].o->stage != p->point[i].o->stage)
            k++;
        p->row[i].same = k;
    }
}

static void fit_times(struct problem *p)
{
    for (int pass = 0; pass < PASSES; pass++) {
        linearise(p);
        residual_fit(p->prior, p->row, p->count, p->at, -1, NULL, &p->result);
        for (int f = 0; f < FIT_FACTORS; f++) /* beyond it none is used */
            p->at[f] = fmax(-FARTHEST, fmin(FARTHEST, p->result.log[f]));
    }
    linearise(p);
}

/* Configurations in which a factor shows. */
static int observations_of(const struct problem *p, int factor)
{
    int count = 0;
    for (int i = 0; i < p->count; i++)
        count += p->row[i].same == i && p->row[i].share[factor] > LEAST_SHARE;
    return count;
}

static const char *why_not(const struct problem *p, enum residual_factor f, int column,
                           struct arena *mem)
{
    static const char *const nothing[RESIDUALS] = {
        [RESIDUAL_compute] = "no input has seconds that can be used",
        [RESIDUAL_intra] = "no input has communication inside a node that shows",
        [RESIDUAL_inter] = "no input has communication between nodes that shows",
        [RESIDUAL_memory] = "no input has the memory of a rank"};
    int count = observations_of(p, column);
    if (count == 0)
        return nothing[f];
    return arena_format(
        mem,
        "%d observation%s tell%s it to ±%.0f %%, without them it is known to ±%.0f %%:"
        " too little",
        count, count > 1 ? "s" : "", count > 1 ? "" : "s",
        100 * RESIDUAL_DEVIATIONS * p->result.deviation[column],
        100 * RESIDUAL_DEVIATIONS * p->prior->deviation[column]);
}

/* What speaks against a value that the observations tell; NULL = nothing. */
static const char *too_bold(enum residual_factor f, double value, int observations,
                            struct arena *mem)
{
    if (!(value >= PROFILE_LEAST_FACTOR && value <= PROFILE_MOST_FACTOR))
        return arena_format(mem, "it would be %.3g, beyond %g to %g", value, PROFILE_LEAST_FACTOR,
                            PROFILE_MOST_FACTOR);
    if (f == RESIDUAL_memory && value < 1 && observations < LEAST_ROOMY)
        return arena_format(
            mem, "it would be %.3f, and less memory than predicted takes %d observations", value,
            LEAST_ROOMY);
    return NULL;
}

static void take_factor(const struct problem *p, enum residual_factor f, int column, double value,
                        struct profile_entry *e, struct arena *mem)
{
    struct residual *r = &e->residual;
    int observations = observations_of(p, column);
    const char *why = p->result.told[column] && observations > 0
                          ? too_bold(f, value, observations, mem)
                          : why_not(p, f, column, mem);
    e->observations[f] = observations;
    e->why[f] = why ? why : "";
    r->fitted[f] = !why;
    r->value[f] = why ? 1 : profile_rounded(value);
    r->error[f] = profile_rounded(why ? RESIDUAL_DEVIATIONS * p->result.deviation[column]
                                      : fit_error(&p->result, column));
}

/* Whether another configuration says something too. */
static bool has_others(const struct problem *p, int i)
{
    for (int k = 0; k < p->count; k++)
        if (p->row[k].same != p->row[i].same)
            return true;
    return false;
}

static double with_entry(const struct point *p, const struct profile_entry *e)
{
    double used[FIT_FACTORS];
    for (int f = 0; f < FIT_FACTORS; f++)
        used[f] = log(e->residual.value[f]);
    return p->o->memory ? p->row->before * e->residual.value[RESIDUAL_memory] : predict(p, used);
}

/* With the factors of the entry, and with those of all other configurations. */
static void fill_times(struct problem *p, const struct profile_entry *e)
{
    for (int i = 0; i < p->count; i++) {
        struct fit_result other;
        struct calibrated_row *row = p->point[i].row;
        row->after = with_entry(&p->point[i], e);
        residual_fit(p->prior, p->row, p->count, p->at, p->row[i].same, &p->result, &other);
        row->without = has_others(p, i) ? predict(&p->point[i], other.log) : 0;
    }
}

/* Too little memory ends a run, too much only costs speed: as high as 84 of 100 ranks need. */
static double careful(const struct fit_result *r)
{
    return exp(r->log[0] + r->scatter);
}

static void fill_memory(struct problem *p, const struct profile_entry *e)
{
    for (int i = 0; i < p->count; i++) {
        struct fit_result other;
        struct calibrated_row *row = p->point[i].row;
        row->after = with_entry(&p->point[i], e);
        residual_fit(p->prior, p->row, p->count, p->at, p->row[i].same, &p->result, &other);
        double factor = other.told[0] ? careful(&other) : 1;
        row->without = has_others(p, i) ? factor * row->before : 0;
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
    return r->gpu == e->gpu && r->te == e->te && r->memory == memory;
}

/* Rows of the report are in the order of observations. */
static void collect(const struct calibrating *c, const struct profile_entry *e, bool memory,
                    struct problem *p)
{
    int at = 0;
    *p = (struct problem){.prior = memory ? &MEMORY_PRIOR : &TIME_PRIOR};
    p->point = arena_array(c->mem, (size_t)c->out->rows, sizeof *p->point);
    p->row = arena_array(c->mem, (size_t)c->out->rows, sizeof *p->row);
    for (int i = 0; i < c->inputs; i++)
        for (int k = 0; k < c->input[i].observations; k++, at++)
            if (!c->input[i].held && belongs(&c->out->row[at], e, memory))
                p->point[p->count++] =
                    (struct point){&c->input[i], &c->input[i].observation[k], &c->out->row[at]};
    find_same(p);
}

static void fit_entry(const struct calibrating *c, struct profile_entry *e)
{
    struct problem times, memory;
    residual_init(&e->residual);
    collect(c, e, false, &times);
    collect(c, e, true, &memory);
    fit_times(&times);
    linearise_memory(&memory);
    residual_fit(memory.prior, memory.row, memory.count, memory.at, -1, NULL, &memory.result);
    for (int f = 0; f < FIT_FACTORS; f++)
        take_factor(&times, (enum residual_factor)f, f, exp(times.result.log[f]), e, c->mem);
    take_factor(&memory, RESIDUAL_memory, 0, careful(&memory.result), e, c->mem);
    e->residual.time_scatter = profile_rounded(times.result.scatter);
    e->residual.memory_scatter = profile_rounded(memory.result.scatter);
    fill_times(&times, e);
    fill_memory(&memory, e);
}

static void add_row(struct calibrating *c, const struct calibrate_input *in,
                    const struct observation *o)
{
    static const double none[FIT_FACTORS] = {0};
    struct arena scratch;
    arena_init(&scratch);
    c->out->row[c->out->rows++] =
        (struct calibrated_row){.input = in->path,
                                .gpu = in->gpu,
                                .te = in->te,
                                .held = in->held,
                                .memory = o->memory,
                                .stage = o->stage,
                                .measured = o->measured,
                                .before = calibrate_predict(in, o, none, &scratch)};
    arena_release(&scratch);
    struct profile *p = c->profile;
    if (!in->held && !profile_find(p, in->gpu, in->te) && p->entries < PROFILE_MAX_ENTRIES)
        p->entry[p->entries++] = (struct profile_entry){.gpu = in->gpu, .te = in->te};
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
            out->refusal[out->refusals++] = (struct calibrated_text){in->path, in->refusal[k].why};
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
            struct point p = {&c->input[i], &c->input[i].observation[k], r};
            const struct profile_entry *e = profile_find(c->profile, r->gpu, r->te);
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

bool calibrate_run(struct question *q, struct arena *mem, struct calibrate_report *out,
                   struct error *err)
{
    *out = (struct calibrate_report){.inputs = q->froms, .input = q->from};
    if (q->froms == 0)
        return fail(err, ERROR_INPUT,
                    "no input is given: astra calibrate run.log --gpu H100 -o profile.json");
    if (!question_models(q, err))
        return false;
    int inputs = q->froms + q->held_outs, read = 0;
    struct calibrate_input *input = arena_array(mem, (size_t)inputs, sizeof *input);
    bool ok = true;
    while (ok && read < inputs) {
        bool held = read >= q->froms;
        const char *path = held ? q->held_out[read - q->froms] : q->from[read];
        ok = calibrate_input_read(&input[read], q, path, mem, err);
        input[read++].held = held;
    }
    ok = ok && calibrate_fit(input, read, mem, out, err);
    for (int i = 0; i < read; i++) {
        ok = ok && question_costs_hold(&input[i].question, err);
        calibrate_input_release(&input[i]);
    }
    return ok;
}
