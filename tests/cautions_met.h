/* How many cautions hold for the strategy in `values`. */
#pragma once

#include "rules/rules.h"

static inline int cautions_met(const struct rules *cautions, const double values[SLOTS])
{
    int met = 0;
    for (int i = 0; cautions && i < cautions->count; i++)
        met += rule_holds(&cautions->rule[i], values);
    return met;
}
