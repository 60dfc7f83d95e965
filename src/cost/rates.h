/* Analytic operator times, for what no learned model covers. Seconds. */
#ifndef ASTRA_RATES_H
#define ASTRA_RATES_H

#include "cost/cost.h"

struct op_time analytic_time_of(const struct node_group *, int precision, bool te,
                                const struct op *);
double analytic_memory_time(const struct node_group *, double bytes);

/* One product of one expert where experts run one after the other in eager torch: bound by the
 * host. Measured rank q30_ep8 in data/measured: 1.9 ms an expert, two products, forward and
 * backward. */
extern const double EXPERT_S, EXPERT_BACK_S;

#endif
