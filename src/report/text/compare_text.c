/* Plans side by side: their figures, then for each but the first what makes it of the first, a
 * difference a row. */
#include "report/report.h"

#include "base/str.h"
#include "base/units.h"
#include "probe/differences.h"
#include "report/plan_words.h"
#include "report/text/plan_text.h"
#include "report/text/table.h"
#include "report/text/typeset.h"

#include <math.h>

static void add_side(struct table *t, const struct side *s, int i)
{
    const struct plan *p = s->plan;
    table_add(t, "%c", 'A' + i);
    table_add(t, "%s", s->name);
    add_gpus(p, &t->text);
    table_take(t);
    add_ways_of(p, &t->text);
    table_take(t);
    if (p->computed) {
        table_seconds(t, p->step_s);
        table_count(t, p->tokens_per_s);
        table_add(t, "%.1f %%", 100 * p->mfu);
        table_memory(t, p);
        if (p->usd_per_mtoken > 0)
            str_addf(&t->text, "%.3f", p->usd_per_mtoken);
        table_take(t);
    } else {
        for (int k = 0; k < 5; k++)
            table_take(t);
    }
    if (!p->feasible)
        str_add(&t->text, plan_fits(p) ? "invalid" : "does not fit");
    table_take(t);
    table_ink(t, INK_BAD);
}

static void print_sides(const struct compare_report *r, const struct report_style *style,
                        struct str *out)
{
    static const struct table_column columns[] = {
        {"", TABLE_LEFT, 0},      {"plan", TABLE_LEFT, 0},    {"GPUs", TABLE_LEFT, 2},
        {"split", TABLE_LEFT, 1}, {"step", TABLE_RIGHT, 0},   {"tokens/s", TABLE_RIGHT, 0},
        {"MFU", TABLE_RIGHT, 4},  {"memory", TABLE_RIGHT, 0}, {"$/Mtoken", TABLE_RIGHT, 3},
        {"", TABLE_LEFT, 0}};
    struct table t;
    table_init(&t, columns, sizeof columns / sizeof *columns);
    for (int i = 0; i < r->sides; i++)
        add_side(&t, &r->side[i], i);
    table_hide_if_all(&t, 8, "");
    table_hide_if_all(&t, 9, "");
    typeset_heading(style, "Plans", out);
    table_print(&t, style, out);
    for (int i = 0; i < r->sides; i++) {
        const struct plan *p = r->side[i].plan;
        struct str text = {0};
        for (int k = 0; k < p->reasons; k++) {
            str_clear(&text);
            str_addf(&text, "%c: %s", 'A' + i, p->reason[k]);
            typeset_item(style, str_text(&text), out);
        }
        str_release(&text);
    }
}

static void add_percent(struct table *t, double share)
{
    double percent = 100 * share;
    str_addf(&t->text, "%+.1f %%", fabs(percent) < 0.05 ? 0 : percent);
    table_take(t);
    table_change_ink(t, share);
}

static void add_memory(struct table *t, const struct plan *p)
{
    const struct plan_stage *s = plan_fullest(p);
    str_addf(&t->text, "%.1f GiB", s->device_bytes / GIB);
    table_take(t);
    if (!p->feasible)
        str_addf(&t->text, "%s", plan_fits(p) && p->reasons ? p->reason[0] : "does not fit");
    table_take(t);
    table_ink(t, INK_BAD);
}

/* The differences of a step, the figures behind the last one. */
static void add_step(struct table *t, const struct differences *d, const struct difference_step *s,
                     const struct plan *before)
{
    for (int k = 0; k < s->count; k++) {
        const struct difference *x = &d->difference[s->first + k];
        bool last = k == s->count - 1;
        table_add(t, "%s", x->name);
        table_add(t, "%s", x->from);
        table_add(t, "%s", x->to);
        if (!last) {
            for (int c = 0; c < 4; c++)
                table_take(t);
            table_add(t, "(with the next: alone it cannot be laid out)");
            continue;
        }
        table_seconds(t, s->plan->step_s);
        add_percent(t, plan_token_s(s->plan) / plan_token_s(before) - 1);
        if (s->alone)
            add_percent(t, plan_token_s(s->alone) / plan_token_s(d->a->plan) - 1);
        else
            table_add(t, "-");
        add_memory(t, s->plan);
    }
}

