/* JSON values, over jansson (included in json.c alone). A value is owned by its parent; the root is
 * released by json_release. Object members keep their order of insertion. */
#pragma once

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct json; /* never defined: a jansson value behind a cast */
struct str;

/* Reading. `name` stands before line and column in messages. Duplicate keys, trailing text and
 * nesting deeper than jansson allows are errors. */
struct json *json_parse(const char *text, size_t length, const char *name, struct error *);
void json_release(struct json *);

bool json_is_object(const struct json *);
bool json_is_array(const struct json *);
bool json_is_string(const struct json *);
bool json_is_number(const struct json *);
bool json_is_integer(const struct json *);
bool json_is_bool(const struct json *);
bool json_is_null(const struct json *); /* also true for NULL */

const struct json *json_get(const struct json *object, const char *key); /* NULL when absent */
size_t json_count(const struct json *array_or_object);
const struct json *json_at(const struct json *array, size_t i);
const char *json_text(const struct json *);   /* "" unless a string */
int64_t json_integer_of(const struct json *); /* 0 unless an integer */
double json_number_of(const struct json *);   /* 0 unless a number */
bool json_bool_of(const struct json *);

/* Visits the members of an object in order. */
void json_each(const struct json *object,
               void (*visit)(void *context, const char *key, const struct json *value),
               void *context);

/* Writing. Adders take ownership of `value`. Non-finite numbers become null. */
struct json *json_new_object(void);
struct json *json_new_array(void);
struct json *json_new_string(const char *); /* bytes that are not UTF-8 become '?' */
struct json *json_new_strings(const char *const *, size_t count); /* a list */
struct json *json_new_integer(int64_t);
struct json *json_new_cents(double usd); /* to the cent */
struct json *json_new_number(double);
struct json *json_new_bool(bool);
struct json *json_new_null(void);
/* Null where it is not known; of a text, where there is none or it is empty. */
struct json *json_number_or_null(bool known, double);
struct json *json_text_or_null(const char *);
/* A copy; of an object, without one of its members unless `without` is NULL. */
struct json *json_new_copy(const struct json *, const char *without);
void json_set(struct json *object, const char *key, struct json *value);
void json_append(struct json *array, struct json *value);
void json_dump(const struct json *, struct str *out); /* indented by 2, final newline */
void json_dump_release(struct json *, struct str *out);
void json_dump_line(const struct json *, struct str *out); /* one line without its end */
/* As short as it gets, 9 digits a number, for a <script> of a page: nothing in it can end that, or
 * begin anything. */
void json_dump_script(const struct json *, struct str *out);
