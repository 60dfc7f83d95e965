#include "report/report.h"

#include "astra.h"
#include "base/arena.h"
#include "base/json.h"
#include "base/str.h"
#include "base/units.h"
#include "calibrate/calibrate.h"
#include "cluster/cluster.h"
#include "report/csv/csv_out.h"
#include "report/text/table.h"
#include "report/text/typeset.h"

#include <math.h>

static void add_what(const struct calibrated_row *r, struct str *out)
{
    if (r->stage < 0)
        str_add(out, "step");
    else
        str_addf(out, "stage %d %s", r->stage, r->memory ? "memory" : "compute");
}

static void add_figure(struct table *t, const struct calibrated_row *r, double value)
{
    if (r->memory)
        add_bytes(&t->text, value);
    else
        add_seconds(&t->text, value);
    table_take(t);
}

/* How far a prediction is off: + where it is above the measurement. */
static double off(const struct calibrated_row *r, double predicted)
{
    return predicted / r->measured - 1;
}

static void add_off(struct table *t, const struct calibrated_row *r, double predicted)
{
    if (predicted > 0)
        table_add(t, "%+.1f %%", 100 * off(r, predicted));
    else
        table_add(t, "-");
}

static void add_row(struct table *t, const struct calibrated_row *r, bool held)
{
    str_add(&t->text, r->input);
    table_take(t);
    add_what(r, &t->text);
    table_take(t);
    add_figure(t, r, r->measured);
    add_figure(t, r, r->before);
    add_off(t, r, r->before);
    add_figure(t, r, r->after);
    add_off(t, r, r->after);
    if (!held)
        add_off(t, r, r->without);
}

/* Mean of |off| of the rows that were held out or not, of seconds or bytes. */
struct mean_off {
    int rows, told; /* told: others give factors for it */
    double before, after;
};

static struct mean_off mean_off(const struct calibrate_report *c, bool held, bool memory)
{
    struct mean_off m = {0};
    for (int i = 0; i < c->rows; i++) {
        const struct calibrated_row *r = &c->row[i];
        if (r->held != held || r->memory != memory)
            continue;
        m.rows++;
        m.told += r->without > 0;
        m.before += fabs(off(r, r->before));
        m.after += r->without > 0 ? fabs(off(r, r->without)) : 0;
    }
    return m;
}

static void print_means(const struct calibrate_report *c, bool held, struct str *out)
{
    for (int memory = 0; memory < 2; memory++) {
        struct mean_off m = mean_off(c, held, memory);
        if (m.rows == 0)
            continue;
        str_addf(out, "  %s: off by %.1f %% on average", memory ? "memory" : "times",
                 100 * m.before / m.rows);
        if (m.told == m.rows)
            str_addf(out, ", %.1f %% with the factors of the %s", 100 * m.after / m.told,
                     held ? "profile" : "others");
        str_add(out, "\n");
    }
}

static void print_rows(const struct calibrate_report *c, bool held,
                       const struct report_style *style, struct str *out)
{
    static const struct table_column columns[] = {
        {"input", TABLE_LEFT, 0},     {"what", TABLE_LEFT, 0},
        {"measured", TABLE_RIGHT, 0}, {"predicted", TABLE_RIGHT, 3},
        {"off", TABLE_RIGHT, 0},      {"with the profile", TABLE_RIGHT, 2},
        {"off", TABLE_RIGHT, 0},      {"off, from the others", TABLE_RIGHT, 1}};
    struct table t;
    table_init(&t, columns, sizeof columns / sizeof *columns - held);
    for (int i = 0; i < c->rows; i++)
        if (c->row[i].held == held)
            add_row(&t, &c->row[i], held);
    table_print(&t, style, out);
    print_means(c, held, out);
}

static void print_entry(const struct profile_entry *e, const struct report_style *style,
                        struct arena *mem, struct str *out)
{
    static const struct table_column columns[] = {
        {"", TABLE_LEFT, 0}, {"", TABLE_RIGHT, 0}, {"", TABLE_LEFT, 0}};
    const struct residual *r = &e->residual;
    struct table t;
    typeset_heading(
        style, arena_format(mem, "Factors of %s with stack %s", e->gpu->name, stack_name(e->stack)),
        out);
    table_init(&t, columns, sizeof columns / sizeof *columns);
    for (int f = 0; f < RESIDUALS; f++) {
        table_add(&t, "%s", residual_name((enum residual_factor)f));
        table_add(&t, r->fitted[f] ? "%.3f" : "1", r->value[f]);
        if (r->fitted[f])
            table_add(&t, "±%.3f, %d observation%s", r->value[f] * r->error[f], e->observations[f],
                      e->observations[f] > 1 ? "s" : "");
        else
            table_add(&t, "not fitted: %s", e->why[f]);
    }
    table_print(&t, style, out);
    str_add(out, "  ");
    typeset_wrap(style,
                 arena_format(mem, "around them times scatter by %.1f %%, memory by %.1f %%",
                              100 * r->time_scatter, 100 * r->memory_scatter),
                 2, out);
}

