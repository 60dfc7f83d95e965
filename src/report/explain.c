/* Why a plan is fast or slow, valid or not: the verdict with its reasons, where the step's time
 * goes, time and memory of every stage as bars on one scale, and what fills the fullest stage. With
 * the name of one of Astra's own stages, what that stage hands on instead. */
#include "report/explain.h"

#include "base/arena.h"
#include "base/str.h"
#include "base/units.h"
#include "report/plan_text.h"
#include "report/plan_words.h"
#include "report/report.h"
#include "report/table.h"
#include "report/typeset.h"

#include <string.h>

enum { STAGE_BAR = 16, PART_BAR = 30 };

static void add_bar_cell(struct table *t, double share, int width)
{
    struct str cell;
    str_init(&cell);
    typeset_bar(share, width, &cell);
    table_take(t, &cell);
    str_release(&cell);
}

static void add_stage_row(struct table *t, const struct plan *p, int from, int end)
{
    const struct plan_stage *s = &p->stage[from];
    struct str cell;
    str_init(&cell);
    add_run(from, end, &cell);
    table_take(t, &cell);
    table_add(t, "%d", s->layers);
    table_add(t, "%.1f %%", 100 * s->compute_step_s / p->step_s);
    add_bar_cell(t, s->compute_step_s / p->step_s, STAGE_BAR);
    table_add(t, "%.1f %%", 100 * (s->idle_s > 0 ? s->idle_s / p->step_s : 0));
    table_add(t, "%.1f", s->device_bytes / GIB);
    add_bar_cell(t, s->device_bytes / p->limit_bytes, STAGE_BAR);
    table_add(t, "%s", s->fits ? "" : "does not fit");
    str_release(&cell);
}

static void print_stage_bars(const struct plan *p, const struct report_style *style,
                             struct arena *mem, struct str *out)
{
    struct table t;
    struct str title;
    table_init(&t, mem);
    table_column(&t, "stage", TABLE_LEFT, 0);
    table_column(&t, "layers", TABLE_RIGHT, 0);
    table_column(&t, "compute", TABLE_RIGHT, 0);
    table_column(&t, "of the step", TABLE_LEFT, 1);
    table_column(&t, "idle", TABLE_RIGHT, 0);
    table_column(&t, "GiB", TABLE_RIGHT, 0);
    table_column(&t, "of the limit", TABLE_LEFT, 1);
    table_column(&t, "", TABLE_LEFT, 0);
    for (int from = 0, end; from < p->stages; from = end) {
        end = end_of_run(p, from);
        add_stage_row(&t, p, from, end);
    }
    str_init(&title);
    str_addf(&title, "Stage by stage (limit %.1f GiB)", p->limit_bytes / GIB);
    typeset_heading(style, str_text(&title), out);
    str_release(&title);
    table_print(&t, style, out);
}

static void print_fullest(const struct plan *p, const struct report_style *style, struct arena *mem,
                          struct str *out)
{
    const struct plan_stage *s = plan_fullest(p);
    struct table t;
    struct str title;
    table_init(&t, mem);
    table_column(&t, "", TABLE_LEFT, 0);
    table_column(&t, "", TABLE_RIGHT, 0);
    table_column(&t, "", TABLE_LEFT, 1);
    table_column(&t, "", TABLE_LEFT, 2);
    for (int i = 0; i < MEMORY_PARTS; i++) {
        const struct memory_part_info *info = memory_part_info((enum memory_part)i);
        if (s->memory.part[i] <= 0)
            continue;
        table_add(&t, "%s", info->name);
        table_add(&t, "%.2f GiB", s->memory.part[i] / GIB);
        add_bar_cell(&t, s->memory.part[i] / p->limit_bytes, PART_BAR);
        table_add(&t, "%s", info->help);
    }
    str_init(&title);
    str_addf(&title, "What fills stage %d, the fullest", (int)(s - p->stage));
    typeset_heading(style, str_text(&title), out);
    str_release(&title);
    table_print(&t, style, out);
}

void explain_memory(const struct plan *p, const struct report_style *style, struct arena *mem,
                    struct str *out)
{
    struct table t;
    table_init(&t, mem);
    table_column(&t, "stage", TABLE_LEFT, 0);
    for (int i = 0; i < MEMORY_PARTS; i++)
        table_column(&t, memory_part_info((enum memory_part)i)->name, TABLE_RIGHT, 0);
    table_column(&t, "allocated", TABLE_RIGHT, 0);
    table_column(&t, "on the GPU", TABLE_RIGHT, 0);
    for (int from = 0, end; from < p->stages; from = end) {
        const struct plan_stage *s = &p->stage[from];
        struct str cell;
        end = end_of_run(p, from);
        str_init(&cell);
        add_run(from, end, &cell);
        table_take(&t, &cell);
        str_release(&cell);
        for (int i = 0; i < MEMORY_PARTS; i++)
            table_add(&t, "%.3f", s->memory.part[i] / GIB);
        table_add(&t, "%.3f", s->peak_bytes / GIB);
        table_add(&t, "%.3f", s->device_bytes / GIB);
    }
    typeset_heading(style, "Memory of each stage (GiB, one GPU, fullest moment)", out);
    table_print(&t, style, out);
    str_addf(out, "  a GPU may use %.3f GiB\n", p->limit_bytes / GIB);
}

static const struct astra_stage {
    const char *name;
    bool needs_figures;
    void (*explain)(const struct plan *, const struct report_style *, struct arena *,
                    struct str *out);
} STAGES[] = {
    {"ops", false, explain_ops},
    {"cost", false, explain_cost},
    {"schedule", true, explain_schedule},
    {"memory", true, explain_memory},
};

static void explain_stage(const struct plan *p, const char *name, const struct report_style *style,
                          struct arena *mem, struct str *out)
{
    for (size_t i = 0; i < sizeof STAGES / sizeof *STAGES; i++) {
        if (strcmp(STAGES[i].name, name) != 0)
            continue;
        if (p->computed || !STAGES[i].needs_figures)
            STAGES[i].explain(p, style, mem, out);
        else
            print_verdict(p, style, out);
        return;
    }
    str_addf(out, "\nNo stage is called '%s'; ops, cost, schedule and memory can be shown.\n",
             name);
}

static void explain_all(const struct plan *p, const struct report_style *style, struct arena *mem,
                        struct str *out)
{
    print_verdict(p, style, out);
    if (!p->computed)
        return;
    print_figures(p, style, mem, out);
    print_breakdown(p, style, mem, out);
    print_stage_bars(p, style, mem, out);
    print_fullest(p, style, mem, out);
    print_hints(p, style, out);
}

void report_explain_text(const struct plan *p, const char *stage, const struct report_style *style,
                         struct str *out)
{
    struct arena mem;
    arena_init(&mem);
    print_plan_question(p, style, out);
    if (stage)
        explain_stage(p, stage, style, &mem, out);
    else
        explain_all(p, style, &mem, out);
    arena_release(&mem);
}
