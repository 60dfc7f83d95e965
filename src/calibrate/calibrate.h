/* Residual factors from runs: `astra calibrate`. */
#pragma once

#include "base/error.h"
#include "cost/residual_file.h"

struct arena;
struct calibrate_input;
struct options;
struct resources;

/* Seconds of a step or of a stage's compute, or bytes of a stage. */
struct calibrated_row {
    const char *input;
    const struct gpu *gpu;
    enum stack stack;
    bool memory;
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

/* Reads the inputs that are given and fits a profile. The report lives in the arena. Input that
 * cannot be read is wrong; where no input can be used there is no report. */
bool calibrate_run(const struct options *, struct resources *, struct arena *,
                   struct calibrate_report *out, struct error *);
/* The same with inputs that were read; `out` has zeros but for their names. */
bool calibrate_fit(const struct calibrate_input *, int count, struct arena *,
                   struct calibrate_report *out, struct error *);
/* Some factor is fitted: the profile is worth writing. */
bool calibrate_told(const struct calibrate_report *, struct error *);
