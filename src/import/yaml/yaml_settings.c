/* A setting is a flag by the name that its key has as an argument of Megatron (dest_names.h); a few mean something by
 * the place where they stand (yaml_settings.def). A name that nobody knows goes on as a flag of that name: what becomes
 * of such is decided in one place, for scripts too (launch_split.c). */
#include "import/yaml/yaml_parts.h"

#include "base/arena.h"
#include "base/str.h"
#include "import/megatron/words.h"

#include <string.h>

enum row_kind { MEANS, PASSED, NOTED, REFUSED };

static const struct setting_row {
    const char *path, *value;
    enum row_kind kind;
    const char *text;
} ROWS[] = {
#define SETTING(path, value, kind, text) {path, value, kind, text},
#include "import/yaml/yaml_settings.def"
#undef SETTING
};

int reading_line(const struct yaml_reading *r, const struct yaml *node)
{
    return !r->own ? 0 : node->key ? node->key_line : node->line;
}

/* Whether the last parts of a path are those of another. */
static bool leads_to(const char *path, const char *end)
{
    size_t n = strlen(path), m = strlen(end);
    return n >= m && strcmp(path + n - m, end) == 0 && (n == m || path[n - m - 1] == '.');
}

static const struct setting_row *row_of(const char *path, const char *value)
{
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++)
        if (leads_to(path, ROWS[i].path) &&
            (strcmp(ROWS[i].value, "*") == 0 || same_name(ROWS[i].value, value)))
            return &ROWS[i];
    return NULL;
}

void reading_words(struct yaml_reading *r, const char *words, const char *value, int line)
{
    char word[64];
    for (const char *at = words; next_word(&at, word, sizeof word);)
        dest_list_word(&r->list, strcmp(word, "%s") == 0 ? value : word, line);
}

static bool is_nothing(const char *value)
{
    return !*value || same_name(value, "null") || same_name(value, "none");
}

/* "none" is one of the words of --position-embedding-type, and not Python's None. */
static bool is_choice(const struct yaml_reading *r, const char *name, const char *value)
{
    const char *flag = launch_dashed(arena_format(r->mem, "--%s", name), r->mem);
    return strcmp(value, "none") == 0 && words_takes(flag, value) &&
           strchr(words_expected(flag), ' ') && words_most_values(flag) == 1 &&
           strncmp(words_expected(flag), "a ", 2) != 0;
}

/* What a row says; false where the reading has to end. */
static void take_row(struct yaml_reading *r, const struct setting_row *row, const char *path,
                     const char *value, int line)
{
    if (row->kind == MEANS)
        reading_words(r, row->text, value, line);
    else if (row->kind == NOTED)
        launch_note(r->out, arena_format(r->mem, "%s: %s", path, row->text));
    else if (row->kind == REFUSED && !r->refused)
        r->refused = line ? arena_format(r->mem, "%s:%d: %s: %s", r->path, line, path, row->text)
                          : arena_format(r->mem, "%s: %s: %s", r->path, path, row->text);
}

/* Whether unknown names of the map that a setting stands in are said. */
static bool is_strange(const struct yaml_reading *r, const char *path)
{
    char section[64];
    const char *dot = strrchr(path, '.');
    if (strcmp(r->dialect->strange, "*") == 0)
        return true;
    for (const char *at = r->dialect->strange; next_word(&at, section, sizeof section);)
        if (dot && (size_t)(dot - path) == strlen(section) &&
            strncmp(path, section, strlen(section)) == 0)
            return true;
    return false;
}

/* What a layer below has of a setting that is off, or on, here. */
static void take_out(struct yaml_reading *r, const char *name, const char *value)
{
    bool turns = is_nothing(value) || same_name(value, "false") || same_name(value, "true");
    r->passed += turns ? r->below : 0;
    if (turns && r->below > 0 && r->passed < YAML_PASSED)
        r->below -= dest_drop(&r->list, name, r->below);
}

/* Nodes and GPUs, where the dialect has no place of its own for them. */
static bool take_world(struct yaml_reading *r, const char *name, const char *value)
{
    bool nodes = is_one_of(name, "num_nodes nnodes");
    bool each = is_one_of(name, "devices nproc_per_node num_gpus_per_node gpus_per_node");
    int64_t n, *to = nodes ? &r->out->said_nodes : &r->out->said_per_node;
    if ((nodes || each) && parse_int(value, &n) && n > 0 && n < 1 << 24 && *to == 0)
        *to = n;
    return nodes || each;
}

static bool take_width(struct yaml_reading *r, const char *name, const char *value)
{
    if (strcmp(name, "multiple_of") == 0)
        r->multiple = value;
    else if (strcmp(name, "hidden_dim_multiplier") == 0)
        r->multiplier = value;
    else
        return false;
    return true;
}

static bool has_swiglu(const struct launch *l)
{
    for (int i = 0; i < l->count; i++)
        if (strcmp(l->word[i].text, "--swiglu") == 0)
            return true;
    return false;
}

