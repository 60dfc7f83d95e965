/* The figures of a training out of its steps: which of them count, median, spread and trend. */
#ifndef ASTRA_STEP_FIGURES_H
#define ASTRA_STEP_FIGURES_H

#include "import/log/step_store.h"

struct step_summary;

/* `out` has the lines and the warm-up that were counted while reading; times are known to
 * `resolution_s`. Leaves zeros where the store is empty. */
void step_figures(const struct step_store *, double resolution_s, struct step_summary *out);

#endif