static void print_texts(const char *heading, const struct calibrated_text *text, int count,
                        const struct report_style *style, struct arena *mem, struct str *out)
{
    if (count > 0)
        typeset_heading(style, heading, out);
    for (int i = 0; i < count; i++)
        typeset_item(style, arena_format(mem, "%s: %s", text[i].input, text[i].text), out);
}

static bool has_held(const struct calibrate_report *c)
{
    for (int i = 0; i < c->rows; i++)
        if (c->row[i].held)
            return true;
    return false;
}

static void calibrate_text(const struct calibrate_report *c, const struct report_style *style,
                           struct str *out)
{
    struct arena mem = {0};
    str_addf(out, "Measured and predicted (+ is too slow or too much)\n");
    print_rows(c, false, style, out);
    for (int i = 0; i < c->profile->entries; i++)
        print_entry(&c->profile->entry[i], style, &mem, out);
    if (has_held(c)) {
        typeset_heading(style, "Held out of the fit", out);
        print_rows(c, true, style, out);
    }
    print_texts("Refused", c->refusal, c->refusals, style, &mem, out);
    print_texts("Notes", c->note, c->notes, style, &mem, out);
    arena_release(&mem);
}

static struct json *row_value(const struct calibrated_row *r)
{
    struct json *o = json_new_object();
    json_set(o, "input", json_new_string(r->input));
    json_set(o, "gpu", json_new_string(r->gpu->name));
    json_set(o, "stack", json_new_string(stack_name(r->stack)));
    json_set(o, "what", json_new_string(r->memory ? "memory" : r->stage < 0 ? "step" : "compute"));
    json_set(o, "stage", r->stage < 0 ? json_new_null() : json_new_integer(r->stage));
    json_set(o, "held_out", json_new_bool(r->held));
    json_set(o, "measured", json_new_number(r->measured));
    json_set(o, "before", json_new_number(r->before));
    json_set(o, "after", json_new_number(r->after));
    json_set(o, "from_others", r->without > 0 ? json_new_number(r->without) : json_new_null());
    return o;
}

static struct json *texts_value(const struct calibrated_text *text, int count)
{
    struct json *list = json_new_array();
    for (int i = 0; i < count; i++) {
        struct json *o = json_new_object();
        json_set(o, "input", json_new_string(text[i].input));
        json_set(o, "text", json_new_string(text[i].text));
        json_append(list, o);
    }
    return list;
}

static void calibrate_json(const struct calibrate_report *c, struct str *out)
{
    struct json *o = json_new_object(), *rows = json_new_array();
    for (int i = 0; i < c->rows; i++)
        json_append(rows, row_value(&c->row[i]));
    json_set(o, "observations", rows);
    json_set(o, "profile", json_of_profile(c->profile, c->input, c->inputs));
    json_set(o, "refused", texts_value(c->refusal, c->refusals));
    json_set(o, "notes", texts_value(c->note, c->notes));
    json_dump_release(o, out);
}

static void calibrate_csv(const struct calibrate_report *c, struct str *out)
{
    struct csv_writer csv = {out, 0};
    csv_heads(&csv, "input,gpu,stack,what,stage,measured,before,after,from_others,held_out");
    csv_end(&csv);
    for (int i = 0; i < c->rows; i++) {
        const struct calibrated_row *r = &c->row[i];
        csv_text(&csv, r->input);
        csv_text(&csv, r->gpu->name);
        csv_text(&csv, stack_name(r->stack));
        csv_text(&csv, r->memory ? "memory" : r->stage < 0 ? "step" : "compute");
        csv_number_if(&csv, r->stage >= 0, r->stage);
        csv_number(&csv, r->measured);
        csv_number(&csv, r->before);
        csv_number(&csv, r->after);
        csv_number_if(&csv, r->without > 0, r->without);
        csv_text(&csv, r->held ? "yes" : "no");
        csv_end(&csv);
    }
}

void report_calibrate(const struct calibrate_report *c, int format,
                      const struct report_style *style, struct str *out)
{
    if (format == ASTRA_JSON)
        calibrate_json(c, out);
    else if (format == ASTRA_CSV)
        calibrate_csv(c, out);
    else
        calibrate_text(c, style, out);
}
