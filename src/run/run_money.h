/* What limits on hours and dollars make of the front: which binds, and what a little more buys. */
#ifndef ASTRA_MONEY_ANSWER_H
#define ASTRA_MONEY_ANSWER_H

#include "base/error.h"

struct arena;
struct money;
struct plan;
struct query;

/* NULL when neither the run's tokens nor the cheapest plan were asked for. `front` is the whole
 * one, cheapest first, `best` the plan that was chosen. */
const struct money *money_answer(const struct query *, const struct plan *best,
                                 const struct plan *front, int count, struct arena *);

/* No plan keeps the limits: says by how much. Always false. */
bool money_refuse(const struct query *, const struct plan *front, int count, struct error *);

#endif
