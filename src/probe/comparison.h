/* How a mixed plan compares: with one layer moved, other splits, and each of its types alone. */
#ifndef ASTRA_MIXTURE_H
#define ASTRA_MIXTURE_H

struct arena;
struct estimate_question;
struct mixture;
struct plan;
struct question;

/* NULL unless the job is mixed and the plan computed. Batch, sequence and numerics stay. Runs a
 * search on every group. Everything lives in the arena; the same for any number of threads. */
const struct mixture *mixture_of(const struct question *, const struct estimate_question *,
                                 const struct plan *, struct arena *);

#endif
