/* UBJSON as xgboost writes it: objects without a count, arrays with one, numbers big-endian. All of
 * a document is checked once; then values are looked up where they lie, without a copy. */
#pragma once

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/* A value of a document that was checked: borrowed. */
struct ubjson {
    const unsigned char *at;  /* its type; NULL: there is no such value */
    const unsigned char *end; /* of the document */
};

/* An array of numbers of one type. */
struct ubjson_numbers {
    const unsigned char *data;
    size_t count;
    char type;
};

/* `name` stands in messages: the byte from which on it is something else. */
bool ubjson_check(struct ubjson *out, const void *bytes, size_t size, const char *name,
                  struct error *);

/* No value where it is no object, or has no such member. */
struct ubjson ubjson_get(struct ubjson object, const char *key);
/* The values of an array of any types, one after the other: `count` of them, each
 * but the first behind the one before. */
struct ubjson ubjson_first(struct ubjson array);
struct ubjson ubjson_next(struct ubjson value);
size_t ubjson_count(struct ubjson array); /* 0: no array of any types */

/* The text of a string with a final 0; "" where it is none or has no room. */
void ubjson_text(struct ubjson, char *out, size_t size);

/* False where it is no array of numbers of one type. */
bool ubjson_numbers(struct ubjson, struct ubjson_numbers *out);
bool ubjson_are_floats(struct ubjson_numbers); /* of 32 bits */
bool ubjson_are_integers(struct ubjson_numbers);
float ubjson_float(struct ubjson_numbers, size_t i);
int64_t ubjson_integer(struct ubjson_numbers, size_t i);
