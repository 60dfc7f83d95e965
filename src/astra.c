/* The library's face: a question, the stages in their order, an answer. */
#include "astra.h"

#include "base/file.h"
#include "base/json.h"
#include "base/parallel.h"
#include "base/str.h"
#include "calibrate.h"
#include "export_answer.h"
#include "gains.h"
#include "import_file.h"
#include "instead.h"
#include "known_names.h"
#include "learn/fit.h"
#include "mixture.h"
#include "question.h"
#include "remedy.h"
#include "report/calibrate_out.h"
#include "report/front_svg.h"
#include "report/plan_words.h"
#include "report/report.h"
#include "report/trace_out.h"
#include "report/typeset.h"
#include "report/verify_out.h"
#include "search_answer.h"
#include "verify_answer.h"
#include "what_if.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum answer_kind {
    ANSWER_NONE,
    ANSWER_SEARCH,
    ANSWER_PLAN,
    ANSWER_EXPLAIN,
    ANSWER_GPUS,
    ANSWER_FIT,
    ANSWER_MODELS,
    ANSWER_PRICES,
    ANSWER_SCRIPT,
    ANSWER_VERIFY,
    ANSWER_CALIBRATE
};

struct astra {
    struct question question;
    struct error error;
    enum answer_kind kind;
    struct arena mem; /* of the answer */
    struct plan plan; /* of an estimate */
    struct estimate_question asked;
    struct search_report report;
    struct verify_report verify;
    struct calibrate_report calibration;
    struct str text;
    struct str fit; /* report of a fit */
    struct str script;
    const char *staged; /* a file of the script, written beside its place; NULL = none */
    void (*progress)(void *context, double done);
    void *progress_context;
};

struct astra *astra_new(void)
{
    struct astra *a = memory_grow(NULL, sizeof *a);
    memset(a, 0, sizeof *a);
    question_init(&a->question);
    arena_init(&a->mem);
    str_init(&a->text);
    str_init(&a->fit);
    str_init(&a->script);
    return a;
}

static void forget_staged(struct astra *a)
{
    if (a->staged)
        files_forget(&a->staged, 1);
    a->staged = NULL;
}

void astra_free(struct astra *a)
{
    if (!a)
        return;
    forget_staged(a);
    question_release(&a->question);
    arena_release(&a->mem);
    str_release(&a->text);
    str_release(&a->fit);
    str_release(&a->script);
    free(a);
}

/* The message of an error ends with the place it shows. */
static void add_place(struct error *e)
{
    size_t length = strlen(e->text);
    if (*e->place)
        snprintf(e->text + length, sizeof e->text - length, "\n%s", e->place);
    e->place[0] = 0;
}

static enum astra_status status_of(struct astra *a, bool ok)
{
    add_place(&a->error);
    if (ok)
        return ASTRA_OK;
    switch (a->error.kind) {
    case ERROR_INFEASIBLE:
        return ASTRA_NONE;
    case ERROR_SYSTEM:
        return ASTRA_SYSTEM;
    case ERROR_NONE:
    case ERROR_INPUT:
        break;
    }
    return ASTRA_INPUT;
}

static void begin(struct astra *a)
{
    a->error = (struct error){0};
    a->kind = ANSWER_NONE;
    forget_staged(a);
    str_clear(&a->script);
    arena_release(&a->mem);
}

enum astra_status astra_set(struct astra *a, const char *option, const char *value)
{
    a->error = (struct error){0};
    return status_of(a, question_set(&a->question, option, value, &a->error));
}

enum astra_status astra_flags(struct astra *a, size_t count, const char *const *words)
{
    a->error = (struct error){0};
    return status_of(a, question_flags(&a->question, count, words, &a->error));
}

void astra_on_progress(struct astra *a, void (*progress)(void *context, double done), void *context)
{
    a->progress = progress;
    a->progress_context = context;
}

enum astra_status astra_load_plan(struct astra *a, const char *path)
{
    a->error = (struct error){0};
    return status_of(a, import_file(&a->question, path, &a->error));
}

static bool write_script(struct astra *a, const struct plan *p)
{
    if (!export_answer(&a->question, p, &a->mem, &a->script, &a->error))
        return false;
    a->staged = a->question.export.hostfile;
    return true;
}

enum astra_status astra_search(struct astra *a)
{
    struct answering asked = {.question = &a->question,
                              .mem = &a->mem,
                              .report = &a->report,
                              .err = &a->error,
                              .progress = a->progress,
                              .progress_context = a->progress_context,
                              .share = 1.0 / (1 + a->question.what_ifs)};
    begin(a);
    bool ok = question_export(&a->question, &a->error) &&
              what_if_prepare(&a->question, &a->error) && search_answer(&asked) &&
              what_if_answer(&asked);
    if (ok && a->question.plot)
        ok = front_write(&a->report, a->question.plot, &a->error);
    if (ok && a->question.export.format)
        ok = write_script(a, &a->report.plan[0]);
    a->kind = ok ? ANSWER_SEARCH : ANSWER_NONE;
    return status_of(a, ok);
}

