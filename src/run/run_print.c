/* The latest answer as text, JSON or CSV. */
#include "astra.h"

#include "query/defaults.h"
#include "report/report.h"
#include "report/text/typeset.h"
#include "run/commands.h"

#include <string.h>

static void print_prices(struct astra *a, enum astra_format format,
                         const struct report_style *style)
{
    const struct price_report report = {&a->prices, &a->price_ask,
                                        a->options.times[OPTION_market] > 0, a->options.gpu};
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

static void print_plan(struct astra *a, enum astra_format format, const struct report_style *style)
{
    if (format == ASTRA_JSON)
        report_plan_json(&a->answer, &a->text);
    else if (format == ASTRA_CSV)
        report_plan_csv(&a->answer, &a->text);
    else if (a->kind == ANSWER_EXPLAIN)
        report_explain_text(&a->answer, a->options.output.stage, style, &a->text);
    else
        report_plan_text(&a->answer, style, &a->text);
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

static void print_compare(struct astra *a, enum astra_format format,
                          const struct report_style *style)
{
    if (format == ASTRA_JSON)
        report_compare_json(&a->comparing, &a->text);
    else if (format == ASTRA_CSV)
        report_compare_csv(&a->comparing, &a->text);
    else
        report_compare_text(&a->comparing, style, &a->text);
}

/* Where the page is. */
static void add_written(struct astra *a, const struct report_style *style)
{
    bool page = a->kind == ANSWER_SEARCH || a->kind == ANSWER_PLAN || a->kind == ANSWER_EXPLAIN ||
                a->kind == ANSWER_COMPARE;
    if (page && a->options.output.report) {
        str_add(&a->text, "\n");
        typeset_wrap(style,
                     arena_format(&a->mem, "The page with charts is %s: open it in a browser.",
                                  a->options.output.report),
                     2, &a->text);
    }
}

/* Which files of defaults had a part in it, a line each. */
static void add_defaults(struct astra *a, const struct report_style *style)
{
    const char *at = a->kind == ANSWER_NONE ? "" : defaults_used(&a->options, &a->mem);
    str_add(&a->text, *at ? "\n" : "");
    while (*at) {
        size_t n = strcspn(at, "\n");
        typeset_wrap(style, arena_copy(&a->mem, at, n), 2, &a->text);
        at += n + (at[n] == '\n');
    }
}

static const char *print(struct astra *a, enum astra_format format,
                         const struct report_style *style)
{
    str_clear(&a->text);
    if (a->kind == ANSWER_DEFAULTS)
        report_defaults(a->options.defaults, (int)format, style, &a->text);
    else if (a->kind == ANSWER_SEARCH)
        print_search(a, format, style);
    else if (a->kind == ANSWER_PLAN || a->kind == ANSWER_EXPLAIN)
        print_plan(a, format, style);
    else if (a->kind == ANSWER_GPUS)
        report_gpus(format, a->learned, style, &a->text);
    else if (a->kind == ANSWER_FIT)
        report_fit(&a->fit, style, &a->text);
    else if (a->kind == ANSWER_MODELS)
        report_models(format, style, &a->text);
    else if (a->kind == ANSWER_PRICES)
        print_prices(a, format, style);
    else if (a->kind == ANSWER_SCRIPT)
        str_add(&a->text, str_text(&a->script));
    else if (a->kind == ANSWER_IMPROVE)
        report_improve_text(&a->improvement, style, &a->text);
    else if (a->kind == ANSWER_COMPARE)
        print_compare(a, format, style);
    else if (a->kind == ANSWER_VERIFY)
        print_verify(a, format, style);
    else if (a->kind == ANSWER_CALIBRATE)
        report_calibrate(&a->calibration, (int)format, style, &a->text);
    if (format == ASTRA_TEXT && a->kind != ANSWER_SCRIPT) {
        add_written(a, style);
        add_defaults(a, style);
    }
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
