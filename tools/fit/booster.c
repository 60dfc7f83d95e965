/* libxgboost through its C API. Training uses the histogram method on one fixed order of rows, so
 * that the same data gives the same trees; prediction is in place, without a matrix object. */
#include "fit/booster.h"

#include "base/arena.h"
#include "base/ubjson.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xgboost/c_api.h>

struct booster {
    BoosterHandle handle; /* owned */
};

static bool trouble(struct error *err, const char *what)
{
    const char *why = XGBGetLastError();
    int length = (int)strcspn(why, "\n");
    return fail(err, ERROR_SYSTEM, "%s: libxgboost says: %.*s", what, length, why);
}

/* With a point, whatever the host program's locale says. */
static bool set_number(BoosterHandle b, const char *name, double value)
{
    char text[40];
    snprintf(text, sizeof text, "%.9g", value);
    for (char *c = text; *c; c++)
        if (*c == ',')
            *c = '.';
    return XGBoosterSetParam(b, name, text) == 0;
}

static bool set_params(BoosterHandle b, const struct booster_params *p)
{
    return XGBoosterSetParam(b, "verbosity", "0") == 0 &&
           XGBoosterSetParam(b, "tree_method", "hist") == 0 &&
           XGBoosterSetParam(b, "objective", "reg:squarederror") == 0 &&
           set_number(b, "nthread", p->threads > 0 ? p->threads : 1) &&
           set_number(b, "max_depth", p->depth) && set_number(b, "seed", p->seed) &&
           set_number(b, "eta", p->rate) && set_number(b, "min_child_weight", p->leaf_weight) &&
           set_number(b, "lambda", p->lambda) && set_number(b, "subsample", p->subsample) &&
           set_number(b, "colsample_bytree", p->columns) && set_number(b, "max_bin", 256) &&
           set_number(b, "base_score", 0);
}

static bool train(BoosterHandle b, DMatrixHandle data, const struct booster_params *p)
{
    if (!set_params(b, p))
        return false;
    for (int round = 0; round < p->rounds; round++)
        if (XGBoosterUpdateOneIter(b, round, data) != 0)
            return false;
    return true;
}

static bool load_data(DMatrixHandle *out, const struct booster_data *d)
{
    if (XGDMatrixCreateFromMat(d->x, d->rows, (bst_ulong)d->columns, __builtin_nanf(""), out) != 0)
        return false;
    return XGDMatrixSetFloatInfo(*out, "label", d->y, d->rows) == 0 &&
           (!d->weight || XGDMatrixSetFloatInfo(*out, "weight", d->weight, d->rows) == 0);
}

/* Rows without missing values say nothing about where these should go, but rounding of sums may make
 * libxgboost choose a side: it becomes the right one, as everywhere else. */
static void forget_missing(unsigned char *bytes, size_t size)
{
    struct ubjson root, tree;
    struct ubjson_numbers left;
    if (!ubjson_check(&root, bytes, size, "", NULL))
        return;
    root = ubjson_get(ubjson_get(ubjson_get(root, "learner"), "gradient_booster"), "model");
    root = ubjson_get(root, "trees");
    tree = ubjson_first(root);
    for (size_t i = 0; i < ubjson_count(root); i++, tree = ubjson_next(tree))
        if (ubjson_numbers(ubjson_get(tree, "default_left"), &left) && left.type == 'U')
            memset(bytes + (left.data - bytes), 0, left.count);
}

static bool save(BoosterHandle handle, struct arena *mem, struct text *out)
{
    bst_ulong length;
    const char *data;
    if (XGBoosterSaveModelToBuffer(handle, "{\"format\":\"ubj\"}", &length, &data) != 0)
        return false;
    char *bytes = arena_copy(mem, data, length);
    forget_missing((unsigned char *)bytes, length);
    *out = (struct text){bytes, length};
    return true;
}

bool booster_train(struct text *out, const struct booster_data *d, const struct booster_params *p,
                   struct arena *mem, struct error *err)
{
    DMatrixHandle data = NULL;
    BoosterHandle handle = NULL;
    bool ok = load_data(&data, d) && XGBoosterCreate(&data, 1, &handle) == 0 &&
              train(handle, data, p) && save(handle, mem, out);
    if (!ok)
        trouble(err, "training");
    if (data)
        XGDMatrixFree(data);
    if (handle)
        XGBoosterFree(handle);
    return ok;
}

/* The array as XGBoost's array interface describes it: an address and a shape. */
static const char PREDICT[] = "{\"type\":0,\"training\":false,\"iteration_begin\":0,"
                              "\"iteration_end\":0,\"strict_shape\":false,\"missing\":NaN,"
                              "\"cache_id\":0}";

bool booster_predict(const struct booster *b, const float *x, size_t rows, int columns, float *out,
                     struct error *err)
{
    if (rows == 0)
        return true;
    char array[160];
    snprintf(array, sizeof array,
             "{\"data\":[%zu,true],\"shape\":[%zu,%d],\"typestr\":\"<f4\",\"version\":3}",
             (size_t)(uintptr_t)x, rows, columns);
    const bst_ulong *shape;
    bst_ulong dims;
    const float *result;
    if (XGBoosterPredictFromDense(b->handle, array, PREDICT, NULL, &shape, &dims, &result) != 0)
        return trouble(err, "prediction");
    memcpy(out, result, rows * sizeof *out); /* `result` belongs to this thread's next call */
    return true;
}

bool booster_load(struct booster **out, struct text file, struct error *err)
{
    BoosterHandle handle = NULL;
    if (XGBoosterCreate(NULL, 0, &handle) != 0 || XGBoosterSetParam(handle, "nthread", "1") != 0 ||
        XGBoosterLoadModelFromBuffer(handle, file.data, file.length) != 0) {
        trouble(err, "loading a model");
        if (handle)
            XGBoosterFree(handle);
        return false;
    }
    *out = memory_grow(NULL, sizeof **out);
    (*out)->handle = handle;
    return true;
}

void booster_free(struct booster *b)
{
    if (!b)
        return;
    XGBoosterFree(b->handle);
    free(b);
}
