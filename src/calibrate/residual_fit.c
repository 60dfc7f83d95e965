/* With x the log factors, J_i the shares and y_i = off_i + J_i at what row i says of them,
 *
 *   minimise  sum_i c_i w_i (y_i - J_i x)^2 / v_i + sum_j (x_j / deviation_j)^2
 *
 * where v_i = scatter^2 + noise_i^2, c_i makes rows of one configuration count as one, and
 * w_i = min(1, (T + 1) / (T + r_i^2 / v_i)) takes weight from residuals as Student's t with T
 * degrees of freedom does. Scatter and weights follow from the solution and are iterated. Weights
 * are no part of the scatter: runs that disagree make it large. Only outliers are left out of it, at
 * most one in eight configurations. The posterior covariance is the inverse of the matrix.
 * O(ROUNDS rows (factors^2 + outliers^2)). */
#include "calibrate/calibrate_input.h"

#include "cost/residual.h"

#include <math.h>
#include <string.h>

/* Compute and scatter are those of well-known GPUs; a fit has its own, from what is stated of its
 * runs. Communication: mean errors where all of a source is left out of the fit (doc/collectives.md)
 * are 5 to 44 %, sites differ most between nodes. Host: machines of one kind differ by a
 * quarter (data/measured). A factor is drawn to 1 as far as its deviation says, so that telling
 * a little is enough. */
// clang-format off
const struct fit_prior TIME_PRIOR = {
    .factors = FIT_FACTORS,
    .deviation = {[RESIDUAL_compute] = 0.08, [RESIDUAL_intra] = 0.25, [RESIDUAL_inter] = 0.40, [RESIDUAL_host] = 0.25},
    .scatter = 0.06,
    .weight = 4,
    .telling = 0.9};
// clang-format on

/* Predicted peaks were 0.8 % off, a few by 4 to 8 % (doc/accuracy.md); of TransformerEngine ranks
 * nobody measured enough. */
const struct fit_prior MEMORY_PRIOR = {
    .factors = 1, .deviation = {0.05}, .scatter = 0.01, .weight = 4, .telling = 0.5};

static const double T = 4;
static const double FIRST_SCATTER = 0.2; /* wide: no row is an outlier before there is a fit */
static const double OUTLIER = 5;         /* deviations of all others */
enum { ROUNDS = 60, OUTLIER_ONE_IN = 8, OUTS_MAX = 8 };

struct solver {
    const struct fit_prior *prior;
    const struct fit_row *row;
    int rows, without;
    const double *at;
    bool fixed[FIT_FACTORS];
    double x[FIT_FACTORS];
    double inverse[FIT_FACTORS][FIT_FACTORS];
    double scatter, freedom;
    int outs;
    int out[OUTS_MAX]; /* configurations that are outliers */
};

static bool counts(const struct solver *s, int i)
{
    return s->without < 0 || s->row[i].same != s->without;
}

static double count_of(const struct solver *s, int i)
{
    return 1.0 / s->row[i].alike;
}

static double says(const struct solver *s, int i)
{
    double y = s->row[i].off;
    for (int j = 0; j < s->prior->factors; j++)
        y += s->row[i].share[j] * s->at[j];
    return y;
}

static double residual(const struct solver *s, int i)
{
    double r = says(s, i);
    for (int j = 0; j < s->prior->factors; j++)
        r -= s->row[i].share[j] * s->x[j];
    return r;
}

static double variance(const struct solver *s, int i)
{
    return s->scatter * s->scatter + s->row[i].noise * s->row[i].noise;
}

static double weight(const struct solver *s, int i)
{
    double r = residual(s, i);
    return fmin(1, (T + 1) / (T + r * r / variance(s, i)));
}

/* Gauss-Jordan; the matrix is symmetric and positive, so that no pivot vanishes. */
static void invert(int n, double a[FIT_FACTORS][FIT_FACTORS], double out[FIT_FACTORS][FIT_FACTORS])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            out[i][j] = i == j;
    for (int p = 0; p < n; p++) {
        double pivot = a[p][p];
        for (int j = 0; j < n; j++) {
            a[p][j] /= pivot;
            out[p][j] /= pivot;
        }
        for (int i = 0; i < n; i++) {
            double times = i == p ? 0 : a[i][p];
            for (int j = 0; j < n; j++) {
                a[i][j] -= times * a[p][j];
                out[i][j] -= times * out[p][j];
            }
        }
    }
}

