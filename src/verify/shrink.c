/* Fewer micro-batches make the same rank: once as many are in flight as there ever are, more of
 * them only take longer. How many that is depends on the schedule, so that each number is tried. */
#include "verify/verify.h"

#include "base/arena.h"

#include <math.h>

/* Sums of the same bytes in another order differ in their last bits. */
static const double SAME = 1e-9;

/* A number that is refused, or cannot be scheduled, is no plan. */
static bool evaluate(const struct verify_case *c, int64_t micro_batches, struct arena *mem,
                     struct plan *out)
{
    struct strategy s = c->strategy;
    const char *why;
    s.global_batch = (int)(micro_batches * s.micro_batch * s.dp);
    if (!c->allowed(c->context, &s, &why))
        return false;
    plan_evaluate(&c->scene, &s, c->layout, mem, out);
    return out->computed;
}

static bool as_full(const struct plan *a, const struct plan *b, const struct verify_report *r)
{
    for (int i = 0; i < r->stages; i++) {
        double x = a->stage[r->stage[i].stage].peak_bytes,
               y = b->stage[r->stage[i].stage].peak_bytes;
        if (fabs(x - y) > SAME * y)
            return false;
    }
    return true;
}

/* Beyond it nothing new is in flight: several times what any schedule holds at once. */
static int64_t most_tried(const struct strategy *s)
{
    int64_t group = s->micro_batch_group > s->pp ? s->micro_batch_group : s->pp;
    return 2 * (int64_t)s->pp * s->vpp + 2 * group + 8;
}

int64_t verify_shrink(const struct verify_case *c, const struct verify_report *r)
{
    int64_t all = strategy_micro_batches(&c->strategy), least = all;
    int64_t most = most_tried(&c->strategy);
    struct arena kept = {0}, mem = {0};
    struct plan whole, fewer;
    if (evaluate(c, all, &kept, &whole))
        for (int64_t m = 2; m < all && m <= most; m++) {
            arena_clear(&mem);
            if (evaluate(c, m, &mem, &fewer) && as_full(&fewer, &whole, r)) {
                least = m;
                break;
            }
        }
    arena_release(&mem);
    arena_release(&kept);
    return least;
}
