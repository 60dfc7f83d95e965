#include "simulate/outage.h"

#include <math.h>

double outage_interval(const struct outage *o, double per_s)
{
    return per_s > 0 ? sqrt(2 * o->write_s / per_s) : INFINITY;
}

double outage_slowdown(const struct outage *o, double per_s)
{
    if (per_s <= 0)
        return o->interval_s > 0 ? 1 + o->write_s / o->interval_s : 1;
    double t = o->interval_s > 0 ? o->interval_s : outage_interval(o, per_s);
    return exp(o->restart_s * per_s) * expm1((t + o->write_s) * per_s) / (per_s * t);
}
