/* Residual factors from runs: `astra calibrate`. */
#ifndef ASTRA_CALIBRATE_H
#define ASTRA_CALIBRATE_H

#include "base/error.h"

struct arena;
struct calibrate_input;
struct calibrate_report;
struct options;
struct resources;

/* Reads the inputs that are given and fits a profile. The report lives in the arena. Input that
 * cannot be read is wrong; where no input can be used there is no report. */
bool calibrate_run(const struct options *, struct resources *, struct arena *,
                   struct calibrate_report *out, struct error *);
/* The same with inputs that were read; `out` has zeros but for their names. */
bool calibrate_fit(const struct calibrate_input *, int count, struct arena *,
                   struct calibrate_report *out, struct error *);
/* Some factor is fitted: the profile is worth writing. */
bool calibrate_told(const struct calibrate_report *, struct error *);

#endif
