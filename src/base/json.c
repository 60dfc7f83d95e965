#include "base/json.h"

#include "base/arena.h"
#include "base/str.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* jansson's type tests are macros of the names we want for functions. */
#undef json_is_object
#undef json_is_array
#undef json_is_string
#undef json_is_number
#undef json_is_integer
#undef json_is_null

static json_t *in(const struct json *v)
{
    return (json_t *)(uintptr_t)v;
}

static struct json *out(json_t *v)
{
    if (!v)
        arena_out_of_memory(sizeof(json_t *));
    return (struct json *)v;
}

struct json *json_parse(const char *text, size_t length, const char *name, struct error *err)
{
    json_error_t e;
    json_t *v = json_loadb(text, length, JSON_REJECT_DUPLICATES, &e);
    if (!v && json_error_code(&e) == json_error_out_of_memory)
        arena_out_of_memory(0);
    if (!v)
        fail(err, ERROR_INPUT, "%s:%d:%d: %s", name, e.line, e.column, e.text);
    return (struct json *)v;
}

void json_release(struct json *v)
{
    json_decref(in(v));
}

static bool has_type(const struct json *v, json_type type)
{
    return v && json_typeof(in(v)) == type;
}

bool json_is_object(const struct json *v)
{
    return has_type(v, JSON_OBJECT);
}

bool json_is_array(const struct json *v)
{
    return has_type(v, JSON_ARRAY);
}

bool json_is_string(const struct json *v)
{
    return has_type(v, JSON_STRING);
}

bool json_is_integer(const struct json *v)
{
    return has_type(v, JSON_INTEGER);
}

bool json_is_number(const struct json *v)
{
    return has_type(v, JSON_INTEGER) || has_type(v, JSON_REAL);
}

bool json_is_bool(const struct json *v)
{
    return has_type(v, JSON_TRUE) || has_type(v, JSON_FALSE);
}

bool json_is_null(const struct json *v)
{
    return !v || has_type(v, JSON_NULL);
}

const struct json *json_get(const struct json *object, const char *key)
{
    return (const struct json *)json_object_get(in(object), key);
}

size_t json_count(const struct json *v)
{
    return json_is_array(v) ? json_array_size(in(v)) : json_object_size(in(v));
}

const struct json *json_at(const struct json *array, size_t i)
{
    return (const struct json *)json_array_get(in(array), i);
}

const char *json_text(const struct json *v)
{
    return json_is_string(v) ? json_string_value(in(v)) : "";
}

int64_t json_integer_of(const struct json *v)
{
    return json_is_integer(v) ? json_integer_value(in(v)) : 0;
}

double json_number_of(const struct json *v)
{
    return v ? json_number_value(in(v)) : 0;
}

bool json_bool_of(const struct json *v)
{
    return has_type(v, JSON_TRUE);
}

void json_each(const struct json *object,
               void (*visit)(void *context, const char *key, const struct json *value),
               void *context)
{
    const char *key;
    json_t *value;
    if (!json_is_object(object))
        return;
    json_object_foreach(in(object), key, value) visit(context, key, (const struct json *)value);
}

struct json *json_new_object(void)
{
    return out(json_object());
}

struct json *json_new_array(void)
{
    return out(json_array());
}

/* Bytes of the UTF-8 character that begins here, 0 = none does. jansson is the judge. */
static size_t character_bytes(const char *text)
{
    for (size_t n = 1; n <= 4 && text[n - 1]; n++) {
        json_t *v = json_stringn(text, n);
        json_decref(v);
        if (v)
            return n;
    }
    return 0;
}

/* What is not UTF-8, as where a long message was cut or a file is in another encoding, is '?'. */
static json_t *repaired(const char *text)
{
    struct str s = {0};
    while (*text) {
        size_t n = character_bytes(text);
        str_add_bytes(&s, n ? text : "?", n ? n : 1);
        text += n ? n : 1;
    }
    json_t *v = json_string(str_text(&s));
    str_release(&s);
    return v;
}

struct json *json_new_string(const char *text)
{
    json_t *v = json_string(text); /* NULL when not UTF-8 */
    return out(v ? v : repaired(text));
}

struct json *json_new_strings(const char *const *text, size_t count)
{
    struct json *list = json_new_array();
    for (size_t i = 0; i < count; i++)
        json_append(list, json_new_string(text[i]));
    return list;
}

struct json *json_new_integer(int64_t v)
{
    return out(json_integer(v));
}

/* Nine digits are what figures are worth, and the same on every machine. */
struct json *json_new_number(double v)
{
    char digits[32];
    if (!isfinite(v))
        return out(json_null());
    snprintf(digits, sizeof digits, "%.9g", v);
    return out(json_real(strtod(digits, NULL)));
}

struct json *json_new_cents(double usd)
{
    return out(isfinite(usd) ? json_real(round(100 * usd) / 100) : json_null());
}

struct json *json_new_bool(bool v)
{
    return out(json_boolean(v));
}

struct json *json_new_null(void)
{
    return out(json_null());
}

struct json *json_number_or_null(bool known, double value)
{
    return known ? json_new_number(value) : json_new_null();
}

struct json *json_text_or_null(const char *text)
{
    return text && *text ? json_new_string(text) : json_new_null();
}

struct json *json_new_copy(const struct json *v, const char *without)
{
    json_t *copy = json_deep_copy(in(v));
    if (without && json_is_object(v))
        json_object_del(copy, without);
    return out(copy);
}

void json_set(struct json *object, const char *key, struct json *value)
{
    json_object_set_new(in(object), key, in(value));
}

void json_append(struct json *array, struct json *value)
{
    json_array_append_new(in(array), in(value));
}

void json_dump(const struct json *v, struct str *s)
{
    char *text = json_dumps(in(v), JSON_INDENT(2) | JSON_REAL_PRECISION(15));
    if (!text)
        arena_out_of_memory(0);
    str_add(s, text);
    str_add(s, "\n");
    free(text);
}

void json_dump_release(struct json *v, struct str *s)
{
    json_dump(v, s);
    json_release(v);
}

void json_dump_line(const struct json *v, struct str *s)
{
    char *text = json_dumps(in(v), JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
    if (!text)
        arena_out_of_memory(0);
    str_add(s, text);
    free(text);
}

void json_dump_script(const struct json *v, struct str *s)
{
    char *text = json_dumps(in(v), JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(9));
    if (!text)
        arena_out_of_memory(0);
    for (const char *at = text; *at;) {
        size_t n = strcspn(at, "<>&");
        str_add_bytes(s, at, n);
        at += n;
        if (*at)
            str_addf(s, "\\u%04x", *at++);
    }
    free(text);
}
