/* The library's face: a query, the stages in their order, an answer. */
#include "astra.h"

#include "base/file.h"
#include "base/json.h"
#include "calibrate/calibrate.h"
#include "learn/fit.h"
#include "mcp/mcp_server.h"
#include "query/defaults.h"
#include "query/query_file.h"
#include "report/chart/front_chart.h"
#include "run/commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct astra *astra_new(void)
{
    struct astra *a = memory_grow(NULL, sizeof *a);
    memset(a, 0, sizeof *a);
    arena_init(&a->given_mem);
    arena_init(&a->mem);
    options_init(&a->options, &a->given_mem);
    resources_init(&a->resources);
    str_init(&a->text);
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
    resources_release(&a->resources);
    arena_release(&a->given_mem);
    arena_release(&a->mem);
    str_release(&a->text);
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
    resources_clear(&a->resources);
    arena_release(&a->mem);
}

enum astra_status astra_set(struct astra *a, const char *option, const char *value)
{
    a->error = (struct error){0};
    return status_of(a, options_set(&a->options, option, value, &a->error));
}

enum astra_status astra_defaults(struct astra *a, const char *path)
{
    a->error = (struct error){0};
    return status_of(a, defaults_read(&a->options, path, &a->error));
}

enum astra_status astra_take_defaults(struct astra *a, const char *command)
{
    a->error = (struct error){0};
    return status_of(a, defaults_take(&a->options, command, &a->error));
}

enum astra_status astra_list_defaults(struct astra *a)
{
    begin(a);
    a->kind = ANSWER_DEFAULTS;
    return ASTRA_OK;
}

enum astra_status astra_flags(struct astra *a, size_t count, const char *const *words)
{
    const char **copy = arena_array(&a->given_mem, count + 1, sizeof *copy);
    for (size_t i = 0; i < count; i++)
        copy[i] = arena_string(&a->given_mem, words[i]);
    a->error = (struct error){0};
    a->flags = count;
    a->flag = copy;
    return status_of(a, options_flags(&a->options, count, words, &a->error));
}

void astra_on_progress(struct astra *a, void (*progress)(void *context, double done), void *context)
{
    a->progress = progress;
    a->progress_context = context;
}

void astra_cancel(struct astra *a)
{
    atomic_store(&a->cancel, true);
}

void astra_on_cancel(struct astra *a, bool (*cancelled)(void *context), void *context)
{
    a->cancelled = cancelled;
    a->cancelled_context = context;
}

void astra_on_memory_shortage(void (*end)(size_t bytes))
{
    arena_out_of_memory = end;
}

void astra_will_write(struct astra *a, const char *path)
{
    a->options.output.answer = path ? arena_string(&a->given_mem, path) : NULL;
}

enum astra_status astra_load_plan(struct astra *a, const char *path)
{
    a->error = (struct error){0};
    return status_of(a, import_file(&a->options, path, &a->error));
}

enum astra_status astra_load_text(struct astra *a, const char *name, const char *text)
{
    a->error = (struct error){0};
    return status_of(a, import_at_hand(&a->options, text, name, &a->error));
}

static bool write_script(struct astra *a, const struct plan *p)
{
    return run_export(&a->options.export, p, a->options.output.answer, &a->mem, &a->script,
                      &a->staged, &a->error);
}

static bool search(struct astra *a)
{
    struct query *q = &a->query;
    const struct output_options *out = &a->options.output;
    double searching = out->report ? PAGE_FROM : 1; /* of all the time that it takes */
    struct answering asked = {.query = q,
                              .mem = &a->mem,
                              .report = &a->report,
                              .err = &a->error,
                              .progress = a->progress,
                              .progress_context = a->progress_context,
                              .cancel = &a->cancel,
                              .cancelled = a->cancelled,
                              .cancelled_context = a->cancelled_context,
                              .share = searching / (1 + a->options.what_if.count),
                              .start_s = search_clock_s()};
    const struct query **changed;
    if (!outputs_check(out, &a->error) || !options_export(&a->options, &a->error) ||
        !query_resolve(&a->options, QUERY_SEARCH, &a->resources, &a->mem, q, &a->error) ||
        !(changed = what_if_queries(q, &a->mem, &a->error)))
        return false;
    return run_search(&asked) && run_what_ifs(&asked, changed) &&
           (!out->plot || front_write(&a->report, out->plot, &a->error)) &&
           (!out->report || page_of_search(&asked, &a->error)) &&
           (!a->options.export.format || write_script(a, &a->report.plan[0]));
}

