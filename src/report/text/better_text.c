/* What was read, and what Astra would run instead. */
#include "report/text/plan_text.h"

#include "base/str.h"
#include "base/units.h"
#include "report/plan_words.h"
#include "report/report.h"
#include "report/text/typeset.h"

void print_source(const struct plan *p, const struct report_style *style, struct str *out)
{
    const struct plan_source *s = p->source;
    struct str text;
    if (!s)
        return;
    str_init(&text);
    if (s->file)
        str_addf(&text, "Read from %s: %s, ", s->file, s->kind);
    else
        str_add(&text, "Read from the command line: ");
    str_addf(&text, "%d flags", s->flags);
    if (s->program)
        str_addf(&text, " of %s", s->program);
    if (s->line)
        str_addf(&text, " (line %d)", s->line);
    str_addf(&text, ", %d without effect on time or memory", s->idle);
    if (s->file || s->flags) /* otherwise there is no more than notes */
        typeset_wrap(style, str_text(&text), 2, out);
    for (int i = 0; i < s->notes; i++)
        typeset_item(style, s->note[i], out);
    str_add(out, "\n");
    str_release(&text);
}

static void add_speedup(const struct plan *p, const struct plan *best, struct str *out)
{
    add_seconds(out, best->step_s);
    if (p->computed) {
        str_add(out, " instead of ");
        add_seconds(out, p->step_s);
    }
    if (p->feasible)
        str_addf(out, " (%.1f %% shorter)", 100 * (1 - best->step_s / p->step_s));
    else
        str_add(out, p->computed ? ", and it runs" : " a step");
    if (best->usd_per_mtoken > 0) {
        str_addf(out, ", $%.3f", best->usd_per_mtoken);
        if (p->usd_per_mtoken > 0)
            str_addf(out, " instead of $%.3f", p->usd_per_mtoken);
        str_add(out, " per million tokens");
    }
}

/* An item that begins with `word`, where there is something to say. */
static void print_words(const char *word, const char *words, const char *rest,
                        const struct report_style *style, struct str *out)
{
    struct str text;
    if (!*words)
        return;
    str_init(&text);
    str_addf(&text, "%s %s%s", word, words, rest);
    typeset_item(style, str_text(&text), out);
    str_release(&text);
}

static void print_change(const struct plan *p, const struct report_style *style, struct str *out)
{
    const struct better_plan *i = p->better_plan;
    struct str text;
    str_init(&text);
    add_plan_words(&i->change.plan->strategy, &text);
    str_add(&text, ": ");
    add_speedup(p, i->change.plan, &text);
    typeset_item(style, str_text(&text), out);
    str_release(&text);
    print_words("with", i->change.add, "", style, out);
    print_words("without", i->change.remove, "", style, out);
    print_words("with", i->env, " in the environment", style, out);
    print_words("without", i->unset, "=1 in the environment, which FSDP refuses", style, out);
}

void print_better(const struct plan *p, const struct report_style *style, struct str *out)
{
    const struct better_plan *i = p->better_plan;
    if (!i)
        return;
    typeset_heading(style, "What Astra would run", out);
    if (i->why_not)
        print_words("left open:", i->why_not, "", style, out);
    else if (!i->found && p->feasible)
        typeset_item(style, "this: a search finds no other plan that goes with the flags", out);
    else if (!i->found)
        typeset_item(style, "no plan that a search finds fits on these GPUs", out);
    else if (!i->better)
        typeset_item(style, "this: no plan that a search finds on these GPUs is 1 % faster", out);
    else
        print_change(p, style, out);
}
