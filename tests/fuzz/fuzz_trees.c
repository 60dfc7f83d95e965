/* Any bytes as a model of xgboost: refused with a message that begins with its name, or tables of
 * trees within their limits whose answers are the same for a row alone and among others. */
#include "cost/trees.h"

#include "base/arena.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ROWS = 3 };

static void check_tables(const struct trees *t)
{
    size_t wide = trees_groups(t) * TREES_LANES;
    assert(t->count > 0 && t->depth >= 0 && t->depth <= TREES_DEPTH);
    assert(t->columns > 0 && t->columns <= TREES_COLUMNS && isfinite(t->base_score));
    for (size_t i = 0; i < wide * trees_inner(t); i++)
        assert(isfinite(t->threshold[i]) && t->column[i] < t->columns);
    for (size_t i = 0; i < wide * (trees_inner(t) + 1); i++)
        assert(isfinite(t->leaf[i]));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena mem = {0};
    struct error err = {0};
    struct trees t;
    float x[ROWS * TREES_COLUMNS] = {0}, alone, out[ROWS];
    if (trees_read(&t, data, size, "f", &mem, &err)) {
        check_tables(&t);
        for (int i = 0; i < t.columns; i++)
            x[i] = t.threshold[0];
        trees_predict(&t, x, ROWS, out);
        trees_predict(&t, x, 1, &alone);
        assert(memcmp(&alone, out, sizeof alone) == 0);
    } else {
        assert(err.kind == ERROR_INPUT && err.text[0] == 'f');
    }
    arena_release(&mem);
    return 0;
}
