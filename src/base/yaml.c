/* Builds the tree from libyaml's events, one recursive step per level: the depth limit keeps the
 * stack small whatever the input is. What makes YAML surprising (anchors, aliases, tags, several
 * documents) is refused, so that the file means what it looks like. */
#include "base/yaml.h"

#include "base/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

/* MAX_KEYS bounds the search for duplicates, which is quadratic. */
enum { MAX_DEPTH = 32, MAX_KEYS = 1000 };

struct yaml_reader {
    yaml_parser_t parser; /* owned */
    yaml_event_t event;   /* owned: the current one */
    const char *name, *text;
    size_t length;
    struct arena *mem;
    struct error *err;
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
        if (!item)
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
    if (yaml_get(map, key)) {
        wrong(r, "the key '%s' stands here twice", key);
        return NULL;
    }
    struct yaml *value = next_event(r) ? read_node(r, depth + 1) : NULL;
    if (value) {
        value->key = key;
        value->key_line = (int)at.line + 1;
        value->key_column = (int)at.column + 1;
    }
    return value;
}

static bool read_map(struct yaml_reader *r, struct yaml *map, int depth)
{
    const struct yaml **tail = &map->item;
    if (!is_plain(r, r->event.data.mapping_start.anchor, r->event.data.mapping_start.tag))
        return false;
    for (int keys = 0; next_event(r); keys++) {
        if (r->event.type == YAML_MAPPING_END_EVENT)
            return true;
        if (keys == MAX_KEYS)
            return wrong(r, "more than %d keys in one map", MAX_KEYS);
        struct yaml *member = read_member(r, map, depth);
        if (!member)
            return false;
        *tail = member;
        tail = &member->next;
    }
    return false;
}

/* The node that the current event begins, NULL with the error when there is something wrong. */
static struct yaml *read_node(struct yaml_reader *r, int depth)
{
    struct yaml *node = arena_alloc(r->mem, sizeof *node);
    bool ok;
    node->line = (int)r->event.start_mark.line + 1;
    node->column = (int)r->event.start_mark.column + 1;
    if (depth > MAX_DEPTH)
        ok = wrong(r, "nested deeper than %d levels", MAX_DEPTH);
    else if (r->event.type == YAML_SEQUENCE_START_EVENT) {
        node->kind = YAML_LIST;
        ok = read_list(r, node, depth);
    } else if (r->event.type == YAML_MAPPING_START_EVENT) {
        node->kind = YAML_MAP;
        ok = read_map(r, node, depth);
    } else if (r->event.type == YAML_SCALAR_EVENT) {
        node->kind = YAML_SCALAR;
        ok = read_text(r, &node->text);
    } else
        ok = wrong(r, "an alias (*) is not supported here");
    return ok ? node : NULL;
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

const struct yaml *yaml_parse(const char *text, size_t length, const char *name, struct arena *mem,
                              struct error *err)
{
    struct yaml_reader r = {.name = name, .text = text, .length = length, .mem = mem, .err = err};
    if (!yaml_parser_initialize(&r.parser))
        arena_out_of_memory(sizeof r.parser);
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, length);
    const struct yaml *root = read_document(&r);
    yaml_event_delete(&r.event);
    yaml_parser_delete(&r.parser);
    return root;
}

const struct yaml *yaml_get(const struct yaml *map, const char *key)
{
    if (map->kind != YAML_MAP)
        return NULL;
    for (const struct yaml *m = map->item; m; m = m->next)
        if (strcmp(m->key, key) == 0)
            return m;
    return NULL;
}
