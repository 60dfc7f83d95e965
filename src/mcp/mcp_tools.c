#include "mcp/mcp_tools.h"

#include "base/json.h"
#include "base/str.h"
#include "query/options.h"

#include <stdio.h>
#include <string.h>

static const struct mcp_tool TOOLS[] = {
#define TOOL(name, ask, given, gives, needed, title, about)                                        \
    {#name, ask, given, gives, needed, title, about},
#include "mcp/mcp_tools.def"
    {0},
};

const struct mcp_tool *mcp_tools(void)
{
    return TOOLS;
}

const struct mcp_tool *tool_find(const char *name)
{
    for (const struct mcp_tool *t = TOOLS; t->name; t++)
        if (strcmp(t->name, name) == 0)
            return t;
    return NULL;
}

/* What is given beside options. */
static const struct {
    const char *name, *type, *about;
    enum argument_kind kind;
    enum mcp_given given;
} BESIDE[] = {
    {"answer", "object",
     "a plan: the structured answer of search (its best plan), estimate or explain, or a part of "
     "it "
     "that has at least cluster and engine.flags",
     ARGUMENT_ANSWER, GIVEN_FILE},
    {"script", "string",
     "the text of a launch script, an sbatch file, a training log, a list of overrides or a plan "
     "in "
     "JSON",
     ARGUMENT_SCRIPT, GIVEN_FILE},
    {"file", "string",
     "the name of such a file, below a folder that the server may read; relative names are seen "
     "from "
     "the first of these",
     ARGUMENT_FILE, GIVEN_FILE},
    {"flags", "array", "flags of Megatron-LM, a word each; behind those of a script",
     ARGUMENT_FLAGS, GIVEN_FLAGS},
};

enum { BESIDES = sizeof BESIDE / sizeof *BESIDE };

static bool may_read(const struct mcp_terms *terms)
{
    return *terms->allow != NULL;
}

static enum argument_kind judge_option(const struct astra_option *o, const struct mcp_terms *terms)
{
    bool reads = o->takes == ASTRA_TAKES_FILE || o->takes == ASTRA_TAKES_FOLDER;
    if (o->takes == ASTRA_TAKES_NEW_FILE)
        return ARGUMENT_WRITES;
    return reads && !may_read(terms) ? ARGUMENT_READS : ARGUMENT_OPTION;
}

static enum argument_kind judge_beside(const struct mcp_tool *t, size_t i,
                                       const struct mcp_terms *terms)
{
    if (!(t->given & BESIDE[i].given))
        return ARGUMENT_UNKNOWN;
    bool closed = BESIDE[i].kind == ARGUMENT_FILE && !may_read(terms);
    return closed ? ARGUMENT_READS : BESIDE[i].kind;
}

enum argument_kind argument_find(const struct mcp_tool *t, const char *name,
                                 const struct mcp_terms *terms, const struct astra_option **option)
{
    *option = NULL;
    for (size_t i = 0; i < BESIDES; i++)
        if (strcmp(BESIDE[i].name, name) == 0)
            return judge_beside(t, i, terms);
    for (const struct astra_option *o = astra_options(); o->name; o++)
        if (strcmp(o->name, name) == 0 && option_takes(option_find(name), t->name)) {
            *option = o;
            return judge_option(o, terms);
        }
    return ARGUMENT_UNKNOWN;
}

const char *argument_nearest(const struct mcp_tool *t, const char *name,
                             const struct mcp_terms *terms)
{
    const char *names[OPTION_COUNT + BESIDES];
    const struct astra_option *ignored;
    size_t n = 0;
    for (size_t i = 0; i < BESIDES; i++)
        if (judge_beside(t, i, terms) == BESIDE[i].kind)
            names[n++] = BESIDE[i].name;
    for (const struct astra_option *o = astra_options(); o->name; o++)
        if (argument_find(t, o->name, terms, &ignored) == ARGUMENT_OPTION)
            names[n++] = o->name;
    return astra_nearest(name, names, n);
}

static void add_text(struct json *object, const char *name, const char *text)
{
    json_set(object, name, json_new_string(text));
}

/* Numbers may come as they are written on a command line too, as 1T, where that is of use. */
static struct json *type_of(const struct astra_option *o, enum option_kind kind)
{
    static const char *const NAMES[] = {
        [KIND_SWITCH] = "boolean",        [KIND_WHOLE] = "integer",
        [KIND_LENGTH] = "integer string", [KIND_COUNT] = "integer",
        [KIND_REAL] = "number",           [KIND_SHARE] = "number string",
        [KIND_AMOUNT] = "number string",  [KIND_DURATION] = "string",
        [KIND_CHOICE] = "string",         [KIND_WORD] = "string",
        [KIND_TEXT] = "string",           [KIND_OUTPUT] = "string",
        [KIND_LIST] = "string",           [KIND_OWN] = "string"};
    bool object = o->takes == ASTRA_TAKES_MODEL || o->takes == ASTRA_TAKES_POOL;
    const char *words = object ? "string object" : NAMES[kind];
    struct json *list = json_new_array();
    char word[16];
    while (next_word(&words, word, sizeof word))
        json_append(list, json_new_string(word));
    if (json_count(list) > 1)
        return list;
    struct json *one = json_new_copy(json_at(list, 0), NULL);
    json_release(list);
    return one;
}

static struct json *bound(double v)
{
    bool whole = v == (double)(int64_t)v;
    return whole ? json_new_integer((int64_t)v) : json_new_number(v);
}

static void add_range(struct json *to, const struct option *o)
{
    bool number = o->kind >= KIND_WHOLE && o->kind <= KIND_AMOUNT;
    if (!number)
        return;
    json_set(to, "minimum", bound(o->lo));
    json_set(to, "maximum", bound(o->hi));
}

static void add_words(struct json *to, const char *words)
{
    struct json *list = json_new_array();
    char word[32];
    for (const char *at = words; *at; at += *at == '|') {
        size_t n = strcspn(at, "|");
        snprintf(word, sizeof word, "%.*s", (int)n, at);
        json_append(list, json_new_string(word));
        at += n;
    }
    json_set(to, "enum", list);
}

static struct json *value_schema(const struct astra_option *o, const struct option *row)
{
    struct json *v = json_new_object();
    json_set(v, "type", type_of(o, row->kind));
    add_range(v, row);
    if (o->takes == ASTRA_TAKES_WORD)
        add_words(v, o->argument);
    return v;
}

static struct json *option_schema(const struct astra_option *o)
{
    const struct option *row = option_find(o->name);
    struct json *value = value_schema(o, row), *v = value;
    struct str about = {0};
    str_addf(&about, "%s%s%s%s", o->help, *o->usual ? " (default: " : "", o->usual,
             *o->usual ? ")" : "");
    if (o->takes != ASTRA_TAKES_WORD && *o->argument)
        str_addf(&about, "; %s", o->argument);
    if (o->repeats) {
        v = json_new_object();
        add_text(v, "type", "array");
        json_set(v, "items", value);
        json_set(v, "maxItems", json_new_integer(row->most));
    }
    add_text(v, "description", str_text(&about));
    str_release(&about);
    return v;
}

static struct json *beside_schema(size_t i)
{
    struct json *v = json_new_object();
    add_text(v, "type", BESIDE[i].type);
    if (BESIDE[i].kind == ARGUMENT_FLAGS) {
        struct json *item = json_new_object();
        add_text(item, "type", "string");
        json_set(v, "items", item);
    }
    add_text(v, "description", BESIDE[i].about);
    return v;
}

static struct json *properties(const struct mcp_tool *t, const struct mcp_terms *terms)
{
    const struct astra_option *ignored;
    struct json *all = json_new_object();
    for (size_t i = 0; i < BESIDES; i++)
        if (judge_beside(t, i, terms) == BESIDE[i].kind)
            json_set(all, BESIDE[i].name, beside_schema(i));
    for (const struct astra_option *o = astra_options(); o->name; o++)
        if (argument_find(t, o->name, terms, &ignored) == ARGUMENT_OPTION)
            json_set(all, o->name, option_schema(o));
    return all;
}

static struct json *input_schema(const struct mcp_tool *t, const struct mcp_terms *terms)
{
    struct json *v = json_new_object();
    const char *needed = t->needed;
    char word[32];
    add_text(v, "type", "object");
    json_set(v, "properties", properties(t, terms));
    if (*needed) {
        struct json *list = json_new_array();
        while (next_word(&needed, word, sizeof word))
            json_append(list, json_new_string(word));
        json_set(v, "required", list);
    }
    json_set(v, "additionalProperties", json_new_bool(false));
    return v;
}

/* No tool changes anything, or speaks to anyone. */
static struct json *hints(const struct mcp_tool *t)
{
    struct json *v = json_new_object();
    add_text(v, "title", t->title);
    json_set(v, "readOnlyHint", json_new_bool(true));
    json_set(v, "destructiveHint", json_new_bool(false));
    json_set(v, "idempotentHint", json_new_bool(true));
    json_set(v, "openWorldHint", json_new_bool(false));
    return v;
}

static struct json *tool_json(const struct mcp_tool *t, const struct mcp_terms *terms,
                              enum mcp_revision revision)
{
    struct json *v = json_new_object();
    add_text(v, "name", t->name);
    if (revision >= REVISION_2025_06_18)
        add_text(v, "title", t->title);
    add_text(v, "description", t->about);
    json_set(v, "inputSchema", input_schema(t, terms));
    if (revision >= REVISION_2025_03_26)
        json_set(v, "annotations", hints(t));
    return v;
}

struct json *tools_json(const struct mcp_terms *terms, enum mcp_revision revision)
{
    struct json *v = json_new_object(), *list = json_new_array();
    for (const struct mcp_tool *t = TOOLS; t->name; t++)
        json_append(list, tool_json(t, terms, revision));
    json_set(v, "tools", list);
    return v;
}
