/* Which residual factors acted on plans: one line for each type of GPU that has some. */
#include "report/text/plan_text.h"

#include "base/str.h"
#include "cluster/cluster.h"
#include "cost/residual.h"
#include "report/report.h"
#include "report/text/typeset.h"
#include "simulate/partition.h"

/* Types with factors, each once. */
struct acting {
    int count;
    bool several; /* types, with factors or without */
    struct costing on[CLUSTER_MAX_GROUPS];
};

static bool is_fitted(const struct residual *r)
{
    bool any = false;
    for (int f = 0; r && f < RESIDUALS; f++)
        any |= r->fitted[f];
    return any;
}

static void add_group(struct acting *a, struct costing on)
{
    bool known = !is_fitted(on.residual) || a->count == CLUSTER_MAX_GROUPS;
    for (int i = 0; i < a->count && !known; i++)
        known = a->on[i].group->gpu == on.group->gpu;
    if (!known)
        a->on[a->count++] = on;
}

static void add_factors(const struct residual *r, struct str *out)
{
    const char *between = "";
    for (int f = 0; f < RESIDUALS; f++)
        if (r->fitted[f]) {
            str_addf(out, "%s%s x %.3f", between, residual_name((enum residual_factor)f),
                     r->value[f]);
            between = ", ";
        }
}

static void add_unlike(const struct plan *p, struct str *out)
{
    str_addf(out, "; no run of a model %s experts in ", p->model->experts > 0 ? "with" : "without");
    param_print(PARAM_precision, p->strategy.precision, out);
    str_add(out, " is behind it: times are no more certain than without it");
}

static void print_group(const struct costing *on, const struct plan *p, bool alone,
                        const struct report_style *style, struct str *out)
{
    const struct residual *r = on->residual;
    struct str text = {0};
    str_addf(&text, "profile%s%s: ", alone ? "" : " of ", alone ? "" : on->group->gpu->name);
    add_factors(r, &text);
    if (residual_times_fitted(on) &&
        !residual_runs_have(&r->runs, p->model->experts > 0, p->strategy.precision))
        add_unlike(p, &text);
    str_add(out, "  ");
    typeset_wrap(style, str_text(&text), 2, out);
    str_release(&text);
}

void print_profile(const struct plan *plan, int plans, const struct report_style *style,
                   struct str *out)
{
    struct acting a = {0};
    for (int i = 0; i < plans; i++) {
        struct plan_part part[MESHES_MAX];
        const struct scene scene = plan_scene(&plan[i]);
        int parts = plan_parts(&plan[i], part);
        for (int k = 0; k < parts; k++)
            a.several |= part[k].group->gpu != plan[0].group->gpu;
        for (int k = 0; k < parts; k++)
            add_group(&a, scene_costing(&scene, part[k].group));
    }
    for (int i = 0; i < a.count; i++)
        print_group(&a.on[i], &plan[0], !a.several, style, out);
}