/* Where a rule does not hold, to stand before its reason: "" for every group, otherwise the types
 * of those where it does not; NULL when it holds everywhere. */
static const char *where_broken(struct astra *a, const struct estimate_question *e,
                                const struct rule *rule, double (*values)[SLOTS])
{
    int groups = estimate_groups(e), broken = 0;
    const char *where = "";
    for (int g = 0; g < groups; g++) {
        const struct gpu *gpu = estimate_group(e, g)->gpu;
        bool said = false;
        if (rule_allows(rule, values[g]))
            continue;
        for (int h = 0; h < g; h++)
            said = said || (estimate_group(e, h)->gpu == gpu && !rule_allows(rule, values[h]));
        if (!said)
            where = arena_format(&a->mem, "%s%s%s", where, *where ? ", " : "on ", gpu->name);
        broken++;
    }
    return broken == 0 ? NULL : broken == groups ? "" : where;
}

static void judge_rules(struct astra *a, const struct estimate_question *e)
{
    int groups = estimate_groups(e);
    double(*values)[SLOTS] = arena_array(&a->mem, (size_t)groups, sizeof *values);
    for (int g = 0; g < groups; g++)
        estimate_slots(e, g, values[g]);
    for (int i = 0; i < e->reasons.count; i++)
        plan_add_reason(&a->plan, &a->mem, e->reasons.text[i]);
    for (int i = 0; i < e->rules.count; i++) {
        const struct rule *rule = &e->rules.rule[i];
        const char *where = where_broken(a, e, rule, values);
        if (where)
            plan_add_reason(&a->plan, &a->mem,
                            arena_format(&a->mem, "%s%s%s (%s:%d)", where, *where ? ": " : "",
                                         rule->reason, rule->file, rule->line));
    }
}

/* Why stages cannot be placed is among the question's reasons: the simulation only sees that they
 * are not. */
static void evaluate_asked(struct astra *a, const struct estimate_question *e)
{
    plan_evaluate(&e->scene, &e->strategy, e->layout, &a->mem, &a->plan);
    a->plan.flagscale = a->question.has_flags && a->question.flags.hetero;
    if (!e->placed) {
        a->plan.gpus = e->gpus;
        a->plan.reasons = 0;
    }
    judge_rules(a, e);
}

static enum astra_status estimate(struct astra *a, enum answer_kind kind)
{
    struct estimate_question *e = &a->asked;
    begin(a);
    if (!question_ready(&a->question, &a->error) || !question_estimate(&a->question, e, &a->error))
        return status_of(a, false);
    evaluate_asked(a, e);
    a->plan.remedy = remedy_of(&a->question, e, &a->plan, &a->mem);
    a->plan.source = question_source(&a->question, imported_source(&a->question, &a->mem), &a->mem);
    if (kind == ANSWER_EXPLAIN && !a->question.stage) {
        a->plan.gains = gains_of(&a->question, e, &a->plan, &a->mem);
        a->plan.mixture = mixture_of(&a->question, e, &a->plan, &a->mem);
    }
    if (!question_costs_hold(&a->question, &a->error))
        return status_of(a, false);
    if (a->question.trace && !trace_write(&a->plan, a->question.trace, &a->error))
        return status_of(a, false);
    a->kind = kind;
    if (!a->plan.feasible)
        fail(&a->error, ERROR_INFEASIBLE, "not feasible: %s", a->plan.reason[0]);
    return status_of(a, a->plan.feasible);
}

enum astra_status astra_estimate(struct astra *a)
{
    return estimate(a, ANSWER_PLAN);
}

enum astra_status astra_explain(struct astra *a)
{
    return estimate(a, ANSWER_EXPLAIN);
}

/* Whether it fits is for its maker to say, who knew margin and rules; that Megatron takes it is
 * judged again. */
enum astra_status astra_export(struct astra *a)
{
    struct question *q = &a->question;
    struct estimate_question e;
    begin(a);
    if (!q->export.format || !q->has_flags) {
        fail(&a->error, ERROR_INPUT, "%s is missing, as in astra export plan.json --to slurm",
             q->has_flags ? "--to" : "a plan");
        return status_of(a, false);
    }
    q->export.untimed = true;
    bool ok = question_export(q, &a->error) && question_ready(q, &a->error) &&
              question_estimate(q, &e, &a->error);
    q->export.untimed = false;
    if (!ok)
        return status_of(a, false);
    evaluate_asked(a, &e);
    a->plan.reasons = 0;
    a->plan.feasible = true;
    judge_rules(a, &e);
    if (!a->plan.feasible)
        fail(&a->error, ERROR_INFEASIBLE, "not feasible: %s", a->plan.reason[0]);
    else if (write_script(a, &a->plan))
        a->kind = ANSWER_SCRIPT;
    return status_of(a, a->kind == ANSWER_SCRIPT);
}

