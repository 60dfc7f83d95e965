/* What files of defaults say, a row each, in every format. */
#include "report/report.h"

#include "astra.h"
#include "base/json.h"
#include "base/str.h"
#include "query/defaults.h"
#include "query/options.h"
#include "report/csv/csv_out.h"
#include "report/text/table.h"
#include "report/text/typeset.h"

static const char *key_of(const struct default_value *v)
{
    return v->option ? v->option->name : v->name;
}

static void defaults_json(const struct defaults *d, struct str *out)
{
    struct json *o = json_new_object(), *list = json_new_array();
    for (int i = 0; d && i < d->count; i++) {
        const struct default_value *v = &d->value[i];
        struct json *row = json_new_object();
        json_set(row, "file", json_new_string(d->file[v->file]));
        json_set(row, "line", json_new_integer(v->line));
        json_set(row, "option", v->option ? json_new_string(v->option->name) : json_new_null());
        json_set(row, "cluster", v->option ? json_new_null() : json_new_string(v->name));
        json_set(row, "value", json_new_string(v->value));
        json_append(list, row);
    }
    json_set(o, "defaults", list);
    json_dump_release(o, out);
}

static void defaults_csv(const struct defaults *d, struct str *out)
{
    struct csv_writer c = {.out = out};
    csv_heads(&c, "file,line,key,value");
    csv_end(&c);
    for (int i = 0; d && i < d->count; i++) {
        csv_text(&c, d->file[d->value[i].file]);
        csv_number(&c, d->value[i].line);
        csv_text(&c, key_of(&d->value[i]));
        csv_text(&c, d->value[i].value);
        csv_end(&c);
    }
}

static void defaults_text(const struct defaults *d, const struct report_style *style,
                          struct str *out)
{
    static const struct table_column columns[] = {
        {"option", TABLE_LEFT, 0}, {"value", TABLE_LEFT, 0}, {"from", TABLE_LEFT, 0}};
    struct table t;
    if (!d || d->files == 0) {
        typeset_wrap(style,
                     "There is no file of defaults. ~/.config/astra/config.yaml (below "
                     "XDG_CONFIG_HOME where that is set) and ./astra.yaml are read where they "
                     "exist; doc/config.md says what they may hold.",
                     0, out);
        return;
    }
    table_init(&t, columns, sizeof columns / sizeof *columns);
    for (int i = 0; i < d->count; i++) {
        const struct default_value *v = &d->value[i];
        table_add(&t, "%s%s", v->option ? "" : "cluster named ", key_of(v));
        table_add(&t, "%s", v->value);
        table_add(&t, "%s:%d", d->file[v->file], v->line);
    }
    typeset_heading(style, "Defaults, later files win", out);
    table_print(&t, style, out);
}

void report_defaults(const struct defaults *d, int format, const struct report_style *style,
                     struct str *out)
{
    if (format == ASTRA_JSON)
        defaults_json(d, out);
    else if (format == ASTRA_CSV)
        defaults_csv(d, out);
    else
        defaults_text(d, style, out);
}
