/* `astra fit`: what became of the rows of a profile, and how good the models are on its GPU now. */
#include "cluster/cluster.h"
#include "learn/fit.h"
#include "report/report.h"
#include "report/text/table.h"
#include "report/text/typeset.h"

static void print_rows(const struct fit_report *r, const struct report_style *style,
                       struct str *out)
{
    struct table t;
    table_init(&t, NULL, 0);
    for (int i = 0; i < SKIPS; i++)
        table_column(&t, SKIP_WORDS[i], TABLE_RIGHT, i);
    for (int i = 0; i < SKIPS; i++)
        table_add(&t, "%zu", r->skipped[i]);
    typeset_heading(style, "Rows of the profile", out);
    table_print(&t, style, out);
}

static void add_row(struct table *t, const struct fit_added *x)
{
    table_add(t, "%s", model_name((int)x->family));
    table_add(t, "%s", x->gpu->name);
    table_add(t, "%zu", x->rows);
    for (int i = 0; i < 2; i++)
        if (x->used)
            table_add(t, "%.1f %%", 100 * (i ? x->now : x->before));
        else
            table_add(t, "not used");
}

void report_fit(const struct fit_report *r, const struct report_style *style, struct str *out)
{
    static const struct table_column columns[] = {{"operators", TABLE_LEFT, 0},
                                                  {"GPU", TABLE_LEFT, 0},
                                                  {"rows", TABLE_RIGHT, 0},
                                                  {"error before", TABLE_RIGHT, 0},
                                                  {"now", TABLE_RIGHT, 0}};
    struct table t;
    print_rows(r, style, out);
    table_init(&t, columns, sizeof columns / sizeof *columns);
    for (int i = 0; i < r->count; i++)
        add_row(&t, &r->added[i]);
    typeset_heading(style, "Added to the models (errors now are those of left-out shapes)", out);
    table_print(&t, style, out);
    if (r->collectives > 0)
        typeset_item(style, "collectives were not added: `make fit` learns from them", out);
}
