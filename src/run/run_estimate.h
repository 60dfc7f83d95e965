/* The plan that flags or options describe. */
#ifndef ASTRA_RUN_ESTIMATE_H
#define ASTRA_RUN_ESTIMATE_H

#include <stdbool.h>

struct astra;
struct estimate_query;

/* Fills the plan of the session and what is said of it. False with a message; an infeasible plan
 * is an answer all the same. */
bool run_estimate(struct astra *, bool explain);

/* The plan alone, held to the rules; and the rules alone. */
void run_evaluate(struct astra *, const struct estimate_query *);
void run_judge_rules(struct astra *, const struct estimate_query *);

#endif
