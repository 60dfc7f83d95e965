/* CSV after RFC 4180 with line feeds: one header, one row a plan, nothing in a cell that was not
 * computed. Columns come from the tables that make the JSON: parameters, figures, breakdown. */
#include "report/csv/csv_out.h"

#include "base/str.h"
#include "cluster/cluster.h"
#include "probe/answer.h"
#include "report/plan_words.h"
#include "report/report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void csv_heads(struct csv_writer *c, const char *names)
{
    str_add(c->out, c->cells++ > 0 ? "," : "");
    str_add(c->out, names);
}

void csv_text(struct csv_writer *c, const char *text)
{
    if (c->cells++ > 0)
        str_add(c->out, ",");
    if (!strpbrk(text, ",\"\r\n")) {
        str_add(c->out, text);
        return;
    }
    str_add(c->out, "\"");
    for (; *text; text++)
        str_add_bytes(c->out, *text == '"' ? "\"\"" : text, *text == '"' ? 2 : 1);
    str_add(c->out, "\"");
}

void csv_number(struct csv_writer *c, double value)
{
    struct str text = {0};
    if (isfinite(value))
        str_addf(&text, fabs(value) < 1e15 && value == floor(value) ? "%.0f" : "%.9g", value);
    csv_text(c, str_text(&text));
    str_release(&text);
}

void csv_number_if(struct csv_writer *c, bool known, double value)
{
    if (known)
        csv_number(c, value);
    else
        csv_text(c, "");
}

void csv_end(struct csv_writer *c)
{
    str_add(c->out, "\n");
    c->cells = 0;
}

void csv_list(struct csv_writer *c, const char *const *list, size_t count, const char *between)
{
    struct str text = {0};
    for (size_t i = 0; i < count; i++)
        str_addf(&text, "%s%s", i ? between : "", list[i]);
    csv_text(c, str_text(&text));
    str_release(&text);
}

static void add_heads(struct csv_writer *c)
{
    size_t count;
    const struct plan_figure *f = plan_figures(&count);
    csv_heads(c, "model,gpu,gpus,stack");
    for (int i = 0; i < PARAMS; i++)
        csv_text(c, param_info((enum param)i)->name);
    for (size_t i = 0; i < count; i++)
        csv_text(c, f[i].name);
    for (int i = 0; i < BREAKDOWN_PARTS; i++) {
        struct str name = {0};
        str_addf(&name, "%s_s", breakdown_name((enum breakdown_part)i));
        csv_text(c, str_text(&name));
        str_release(&name);
    }
    csv_heads(c, "provenance,peak_bytes,device_bytes,limit_bytes,usd_per_hour,usd_per_mtoken,"
                 "hours,usd_total,slowdown,feasible,reasons,cautions");
}

static void add_strategy(struct csv_writer *c, const struct strategy *s)
{
    struct str value = {0};
    for (int i = 0; i < PARAMS; i++) {
        param_print((enum param)i, strategy_get(s, (enum param)i), &value);
        csv_text(c, str_text(&value));
        str_clear(&value);
    }
    str_release(&value);
}

static void add_figures(struct csv_writer *c, const struct plan *p)
{
    size_t count;
    const struct plan_figure *f = plan_figures(&count);
    for (size_t i = 0; i < count; i++) {
        double value;
        bool known = plan_figure_get(p, &f[i], &value);
        csv_number_if(c, known, value);
    }
    for (int i = 0; i < BREAKDOWN_PARTS; i++)
        csv_number_if(c, p->computed, p->breakdown[i]);
}

static void add_types(struct csv_writer *c, const struct plan *p)
{
    struct str text = {0};
    add_gpu_names(p, &text);
    csv_text(c, str_text(&text));
    str_release(&text);
}

static void add_cents_if(struct csv_writer *c, bool known, double usd)
{
    char text[32] = "";
    if (known)
        snprintf(text, sizeof text, "%.2f", usd);
    csv_text(c, text);
}

