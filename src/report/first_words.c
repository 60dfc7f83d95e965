#include "report/first_words.h"

#include "base/str.h"
#include "base/units.h"
#include "report/plan_words.h"
#include "report/report.h"

#include <math.h>

static bool by_cost(const struct search_report *r)
{
    return r->money && r->money->objective == OBJECTIVE_COST;
}

static bool same_layout(const struct plan *a, const struct plan *b)
{
    if (a->group != b->group || !a->meshes != !b->meshes)
        return false;
    for (int i = 0; a->meshes && i < a->meshes->count; i++)
        if (a->meshes->count != b->meshes->count ||
            a->meshes->mesh[i].group != b->meshes->mesh[i].group ||
            a->meshes->mesh[i].stages != b->meshes->mesh[i].stages)
            return false;
    return strategy_same_row(&a->strategy, &b->strategy, ROW_LAYOUT);
}

/* The first that is another layout; NULL: there is none. */
static const struct plan *next_layout(const struct search_report *r)
{
    for (int i = 1; i < r->best; i++)
        if (!same_layout(&r->plan[0], &r->plan[i]))
            return &r->plan[i];
    return NULL;
}

static double fullness(const struct plan *p)
{
    const struct plan_stage *s = plan_fullest(p);
    return s->device_bytes / s->limit_bytes;
}

/* Why a plan that is a little faster or cheaper is not the first. */
static const char *why_behind(const struct plan *first, const struct plan *next)
{
    if (next->cautions > first->cautions)
        return ", with more cautions";
    if (fullness(next) > CROWDED && fullness(first) <= CROWDED)
        return ", with fuller memory";
    return next->complexity > first->complexity ? ", and less simple" : "";
}

static void add_next(const struct search_report *r, const struct plan *next, struct str *out)
{
    const struct plan *first = &r->plan[0];
    bool cost = by_cost(r) && first->usd_per_mtoken > 0;
    double more = cost ? next->usd_per_mtoken / first->usd_per_mtoken - 1
                       : first->net_tokens_per_s / next->net_tokens_per_s - 1;
    int digits = fabs(more) < 0.02;
    double percent = 100 * fabs(more);
    const char *why = more < 0 ? why_behind(first, next) : "";
    if (percent < 0.05)
        str_addf(out, "; the next layout is as %s", cost ? "cheap" : "fast");
    else
        str_addf(out, "; the next layout is %.*f %% %s%s", digits, percent,
                 cost ? (more < 0 ? "cheaper" : "dearer") : (more < 0 ? "faster" : "slower"), why);
}

void add_first_words(const struct search_report *r, struct str *out)
{
    const struct plan *p = &r->plan[0], *next = next_layout(r);
    str_add(out, "Run ");
    add_ways_of(p, out);
    if (p->meshes) {
        str_add(out, " on ");
        add_gpus(p, out);
    } else {
        str_addf(out, " on %lld GPUs", (long long)p->gpus);
    }
    str_add(out, ": ");
    add_seconds(out, p->step_s);
    str_add(out, " a step, ");
    if (plan_has_samples(p)) {
        add_sample_words(p, out);
        str_add(out, ", ");
        add_spare_words(p, out);
        str_add(out, ": ");
    }
    str_addf(out, "%.1f of %.1f GiB", plan_fullest(p)->device_bytes / GIB,
             plan_fullest(p)->limit_bytes / GIB);
    if (by_cost(r) && p->usd_per_mtoken > 0)
        str_addf(out, ", $%.3f per million tokens", p->usd_per_mtoken);
    if (next)
        add_next(r, next, out);
    str_add(out, ".");
}