static void add_unpriced(struct table *t, const struct difference *x)
{
    table_add(t, "%s", x->name);
    table_add(t, "%s", x->from);
    table_add(t, "%s", x->to);
    for (int c = 0; c < 5; c++)
        table_take(t);
}

/* What the differences do to each other: all of them alone, multiplied, beside all at once. */
static void print_interaction(const struct differences *d, const struct report_style *style,
                              struct str *out)
{
    double product = 1, whole = plan_token_s(d->b->plan) / plan_token_s(d->a->plan);
    struct str text = {0};
    bool known = true;
    for (int i = 0; i < d->steps; i++) {
        known = known && d->step[i].alone;
        product *= known ? plan_token_s(d->step[i].alone) / plan_token_s(d->a->plan) : 1;
    }
    str_add(&text,
            "change: of the time per token, to the row above; alone: A with this difference only.");
    if (d->steps > 1 && known)
        str_addf(&text,
                 " The differences alone would make %+.1f %%, together they make %+.1f %%: %s.",
                 100 * (product - 1), 100 * (whole - 1),
                 fabs(whole / product - 1) < 0.005 ? "they act independently"
                                                   : "the rest is what they do to each other");
    else if (d->steps > 1)
        str_add(&text, " Another order would share the whole out differently.");
    str_add(out, "  ");
    typeset_wrap(style, str_text(&text), 2, out);
    str_release(&text);
}

static void print_pair(const struct differences *d, int i, const struct report_style *style,
                       struct str *out)
{
    static const struct table_column columns[] = {
        {"difference", TABLE_LEFT, 0}, {"from", TABLE_LEFT, 0},    {"to", TABLE_LEFT, 0},
        {"step", TABLE_RIGHT, 0},      {"change", TABLE_RIGHT, 0}, {"alone", TABLE_RIGHT, 1},
        {"memory", TABLE_RIGHT, 2},    {"", TABLE_LEFT, 3}};
    const struct plan *a = d->a->plan, *b = d->b->plan;
    struct str head = {0};
    struct table t;
    str_addf(&head, "From A to %c", 'A' + i);
    if (a->computed && b->computed)
        str_addf(&head, ": %+.1f %% time per token", 100 * (plan_token_s(b) / plan_token_s(a) - 1));
    if (a->usd_per_mtoken > 0 && b->usd_per_mtoken > 0)
        str_addf(&head, ", %+.1f %% dollars", 100 * (b->usd_per_mtoken / a->usd_per_mtoken - 1));
    typeset_heading(style, str_text(&head), out);
    str_release(&head);
    if (d->count == 0) {
        str_add(out, "  they are the same plan\n");
        return;
    }
    table_init(&t, columns, sizeof columns / sizeof *columns);
    for (int k = 0; k < d->steps; k++)
        add_step(&t, d, &d->step[k], k ? d->step[k - 1].plan : a);
    for (int k = 0; k < d->count && d->steps == 0; k++)
        add_unpriced(&t, &d->difference[k]);
    for (int c = 3; c < t.columns; c++)
        table_hide_if_all(&t, c, "");
    table_print(&t, style, out);
    if (d->why_not)
        str_addf(out, "  not taken apart: %s\n", d->why_not);
    else
        print_interaction(d, style, out);
}

void report_compare_text(const struct compare_report *r, const struct report_style *style,
                         struct str *out)
{
    print_sides(r, style, out);
    for (int i = 1; i < r->sides; i++)
        print_pair(r->pair[i], i, style, out);
}
