/* Few log factors from observations that each tell a mixture of them: ridge regression with priors,
 * robust against single bad observations. doc/calibrate.md has the formulas. */
#pragma once

#include <stdbool.h>

enum { FIT_FACTORS = 3 }; /* most that one fit has */

/* What is known without any observation; all relative. */
struct fit_prior {
    int factors;
    double deviation[FIT_FACTORS]; /* of each factor from 1 */
    double scatter;                /* of observations around the prediction with true factors ... */
    double weight;                 /* ... known as well as from so many observations */
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
    bool told[FIT_FACTORS];        /* known twice as well as without the observations */
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
