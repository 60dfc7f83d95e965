/* Whether another input makes another choice, in words, as a table and as JSON. */
#include "report/text/plan_text.h"

#include "base/arena.h"
#include "base/json.h"
#include "base/str.h"
#include "base/units.h"
#include "cluster/cluster.h"
#include "report/json/json_out.h"
#include "report/plan_words.h"
#include "report/report.h"
#include "report/text/table.h"
#include "report/text/typeset.h"

#include <math.h>
#include <string.h>

enum outcome { SAME_PLAN, OTHER_STRATEGY, OTHER_GPUS, NO_PLAN };

static const char *const OUTCOMES[] = {[SAME_PLAN] = "the same plan",
                                       [OTHER_STRATEGY] = "other strategy",
                                       [OTHER_GPUS] = "other GPUs",
                                       [NO_PLAN] = "no plan"};

static void add_both(const struct plan *now, const struct plan *then, enum param p,
                     struct str *before, struct str *after)
{
    str_clear(before);
    str_clear(after);
    add_param_of(now, p, before);
    add_param_of(then, p, after);
}

static bool same_stages(const struct plan *now, const struct plan *then)
{
    for (int i = 0; i < now->stages; i++)
        if (now->stage[i].layers != then->stage[i].layers ||
            now->stage[i].group->gpu != then->stage[i].group->gpu)
            return false;
    return true;
}

/* ": tp 4 -> 8, pp 2 -> 1", or nothing. Data-parallel ways go with the number of GPUs. */
static void add_parameters(const struct plan *now, const struct plan *then, struct str *out)
{
    struct str before = {0}, after = {0};
    const char *between = ": ";
    for (int i = 0; i < PARAMS; i++) {
        enum param p = (enum param)i;
        add_both(now, then, p, &before, &after);
        enum param_shown shown = param_info(p)->shown;
        if (shown == SHOWN_TITLE || shown == SHOWN_WITHIN ||
            (p == PARAM_dp && now->gpus != then->gpus) ||
            strcmp(str_text(&before), str_text(&after)) == 0)
            continue;
        str_addf(out, "%s%s %s -> %s", between, param_info(p)->name, str_text(&before),
                 str_text(&after));
        between = ", ";
    }
    bool laid_out = now->strategy.split == SPLIT_LAYOUT && then->strategy.split == SPLIT_LAYOUT;
    if (laid_out && now->model->layers == then->model->layers && now->stages == then->stages &&
        !same_stages(now, then))
        str_addf(out, "%slayers of the stages", between);
    str_release(&before);
    str_release(&after);
}

static bool same_gpus(const struct plan *now, const struct plan *then, struct str *before,
                      struct str *after)
{
    add_gpus(now, before);
    add_gpus(then, after);
    return strcmp(str_text(before), str_text(after)) == 0;
}

/* What becomes of the choice, and that in a sentence. */
static enum outcome add_choice(const struct plan *now, const struct plan *then, struct str *out)
{
    struct str before = {0}, after = {0}, parameters = {0};
    enum outcome outcome = OTHER_GPUS;
    add_parameters(now, then, &parameters);
    if (same_gpus(now, then, &before, &after)) {
        outcome = parameters.length ? OTHER_STRATEGY : SAME_PLAN;
        str_addf(out, "%s%s%s", parameters.length ? "same GPUs, " : "", OUTCOMES[outcome],
                 str_text(&parameters));
    } else {
        str_addf(out, "%s instead of %s%s", str_text(&after), str_text(&before),
                 str_text(&parameters));
    }
    str_release(&before);
    str_release(&after);
    str_release(&parameters);
    return outcome;
}

static enum outcome add_outcome(const struct plan *now, const struct what_if *w, struct str *out)
{
    if (w->plan)
        return add_choice(now, w->plan, out);
    str_addf(out, "%s: %s", OUTCOMES[NO_PLAN], w->message);
    return NO_PLAN;
}

