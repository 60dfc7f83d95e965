/* A rank without the others: whatever would have been waited for is there. */
#include "verify/verify.h"

#include "base/arena.h"
#include "simulate/vary.h"

#include <math.h>

void verify_lone(const struct verify_case *c, struct arena *mem, struct plan *out)
{
    static const double SILENT[RESIDUALS] = {[RESIDUAL_compute] = 1, [RESIDUAL_memory] = 1};
    struct varied *v = arena_alloc(mem, sizeof *v);
    scene_vary(v, &c->scene, ALL_MESHES, SILENT);
    plan_evaluate(&v->scene, &c->strategy, c->layout, mem, out);
}

/* Ticks that a pass takes longer. */
static int64_t longer(const struct pass *p, double factor)
{
    return llround((factor - 1) * (p->compute_s + p->recompute_s) * TICKS_PER_S);
}

static double scaled(struct frame *f, const struct strategy *s, const double *factor,
                     struct arena *mem)
{
    struct timing t;
    struct state st;
    timing_of(f, s, mem, &t);
    timing_stages(f, s, mem, &t);
    for (int i = 0; i < f->layout.stages; i++) {
        struct pass forward, backward;
        shape_passes(f, s, f->shape_of[i], &forward, &backward);
        t.stage_forward[i] += longer(&forward, factor[i % s->pp]);
        t.stage_backward[i] += longer(&backward, factor[i % s->pp]);
    }
    timing_run(f, s, mem, &t);
    state_of(f, s, mem, &st);
    state_times(f, s, mem, &st);
    return (double)frame_step(f, s, &t, &st) / TICKS_PER_S;
}

double verify_scaled_step(const struct verify_case *c, const double *factor)
{
    struct arena mem;
    arena_init(&mem);
    struct frame *f = frame_new(&c->scene, &c->strategy, c->layout, &mem, NULL);
    double step_s = f ? scaled(f, &c->strategy, factor, &mem) : NAN;
    arena_release(&mem);
    return step_s;
}
