/* A YAML document as a tree with the place of every node, over libyaml (included in yaml.c
 * alone). */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct arena;

enum yaml_kind { YAML_SCALAR, YAML_LIST, YAML_MAP };

struct yaml {
    enum yaml_kind kind;
    int line, column; /* from 1 */
    const char *text; /* of a scalar */
    int text_line;    /* where its text begins: below the sign | of a block */
    bool plain;       /* a scalar without quotes */
    bool replaced;    /* a member whose key stands there again */
    int size;         /* nodes in it, aliases counted as what they stand for */
    const char *key;  /* of a member of a map, else NULL */
    int key_line, key_column;
    const struct yaml *item; /* first member of a list or map, in order */
    const struct yaml *next; /* sibling */
};

/* One document; anchors, aliases, tags, duplicate keys, nesting over 32 levels are errors.
 * `name` stands before line and column in messages. Lives in the arena. */
const struct yaml *yaml_parse(const char *text, size_t length, const char *name, struct arena *,
                              struct error *);

/* Every document of a file of someone else's, linked by `next`: anchors, aliases and merge keys mean what they mean in
 * YAML, tags are passed over, of a key that stands there twice the last counts. More than YAML_MOST_NODES nodes, also
 * when aliases are written out, are an error. */
const struct yaml *yaml_parse_all(const char *text, size_t length, const char *name, struct arena *,
                                  struct error *);
enum { YAML_MOST_NODES = 500000 };

const struct yaml *yaml_get(const struct yaml *map, const char *key); /* NULL when absent */
