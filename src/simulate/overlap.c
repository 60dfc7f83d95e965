#include "simulate/overlap.h"

#include <assert.h>
#include <math.h>

/* Compute never stands still. */
static const double MOST_TAX = 0.9;

struct company company_at(double tax, double sending)
{
    assert(sending >= 0 && sending <= 1);
    double lost = fmin(MOST_TAX, tax + sending);
    return (struct company){lost, 1 / (1 - sending * (1 - lost))};
}

double company_pace(struct company by)
{
    return by.stretch * (1 - by.tax);
}

double with_tax(double total, double shown, struct company by)
{
    double each = fmin(1, by.tax * by.stretch);
    assert(each >= 0);
    return shown + each * fmax(0, total - shown);
}

double pieces_shown(double total, double window, double pieces, struct company by)
{
    double beside = window * (pieces - 1) / pieces / company_pace(by);
    assert(pieces >= 1 && by.stretch >= 1);
    return fmax(total / pieces, total - beside);
}
