/* What calibrate says: every measured figure beside its predictions, the factors, what is refused. */
#ifndef ASTRA_CALIBRATE_OUT_H
#define ASTRA_CALIBRATE_OUT_H

#include "cost/residual_file.h"

struct report_style;
struct str;

/* Seconds of a step or of a stage's compute, or bytes of a stage. */
struct calibrated_row {
    const char *input;
    const struct gpu *gpu;
    bool te, memory;
    bool held; /* out of the fit: `without` is `after` */
    int stage; /* -1 = the whole step */
    double measured, before, after;
    double without; /* with the factors of the other configurations; 0 = there is no other */
};

struct calibrated_text {
    const char *input, *text;
};

struct calibrate_report {
    const struct profile *profile;
    int inputs;
    const char *const *input;
    int rows;
    struct calibrated_row *row;
    int refusals;
    struct calibrated_text *refusal;
    int notes;
    struct calibrated_text *note;
};

void report_calibrate(const struct calibrate_report *, int format, const struct report_style *,
                      struct str *out); /* enum astra_format */

#endif
