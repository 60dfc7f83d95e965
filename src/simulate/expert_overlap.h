/* --overlap-moe-expert-parallel-comm: how much of the experts' all-to-all the combined order of
 * forward and backward hides. Seconds. */
#pragma once

#include <stdbool.h>

struct block_cost;
struct partition;
struct strategy;

/* Forward of a layer for one micro-batch and backward of a layer for the one before, in the pieces
 * that Megatron issues: attention is all compute before the dispatch. The weight gradients are of
 * the backward compute and run behind it (--delay-wgrad-compute), 0 where they are part of it. */
struct layer_pair {
    double attention_s, dispatch_s, experts_s, combine_s;
    double combine_back_s, experts_back_s, dispatch_back_s, attention_back_s;
    double experts_weight_s, attention_weight_s;
};

/* Seconds from one pair to the next. */
double layer_pair_s(const struct layer_pair *);

/* Seconds of the all-to-all of these layers that are hidden where every pass has a partner. Never more
 * for two stages apart than for their layers together (doc/evidence/bounds.md). */
double experts_hidden_s(const struct block_cost *, bool delay_wgrad);

/* Share of the all-to-all of layers that does not make a step longer, 0 without the overlap. Passes
 * of warm-up and cool-down have no partner and hide nothing: every pass carries its part of them. */
double experts_hidden(const struct partition *, const struct strategy *, const struct block_cost *);