/* What the rows tell: J^T W J and J^T W y. */
static void normal_equations(const struct solver *s, double a[FIT_FACTORS][FIT_FACTORS],
                             double b[FIT_FACTORS])
{
    int n = s->prior->factors;
    memset(a, 0, sizeof(double[FIT_FACTORS][FIT_FACTORS]));
    memset(b, 0, sizeof(double[FIT_FACTORS]));
    for (int i = 0; i < s->rows; i++) {
        const double *share = s->row[i].share;
        if (!counts(s, i))
            continue;
        double w = count_of(s, i) * weight(s, i) / variance(s, i), y = says(s, i);
        for (int j = 0; j < n; j++) {
            b[j] += s->fixed[j] ? 0 : w * share[j] * y;
            for (int k = 0; k < n; k++)
                a[j][k] += s->fixed[j] || s->fixed[k] ? 0 : w * share[j] * share[k];
        }
    }
}

/* Factors that the solution spends of the observations: the trace of inverse x told. */
static double solve(struct solver *s)
{
    int n = s->prior->factors;
    double told[FIT_FACTORS][FIT_FACTORS], a[FIT_FACTORS][FIT_FACTORS], b[FIT_FACTORS], spent = 0;
    normal_equations(s, told, b);
    memcpy(a, told, sizeof a);
    for (int j = 0; j < n; j++)
        a[j][j] += 1 / (s->prior->deviation[j] * s->prior->deviation[j]);
    invert(n, a, s->inverse);
    for (int j = 0; j < n; j++) {
        s->x[j] = 0;
        for (int k = 0; k < n; k++) {
            s->x[j] += s->inverse[j][k] * b[k];
            spent += s->inverse[j][k] * told[k][j];
        }
    }
    return spent;
}

/* Rows of the same configuration are in or out together. */
static bool is_out(const struct solver *s, int i)
{
    for (int k = 0; k < s->outs; k++)
        if (s->row[i].same == s->out[k])
            return true;
    return false;
}

/* From the rows that count and are not out, nor of configuration `but` (-1: all). */
static double scatter_without(const struct solver *s, int but, double spent, double *freedom)
{
    const struct fit_prior *p = s->prior;
    double sum = p->weight * p->scatter * p->scatter, count = 0;
    for (int i = 0; i < s->rows; i++) {
        if (!counts(s, i) || is_out(s, i) || s->row[i].same == but)
            continue;
        double r = residual(s, i), noise = s->row[i].noise;
        sum += count_of(s, i) * fmax(0, r * r - noise * noise);
        count += count_of(s, i);
    }
    *freedom = p->weight + fmax(0, count - spent);
    return sqrt(sum / *freedom);
}

/* The row that is farthest off among those not out; -1 = none. */
static int farthest(const struct solver *s)
{
    int far = -1;
    for (int i = 0; i < s->rows; i++)
        if (counts(s, i) && !is_out(s, i) &&
            (far < 0 || fabs(residual(s, i)) > fabs(residual(s, far))))
            far = i;
    return far;
}

static double configurations(const struct solver *s)
{
    double count = 0;
    for (int i = 0; i < s->rows; i++)
        count += counts(s, i) ? count_of(s, i) : 0;
    return count;
}

static void find_scatter(struct solver *s, double spent)
{
    int most = (int)(configurations(s) + 0.5) / OUTLIER_ONE_IN;
    s->outs = 0;
    while (s->outs < most && s->outs < OUTS_MAX) {
        int far = farthest(s);
        double freedom;
        double others = scatter_without(s, s->row[far].same, spent, &freedom);
        if (fabs(residual(s, far)) < OUTLIER * hypot(others, s->row[far].noise))
            break;
        s->out[s->outs++] = s->row[far].same;
    }
    s->scatter = scatter_without(s, -1, spent, &s->freedom);
}

static void run(struct solver *s)
{
    s->scatter = FIRST_SCATTER;
    memset(s->x, 0, sizeof s->x);
    for (int i = 0; i < ROUNDS; i++) {
        double spent = solve(s);
        find_scatter(s, spent);
    }
    solve(s);
}

/* First all together, which says what is told and how well; then again with the others at 1, so
 * that none takes over what was given to them. */
void residual_fit(const struct fit_prior *prior, const struct fit_row *row, int rows,
                  const double at[FIT_FACTORS], int without, const struct fit_result *keep,
                  struct fit_result *out)
{
    struct solver s = {.prior = prior, .row = row, .rows = rows, .without = without, .at = at};
    *out = (struct fit_result){0};
    run(&s);
    for (int j = 0; j < prior->factors; j++) {
        out->deviation[j] = sqrt(s.inverse[j][j]);
        out->told[j] =
            keep ? keep->told[j] : out->deviation[j] < prior->telling * prior->deviation[j];
        s.fixed[j] = !out->told[j];
    }
    run(&s);
    out->scatter = s.scatter;
    out->freedom = s.freedom;
    for (int j = 0; j < prior->factors; j++)
        out->log[j] = s.x[j];
}

/* The scatter is itself known from few observations: Student's t has a wider one. */
double fit_error(const struct fit_result *f, int factor)
{
    double wider = sqrt(f->freedom / (f->freedom - 2));
    return RESIDUAL_DEVIATIONS * f->deviation[factor] * wider;
}
