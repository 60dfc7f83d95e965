/* Why a plan is fast or slow, valid or not: the verdict with its reasons, where the step's time
 * goes, stage by stage, where memory goes, and what would gain most. With the name of one of
 * Astra's own stages, what that stage hands on instead. */

#include "base/arena.h"
#include "base/str.h"
#include "cluster/cluster.h"
#include "probe/answer.h"
#include "report/advice_words.h"
#include "report/plan_words.h"
#include "report/report.h"
#include "report/text/plan_text.h"
#include "report/text/table.h"
#include "report/text/typeset.h"

#include <string.h>

static void add_stage_row(struct table *t, const struct plan *p, int from, int end,
                          const struct report_style *style)
{
    const struct plan_stage *s = &p->stage[from];
    add_run(from, end, &t->text);
    table_take(t);
    table_add(t, "%s", s->group->gpu->name);
    table_add(t, "%d", s->layers);
    table_add(t, "%.1f %%", 100 * s->compute_step_s / p->step_s);
    table_bar(t, style, s->compute_step_s / p->step_s);
    table_add(t, "%.1f %%", 100 * (s->idle_s > 0 ? s->idle_s / p->step_s : 0));
}

static void print_stage_bars(const struct plan *p, const struct report_style *style,
                             struct str *out)
{
    enum { TYPE = 1 };
    static const struct table_column columns[] = {
        {"stage", TABLE_LEFT, 0},    {"GPU", TABLE_LEFT, 0},        {"layers", TABLE_RIGHT, 0},
        {"compute", TABLE_RIGHT, 0}, {"of the step", TABLE_BAR, 1}, {"idle", TABLE_RIGHT, 0}};
    struct table t;
    table_init(&t, columns, sizeof columns / sizeof *columns);
    for (int from = 0, end; from < p->stages; from = end) {
        end = end_of_run(p, from);
        add_stage_row(&t, p, from, end, style);
    }
    if (!p->meshes)
        table_hide(&t, TYPE);
    typeset_heading(style, "Stage by stage (of the step)", out);
    table_print(&t, style, out);
    print_bottleneck(p, style, out);
}

static const struct astra_stage {
    const char *name;
    bool needs_figures, with_verdict;
    void (*explain)(const struct plan_answer *, const struct report_style *, struct arena *,
                    struct str *out);
} STAGES[] = {
    {"ops", false, false, explain_ops},
    {"cost", false, false, explain_cost},
    {"schedule", true, false, explain_schedule},
    {"memory", true, true, explain_memory},
};

static void explain_stage(const struct plan_answer *a, const char *name,
                          const struct report_style *style, struct arena *mem, struct str *out)
{
    const struct plan *p = a->plan;
    for (size_t i = 0; i < sizeof STAGES / sizeof *STAGES; i++) {
        if (strcmp(STAGES[i].name, name) != 0)
            continue;
        bool can = p->computed || !STAGES[i].needs_figures;
        if (!can || STAGES[i].with_verdict)
            print_verdict(a, style, mem, out);
        if (can)
            STAGES[i].explain(a, style, mem, out);
        return;
    }
    str_addf(out, "\nThere is no stage '%s'; ops, cost, schedule and memory can be shown.\n", name);
}

/* Of a calibrated plan: what was known before. */
static void print_error(const struct plan *p, const struct report_style *style, struct arena *mem,
                        struct str *out)
{
    struct str words = {0};
    if (p->expected_error != p->evidence.steps.error)
        str_add(&words, "Error of the step, without the profile: ");
    add_error_words(p, &words);
    str_add(out, "\n");
    typeset_wrap(style, str_keep(&words, mem), 2, out);
}

static void explain_all(const struct plan_answer *a, const struct report_style *style,
                        struct arena *mem, struct str *out)
{
    const struct plan *p = a->plan;
    const struct advice_section speedups = speedup_words(a, mem), hints = hint_words(a);
    print_verdict(a, style, mem, out);
    if (!p->computed)
        return;
    if (p->feasible) { /* what does not run has no speed */
        print_figures(p, style, out);
        print_error(p, style, mem, out);
        print_breakdown(p, style, out);
        print_stage_bars(p, style, out);
        print_pipeline(a->step, style, mem, out);
    }
    explain_memory(a, style, mem, out);
    if (p->feasible)
        print_comparison(a, style, out);
    print_advice(&speedups, style, out);
    print_advice(&hints, style, out);
}

void report_explain_text(const struct plan_answer *a, const char *stage,
                         const struct report_style *style, struct str *out)
{
    struct arena mem = {0};
    print_source(a, style, out);
    print_plan_query(a, style, out);
    if (stage)
        explain_stage(a, stage, style, &mem, out);
    else
        explain_all(a, style, &mem, out);
    arena_release(&mem);
}