enum astra_status astra_verify(struct astra *a)
{
    struct verifying v = {.question = &a->question,
                          .mem = &a->mem,
                          .report = &a->verify,
                          .progress = a->progress,
                          .progress_context = a->progress_context,
                          .err = &a->error};
    begin(a);
    if (!verify_answer(&v))
        return status_of(a, false);
    a->kind = ANSWER_VERIFY;
    if (!a->verify.confirmed)
        fail(&a->error, ERROR_INFEASIBLE, "%s", a->verify.verdict);
    return status_of(a, a->verify.confirmed);
}

enum astra_status astra_list_gpus(struct astra *a)
{
    begin(a);
    if (!question_models(&a->question, &a->error))
        return status_of(a, false);
    a->kind = ANSWER_GPUS;
    return ASTRA_OK;
}

enum astra_status astra_fit(struct astra *a)
{
    struct question *q = &a->question;
    struct fit_question f = {.profile = q->measured_file,
                             .profiles = q->measured,
                             .sources = q->sources,
                             .models = q->efficiency,
                             .output = q->into,
                             .plots = q->plots,
                             .alone = q->alone,
                             .threads = q->threads ? q->threads : parallel_cores()};
    begin(a);
    str_clear(&a->fit);
    if (!question_fit(q, &a->error) || !fit_run(&f, &a->fit, &a->error))
        return status_of(a, false);
    a->kind = ANSWER_FIT;
    return ASTRA_OK;
}

/* The profile takes the place of a script. */
enum astra_status astra_calibrate(struct astra *a)
{
    struct calibrate_report *c = &a->calibration;
    begin(a);
    if (!calibrate_run(&a->question, &a->mem, c, &a->error))
        return status_of(a, false);
    a->kind = ANSWER_CALIBRATE;
    if (!calibrate_told(c, &a->error))
        return status_of(a, false);
    struct json *profile = json_of_profile(c->profile, c->input, c->inputs);
    json_dump(profile, &a->script);
    json_release(profile);
    return ASTRA_OK;
}

enum astra_status astra_list_models(struct astra *a)
{
    begin(a);
    a->kind = ANSWER_MODELS;
    return ASTRA_OK;
}

enum astra_status astra_list_prices(struct astra *a)
{
    begin(a);
    if (!question_price_list(&a->question, &a->error))
        return status_of(a, false);
    a->kind = ANSWER_PRICES;
    return ASTRA_OK;
}

static void print_prices(struct astra *a, enum astra_format format,
                         const struct report_style *style)
{
    const struct question_prices *p = &a->question.pricing;
    const struct price_report report = {&p->list, &p->ask, p->market_asked, p->gpu};
    report_prices(&report, format, style, &a->text);
}

static void print_search(struct astra *a, enum astra_format format,
                         const struct report_style *style)
{
    if (format == ASTRA_JSON)
        report_search_json(&a->report, &a->text);
    else if (format == ASTRA_CSV)
        report_search_csv(&a->report, &a->text);
    else
        report_search_text(&a->report, style, &a->text);
}

/* What runs today can be bettered: a search, so only where someone reads what it finds. */
static void look_for_better(struct astra *a)
{
    if (a->kind == ANSWER_PLAN && a->question.has_flags && !a->plan.instead)
        a->plan.instead = instead_of(&a->question, &a->asked, &a->plan, &a->mem);
}

static void print_plan(struct astra *a, enum astra_format format, const struct report_style *style)
{
    if (format != ASTRA_CSV)
        look_for_better(a);
    if (format == ASTRA_JSON)
        report_plan_json(&a->plan, &a->text);
    else if (format == ASTRA_CSV)
        report_plan_csv(&a->plan, &a->text);
    else if (a->kind == ANSWER_EXPLAIN)
        report_explain_text(&a->plan, a->question.stage, style, &a->text);
    else
        report_plan_text(&a->plan, style, &a->text);
}

static void print_verify(struct astra *a, enum astra_format format,
                         const struct report_style *style)
{
    if (format == ASTRA_JSON)
        report_verify_json(&a->verify, &a->text);
    else if (format == ASTRA_CSV)
        report_verify_csv(&a->verify, &a->text);
    else
        report_verify_text(&a->verify, style, &a->text);
}