enum astra_status astra_search(struct astra *a)
{
    begin(a);
    bool ok = search(a);
    atomic_store(&a->cancel, false);
    a->kind = ok ? ANSWER_SEARCH : ANSWER_NONE;
    return status_of(a, ok);
}

enum astra_status astra_estimate(struct astra *a)
{
    begin(a);
    return status_of(a, run_estimate(a, false));
}

enum astra_status astra_explain(struct astra *a)
{
    begin(a);
    return status_of(a, run_estimate(a, true));
}

enum astra_status astra_improve(struct astra *a)
{
    begin(a);
    return status_of(a, run_improve(a));
}

enum astra_status astra_compare(struct astra *a)
{
    begin(a);
    bool ok = run_compare(a);
    atomic_store(&a->cancel, false);
    a->kind = ok ? ANSWER_COMPARE : ANSWER_NONE;
    return status_of(a, ok);
}

/* Whether it fits is for its maker to say, who knew margin and rules; that Megatron takes it is
 * judged again. */
enum astra_status astra_export(struct astra *a)
{
    const struct options *o = &a->options;
    struct estimate_query e;
    begin(a);
    if (!o->export.format || !o->has_flags) {
        fail(&a->error, ERROR_INPUT, "%s is missing, as in astra export plan.json --to slurm",
             o->has_flags ? "--to" : "a plan");
        return status_of(a, false);
    }
    if (!options_export(o, &a->error) || /* a script says nothing of times: no resources */
        !query_resolve(o, QUERY_ESTIMATE, NULL, &a->mem, &a->query, &a->error) ||
        !query_estimate(&a->query, &a->mem, &e, &a->error))
        return status_of(a, false);
    run_evaluate(&a->query, &e, &a->mem, &a->plan);
    a->plan.reasons = 0;
    a->plan.feasible = true;
    run_judge_rules(&e, &a->mem, &a->plan);
    if (!a->plan.feasible)
        fail(&a->error, ERROR_INFEASIBLE, "not feasible: %s", a->plan.reason[0]);
    else if (write_script(a, &a->plan))
        a->kind = ANSWER_SCRIPT;
    return status_of(a, a->kind == ANSWER_SCRIPT);
}

enum astra_status astra_verify(struct astra *a)
{
    struct verifying v = {.options = &a->options,
                          .resources = &a->resources,
                          .mem = &a->mem,
                          .report = &a->verify,
                          .progress = a->progress,
                          .progress_context = a->progress_context,
                          .err = &a->error};
    begin(a);
    if (!run_verify(&v))
        return status_of(a, false);
    a->kind = ANSWER_VERIFY;
    if (!a->verify.confirmed)
        fail(&a->error, ERROR_INFEASIBLE, "%s", a->verify.verdict);
    return status_of(a, a->verify.confirmed);
}

enum astra_status astra_list_gpus(struct astra *a)
{
    struct learned *learned;
    begin(a);
    if (!resources_models(&a->resources, a->options.efficiency, &learned, &a->error))
        return status_of(a, false);
    a->learned = learned;
    a->kind = ANSWER_GPUS;
    return ASTRA_OK;
}

enum astra_status astra_fit(struct astra *a)
{
    struct fit_query f = {.profile = a->options.fit.measured.text,
                          .profiles = a->options.fit.measured.count,
                          .models = a->options.efficiency,
                          .output = a->options.fit.into};
    begin(a);
    if (!options_fit(&a->options, &a->error) || !fit_run(&f, &a->mem, &a->fit, &a->error))
        return status_of(a, false);
    a->kind = ANSWER_FIT;
    return ASTRA_OK;
}

/* The profile takes the place of a script. */
enum astra_status astra_calibrate(struct astra *a)
{
    struct calibrate_report *c = &a->calibration;
    begin(a);
    if (!calibrate_run(&a->options, &a->resources, &a->mem, c, &a->error))
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
    if (!options_price_list(&a->options, &a->mem, &a->prices, &a->price_ask, &a->error))
        return status_of(a, false);
    a->kind = ANSWER_PRICES;
    return ASTRA_OK;
}

enum astra_status astra_mcp(struct astra *a, int in, int out)
{
    const struct serve_options *o = &a->options.serve;
    struct mcp_terms terms = {.call_s = o->call_s, .message_bytes = (size_t)o->message_bytes};
    begin(a);
    return status_of(a, mcp_allow(&terms, o->allow.text, o->allow.count, &a->mem, &a->error) &&
                            mcp_serve(&terms, in, out, &a->error));
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
