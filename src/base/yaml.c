/* Builds the tree from libyaml's events, one recursive step per level: the depth limit keeps the
 * stack small whatever the input is. In files of our own what makes YAML surprising (anchors, aliases,
 * tags, several documents) is refused, so that the file means what it looks like; in those of others it
 * is read. An alias is a copy of one node that shares what lies below it: ten of tens of tens take no
 * memory, and are counted before anybody walks over them. */
#include "base/yaml.h"

#include "base/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

/* MAX_KEYS bounds the search for duplicates, which is quadratic. */
enum { MAX_DEPTH = 32, MAX_DEPTH_RELAXED = 64, MAX_KEYS = 1000, MAX_ANCHORS = 1000 };

struct yaml_anchor {
    const char *name;
    const struct yaml *node;
};

struct yaml_reader {
    yaml_parser_t parser; /* owned */
    yaml_event_t event;   /* owned: the current one */
    const char *name, *text;
    size_t length;
    struct arena *mem;
    struct error *err;
    bool relaxed; /* a file of someone else's */
    int nodes, anchors;
    struct yaml_anchor *anchor; /* MAX_ANCHORS; of the document at hand */
};

static bool show(const struct yaml_reader *r, yaml_mark_t at)
{
    return error_show_line(r->err, r->text, r->length, (int)at.line + 1, (int)at.column + 1);
}

__attribute__((format(printf, 2, 3))) static bool wrong(struct yaml_reader *r, const char *format,
                                                        ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    yaml_mark_t at = r->event.start_mark;
    return fail(r->err, ERROR_INPUT, "%s:%d:%d: %s", r->name, (int)at.line + 1, (int)at.column + 1,
                text) ||
           show(r, at);
}

/* What libyaml has to say; its reader (bad UTF-8, control characters) knows no line. */
static bool not_yaml(struct yaml_reader *r)
{
    const yaml_parser_t *p = &r->parser;
    if (p->error == YAML_MEMORY_ERROR)
        arena_out_of_memory(0);
    if (p->error == YAML_READER_ERROR)
        return fail(r->err, ERROR_INPUT, "%s: not YAML: %s at byte %zu", r->name, p->problem,
                    p->problem_offset);
    return fail(r->err, ERROR_INPUT, "%s:%d:%d: not YAML: %s%s%s", r->name,
                (int)p->problem_mark.line + 1, (int)p->problem_mark.column + 1,
                p->context ? p->context : "", p->context ? ", " : "", p->problem) ||
           show(r, p->problem_mark);
}

static bool next_event(struct yaml_reader *r)
{
    yaml_event_delete(&r->event);
    return yaml_parser_parse(&r->parser, &r->event) || not_yaml(r);
}

static bool is_plain(struct yaml_reader *r, const yaml_char_t *anchor, const yaml_char_t *tag)
{
    if (r->relaxed)
        return true;
    if (anchor)
        return wrong(r, "an anchor (&) is not supported here");
    if (tag)
        return wrong(r, "a tag (!) is not supported here");
    return true;
}

/* The text of the current scalar. A 0 byte (written "\0") would cut a C string short. */
static bool read_text(struct yaml_reader *r, const char **text)
{
    const char *value = (const char *)r->event.data.scalar.value;
    size_t length = r->event.data.scalar.length;
    if (!is_plain(r, r->event.data.scalar.anchor, r->event.data.scalar.tag))
        return false;
    if (memchr(value, 0, length))
        return wrong(r, "a text with a 0 byte in it");
    *text = arena_copy(r->mem, value, length);
    return true;
}

static struct yaml *new_node(struct yaml_reader *r)
{
    struct yaml *node = arena_alloc(r->mem, sizeof *node);
    node->size = 1;
    node->line = (int)r->event.start_mark.line + 1;
    node->column = (int)r->event.start_mark.column + 1;
    return ++r->nodes <= YAML_MOST_NODES || wrong(r, "more than %d values", YAML_MOST_NODES) ? node
                                                                                             : NULL;
}

/* What a node holds counts for it. */
static bool count_in(struct yaml_reader *r, struct yaml *node, const struct yaml *inner)
{
    node->size += inner->size; /* both are at most YAML_MOST_NODES */
    return node->size <= YAML_MOST_NODES ||
           wrong(r, "more than %d values when aliases (*) are written out", YAML_MOST_NODES);
}

static bool keep_anchor(struct yaml_reader *r, const char *name, const struct yaml *node)
{
    if (!name)
        return true;
    if (r->anchors == MAX_ANCHORS)
        return wrong(r, "more than %d anchors (&)", MAX_ANCHORS);
    r->anchor[r->anchors++] = (struct yaml_anchor){name, node};
    return true;
}

