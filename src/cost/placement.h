/* Where groups of ranks sit, and which racks a job sits in. */
#pragma once

#include "cost/cost.h"

struct strategy;

/* What ranks fill one after the other where all of them are in one domain. */
enum { REACH_ALL = INT32_MAX };

/* GPUs that ranks fill before they begin the next node, or the next scale-up domain where that is
 * larger; of a domain perhaps a part, domain_nodes(). `gpus` are those of the job, 0 where they are
 * not known: on consecutive nodes then. */
int reach_of(const struct node_group *, const struct strategy *, int64_t gpus);

/* Nodes of each scale-up domain that a job takes. 0 where domains are nodes, or where the groups of
 * the strategy straddle domains however it is cut. */
int domain_nodes(const struct node_group *, const struct strategy *, int64_t gpus);
/* Of them those that have to lie together: Slurm's --segment, which divides the nodes of the job. */
int segment_of(const struct node_group *, const struct strategy *, int64_t gpus);

/* What reach_of() may be, whatever pp and dp are, as far as it makes a difference inside a layer: the
 * first where it makes none. Returns how many. */
enum { REACHES = 3 };
int reaches_of(const struct node_group *, const struct strategy *, int reach[REACHES]);

/* Groups of `ranks` that are `stride` apart, side by side: such a block `blocks` times, 0 = any
 * number. That of the group which is worst off. */
struct placement placement_on(const struct costing *, int ranks, int stride, int blocks);

/* How near two ranks of a pipeline are, `block` GPUs each: those of their GPUs that are farthest. */
enum nearness { OTHER_NODE, SAME_NODE, SAME_DOMAIN, NEARNESSES };
enum nearness nearness_of(const struct costing *, int64_t block, int from, int to);
struct placement placement_of_pair(const struct node_group *, enum nearness);
