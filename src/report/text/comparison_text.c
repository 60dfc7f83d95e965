/* What a mixed plan is worth: what one more layer on each stage costs, and other uses of the same
 * GPUs beside it. */
#include "report/text/plan_text.h"

#include "base/arena.h"
#include "base/str.h"
#include "base/units.h"
#include "cluster/cluster.h"
#include "probe/answer.h"
#include "report/plan_words.h"
#include "report/report.h"
#include "report/text/table.h"
#include "report/text/typeset.h"

static void add_more_row(struct table *t, const struct plan *p, const struct more_layer *more,
                         int stage)
{
    const struct plan_stage *s = &p->stage[stage];
    table_add(t, "%d", stage);
    table_add(t, "%s", s->group->gpu->name);
    table_add(t, "%d -> %d", s->layers, s->layers + 1);
    if (more->plan) {
        const struct plan_stage *then = &more->plan->stage[stage];
        table_add(t, "%d", more->from);
        table_seconds(t, more->seconds);
        table_seconds(t, more->plan->step_s);
        table_add(t, "%+.1f %%", 100 * (more->plan->step_s / p->step_s - 1));
        table_add(t, "%.1f of %.1f GiB%s", then->device_bytes / GIB, then->limit_bytes / GIB,
                  then->fits ? "" : ", does not fit");
    } else {
        table_add(t, "none has one to spare");
        for (int i = 0; i < 4; i++)
            table_take(t);
    }
}

static void print_more(const struct plan_answer *a, const struct report_style *style,
                       struct str *out)
{
    static const struct table_column columns[] = {
        {"stage", TABLE_LEFT, 0},      {"GPU", TABLE_LEFT, 0},          {"layers", TABLE_LEFT, 0},
        {"from stage", TABLE_LEFT, 1}, {"micro-batch", TABLE_RIGHT, 1}, {"step", TABLE_RIGHT, 0},
        {"", TABLE_RIGHT, 0},          {"memory", TABLE_LEFT, 1}};
    const struct plan *p = a->plan;
    struct table t;
    table_init(&t, columns, sizeof columns / sizeof *columns);
    for (int r = 0; r < p->stages; r++)
        add_more_row(&t, p, &a->comparison->more[r], r);
    typeset_heading(style,
                    "One more layer (seconds it adds to a micro-batch, then the step and the "
                    "stage's memory)",
                    out);
    table_print(&t, style, out);
}

/* One line: what, and how this plan does beside it. `than` is NULL when there is none. */
static void add_use_row(struct table *t, const char *what, const struct plan *p,
                        const struct plan *than)
{
    struct str *cell = &t->text;
    table_add(t, "%s", what);
    if (!than) {
        for (int i = 0; i < 4; i++)
            table_take(t);
        table_add(t, "there is none");
        return;
    }
    table_add(t, "%lld", (long long)than->gpus);
    table_seconds(t, than->step_s);
    table_count(t, than->tokens_per_s);
    if (than != p)
        str_addf(cell, "%+.1f %%", 100 * (p->tokens_per_s / than->tokens_per_s - 1));
    table_take(t);
    if (!than->feasible)
        str_add(cell, plan_fits(than) ? "invalid: " : "does not fit: ");
    if (than->meshes)
        for (int r = 0; r < than->stages; r++)
            str_addf(cell, "%s%d", r ? "+" : "", than->stage[r].layers);
    else
        add_plan_words(&than->strategy, cell);
    str_add(cell, than->meshes ? " layers" : "");
    table_take(t);
}

static void print_uses(const struct plan_answer *a, const struct report_style *style,
                       struct str *out)
{
    static const struct table_column columns[] = {
        {"", TABLE_LEFT, 0},          {"GPUs", TABLE_RIGHT, 0}, {"step", TABLE_RIGHT, 0},
        {"tokens/s", TABLE_RIGHT, 0}, {"gain", TABLE_RIGHT, 0}, {"plan", TABLE_LEFT, 1}};
    const struct plan *p = a->plan;
    const struct comparison *m = a->comparison;
    struct table t;
    table_init(&t, columns, sizeof columns / sizeof *columns);
    add_use_row(&t, "this plan", p, p);
    for (int i = 0; i < COMPARISON_SPLITS; i++)
        add_use_row(&t, m->split[i].words, p, m->split[i].plan);
    for (int g = 0; g < m->groups; g++)
        add_use_row(&t, arena_format(&t.mem, "%s alone", m->alone[g].group->gpu->name), p,
                    m->alone[g].plan);
    typeset_heading(
        style, "Beside other uses of these GPUs (gain: tokens/s that this plan has more than they)",
        out);
    table_print(&t, style, out);
}

void print_comparison(const struct plan_answer *a, const struct report_style *style,
                      struct str *out)
{
    if (!a->comparison)
        return;
    print_more(a, style, out);
    print_uses(a, style, out);
}
