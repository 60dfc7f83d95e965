/* What Astra would run instead of the plan that was asked about. */
#ifndef ASTRA_INSTEAD_H
#define ASTRA_INSTEAD_H

struct arena;
struct estimate_question;
struct instead;
struct plan;
struct question;

/* GPUs, batch, sequence and numerics stay. Runs a search; NULL for a job on several groups of
 * nodes, about which the search is not asked. Everything lives in the arena. */
const struct instead *instead_of(const struct question *, const struct estimate_question *,
                                 const struct plan *, struct arena *);

#endif
