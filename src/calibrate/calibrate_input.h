/* What calibrate compares: inputs, read as the query they answer, and what they measured. */
#pragma once

#include "query/query.h"

/* Few log factors from observations that each tell a mixture of them: ridge regression with priors,
 * robust against single bad observations (residual_fit.c). Formulas: doc/evidence/calibrate.md. */

enum { FIT_FACTORS = 4 }; /* most that one fit has */

/* What is known without any observation; all relative. */
struct fit_prior {
    int factors;
    double deviation[FIT_FACTORS]; /* of each factor from 1 */
    double scatter;                /* of observations around the prediction with true factors ... */
    double weight;                 /* ... known as well as from so many observations */
    double telling;                /* a factor is told below so much of its deviation here */
};
extern const struct fit_prior TIME_PRIOR, MEMORY_PRIOR;

struct fit_row {
    double off;                /* ln(measured / predicted), factors as in `at` of residual_fit() */
    double share[FIT_FACTORS]; /* d ln(predicted) / d ln(factor) there */
    double noise;              /* of the measurement itself, a relative standard deviation */
    int same;                  /* rows of one number are about one configuration: together they
                                * count as one observation */
    int alike;                 /* rows of that number */
};

struct fit_result {
    double log[FIT_FACTORS];       /* of the factors; 0 where it is not told */
    double deviation[FIT_FACTORS]; /* standard deviation of it */
    bool told[FIT_FACTORS];        /* known better than without the observations */
    double scatter;                /* standard deviation of observations but for outliers */
    double freedom;                /* observations behind `scatter`, the prior's included */
};

/* `at` are the log factors of the rows' predictions. Rows of `without` are left out (-1: none). With
 * `keep` (NULL: as it comes) the factors that are told are those of an earlier result. */
void residual_fit(const struct fit_prior *, const struct fit_row *, int rows,
                  const double at[FIT_FACTORS], int without, const struct fit_result *keep,
                  struct fit_result *out);

/* Half of the interval that holds about 95 of 100 true factors. */
double fit_error(const struct fit_result *, int factor);

/* One measured figure. */
struct observation {
    int stage;   /* pipeline rank; -1 = the whole step */
    bool memory; /* bytes that the framework allocated; otherwise seconds */
    bool alone;  /* of a rank that ran without communication */
    double measured;
    double noise; /* relative standard deviation of the measurement itself */
};

struct calibrate_input {
    const char *path;
    const char *kind;       /* "training log", "result of verify", "table of runs" */
    struct options options; /* of its own */
    struct query query;
    struct estimate_query asked;
    const struct gpu *gpu; /* that it ran on */
    enum stack stack;
    bool held;     /* out of the fit */
    double stated; /* expected_error of its step, without factors */
    int64_t steps; /* of a log: training lines that count */
    int observations, observation_capacity;
    struct observation *observation;
    int refusals, refusal_capacity; /* what of it cannot be used */
    const char **refusal;
    int notes; /* what a reader should know */
    const char **note;
};

/* What the command was told, but for the inputs; a run that names its cluster has no other. */
bool calibrate_input_begin(struct calibrate_input *, const struct options *from, bool placed,
                           struct arena *, struct error *);

/* With the cluster, GPU and models of `from`. False: the input is malformed. One that is well-formed
 * and of no use has refusals and no observations. Everything lives in the arena. */
bool calibrate_input_read(struct calibrate_input *, const struct options *from, struct resources *,
                          const char *path, struct arena *, struct error *);

/* A table of runs (calibrate_table.c): a row is an input. */
struct csv;
bool calibrate_is_table(const char *path);
bool calibrate_table_load(const char *path, struct csv *, struct arena *, struct error *);
bool calibrate_table_row(struct calibrate_input *, const struct options *from, struct resources *,
                         const char *path, const struct csv *, int row, struct arena *,
                         struct error *);

/* What is predicted of an observation with these log factors (NULL: with none), memory before its own
 * factor. 0 when the strategy cannot be computed. */
double calibrate_predict(const struct calibrate_input *, const struct observation *,
                         const double *log_factor);

void calibrate_refuse(struct calibrate_input *, struct arena *, const char *why);

/* The readers (calibrate_input.c, calibrate_verify.c). */
void calibrate_observe(struct calibrate_input *, struct arena *, struct observation);
bool calibrate_read_verify(struct calibrate_input *, struct resources *, const char *text,
                           size_t length, struct arena *, struct error *);
/* Refuses observations that cannot be: after it every one has a prediction above 0. */
void calibrate_sift(struct calibrate_input *, struct arena *);
/* Once flags and cluster are set: the plan can be predicted, on GPUs of one type. */
bool calibrate_ask(struct calibrate_input *, struct resources *, struct arena *, struct error *);
