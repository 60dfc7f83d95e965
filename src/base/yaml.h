/* A YAML document as a tree with the place of every node, over libyaml (included in yaml.c
 * alone). */
#pragma once

#include "base/error.h"

#include <stddef.h>

struct arena;

enum yaml_kind { YAML_SCALAR, YAML_LIST, YAML_MAP };

struct yaml {
    enum yaml_kind kind;
    int line, column; /* from 1 */
    const char *text; /* of a scalar */
    const char *key;  /* of a member of a map, else NULL */
    int key_line, key_column;
    const struct yaml *item; /* first member of a list or map, in order */
    const struct yaml *next; /* sibling */
};

/* One document; anchors, aliases, tags, duplicate keys, nesting over 32 levels are errors.
 * `name` stands before line and column in messages. Lives in the arena. */
const struct yaml *yaml_parse(const char *text, size_t length, const char *name, struct arena *,
                              struct error *);

const struct yaml *yaml_get(const struct yaml *map, const char *key); /* NULL when absent */