static struct yaml *copy_node(struct yaml_reader *r, const struct yaml *from, const char *key)
{
    struct yaml *node = new_node(r);
    if (!node)
        return NULL;
    *node = *from;
    node->next = NULL;
    node->key = key;
    return node;
}

/* The last anchor of the name counts. One that the alias itself is a part of is not known yet. */
static struct yaml *read_alias(struct yaml_reader *r)
{
    const char *name = (const char *)r->event.data.alias.anchor;
    for (int i = r->anchors - 1; r->relaxed && i >= 0; i--)
        if (strcmp(r->anchor[i].name, name) == 0)
            return copy_node(r, r->anchor[i].node, NULL);
    wrong(r,
          r->relaxed ? "the alias *%s has no anchor before it"
                     : "an alias (*) is not supported here",
          name);
    return NULL;
}

static struct yaml *read_node(struct yaml_reader *r, int depth);

static bool read_list(struct yaml_reader *r, struct yaml *list, int depth)
{
    const struct yaml **tail = &list->item;
    if (!is_plain(r, r->event.data.sequence_start.anchor, r->event.data.sequence_start.tag))
        return false;
    while (next_event(r)) {
        if (r->event.type == YAML_SEQUENCE_END_EVENT)
            return true;
        struct yaml *item = read_node(r, depth + 1);
        if (!item || !count_in(r, list, item))
            return false;
        *tail = item;
        tail = &item->next;
    }
    return false;
}

/* The current event is a key; reads it and its value. */
static struct yaml *read_member(struct yaml_reader *r, const struct yaml *map, int depth)
{
    yaml_mark_t at = r->event.start_mark;
    const char *key;
    if (r->event.type != YAML_SCALAR_EVENT) {
        wrong(r, "a key must be a word");
        return NULL;
    }
    if (!read_text(r, &key))
        return NULL;
    struct yaml *before = (struct yaml *)yaml_get(map, key); /* nobody else has it yet */
    if (before && !r->relaxed) {
        wrong(r, "the key '%s' stands here twice", key);
        return NULL;
    }
    if (before && strcmp(key, "<<") != 0)
        before->replaced = true;
    struct yaml *value = next_event(r) ? read_node(r, depth + 1) : NULL;
    if (value) {
        value->key = key;
        value->key_line = (int)at.line + 1;
        value->key_column = (int)at.column + 1;
    }
    return value;
}

/* The members of another map, but for those whose keys are there. */
static bool merge(struct yaml_reader *r, struct yaml *map, const struct yaml *other)
{
    struct yaml *last = NULL;
    int keys = 0;
    for (const struct yaml *m = map->item; m; m = m->next, keys++)
        last = (struct yaml *)m;
    for (const struct yaml *m = other->kind == YAML_MAP ? other->item : NULL; m; m = m->next) {
        if (m->replaced || yaml_get(map, m->key))
            continue;
        struct yaml *copy = copy_node(r, m, m->key);
        if (!copy || !count_in(r, map, copy))
            return false;
        if (++keys > MAX_KEYS)
            return wrong(r, "more than %d keys in one map", MAX_KEYS);
        last->next = copy;
        last = copy;
    }
    return true;
}

/* <<: *base, or a list of them, where the first counts. */
static bool read_merges(struct yaml_reader *r, struct yaml *map)
{
    for (const struct yaml *m = map->item; m; m = m->next) {
        if (strcmp(m->key, "<<") != 0 || m->replaced)
            continue;
        ((struct yaml *)m)->replaced = true;
        if (!merge(r, map, m))
            return false;
        for (const struct yaml *i = m->kind == YAML_LIST ? m->item : NULL; i; i = i->next)
            if (!merge(r, map, i))
                return false;
    }
    return true;
}

static bool read_map(struct yaml_reader *r, struct yaml *map, int depth)
{
    const struct yaml **tail = &map->item;
    if (!is_plain(r, r->event.data.mapping_start.anchor, r->event.data.mapping_start.tag))
        return false;
    for (int keys = 0; next_event(r); keys++) {
        if (r->event.type == YAML_MAPPING_END_EVENT)
            return !r->relaxed || read_merges(r, map);
        if (keys == MAX_KEYS)
            return wrong(r, "more than %d keys in one map", MAX_KEYS);
        struct yaml *member = read_member(r, map, depth);
        if (!member || !count_in(r, map, member))
            return false;
        *tail = member;
        tail = &member->next;
    }
    return false;
}

static const char *anchor_of(const yaml_event_t *e)
{
    if (e->type == YAML_SCALAR_EVENT)
        return (const char *)e->data.scalar.anchor;
    if (e->type == YAML_MAPPING_START_EVENT)
        return (const char *)e->data.mapping_start.anchor;
    return e->type == YAML_SEQUENCE_START_EVENT ? (const char *)e->data.sequence_start.anchor
                                                : NULL;
}

