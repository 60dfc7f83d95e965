/* Hints: one line per habit worth breaking, with the test that finds it. A hint names the parameter
 * and the flag to change; how much it gains is for `estimate` or `search` to say. Shares are of the
 * step; below a twentieth of it nothing is worth a line. */
#include "report/plan_text.h"

#include "base/str.h"
#include "cluster/cluster.h"
#include "report/plan_words.h"
#include "report/report.h"
#include "report/typeset.h"

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
    int reach = p->group->domain > p->group->per_node ? p->group->domain : p->group->per_node;
    return p->strategy.tp > reach;
}

static bool tensor_parallel_shows(const struct plan *p)
{
    return share(p, BREAKDOWN_tp) > MUCH && !p->strategy.tp_overlap;
}

static bool reduction_shows(const struct plan *p)
{
    return share(p, BREAKDOWN_dp) > WORTH_A_LINE && !p->strategy.overlap_grad_reduce;
}

static bool gather_shows(const struct plan *p)
{
    const struct strategy *s = &p->strategy;
    return share(p, BREAKDOWN_dp) > WORTH_A_LINE && s->dist_opt && s->overlap_grad_reduce &&
           !s->overlap_param_gather;
}

static bool bubble_without_interleaving(const struct plan *p)
{
    return share(p, BREAKDOWN_bubble) > MUCH && p->strategy.pp > 1 && p->strategy.vpp == 1;
}

static bool bubble_with_interleaving(const struct plan *p)
{
    return share(p, BREAKDOWN_bubble) > MUCH && p->strategy.vpp > 1;
}

static bool experts_show(const struct plan *p)
{
    return share(p, BREAKDOWN_ep) > MUCH && !p->strategy.moe_overlap;
}

static bool transfers_show(const struct plan *p)
{
    return share(p, BREAKDOWN_pp) > WORTH_A_LINE && p->strategy.vpp > 1 && !p->strategy.p2p_overlap;
}

static const struct hint {
    bool (*applies)(const struct plan *);
    const char *text;
} HINTS[] = {
    {optimizer_unsharded, "every data-parallel rank holds the whole optimizer: dist_opt "
                          "(--use-distributed-optimizer) shards it"},
    {too_full_without_recompute, "too much is saved for backward: recompute=full "
                                 "(--recompute-granularity full) keeps least, selective "
                                 "is the cheaper step before it"},
    {too_full_with_large_micro_batch,
     "a smaller micro-batch saves less for backward: micro_batch=1"},
    {recomputes_for_nothing, "recomputation costs time and a quarter of the memory is free: "
                             "recompute less (fewer modules, or "
                             "recompute_method=block with fewer layers)"},
    {residual_unsharded, "seq_parallel (--sequence-parallel) shards what lies between "
                         "tensor-parallel regions: less memory, the "
                         "same traffic"},
    {tensor_parallel_over_nodes, "a tensor-parallel group is larger than the GPUs joined by the "
                                 "fast link: use a smaller tp and more pp"},
    {tensor_parallel_shows,
     "tensor-parallel communication shows: a smaller tp, or tp_overlap (--tp-comm-overlap)"},
    {reduction_shows, "gradients are reduced after backward: overlap_grad_reduce "
                      "(--overlap-grad-reduce) hides it behind "
                      "backward"},
    {gather_shows, "parameters are gathered between steps: overlap_param_gather "
                   "(--overlap-param-gather) hides it behind "
                   "forward"},
    {bubble_without_interleaving, "stages wait for each other: more micro-batches a step, a "
                                  "smaller pp, or virtual stages (vpp)"},
    {bubble_with_interleaving,
     "stages wait for each other: more micro-batches a step, or a smaller pp"},
    {experts_show, "expert communication shows: a smaller ep, or moe_overlap "
                   "(--overlap-moe-expert-parallel-comm)"},
    {transfers_show, "pipeline transfers show: p2p_overlap hides them (do not disable it)"},
};

void print_hints(const struct plan *p, const struct report_style *style, struct str *out)
{
    bool any = false;
    for (size_t i = 0; i < sizeof HINTS / sizeof *HINTS; i++) {
        if (!HINTS[i].applies(p))
            continue;
        if (!any)
            typeset_heading(style, "Hints", out);
        typeset_item(style, HINTS[i].text, out);
        any = true;
    }
}
