/* A file is often made of others: a list of defaults names a file of a folder for each group (Hydra), extends names the
 * files whose settings stand below its own (Primus). Each becomes a layer; where a name stands in several, the last
 * counts. What lies outside the folder of the file is not opened and is said. */
#include "import/yaml/yaml_parts.h"

#include "base/arena.h"
#include "base/file.h"
#include "base/str.h"

#include <string.h>

const struct yaml *yaml_at(const struct yaml *node, const char *path)
{
    char key[128];
    if (strcmp(path, ".") == 0)
        return node;
    while (node && *path) {
        size_t n = strcspn(path, ".");
        if (n >= sizeof key)
            return NULL;
        memcpy(key, path, n);
        key[n] = 0;
        node = yaml_get(node, key);
        path += n + (path[n] == '.');
    }
    return node;
}

const struct yaml *reading_find(const struct yaml_reading *r, const char *path)
{
    for (int i = r->layers - 1; i >= 0; i--) {
        const struct yaml *node = yaml_at(r->layer[i].root, path);
        if (node)
            return node;
    }
    return NULL;
}

/* {a: {b: node}} for the group a/b. */
static const struct yaml *wrapped(struct yaml_reading *r, const struct yaml *node,
                                  const char *group)
{
    for (size_t n = strlen(group); n > 0;) {
        size_t from = n;
        while (from > 0 && group[from - 1] != '/' && group[from - 1] != '.')
            from--;
        struct yaml *member = arena_alloc(r->mem, sizeof *member);
        struct yaml *map = arena_alloc(r->mem, sizeof *map);
        *member = *node;
        member->next = NULL;
        member->key = arena_copy(r->mem, group + from, n - from);
        map->kind = YAML_MAP;
        map->item = member;
        node = map;
        n = from > 0 ? from - 1 : 0;
    }
    return node;
}

static void push(struct yaml_reading *r, const struct yaml *root, const char *group, bool own)
{
    if (r->layers < YAML_LAYERS && root->kind == YAML_MAP)
        r->layer[r->layers++] = (struct yaml_layer){wrapped(r, root, group), own};
}

static void note_unread(struct yaml_reading *r, const char *name)
{
    launch_note(r->out, arena_format(r->mem,
                                     "not read: %s, which is not in the folder of the file; "
                                     "what it sets does not count",
                                     name));
}

/* The folder of the file, with its last "/". */
static const char *folder_of(const struct yaml_reading *r)
{
    const char *slash = strrchr(r->path, '/');
    return slash ? arena_copy(r->mem, r->path, (size_t)(slash - r->path) + 1) : "./";
}

static bool ends_in(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n > m && strcmp(text + n - m, end) == 0;
}

bool reading_add_file(struct yaml_reading *r, const char *name, const char *group)
{
    const char *end = ends_in(name, ".yaml") || ends_in(name, ".yml") ? "" : ".yaml";
    const char *folder = folder_of(r), *path = arena_format(r->mem, "%s%s%s", folder, name, end);
    struct text text;
    struct error ignored;
    if (!r->follow || *name == '/' || r->files == YAML_FILES || !file_lies_in(folder, path))
        return false;
    r->files++;
    if (!file_read(path, r->mem, &text, &ignored))
        return false;
    const struct yaml *root = yaml_parse_all(text.data, text.length, path, r->mem, &ignored);
    if (root)
        reading_add_document(r, root, group, false);
    return root != NULL;
}

/* "train: 70b" is train/70b.yaml, whose settings stand below train; "70b" stands at the top. Others than these
 * (overrides of choices, packages of their own) are said. */
static void add_default(struct yaml_reading *r, const struct yaml *entry)
{
    const struct yaml *m = entry->kind == YAML_MAP ? entry->item : NULL;
    if (entry->kind == YAML_SCALAR && !reading_add_file(r, entry->text, ""))
        note_unread(r, entry->text);
    if (!m || m->kind != YAML_SCALAR || same_name(m->text, "null"))
        return;
    const char *group = arena_copy(r->mem, m->key, strcspn(m->key, "@"));
    const char *at = strchr(m->key, '@'), *file = arena_format(r->mem, "%s/%s", group, m->text);
    bool hydra = strncmp(group, "override ", 9) == 0 || strncmp(group, "optional ", 9) == 0;
    if (!hydra && !reading_add_file(r, file, at ? at + 1 : group))
        note_unread(r, file);
}

static bool is_self(const struct yaml *entry)
{
    return entry->kind == YAML_SCALAR && strcmp(entry->text, "_self_") == 0;
}

static void add_defaults(struct yaml_reading *r, const struct yaml *root, const char *group,
                         bool own)
{
    const struct yaml *list = yaml_get(root, "defaults");
    bool done = false;
    for (const struct yaml *e = list && list->kind == YAML_LIST ? list->item : NULL; e;
         e = e->next) {
        if (!is_self(e)) {
            add_default(r, e);
            continue;
        }
        push(r, root, group, own);
        done = true;
    }
    if (!done)
        push(r, root, group, own);
}

static void add_extended(struct yaml_reading *r, const struct yaml *e, const char *group)
{
    if (e->kind == YAML_SCALAR && !reading_add_file(r, e->text, group))
        note_unread(r, e->text);
}

void reading_add_document(struct yaml_reading *r, const struct yaml *root, const char *group,
                          bool own)
{
    static const char *const KEYS[] = {"extends", "bases", "includes"};
    for (size_t i = 0; i < sizeof KEYS / sizeof *KEYS; i++) {
        const struct yaml *list = yaml_get(root, KEYS[i]);
        if (list && list->kind == YAML_SCALAR)
            add_extended(r, list, group);
        for (const struct yaml *e = list && list->kind == YAML_LIST ? list->item : NULL; e;
             e = e->next)
            add_extended(r, e, group);
    }
    add_defaults(r, root, group, own);
}