static const char *print(struct astra *a, enum astra_format format,
                         const struct report_style *style)
{
    str_clear(&a->text);
    if (a->kind == ANSWER_SEARCH)
        print_search(a, format, style);
    else if (a->kind == ANSWER_PLAN || a->kind == ANSWER_EXPLAIN)
        print_plan(a, format, style);
    else if (a->kind == ANSWER_GPUS)
        report_gpus(format, a->question.learned, style, &a->text);
    else if (a->kind == ANSWER_FIT)
        typeset_refit(style, str_text(&a->fit), &a->text);
    else if (a->kind == ANSWER_MODELS)
        report_models(format, style, &a->text);
    else if (a->kind == ANSWER_PRICES)
        print_prices(a, format, style);
    else if (a->kind == ANSWER_SCRIPT)
        str_add(&a->text, str_text(&a->script));
    else if (a->kind == ANSWER_VERIFY)
        print_verify(a, format, style);
    else if (a->kind == ANSWER_CALIBRATE)
        report_calibrate(&a->calibration, (int)format, style, &a->text);
    return str_text(&a->text);
}

const char *astra_print(struct astra *a, enum astra_format format)
{
    struct report_style style = {0, ASTRA_PLAIN};
    return print(a, format, &style);
}

const char *astra_print_terminal(struct astra *a, int columns, enum astra_look look)
{
    struct report_style style = {columns, look};
    return print(a, ASTRA_TEXT, &style);
}

const char *astra_script(const struct astra *a)
{
    return a->kind == ANSWER_NONE ? "" : str_text(&a->script);
}

enum astra_status astra_script_files(struct astra *a)
{
    bool ok = !a->staged || files_replace(&a->staged, 1, &a->error);
    if (ok)
        a->staged = NULL;
    return status_of(a, ok);
}

const char *astra_message(const struct astra *a)
{
    return a->error.text;
}

size_t astra_plan_count(const struct astra *a)
{
    if (a->kind == ANSWER_SEARCH)
        return (size_t)a->report.best;
    return a->kind == ANSWER_PLAN || a->kind == ANSWER_EXPLAIN;
}

static const struct plan *plan_at(const struct astra *a, size_t i)
{
    if (i >= astra_plan_count(a))
        return NULL;
    return a->kind == ANSWER_SEARCH ? &a->report.plan[i] : &a->plan;
}

bool astra_plan_get(const struct astra *a, size_t index, struct astra_plan *out)
{
    const struct plan *p = plan_at(a, index);
    if (!p)
        return false;
    const struct strategy *s = &p->strategy;
    *out = (struct astra_plan){
        .tp = s->tp,
        .cp = s->cp,
        .pp = s->pp,
        .vpp = s->vpp,
        .dp = s->dp,
        .ep = s->ep,
        .etp = s->etp,
        .micro_batch = s->micro_batch,
        .global_batch = s->global_batch,
        .seq_len = s->seq_len,
        .gpus = (long)p->gpus,
        .feasible = p->feasible,
        .step_s = p->step_s,
        .tokens_per_s = p->tokens_per_s,
        .tokens_per_s_per_gpu = p->tokens_per_s_per_gpu,
        .tflops_per_gpu = p->tflops_per_gpu,
        .mfu = p->mfu,
        .expected_error = p->expected_error,
        .usd_per_mtoken = p->usd_per_mtoken,
    };
    for (int i = 0; i < p->stages; i++)
        if (p->stage[i].device_bytes > out->device_bytes) {
            out->device_bytes = p->stage[i].device_bytes;
            out->peak_bytes = p->stage[i].peak_bytes;
        }
    return true;
}

const char *const *astra_plan_flags(struct astra *a, size_t index)
{
    const struct plan *p = plan_at(a, index);
    const char **flags = NULL;
    size_t count = 0;
    if (!p)
        return NULL;
    if (!plan_flags(p, &a->mem, &flags, &count)) {
        fail(&a->error, ERROR_INFEASIBLE, "no flags describe the plan: its layers cannot be split");
        return NULL;
    }
    const char **list = arena_array(&a->mem, count + 1, sizeof *list);
    if (count > 0)
        memcpy(list, flags, count * sizeof *list);
    return list;
}

const struct astra_option *astra_options(void)
{
    static const struct astra_option table[] = {
#define OPTION(id, name, argument, commands, help) {name, argument, commands, help},
#include "options.def"
#undef OPTION
        {0},
    };
    return table;
}

const char *astra_names(struct astra *a, const char *of)
{
    str_clear(&a->text);
    known_names(of, &a->text);
    return str_text(&a->text);
}

const char *astra_nearest(const char *word, const char *const *names, size_t count)
{
    return nearest_name(word, names, count);
}

const char *astra_version(void)
{
    return ASTRA_VERSION;
}
