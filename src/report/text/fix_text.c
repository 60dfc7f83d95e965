/* One line on what would make a plan fit. */
#include "report/text/plan_text.h"

#include "base/str.h"
#include "base/units.h"
#include "cluster/cluster.h"
#include "report/plan_words.h"
#include "report/report.h"
#include "report/text/typeset.h"

#include <math.h>

static const double MANIFOLD = 2, AS_BEFORE = 0.0005; /* how a ratio of step times is worded */

void add_change(const struct change *c, struct str *out)
{
    for (size_t i = 0; i < c->sets; i++)
        str_addf(out, "%s--set %s", i ? " " : "", c->set[i]);
    if (!*c->add && !*c->remove)
        return;
    str_addf(out, " (Megatron: %s%s%s%s%s)", *c->add ? "with " : "", c->add,
             *c->add && *c->remove ? ", " : "", *c->remove ? "without " : "", c->remove);
}

static void add_cost(const struct plan *p, const struct plan *then, struct str *out)
{
    double ratio = then->step_s / p->step_s;
    str_addf(out, "; stage %d, the fullest, then needs %.1f of %.1f GiB, and a step takes ",
             (int)(plan_fullest(then) - then->stage), plan_fullest(then)->device_bytes / GIB,
             then->limit_bytes / GIB);
    add_seconds(out, then->step_s);
    if (ratio >= MANIFOLD)
        str_addf(out, ", %.1f times as long", ratio);
    else if (fabs(ratio - 1) < AS_BEFORE)
        str_add(out, ", as before");
    else
        str_addf(out, ", %.1f %% %s", 100 * fabs(ratio - 1), ratio > 1 ? "longer" : "shorter");
}

static void add_needs(const struct plan *p, const struct fix *r, struct str *out)
{
    str_add(out, "nothing that was tried fits on ");
    add_gpus(p, out);
    str_add(out, ": the least, ");
    add_ways_of(r->change.plan, out);
    for (size_t i = 0; i < r->change.sets; i++)
        str_addf(out, "%s%s", i ? " " : " with --set ", r->change.set[i]);
    str_addf(out, ", needs %.1f GiB on every GPU of its fullest stage",
             plan_fullest(r->change.plan)->device_bytes / GIB);
    if (r->gpus > 0)
        str_addf(out, "; %lld of these GPUs would do", (long long)r->gpus);
}

void print_fix(const struct plan *p, const struct report_style *style, struct str *out)
{
    const struct fix *r = p->fix;
    struct str text;
    if (!r)
        return;
    str_init(&text);
    if (r->fits) {
        str_add(&text, r->anew ? "no one or two changes make it fit, another plan does: "
                               : "cheapest change that makes it fit: ");
        add_change(&r->change, &text);
        if (r->numerics)
            str_add(&text, "; it changes the numerics of the training, nothing else that was tried "
                           "fits");
        add_cost(p, r->change.plan, &text);
    } else {
        add_needs(p, r, &text);
    }
    typeset_item(style, str_text(&text), out);
    str_release(&text);
}