static const double LEAST_SHOWN = 0.05; /* percent: the last digit printed */

/* A figure and by how much it changes; empty cells where it is not known. */
static void add_figure(struct table *t, int decimals, double then, double now, bool changed)
{
    if (then > 0 && decimals > 0)
        str_addf(&t->text, "%.*f", decimals, then);
    else if (then > 0)
        add_count(&t->text, then);
    table_take(t);
    double percent = now > 0 ? 100 * (then / now - 1) : 0;
    if (changed && then > 0 && now > 0)
        str_addf(&t->text, "%s%.1f %%", percent >= LEAST_SHOWN ? "+" : "",
                 fabs(percent) < LEAST_SHOWN ? 0 : percent);
    table_take(t);
}

static void add_row(struct table *t, const char *what, const char *choice, const struct plan *then,
                    const struct plan *now)
{
    static const struct plan none;
    const struct plan *p = then ? then : &none;
    bool changed = now != then;
    table_add(t, "%s", what);
    table_add(t, "%s", choice);
    add_figure(t, 0, p->net_tokens_per_s, now->net_tokens_per_s, changed);
    add_figure(t, 3, p->usd_per_mtoken, now->usd_per_mtoken, changed);
    add_figure(t, 1, p->hours, now->hours, changed);
    add_figure(t, 2, p->usd_total, now->usd_total, changed);
}

void print_what_ifs(const struct search_report *r, const struct report_style *style,
                    struct str *out)
{
    static const struct table_column columns[] = {
        {"", TABLE_LEFT, 0},        {"plan 1", TABLE_LEFT, 0},    {"tokens/s", TABLE_RIGHT, 0},
        {"change", TABLE_RIGHT, 0}, {"$/Mtoken", TABLE_RIGHT, 1}, {"change", TABLE_RIGHT, 1},
        {"hours", TABLE_RIGHT, 3},  {"change", TABLE_RIGHT, 3},   {"$ of the run", TABLE_RIGHT, 2},
        {"change", TABLE_RIGHT, 2}};
    struct table t;
    struct str text = {0}, changes = {0}; /* those that are no longer the same */
    if (r->what_ifs == 0 || r->best == 0)
        return;
    table_init(&t, columns, sizeof columns / sizeof *columns);
    add_row(&t, "as asked", "", &r->plan[0], &r->plan[0]);
    for (int i = 0; i < r->what_ifs; i++) {
        const struct what_if *w = &r->what_if[i];
        str_clear(&text);
        str_addf(&text, "%s: ", w->change);
        enum outcome outcome = add_outcome(&r->plan[0], w, &text);
        add_row(&t, w->change, OUTCOMES[outcome], w->plan, &r->plan[0]);
        if (outcome != SAME_PLAN)
            typeset_item(style, str_text(&text), &changes);
    }
    for (int c = 2; c < t.columns; c++)
        table_hide_if_all(&t, c, "");
    typeset_heading(style, "What if (one change each)", out);
    table_print(&t, style, out);
    str_add(out, str_text(&changes));
    str_release(&text);
    str_release(&changes);
}

struct json *json_of_what_ifs(const struct search_report *r)
{
    struct json *list = json_new_array();
    struct str text = {0};
    for (int i = 0; i < r->what_ifs; i++) {
        const struct what_if *w = &r->what_if[i];
        struct json *o = json_new_object();
        str_clear(&text);
        enum outcome outcome = add_outcome(&r->plan[0], w, &text);
        json_set(o, "change", json_new_string(w->change));
        json_set(o, "feasible", json_new_bool(w->plan));
        json_set(o, "same", json_new_bool(outcome == SAME_PLAN));
        json_set(o, "message", json_new_string(str_text(&text)));
        json_set(o, "plan", w->plan ? json_of_plan(w->plan) : json_new_null());
        json_append(list, o);
    }
    str_release(&text);
    return list;
}
