/* A validator of the part of JSON Schema that our schemas use. Needs cmocka.h before it. */
#pragma once

#include "base/arena.h"
#include "base/file.h"
#include "base/json.h"
#include "base/str.h"
#include "must.h"

#include <string.h>

static const struct json *SCHEMA;

static bool is_of_type(const struct json *v, const char *type)
{
    static const struct {
        const char *name;
        bool (*is)(const struct json *);
    } types[] = {{"object", json_is_object}, {"array", json_is_array},
                 {"string", json_is_string}, {"integer", json_is_integer},
                 {"number", json_is_number}, {"boolean", json_is_bool},
                 {"null", json_is_null}};
    for (size_t i = 0; i < COUNT(types); i++)
        if (strcmp(types[i].name, type) == 0)
            return types[i].is(v);
    fail_msg("the schema has a type '%s'", type);
    return false;
}

static bool has_a_type(const struct json *v, const struct json *type)
{
    if (!json_is_array(type))
        return json_is_null(type) || is_of_type(v, json_text(type));
    for (size_t i = 0; i < json_count(type); i++)
        if (is_of_type(v, json_text(json_at(type, i))))
            return true;
    return false;
}

static bool in_list(const struct json *v, const struct json *list)
{
    for (size_t i = 0; i < json_count(list); i++)
        if (strcmp(json_text(v), json_text(json_at(list, i))) == 0)
            return true;
    return false;
}

static bool valid(const struct json *v, const struct json *schema, struct str *why);

struct member_check {
    const struct json *schema;
    struct str *why;
    bool ok;
};

static void check_member(void *context, const char *key, const struct json *value)
{
    struct member_check *c = context;
    const struct json *properties = json_get(c->schema, "properties");
    const struct json *more = json_get(c->schema, "additionalProperties");
    const struct json *member = properties ? json_get(properties, key) : NULL;
    if (!member && json_is_object(more))
        member = more;
    bool ok = member && valid(value, member, c->why);
    if (!ok)
        str_addf(c->why, " in %s", key);
    c->ok = c->ok && ok;
}

static bool valid_object(const struct json *v, const struct json *schema, struct str *why)
{
    const struct json *required = json_get(schema, "required");
    struct member_check c = {schema, why, true};
    for (size_t i = 0; required && i < json_count(required); i++)
        if (!json_get(v, json_text(json_at(required, i)))) {
            str_addf(why, "%s is missing", json_text(json_at(required, i)));
            return false;
        }
    json_each(v, check_member, &c);
    return c.ok;
}

static bool valid_one_of(const struct json *v, const struct json *list)
{
    size_t matches = 0;
    for (size_t i = 0; i < json_count(list); i++) {
        struct str ignored;
        str_init(&ignored);
        matches += valid(v, json_at(list, i), &ignored);
        str_release(&ignored);
    }
    return matches == 1;
}

static bool in_range(const struct json *v, const struct json *schema)
{
    const struct json *least = json_get(schema, "minimum"), *most = json_get(schema, "maximum");
    return !json_is_number(v) || ((!least || json_number_of(v) >= json_number_of(least)) &&
                                  (!most || json_number_of(v) <= json_number_of(most)));
}

static bool valid_value(const struct json *v, const struct json *schema)
{
    const struct json *list = json_get(schema, "enum"), *one = json_get(schema, "oneOf");
    return has_a_type(v, json_get(schema, "type")) && in_range(v, schema) &&
           (!list || in_list(v, list)) && (!one || valid_one_of(v, one));
}

static bool valid(const struct json *v, const struct json *schema, struct str *why)
{
    static const char prefix[] = "#/$defs/";
    const char *ref = json_text(json_get(schema, "$ref"));
    if (*ref)
        return valid(v, json_get(json_get(SCHEMA, "$defs"), ref + sizeof prefix - 1), why);
    if (!valid_value(v, schema)) {
        str_add(why, "a value is wrong");
        return false;
    }
    const struct json *items = json_get(schema, "items");
    for (size_t i = 0; items && json_is_array(v) && i < json_count(v); i++)
        if (!valid(json_at(v, i), items, why))
            return false;
    bool of_object = json_get(schema, "properties") || json_get(schema, "additionalProperties");
    return !of_object || !json_is_object(v) || valid_object(v, schema, why);
}

/* `what` is the definition of the schema that must hold. */
static void must_be_by_schema(const struct json *v, const char *path, const char *what)
{
    struct error err = {0};
    struct arena mem;
    struct text text;
    struct str why;
    arena_init(&mem);
    str_init(&why);
    must(file_read(path, &mem, &text, &err), &err);
    struct json *schema = json_parse(text.data, text.length, path, &err);
    must(schema != NULL, &err);
    SCHEMA = schema;
    if (!valid(v, json_get(json_get(schema, "$defs"), what), &why) || !valid(v, schema, &why))
        fail_msg("not a %s: %s", what, str_text(&why));
    SCHEMA = NULL;
    json_release(schema);
    str_release(&why);
    arena_release(&mem);
}
