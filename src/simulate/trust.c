/* A step's seconds belong to the factors of residual.h, one after the other for each group of
 * nodes, and to none (host, posting of transfers). The share of a factor is what the step changes
 * by with it, d ln(step) / d ln(factor), overlap and bubbles included, from two evaluations. Then
 *
 *   error^2 = (Z scatter)^2 + sum over fitted factors (share x Z deviation)^2
 *           + sum over the others and the rest (share x error without a profile)^2
 *
 * The first term is how far steps lie from the calibrated prediction: no plan is surer. */
#include "simulate/trust.h"

#include "base/arena.h"
#include "simulate/vary.h"

#include <math.h>

/* expected_error means that about 80 of 100 runs lie within: so many standard deviations. */
static const double Z = 1.28;

static const double STEP = 0.02; /* by which a factor is changed, as a log */

static const struct node_group *group_of(const struct scene *sc, int mesh)
{
    return sc->meshes ? sc->meshes->mesh[mesh].group : sc->group;
}

static double step_with(const struct scene *sc, const struct plan *p, const struct layout *layout,
                        int mesh, int factor, double times, struct arena *mem)
{
    struct varied *v = arena_alloc(mem, sizeof *v);
    struct plan *then = arena_alloc(mem, sizeof *then);
    double all[RESIDUALS] = {1, 1, 1, 1};
    all[factor] = times;
    scene_vary(v, sc, mesh, all);
    plan_evaluate(&v->scene, &p->strategy, layout, mem, then);
    return then->step_s;
}

static double share_of(const struct scene *sc, const struct plan *p, const struct layout *layout,
                       int mesh, int factor, struct arena *mem)
{
    double more = step_with(sc, p, layout, mesh, factor, exp(STEP), mem);
    double less = step_with(sc, p, layout, mesh, factor, exp(-STEP), mem);
    return more > 0 && less > 0 ? fmax(0, log(more / less) / (2 * STEP)) : 0;
}

void trust_residuals(const struct scene *sc, const struct layout *layout, struct arena *scratch,
                     struct plan *p)
{
    int meshes = sc->meshes ? sc->meshes->count : 1;
    double sum = 0, rest = 1, scatter = 0, before = p->expected_error;
    bool any = false;
    for (int m = 0; m < meshes; m++)
        any |= residual_times_fitted(group_of(sc, m));
    for (int m = 0; any && m < meshes; m++) {
        const struct residual *r = group_of(sc, m)->residual;
        for (int f = 0; f < RESIDUAL_TIMES; f++) {
            bool fitted = r && r->fitted[f];
            double share = share_of(sc, p, layout, m, f, scratch);
            double error = fitted ? Z * r->error[f] / RESIDUAL_DEVIATIONS : before;
            sum += share * share * error * error;
            rest -= share;
        }
        scatter = r ? fmax(scatter, r->time_scatter) : scatter;
    }
    if (!any)
        return;
    double left = fmax(0, rest) * before, floor = Z * scatter;
    p->expected_error = fmin(before, sqrt(floor * floor + sum + left * left));
    p->provenance = "calibrated";
}