static bool read_scalar(struct yaml_reader *r, struct yaml *node)
{
    yaml_scalar_style_t style = r->event.data.scalar.style;
    bool block = style == YAML_LITERAL_SCALAR_STYLE || style == YAML_FOLDED_SCALAR_STYLE;
    node->kind = YAML_SCALAR;
    node->plain = style == YAML_PLAIN_SCALAR_STYLE;
    node->text_line = node->line + block;
    return read_text(r, &node->text);
}

/* The node that the current event begins, NULL with the error when there is something wrong. */
static struct yaml *read_node(struct yaml_reader *r, int depth)
{
    const int deepest = r->relaxed ? MAX_DEPTH_RELAXED : MAX_DEPTH;
    if (r->event.type == YAML_ALIAS_EVENT)
        return read_alias(r);
    struct yaml *node = new_node(r);
    const char *anchor = anchor_of(&r->event);
    bool ok = node != NULL;
    anchor = anchor ? arena_string(r->mem, anchor) : NULL;
    if (ok && depth > deepest)
        ok = wrong(r, "nested deeper than %d levels", deepest);
    else if (ok && r->event.type == YAML_SEQUENCE_START_EVENT) {
        node->kind = YAML_LIST;
        ok = read_list(r, node, depth);
    } else if (ok && r->event.type == YAML_MAPPING_START_EVENT) {
        node->kind = YAML_MAP;
        ok = read_map(r, node, depth);
    } else if (ok)
        ok = read_scalar(r, node);
    return ok && (!r->relaxed || keep_anchor(r, anchor, node)) ? node : NULL;
}

static const struct yaml *read_document(struct yaml_reader *r)
{
    if (!next_event(r) || !next_event(r)) /* the stream begins, the document begins */
        return NULL;
    if (r->event.type == YAML_STREAM_END_EVENT) {
        wrong(r, "nothing in it");
        return NULL;
    }
    const struct yaml *root = next_event(r) ? read_node(r, 1) : NULL;
    if (!root || !next_event(r) || !next_event(r)) /* the document ends, the stream ends */
        return NULL;
    if (r->event.type != YAML_STREAM_END_EVENT) {
        wrong(r, "a second document begins; one is expected");
        return NULL;
    }
    return root;
}

/* All documents; those without anything in them are left out. */
static const struct yaml *read_documents(struct yaml_reader *r)
{
    const struct yaml *first = NULL, **tail = &first;
    r->anchor = arena_array(r->mem, MAX_ANCHORS, sizeof *r->anchor);
    if (!next_event(r)) /* the stream begins */
        return NULL;
    while (next_event(r) && r->event.type == YAML_DOCUMENT_START_EVENT) {
        struct yaml *root = next_event(r) ? read_node(r, 1) : NULL;
        if (!root || !next_event(r)) /* the document ends */
            return NULL;
        r->anchors = 0;
        if (root->kind == YAML_SCALAR && !*root->text)
            continue;
        *tail = root;
        tail = &root->next;
    }
    if (r->event.type != YAML_STREAM_END_EVENT)
        return NULL;
    if (!first)
        wrong(r, "nothing in it");
    return first;
}

static const struct yaml *parse(struct yaml_reader *r,
                                const struct yaml *(*read)(struct yaml_reader *))
{
    if (!yaml_parser_initialize(&r->parser))
        arena_out_of_memory(sizeof r->parser);
    yaml_parser_set_input_string(&r->parser, (const unsigned char *)r->text, r->length);
    const struct yaml *root = read(r);
    yaml_event_delete(&r->event);
    yaml_parser_delete(&r->parser);
    return root;
}

const struct yaml *yaml_parse(const char *text, size_t length, const char *name, struct arena *mem,
                              struct error *err)
{
    struct yaml_reader r = {.name = name, .text = text, .length = length, .mem = mem, .err = err};
    return parse(&r, read_document);
}

const struct yaml *yaml_parse_all(const char *text, size_t length, const char *name,
                                  struct arena *mem, struct error *err)
{
    struct yaml_reader r = {
        .name = name, .text = text, .length = length, .mem = mem, .err = err, .relaxed = true};
    return parse(&r, read_documents);
}

const struct yaml *yaml_get(const struct yaml *map, const char *key)
{
    if (map->kind != YAML_MAP)
        return NULL;
    for (const struct yaml *m = map->item; m; m = m->next)
        if (!m->replaced && strcmp(m->key, key) == 0)
            return m;
    return NULL;
}
