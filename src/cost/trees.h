/* Gradient-boosted trees as tables: what libxgboost predicts, bit for bit, without it. Every tree is
 * filled up to the depth of the deepest, so that a row finds its way without pointers:
 *
 *          0           x[column] < threshold at node i: on to 2 i + 1, otherwise to 2 i + 2;
 *      1       2       behind the last level come the leaves
 *     3 4     5 6
 *
 * Nodes of sixteen trees lie side by side. The tables of the models compiled in are made by the build
 * (tools/trees). */
#pragma once

#include "base/error.h"

#include <stddef.h>

struct arena;

enum { TREES_LANES = 16 };                    /* trees that are asked at once */
enum { TREES_DEPTH = 8, TREES_COLUMNS = 64 }; /* at most */

struct trees {
    int count, depth, columns;
    float base_score;            /* what sums begin with */
    const float *threshold;      /* [groups of trees][2^depth - 1][TREES_LANES] */
    const unsigned char *column; /* the same */
    const float *leaf;           /* [groups of trees][2^depth][TREES_LANES], -0 where is no tree */
};

/* `x` is [rows][columns]. A row's bits depend neither on threads nor on other rows. What is not a
 * number goes right, as missing values do in all trees that are read. */
void trees_predict(const struct trees *, const float *x, size_t rows, float *out);

size_t trees_groups(const struct trees *);
size_t trees_inner(const struct trees *); /* nodes of a tree above its leaves */

/* tree_file.c: a model that xgboost saved as UBJSON. Other boosters and objectives than `make fit`
 * uses are refused, as are categories and missing values that go left. The tables live in the arena;
 * `name` stands in messages. */
bool trees_read(struct trees *, const void *bytes, size_t size, const char *name, struct arena *,
                struct error *);
