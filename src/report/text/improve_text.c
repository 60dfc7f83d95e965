/* A launch script with the better plan put in: the two predictions, and what differs. */
#include "report/report.h"

#include "base/arena.h"
#include "base/str.h"
#include "base/units.h"
#include "probe/answer.h"
#include "query/query_file.h"
#include "report/advice_words.h"
#include "report/plan_words.h"
#include "report/text/plan_text.h"
#include "report/text/typeset.h"
#include "rules/rules.h"

#include <string.h>

static void add_memory(struct str *out, double peak, double limit)
{
    str_add(out, ", ");
    add_bytes(out, peak);
    str_add(out, " of ");
    add_bytes(out, limit);
}

static void print_now(const struct plan *p, const struct report_style *style, struct str *out)
{
    struct str text = {0};
    str_add(&text, "now: ");
    add_ways_of(p, &text);
    str_add(&text, ": ");
    if (p->feasible) {
        add_seconds(&text, p->step_s);
        str_add(&text, " a step");
        add_memory(&text, plan_fullest(p)->device_bytes, p->limit_bytes);
    } else {
        str_addf(&text, "not feasible, %s", p->reasons ? p->reason[0] : "it does not fit");
    }
    typeset_wrap(style, str_text(&text), 6, out);
    str_release(&text);
}

static void print_then(const struct improvement *i, const struct report_style *style,
                       struct str *out)
{
    const struct plan *now = i->answer->plan, *then = i->answer->better->change.plan;
    struct str text = {0};
    str_add(&text, "then: ");
    add_ways_of(then, &text);
    str_add(&text, ": ");
    add_seconds(&text, i->step_s);
    str_add(&text, " a step");
    if (now->feasible)
        str_addf(&text, " (%.1f %% shorter)", 100 * (1 - i->step_s / now->step_s));
    add_memory(&text, i->device_bytes, i->limit_bytes);
    typeset_wrap(style, str_text(&text), 6, out);
    str_release(&text);
}

/* What only the user can write. */
static void print_best(const struct improvement *i, const struct report_style *style,
                       struct str *out)
{
    struct str s = {0};
    str_add(&s, "mind: flags of a fork or an earlier release are kept as they are; a plan that "
                "changes them too takes ");
    add_seconds(&s, i->best_step_s);
    str_add(&s, " a step: astra estimate prints its flags");
    typeset_wrap(style, str_text(&s), 6, out);
    str_release(&s);
}

static void print_cautions(const struct change *c, const struct report_style *style,
                           struct str *out)
{
    for (int i = 0; i < c->cautions; i++) {
        struct str text = {0};
        str_addf(&text, "mind: %s", c->caution[i]->reason);
        typeset_wrap(style, str_text(&text), 6, out);
        str_release(&text);
    }
}

/* What was left out when the script was read. */
static void print_notes(const struct plan_source *source, const struct report_style *style,
                        struct arena *mem, struct str *out)
{
    for (int i = 0; source && i < source->notes; i++)
        typeset_wrap(style, arena_format(mem, "note: %s", source->note[i]), 6, out);
}

static void print_diff(const char *diff, const struct report_style *style, struct str *out)
{
    for (size_t n; *diff; diff += n) {
        bool head = strncmp(diff, "---", 3) == 0 || strncmp(diff, "+++", 3) == 0;
        enum ink ink = head           ? INK_BOLD
                       : *diff == '+' ? INK_GOOD
                       : *diff == '-' ? INK_BAD
                                      : INK_PLAIN;
        n = strcspn(diff, "\n");
        if (ink != INK_PLAIN)
            typeset_ink(style, ink, out);
        str_add_bytes(out, diff, n);
        if (ink != INK_PLAIN)
            typeset_ink(style, INK_PLAIN, out);
        str_add_bytes(out, diff + n, diff[n] == '\n');
        n += diff[n] == '\n';
    }
}

void report_improve_text(const struct improvement *i, const struct report_style *style,
                         struct str *out)
{
    struct arena mem = {0};
    print_notes(i->answer->source, style, &mem, out);
    print_now(i->answer->plan, style, out);
    if (i->diff) {
        print_then(i, style, out);
        if (i->also)
            typeset_wrap(style, arena_format(&mem, "also changed: %s", i->also), 6, out);
        print_cautions(&i->answer->better->change, style, out);
        if (i->newest)
            typeset_wrap(style,
                         "mind: new flags are those of Megatron-LM's HEAD; --megatron-version says "
                         "which release you have",
                         6, out);
        if (i->best_step_s > 0)
            print_best(i, style, out);
        str_add(out, "\n");
        print_diff(i->diff, style, out);
    } else {
        const struct advice_section better = better_words(i->answer, &mem);
        print_advice(&better, style, out);
    }
    arena_release(&mem);
}