static void add_plan(struct csv_writer *c, const struct plan *p)
{
    const struct plan_stage *fullest = p->computed ? plan_fullest(p) : NULL;
    csv_text(c, p->model->name);
    add_types(c, p);
    csv_number(c, (double)p->gpus);
    csv_text(c, plan_stack(p));
    add_strategy(c, &p->strategy);
    add_figures(c, p);
    csv_text(c, p->provenance);
    csv_number_if(c, fullest, fullest ? round(fullest->peak_bytes) : 0);
    csv_number_if(c, fullest, fullest ? round(fullest->device_bytes) : 0);
    csv_number(c, round(p->limit_bytes));
    csv_number_if(c, p->usd_per_hour > 0, p->usd_per_hour);
    csv_number_if(c, p->usd_per_mtoken > 0, p->usd_per_mtoken);
    csv_number_if(c, p->hours > 0 && isfinite(p->hours), p->hours);
    add_cents_if(c, p->usd_total > 0 && p->usd_total < 1e15, p->usd_total);
    csv_number_if(c, isfinite(p->slowdown) && p->slowdown >= 1, p->slowdown);
    csv_text(c, p->feasible ? "yes" : "no");
    csv_list(c, p->reason, (size_t)p->reasons, "; ");
    csv_number(c, p->cautions);
}

/* What makes the other plan, as --set takes it; empty without one. */
static void add_sets(struct csv_writer *c, const struct change *x)
{
    csv_list(c, x ? x->set : NULL, x ? x->sets : 0, " ");
}

static void add_step_of(struct csv_writer *c, const struct change *x)
{
    csv_number_if(c, x, x ? x->plan->step_s : 0);
}

static void add_speedups(struct csv_writer *c, const struct speedups *g)
{
    struct str text = {0};
    for (int i = 0; g && i < g->count; i++) {
        const struct change *x = &g->speedup[i].change;
        str_add(&text, i ? "; " : "");
        for (size_t k = 0; k < x->sets; k++)
            str_addf(&text, "%s ", x->set[k]);
        str_addf(&text, "(%.9g s)", x->plan->step_s);
    }
    csv_text(c, str_text(&text));
    str_release(&text);
}

static void add_answer(struct csv_writer *c, const struct plan_answer *a)
{
    const struct change *fix = a->fix && a->fix->fits ? &a->fix->change : NULL;
    const struct change *searched =
        a->speedups && a->speedups->found ? &a->speedups->searched : NULL;
    const struct change *better = a->better && a->better->better ? &a->better->change : NULL;
    add_sets(c, fix);
    add_step_of(c, fix);
    add_speedups(c, a->speedups);
    add_sets(c, searched);
    add_step_of(c, searched);
    add_sets(c, better);
    csv_text(c, better ? better->add : "");
    csv_text(c, better ? better->remove : "");
    add_step_of(c, better);
    csv_text(c, a->better && a->better->why_not ? a->better->why_not : "");
    csv_list(c, a->hint, (size_t)a->hints, "; ");
}

void report_plan_csv(const struct plan_answer *a, struct str *out)
{
    struct csv_writer c = {out, 0};
    add_heads(&c);
    csv_heads(&c, "remedy,remedy_step_s,gains,searched,searched_step_s,instead,instead_add,"
                  "instead_remove,instead_step_s,why_not_instead,hints");
    csv_end(&c);
    add_plan(&c, a->plan);
    add_answer(&c, a);
    csv_end(&c);
}

static void add_row(struct csv_writer *c, const char *list, int rank, const struct plan *p,
                    const char *change)
{
    csv_text(c, list);
    csv_number(c, rank);
    add_plan(c, p);
    if (change)
        csv_text(c, change);
    csv_end(c);
}

static void add_list(struct csv_writer *c, const char *list, const struct plan *p, int count,
                     const char *change)
{
    for (int i = 0; i < count; i++)
        add_row(c, list, i + 1, &p[i], change);
}

void report_search_csv(const struct search_report *r, struct str *out)
{
    const char *change = r->what_ifs > 0 ? "" : NULL; /* a column only where some were asked for */
    struct csv_writer c = {out, 0};
    csv_heads(&c, "list,rank");
    add_heads(&c);
    if (change)
        csv_heads(&c, "change");
    csv_end(&c);
    add_list(&c, "best", r->plan, r->best, change);
    add_list(&c, "pareto", r->pareto, r->front, change);
    for (int i = 0; i < r->what_ifs; i++)
        if (r->what_if[i].plan)
            add_row(&c, "what_if", i + 1, r->what_if[i].plan, r->what_if[i].change);
}
