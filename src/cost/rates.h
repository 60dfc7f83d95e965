/* Analytic operator times, for what no learned model covers. Seconds. */
#ifndef ASTRA_RATES_H
#define ASTRA_RATES_H

#include "cost/cost.h"

struct op_time analytic_time_of(const struct costing *, int precision, bool te, const struct op *);
double analytic_memory_time(const struct node_group *, double bytes);

#endif
