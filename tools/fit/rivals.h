/* What the learned model has to beat: three simple predictors that know the same rows. */
#pragma once

#include "fit/dataset.h"

/* CONSTANT: one efficiency per GPU and class (pass, type, kernel or kind) over the roofline.
 * QUANTISED: the same over a roofline that counts whole tiles in whole waves, and a launch.
 * NEAREST: the nearest row in logarithms of the sizes, of the same GPU and class if there is one,
 * scaled by the roofline. */
enum rival { BY_MODEL, BY_CONSTANT, BY_QUANTISED, BY_NEAREST, RIVALS };

/* Seconds of the rows for which which[i] is not 0, from those for which use[i] is not 0. */
void rival_predict(enum rival, const struct dataset *, const unsigned char *use,
                   const unsigned char *which, double *out);
