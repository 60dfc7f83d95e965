/* What a number format of the matrix products costs in bytes: lines of precisions.def. */
#pragma once

#include <stdbool.h>

enum {
#define PRECISION(format, word, least, product, saved, copies, gather, quantised, experts)         \
    PRECISION_##format,
#include "strategy/precisions.def"
    PRECISIONS
};

struct precision_info {
    const char *word; /* of params.def */
    double least_capability;
    double product; /* seconds of a product over one with a scale a tensor */
    double saved_bytes, copies_bytes, gather_bytes;
    double quantised_bytes[2]; /* of an element, and of one of rows for experts */
};

const struct precision_info *precision_info(int precision);
/* Of a layer: one that stays wide has 16 bits where the others have fewer. */
int layer_precision(int precision, bool wide);
/* Fewer than 16 bits. */
bool precision_is_narrow(int precision);
