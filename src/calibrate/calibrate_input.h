/* What calibrate compares: inputs, read as the query they answer, and what they measured. */
#pragma once

#include "calibrate/residual_fit.h"
#include "query/query.h"

/* One measured figure. */
struct observation {
    int stage;   /* pipeline rank; -1 = the whole step */
    bool memory; /* bytes that the framework allocated; otherwise seconds */
    bool alone;  /* of a rank that ran without communication */
    double measured;
    double noise; /* relative standard deviation of the measurement itself */
};

struct refusal {
    const char *input;
    const char *why;
};

struct calibrate_input {
    const char *path;
    const char *kind;       /* "training log", "result of verify" */
    struct options options; /* of its own */
    struct query query;
    struct estimate_query asked;
    const struct gpu *gpu; /* that it ran on */
    bool te;
    bool held;     /* out of the fit */
    int64_t steps; /* of a log: training lines that count */
    int observations;
    struct observation *observation;
    int refusals; /* what of it cannot be used */
    struct refusal *refusal;
    int notes; /* what a reader should know */
    const char **note;
};

/* With the cluster, GPU and models of `from`. False: the input is malformed. One that is well-formed
 * and of no use has refusals and no observations. Everything lives in the arena. */
bool calibrate_input_read(struct calibrate_input *, const struct options *from, struct resources *,
                          const char *path, struct arena *, struct error *);

/* What is predicted of an observation with these log factors, memory before its own factor. 0 when
 * the strategy cannot be computed. */
double calibrate_predict(const struct calibrate_input *, const struct observation *,
                         const double log_factor[FIT_FACTORS], struct arena *scratch);

void calibrate_refuse(struct calibrate_input *, struct arena *, const char *why);

/* The readers (calibrate_input.c, calibrate_verify.c). */
void calibrate_observe(struct calibrate_input *, struct arena *, struct observation);
bool calibrate_read_verify(struct calibrate_input *, struct resources *, const char *text,
                           size_t length, struct arena *, struct error *);
/* Refuses observations that cannot be: after it every one has a prediction above 0. */
void calibrate_sift(struct calibrate_input *, struct arena *);
/* Once flags and cluster are set: the plan can be predicted, on GPUs of one type. */
bool calibrate_ask(struct calibrate_input *, struct resources *, struct arena *, struct error *);
