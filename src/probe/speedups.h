/* The changes that would make a plan faster, and how far it is from the best on its GPUs. */
#ifndef ASTRA_GAINS_H
#define ASTRA_GAINS_H

struct arena;
struct estimate_question;
struct gains;
struct plan;
struct question;

/* NULL unless the plan is feasible, or its remedy is: then the gains are those of the plan with the
 * remedy. GPUs, batch, sequence and numerics stay. Runs a search, but for a mixed job. Everything
 * lives in the arena; the same for any number of threads. */
const struct gains *gains_of(const struct question *, const struct estimate_question *,
                             const struct plan *, struct arena *);

#endif
