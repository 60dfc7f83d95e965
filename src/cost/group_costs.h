/* Learned times of one node group, each distinct operation predicted once. A node group without it
 * is timed by the analytic rates. */
#pragma once

#include "cost/cost.h"
#include "cost/learned.h"

struct comm_table;
struct group_costs;

/* Group and models are borrowed and must outlive it. */
bool group_costs_new(struct group_costs **out, const struct node_group *, const struct learned *,
                     struct error *);
void group_costs_free(struct group_costs *);

/* Seconds of operations of any families: what is known is looked up, the rest predicted in one
 * batch per family. Safe from several threads; the answers do not depend on their order. */
void group_costs_times(struct group_costs *, const struct operation *, size_t count, double *out_s);

struct comm_table *group_costs_comm(struct group_costs *);
const struct learned *group_costs_models(const struct group_costs *);

/* Analytic operator times, for what no learned model covers (rates.c). Seconds. */
struct op_time analytic_time_of(const struct costing *, int precision, bool te, const struct op *);
double analytic_memory_time(const struct node_group *, double bytes);
/* Seconds of a scan's kernels whose FLOPs and bytes alone would take these (rates.c). */
double scan_seconds(const struct gpu *, double bytes, double flop_s, double copy_s);
