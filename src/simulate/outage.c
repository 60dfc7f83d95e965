/* Outages come as a Poisson process, 1 / M a second. With C = write_s, R = restart_s and tau of
 * training between checkpoints, an interval takes
 *
 *     M e^(R/M) (e^((tau + C)/M) - 1)
 *
 * seconds of wall clock on average (Daly 2006). Everything here is in units of M: t = tau/M,
 * c = C/M, r = R/M. The best t makes the derivative of (e^(t + c) - 1) / t zero:
 *
 *     e^(t + c) (t - 1) + 1 = 0,   or   h(t) = 1 + (t - 1) e^t = 1 - e^-c,
 *
 * which is t = 1 + W0(-e^(-c - 1)). h is 0 at 0 and 1 at 1, rises and is convex between: Newton's
 * method from above never oversteps. As a series, h(t) = sum over n >= 2 of (n - 1)/n! t^n, it has
 * no cancellation, so that t is exact to the last digits for any c. */
#include "simulate/outage.h"

#include <assert.h>
#include <math.h>

/* Below this c the next term of t = sqrt(2c) (1 - sqrt(2c)/3 + ...) is beyond a double's digits. */
static const double TINY = 1e-33;

/* 1 + (t - 1) e^t for t in [0, 1]. What is left out is below 1e-17 of the sum. */
static double lost(double t)
{
    enum { TERMS = 19 };
    assert(t >= 0 && t <= 1);
    double sum = 0;
    for (int n = TERMS; n > 2; n--) /* term n of term n - 1: t (n - 1) / (n (n - 2)) */
        sum = (1 + sum) * t * (n - 1) / (n * (n - 2.0));
    return t * t / 2 * (1 + sum);
}

/* The best t for a c > 0: above 0, at most 1. */
static double best(double c)
{
    enum { STEPS = 50 };
    if (c < TINY)
        return sqrt(2 * c);
    double goal = -expm1(-c);
    double t = fmin(1, sqrt(2 * goal)); /* h(t) >= t^2 / 2 */
    for (int i = 0; i < STEPS; i++) {
        double step = (lost(t) - goal) / (t * exp(t));
        t -= step;
        if (step < 1e-16 * t)
            break;
    }
    assert(t > 0 && t <= 1);
    return t;
}

double outage_interval(const struct outage *o, double per_s)
{
    double c = o->write_s * per_s;
    if (per_s <= 0)
        return INFINITY;
    if (c < TINY) /* c itself may be too small for a double */
        return sqrt(2) * sqrt(o->write_s) / sqrt(per_s);
    return best(c) / per_s;
}

/* (e^x - 1) / x, for which x = 0 is no exception. */
static double growth(double x)
{
    static const double most = 700; /* a little below where e^x overflows */
    if (x > most)
        return INFINITY;
    return x > 0 ? fmax(1, expm1(x) / x) : 1;
}

/* At the best interval e^(t + c) = 1 / (1 - t), and (e^(t + c) - 1) / t is the same. */
double outage_slowdown(const struct outage *o, double per_s)
{
    double c = o->write_s * per_s, r = o->restart_s * per_s;
    if (o->interval_s > 0)
        return exp(r) * growth(o->interval_s * per_s + c) * (1 + o->write_s / o->interval_s);
    return exp(r + c + (c > 0 ? best(c) : 0));
}
