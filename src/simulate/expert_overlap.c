/* A forward and a backward pass go through their layers together, two streams and one layer of each
 * at a time, in the order of TransformerLayerSchedulePlan.run (Megatron-LM,
 * models/common/model_chunk_schedule_plan.py):
 *
 *     network  combine back | dispatch     | dispatch back | combine
 *     compute  attention    | experts back | experts       | attention back
 *                             (then weight)                  (then weight)
 *
 * A stream runs in the order of issue; a piece also waits for the one before it of its own pass. So
 * both streams meet at every bar, but for weight gradients: nothing waits for them except the
 * compute stream, and the last ones lie beside the next pair's `combine back'. By how much they reach
 * into it does not depend on how they began: one pair tells the period. tests/unit/test_expert_overlap.c
 * runs the same pieces as events. */
#include "simulate/expert_overlap.h"

#include "simulate/partition.h"

#include <assert.h>
#include <math.h>

double layer_pair_s(const struct layer_pair *p)
{
    double attention_back = p->attention_back_s - p->attention_weight_s;
    double experts_back = p->experts_back_s - p->experts_weight_s;
    assert(attention_back >= 0 && experts_back >= 0);
    double late =
        fmin(p->attention_weight_s, fmax(0, attention_back + p->attention_weight_s - p->combine_s));
    double both = fmax(late + p->attention_s, p->combine_back_s);
    double dispatched = both + p->dispatch_s;
    double returned = fmax(dispatched, both + experts_back) + p->dispatch_back_s;
    double experts = fmax(both + p->experts_back_s, dispatched) + p->experts_s;
    return fmax(returned, experts) + fmax(p->combine_s, attention_back);
}

/* Stock Megatron has the combined order without a pipeline and with virtual stages. */
static bool is_combined(const struct strategy *s)
{
    return s->moe_overlap && (s->pp == 1 || s->vpp > 1);
}

/* Part of a rank's passes that have a partner, in the mean over ranks: one more than usual runs
 * ahead (get_pp_rank_microbatches in pipeline_parallel/schedules.py). */
static double paired(const struct partition *f, const struct strategy *s)
{
    int group = s->micro_batch_group > 0 ? s->micro_batch_group : s->pp;
    double total = (double)f->micro_batches * s->vpp;
    double ahead = s->pp - 1 + (double)(s->vpp - 1) * group + 1;
    return fmax(0, total - ahead) / total;
}

double experts_hidden_s(const struct block_cost *l, bool delay_wgrad)
{
    double network = l->comm_s[AXIS_EP] + l->comm_back_s[AXIS_EP];
    struct layer_pair p = {.attention_s = l->forward_s - l->experts_s,
                           .dispatch_s = l->dispatch_s,
                           .experts_s = l->experts_s,
                           .combine_s = l->comm_s[AXIS_EP] - l->dispatch_s,
                           .combine_back_s = l->comm_back_s[AXIS_EP] - l->dispatch_back_s,
                           .experts_back_s = l->experts_back_s,
                           .dispatch_back_s = l->dispatch_back_s,
                           .attention_back_s = l->backward_s - l->experts_back_s};
    if (delay_wgrad) {
        p.experts_weight_s = l->experts_weight_s;
        p.attention_weight_s = l->weight_s - l->experts_weight_s;
    }
    return l->forward_s + l->backward_s + network - layer_pair_s(&p);
}

double experts_hidden(const struct partition *f, const struct strategy *s,
                      const struct block_cost *l)
{
    double network = l->comm_s[AXIS_EP] + l->comm_back_s[AXIS_EP];
    if (!is_combined(s) || network <= 0)
        return 0;
    double hidden = experts_hidden_s(l, s->delay_wgrad);
    return paired(f, s) * fmin(1, fmax(0, hidden / network));
}
