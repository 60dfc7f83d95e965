/* A rank without the others: whatever would have been waited for is there. */
#include "verify/verify.h"

#include "base/arena.h"
#include "simulate/vary.h"

#include <math.h>

void verify_alone(const struct verify_case *c, struct arena *mem, struct plan *out)
{
    static const double SILENT[RESIDUALS] = {
        [RESIDUAL_compute] = 1, [RESIDUAL_host] = 1, [RESIDUAL_memory] = 1};
    struct varied *v = arena_alloc(mem, sizeof *v);
    scene_vary(v, &c->scene, ALL_MESHES, SILENT);
    plan_evaluate(&v->scene, &c->strategy, c->layout, mem, out);
}

/* Beyond what a step has anyway, which partition_init() bounds: the ticks of both suffice. */
static const double MOST_LONGER_S = 3e6;

static double longer_s(const struct pass *p, double factor)
{
    return (factor - 1) * (p->compute_s + p->recompute_s);
}

static double scaled(struct partition *f, const struct strategy *s, const double *factor,
                     struct arena *mem)
{
    struct pass_times t;
    struct state st;
    double longer = 0;
    pass_times_of(f, s, mem, &t);
    pass_times_stages(f, s, mem, &t);
    for (int i = 0; i < f->layout.stages; i++) {
        struct pass forward, backward;
        shape_passes(f, s, f->shape_of[i], &forward, &backward);
        double more = longer_s(&forward, factor[i % s->pp]),
               more_back = longer_s(&backward, factor[i % s->pp]);
        longer += (double)f->micro_batches * fmax(0, more + more_back);
        if (!(longer <= MOST_LONGER_S))
            return NAN;
        t.stage_forward[i] += llround(more * TICKS_PER_S);
        t.stage_backward[i] += llround(more_back * TICKS_PER_S);
    }
    t.bound = 0; /* it was of the times before */
    pass_times_run(f, s, mem, &t);
    state_of(f, s, mem, &st);
    state_times(f, s, mem, &st);
    return (double)partition_step(f, s, &t, &st) / TICKS_PER_S;
}

double verify_scaled_step(const struct verify_case *c, const double *factor)
{
    struct arena mem = {0};
    struct partition *f = partition_new(&c->scene, &c->strategy, c->layout, &mem, NULL);
    double step_s = f ? scaled(f, &c->strategy, factor, &mem) : NAN;
    arena_release(&mem);
    return step_s;
}
