/* A row goes down sixteen trees at once, so that the processor need not wait for any of them: one row
 * costs no more than its share of many. Sixteen trees fit into the first cache and are asked for all
 * rows before the next. Sums are xgboost's: single precision, tree after tree. */
#include "cost/trees.h"

#include <assert.h>

size_t trees_groups(const struct trees *t)
{
    return ((size_t)t->count + TREES_LANES - 1) / TREES_LANES;
}

size_t trees_inner(const struct trees *t)
{
    return ((size_t)1 << t->depth) - 1;
}

/* The tables of sixteen trees. */
struct tree_group {
    const float (*threshold)[TREES_LANES], (*leaf)[TREES_LANES];
    const unsigned char (*column)[TREES_LANES];
    int depth;
};

static float add_leaves(const struct tree_group *g, const float *x, float sum)
{
    unsigned at[TREES_LANES] = {0}, inner = (1u << g->depth) - 1;
    for (int level = 0; level < g->depth; level++)
#pragma GCC unroll 16
        for (int i = 0; i < TREES_LANES; i++)
            at[i] = 2 * at[i] + 2 - (x[g->column[at[i]][i]] < g->threshold[at[i]][i]);
#pragma GCC unroll 16
    for (int i = 0; i < TREES_LANES; i++)
        sum += g->leaf[at[i] - inner][i];
    return sum;
}

void trees_predict(const struct trees *t, const float *x, size_t rows, float *out)
{
    size_t inner = trees_inner(t), columns = (size_t)t->columns;
    assert(t->depth <= TREES_DEPTH);
    for (size_t i = 0; i < rows; i++)
        out[i] = t->base_score;
    for (size_t k = 0; k < trees_groups(t); k++) {
        struct tree_group g = {
            (const float(*)[TREES_LANES])(t->threshold + k * inner * TREES_LANES),
            (const float(*)[TREES_LANES])(t->leaf + k * (inner + 1) * TREES_LANES),
            (const unsigned char(*)[TREES_LANES])(t->column + k * inner * TREES_LANES), t->depth};
        for (size_t i = 0; i < rows; i++)
            out[i] = add_leaves(&g, x + i * columns, out[i]);
    }
}
