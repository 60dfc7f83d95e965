/* Rows at which trees can go wrong, and what libxgboost says of them: thresholds themselves, the
 * numbers beside them, infinities, what is not a number. The same rows in every run. */
#pragma once

#include "cost/trees.h"

#include <math.h>
#include <stdint.h>

static uint64_t tree_seed = 1;

static inline double tree_draw(void)
{
    tree_seed = tree_seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(tree_seed >> 11) * 0x1p-53;
}

/* A threshold of this column if a few tries find one, moved by nothing, a bit or more. */
static inline float tree_value(const struct trees *t, int column)
{
    static const float ODD[] = {NAN, INFINITY, -INFINITY, -0.0f};
    size_t nodes = trees_groups(t) * trees_inner(t) * TREES_LANES;
    double kind = tree_draw();
    float x = (float)(40 * tree_draw() - 5);
    for (int tries = 0; tries < 40; tries++) {
        size_t i = (size_t)(tree_draw() * (double)nodes);
        if (t->column[i] == column) {
            x = t->threshold[i];
            break;
        }
    }
    if (kind < 0.01)
        return ODD[(int)(4 * tree_draw())];
    if (kind < 0.2)
        return x + (float)(tree_draw() - 0.5);
    if (kind < 0.4)
        return nextafterf(x, kind < 0.3f ? INFINITY : -INFINITY);
    return x;
}

static inline void tree_rows(const struct trees *t, float *x, size_t rows)
{
    for (size_t i = 0; i < rows; i++)
        for (int c = 0; c < t->columns; c++)
            x[i * (size_t)t->columns + (size_t)c] = tree_value(t, c);
}
