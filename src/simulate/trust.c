/* A step's seconds belong to the factors of residual.h, one after the other for each type of GPU,
 * and to none (host, posting of transfers). The share of a factor is what the step changes
 * by with it, d ln(step) / d ln(factor), overlap and bubbles included, from two evaluations. Then
 *
 *   error^2 = (Z scatter)^2 + sum over fitted factors (share x Z deviation)^2
 *           + sum over the others and the rest (share x error without a profile)^2
 *
 * The first term is how far steps lie from the calibrated prediction: no plan is surer, though other
 * people's runs scatter less; beyond it no plan is less sure than without a profile. Groups of
 * one type have one factor: their shares are added before they are squared. Types without factors,
 * and those whose factors are of runs unlike the plan, are of the rest as a whole. */
#include "simulate/trust.h"

#include "base/arena.h"
#include "simulate/vary.h"

#include <assert.h>
#include <math.h>

/* expected_error means that about 80 of 100 runs lie within: so many standard deviations. */
static const double Z = 1.28;

/* From fewer configurations no plan is known much better than without. */
enum { FEW = 3 };
static const double LEAST_OF_FEW = 2.0 / 3;

static const double STEP = 0.02; /* by which a factor is changed, as a log */

static struct costing costing_of(const struct scene *sc, int mesh)
{
    return scene_costing(sc, sc->meshes ? sc->meshes->mesh[mesh].group : sc->group);
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

/* The part of a step that one factor of one type of GPU reaches, on all its groups. */
struct error_part {
    const struct gpu *gpu;
    const struct residual *residual;
    double share[RESIDUAL_TIMES];
};

static struct error_part *part_of(struct costing on, struct error_part *part, int *parts)
{
    for (int i = 0; i < *parts; i++)
        if (part[i].gpu == on.group->gpu && part[i].residual == on.residual)
            return &part[i];
    assert(*parts < MESHES_MAX);
    part[*parts] = (struct error_part){.gpu = on.group->gpu, .residual = on.residual};
    return &part[(*parts)++];
}

static int find_parts(const struct scene *sc, const struct layout *layout, const struct plan *p,
                      struct arena *scratch, struct error_part *part)
{
    int meshes = sc->meshes ? sc->meshes->count : 1, parts = 0;
    for (int m = 0; m < meshes; m++) {
        struct error_part *to = part_of(costing_of(sc, m), part, &parts);
        for (int f = 0; f < RESIDUAL_TIMES; f++)
            to->share[f] += share_of(sc, p, layout, m, f, scratch);
    }
    return parts;
}

static bool any_fitted(const struct scene *sc)
{
    int meshes = sc->meshes ? sc->meshes->count : 1;
    bool any = false;
    for (int m = 0; m < meshes; m++) {
        const struct costing on = costing_of(sc, m);
        any |= residual_times_fitted(&on);
    }
    return any;
}

/* Adds what the factors of one type leave unsure; a part of the step that they reach is no longer
 * of the rest. */
static double squares_of(const struct error_part *part, double before, double *rest)
{
    const struct residual *r = part->residual;
    double sum = 0;
    for (int f = 0; f < RESIDUAL_TIMES; f++) {
        double error = r->fitted[f] ? Z * r->error[f] / RESIDUAL_DEVIATIONS : before;
        sum += part->share[f] * part->share[f] * error * error;
        *rest -= part->share[f];
    }
    return sum;
}

static double error_of(const struct error_part *part, int parts, const struct plan *p)
{
    double sum = 0, rest = 1, scatter = 0, least = 0, before = p->expected_error;
    for (int i = 0; i < parts; i++) {
        const struct residual *r = part[i].residual;
        if (!r || !residual_runs_have(&r->runs, p->model->experts > 0, p->strategy.precision))
            continue;
        sum += squares_of(&part[i], before, &rest);
        scatter = fmax(scatter, r->time_scatter);
        if (r->runs.configurations < FEW)
            least = LEAST_OF_FEW * before;
    }
    double left = fmax(0, rest) * before, floor = Z * scatter;
    return fmax(floor, fmin(before, fmax(least, sqrt(floor * floor + sum + left * left))));
}

void trust_residuals(const struct scene *sc, const struct layout *layout, struct arena *scratch,
                     struct plan *p)
{
    struct error_part part[MESHES_MAX];
    if (!any_fitted(sc))
        return;
    int parts = find_parts(sc, layout, p, scratch, part);
    double error = error_of(part, parts, p);
    assert(error >= 0);
    p->expected_error = error;
    p->provenance = "calibrated";
}
