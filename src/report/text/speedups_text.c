/* What would make a plan faster: a line for each change, and one for what the search finds. */
#include "report/text/plan_text.h"

#include "base/str.h"
#include "base/units.h"
#include "report/plan_words.h"
#include "report/report.h"
#include "report/text/typeset.h"

static const double LEAST_SHOWN = 0.001; /* of a step: the last digit printed */

static void add_step(const struct plan *from, const struct plan *then, struct str *out)
{
    double shorter = 1 - then->step_s / from->step_s;
    add_seconds(out, then->step_s);
    if (shorter < LEAST_SHOWN)
        str_addf(out, ", less than %.1f %% shorter", 100 * LEAST_SHOWN);
    else
        str_addf(out, ", %.1f %% shorter", 100 * shorter);
}

/* Both figures as shares of the step that is now, so that they can be compared. */
static void print_speedup(const struct plan *from, const struct speedup *g,
                          const struct report_style *style, struct str *out)
{
    const struct plan *then = g->change.plan;
    struct str text;
    str_init(&text);
    add_step(from, then, &text);
    str_addf(&text, " (%s %.1f %% -> %.1f %%): ", breakdown_name(g->part),
             100 * from->breakdown[g->part] / from->step_s,
             100 * then->breakdown[g->part] / from->step_s);
    add_change(&g->change, &text);
    typeset_item(style, str_text(&text), out);
    str_release(&text);
}

static void add_searched(const struct speedups *g, struct str *out)
{
    int64_t gpus = g->from->gpus;
    const struct plan *best = g->searched.plan;
    const char *s = gpus > 1 ? "s" : "";
    if (!g->found || best->step_s >= g->from->step_s) {
        str_addf(out, "%s finds no faster plan on %lld GPU%s",
                 g->count ? "search" : "this plan is the best, search", (long long)gpus, s);
        return;
    }
    str_addf(out, "the best plan that search finds on %lld GPU%s takes ", (long long)gpus, s);
    add_step(g->from, best, out);
    str_add(out, ": ");
    add_plan_words(&best->strategy, out);
}

void print_speedups(const struct plan *p, const struct report_style *style, struct str *out)
{
    const struct speedups *g = p->speedups;
    bool asked = !p->meshes;
    struct str text;
    if (!g)
        return;
    typeset_heading(style,
                    g->from == p ? "What would gain most (one change each)"
                                 : "What would gain most, once it fits (the change above and one "
                                   "more each)",
                    out);
    for (int i = 0; i < g->count; i++)
        print_speedup(g->from, &g->speedup[i], style, out);
    str_init(&text);
    if (g->count == 0)
        str_add(&text, asked ? "no single change gains 1 %; " : "no single change gains 1 %");
    if (asked) {
        str_add(&text, "searched: ");
        add_searched(g, &text);
    }
    if (text.length)
        typeset_item(style, str_text(&text), out);
    str_release(&text);
}
