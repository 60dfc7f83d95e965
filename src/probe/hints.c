/* Hints: one line per habit worth breaking, with the test that finds it. A hint names the parameter
 * and the flag to change; how much it gains is for `estimate` or `search` to say. Shares are of the
 * step; below a twentieth of it nothing is worth a line. */
#include "probe/answer.h"

#include "cluster/cluster.h"
#include "simulate/plan.h"

#include <stddef.h>

static const double WORTH_A_LINE = 0.05, MUCH = 0.15, ROOMY = 0.75;

static double share(const struct plan *p, enum breakdown_part part)
{
    return p->breakdown[part] / p->step_s;
}

static double fullness(const struct plan *p)
{
    return plan_fullest(p)->device_bytes / p->limit_bytes;
}

static bool optimizer_unsharded(const struct plan *p)
{
    const struct strategy *s = &p->strategy;
    return (int64_t)s->dp * s->cp > 1 && !s->dist_opt && s->fsdp == FSDP_NONE;
}

static bool too_full_without_recompute(const struct plan *p)
{
    return !plan_fits(p) && p->strategy.recompute != RECOMPUTE_FULL;
}

static bool too_full_with_large_micro_batch(const struct plan *p)
{
    return !plan_fits(p) && p->strategy.micro_batch > 1;
}

static bool recomputes_for_nothing(const struct plan *p)
{
    return share(p, BREAKDOWN_recompute) > WORTH_A_LINE && fullness(p) < ROOMY;
}

static bool residual_unsharded(const struct plan *p)
{
    return p->strategy.tp > 1 && !p->strategy.seq_parallel;
}

static bool tensor_parallel_over_nodes(const struct plan *p)
{
    for (int r = 0; r < p->stages; r++) {
        const struct node_group *g = p->stage[r].group;
        if (p->strategy.tp > (g->domain > g->per_node ? g->domain : g->per_node))
            return true;
    }
    return false;
}

static bool tensor_parallel_exposed(const struct plan *p)
{
    return share(p, BREAKDOWN_tp) > MUCH && !p->strategy.tp_overlap;
}

static bool reduction_exposed(const struct plan *p)
{
    return share(p, BREAKDOWN_dp) > WORTH_A_LINE && !p->strategy.overlap_grad_reduce;
}

static bool gather_exposed(const struct plan *p)
{
    const struct strategy *s = &p->strategy;
    return share(p, BREAKDOWN_dp) > WORTH_A_LINE && s->dist_opt && s->overlap_grad_reduce &&
           !s->overlap_param_gather;
}

/* Meshes that differ cannot be interleaved. */
static bool bubble_to_interleave(const struct plan *p)
{
    return share(p, BREAKDOWN_bubble) > MUCH && p->strategy.pp > 1 && p->strategy.vpp == 1 &&
           !plan_meshes_differ(p);
}

static bool bubble_interleaved(const struct plan *p)
{
    return share(p, BREAKDOWN_bubble) > MUCH && (p->strategy.vpp > 1 || plan_meshes_differ(p));
}

static bool experts_exposed(const struct plan *p)
{
    return share(p, BREAKDOWN_ep) > MUCH && !p->strategy.moe_overlap;
}

static bool transfers_exposed(const struct plan *p)
{
    return share(p, BREAKDOWN_pp) > WORTH_A_LINE && p->strategy.vpp > 1 && !p->strategy.p2p_overlap;
}

static const struct hint {
    bool (*applies)(const struct plan *);
    const char *text;
} HINTS[] = {
#define HINT(test, text) {test, text},
#include "probe/hints.def"
#undef HINT
};
enum { HINT_COUNT = sizeof HINTS / sizeof *HINTS };
_Static_assert(sizeof HINTS / sizeof *HINTS <= (size_t)HINTS_MAX, "any of these may help");

int hints_of(const struct plan *p, const char *hint[HINTS_MAX])
{
    int count = 0;
    for (int i = 0; i < HINT_COUNT && p->computed; i++)
        if (HINTS[i].applies(p))
            hint[count++] = HINTS[i].text;
    return count;
}