/* FlagScale's width of a gated MLP that nobody states is a multiple of so many (flagscale/runner/auto_tuner/utils.py). */
void reading_add_width(struct yaml_reading *r)
{
    const struct launch l = {.count = r->list.count, .word = r->list.word};
    const char *hidden = launch_value(&l, "--hidden-size");
    int64_t of, size;
    double by = 1;
    if (!r->multiple || !hidden || !has_swiglu(&l) || launch_value(&l, "--ffn-hidden-size") ||
        !parse_int(r->multiple, &of) || !parse_int(hidden, &size) || of < 1 || of > 1 << 20 ||
        size < 1 || size > 1 << 20 || (r->multiplier && !parse_real(r->multiplier, &by)) ||
        by <= 0 || by > 64)
        return;
    int64_t width = (int64_t)((double)(4 * size * 2 / 3) * by);
    width = (width + of - 1) / of * of;
    reading_words(r, "--ffn-hidden-size %s", arena_format(r->mem, "%lld", (long long)width), 0);
}

static void add_setting(struct yaml_reading *r, const char *path, const char *name,
                        const char *value, int line)
{
    const struct setting_row *row = row_of(path, value);
    bool nothing = is_nothing(value) && !is_choice(r, name, value);
    take_out(r, name, value);
    if (row && !is_nothing(value))
        take_row(r, row, path, value, line);
    if (row || take_world(r, name, value) || take_width(r, name, value) || nothing ||
        dest_add(&r->list, name, value, line) || same_name(value, "false") || !is_strange(r, path))
        return;
    const char *flag = arena_format(r->mem, "--%s", name);
    if (same_name(value, "true"))
        dest_list_word(&r->list, flag, line);
    else
        dest_list_word(&r->list, arena_format(r->mem, "%s=%s", flag, value), line);
}

/* "[1,2]", lists in it alike; "" where there is more than that in it. */
static void add_list(struct yaml_reading *r, const struct yaml *list, int depth, struct str *out)
{
    str_add(out, "[");
    for (const struct yaml *e = list->item; e; e = e->next) {
        str_add(out, e == list->item ? "" : ",");
        if (e->kind == YAML_SCALAR)
            str_add(out, reading_value(r, e));
        else if (e->kind == YAML_LIST && depth < 2)
            add_list(r, e, depth + 1, out);
    }
    str_add(out, "]");
}

static bool holds_lists(const struct yaml *list)
{
    for (const struct yaml *e = list->item; e; e = e->next)
        if (e->kind != YAML_LIST)
            return false;
    return list->item != NULL;
}

static bool holds_maps(const struct yaml *list)
{
    for (const struct yaml *e = list->item; e; e = e->next)
        if (e->kind == YAML_MAP)
            return true;
    return false;
}

/* Rows of numbers: each is a value of its own. */
static void add_rows(struct yaml_reading *r, const char *name, const struct yaml *list, int line)
{
    dest_list_word(&r->list, launch_dashed(arena_format(r->mem, "--%s", name), r->mem), line);
    for (const struct yaml *e = list->item; e; e = e->next) {
        struct str s = {0};
        add_list(r, e, 1, &s);
        dest_list_word(&r->list, str_keep(&s, r->mem), line);
    }
}

/* --num-layers, ++model.num_layers and num_layers are the name num_layers. */
static const char *name_of(const char *key, struct arena *mem)
{
    key += strspn(key, "-+~");
    const char *dot = strrchr(key, '.');
    return reading_plain(dot ? dot + 1 : key, mem);
}

/* Of two that are not alike, which counts is said. */
static void note_twice(struct yaml_reading *r, const struct yaml *map, const struct yaml *m)
{
    const struct yaml *last = yaml_get(map, m->key);
    if (last && last->kind == YAML_SCALAR && m->kind == YAML_SCALAR && r->own &&
        strcmp(last->text, m->text) != 0)
        launch_note(r->out,
                    arena_format(r->mem, "line %d: %s stands there again: that of line %d counts",
                                 m->key_line, m->key, last->key_line));
}

void reading_setting(struct yaml_reading *r, const struct yaml *m, const char *path)
{
    const char *name = name_of(m->key, r->mem);
    int line = reading_line(r, m);
    struct str s = {0};
    if (m->kind == YAML_SCALAR)
        add_setting(r, path, name, reading_value(r, m), line);
    else if (m->kind == YAML_LIST && holds_lists(m))
        add_rows(r, name, m, line);
    else if (m->kind == YAML_LIST && !holds_maps(m)) {
        add_list(r, m, 0, &s);
        add_setting(r, path, name, str_keep(&s, r->mem), line);
    }
}

/* {enabled: false, ...} */
static bool is_off(const struct yaml *map)
{
    const struct yaml *enabled = yaml_get(map, "enabled");
    return enabled && enabled->kind == YAML_SCALAR && same_name(enabled->text, "false");
}

void reading_settings(struct yaml_reading *r, const struct yaml *map, const char *path)
{
    if (map->kind != YAML_MAP || r->scopes == YAML_SCOPES || is_off(map))
        return;
    r->scope[r->scopes++] = map;
    for (const struct yaml *m = map->item; m; m = m->next) {
        const char *inner = *path ? arena_format(r->mem, "%s.%s", path, m->key) : m->key;
        const struct setting_row *row = m->kind == YAML_MAP ? row_of(inner, "*") : NULL;
        if (m->replaced)
            note_twice(r, map, m);
        else if (row)
            take_row(r, row, inner, "", reading_line(r, m));
        else if (m->kind == YAML_MAP)
            reading_settings(r, m, inner);
        else
            reading_setting(r, m, inner);
    }
    r->scopes--;
}
