/* doc/json.md against data/schema/plan.schema.json: every property of every definition has a row in
 * the section of that name, and every row has a property. */
#include "base/arena.h"
#include "base/file.h"
#include "base/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST_NAMES = 1000 };

/* Names such as "plan: step_s", "search: mixed.structures", "run: prices[].gpu". */
struct names {
    struct arena *mem;
    const char *definition, *before; /* of the names that are added */
    int count;
    const char *name[MOST_NAMES];
};

static void add_name(struct names *to, const char *field, size_t length)
{
    assert_true(to->count < MOST_NAMES);
    to->name[to->count++] =
        arena_format(to->mem, "%s: %s%.*s", to->definition, to->before, (int)length, field);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void sort_names(struct names *n)
{
    qsort(n->name, (size_t)n->count, sizeof *n->name, by_text);
}

static const char *read_text(const char *path, struct arena *mem, size_t *length)
{
    struct error err = {0};
    struct text text;
    if (!file_read(path, mem, &text, &err))
        fail_msg("%s", err.text);
    *length = text.length;
    return text.data;
}

/* The schema */

static void add_property(void *context, const char *key, const struct json *value)
{
    struct names *to = context;
    const struct json *inside = json_get(value, "properties");
    const struct json *items = json_get(json_get(value, "items"), "properties");
    const char *before = to->before;
    add_name(to, key, strlen(key));
    to->before = arena_format(to->mem, "%s%s%s", before, key, items ? "[]." : ".");
    if (inside || items)
        json_each(inside ? inside : items, add_property, to);
    to->before = before;
}

static void add_definition(void *context, const char *key, const struct json *value)
{
    struct names *to = context;
    to->definition = key;
    json_each(json_get(value, "properties"), add_property, to);
}

static void names_of_schema(struct names *to)
{
    struct error err = {0};
    size_t length;
    const char *text = read_text("data/schema/plan.schema.json", to->mem, &length);
    struct json *schema = json_parse(text, length, "plan.schema.json", &err);
    if (!schema)
        fail_msg("%s", err.text);
    json_each(json_get(schema, "$defs"), add_definition, to);
    json_release(schema);
}

/* The page: sections "### `plan`", rows "| `step_s`, `mfu` | meaning |". */

static void add_row(struct names *to, const char *row)
{
    const char *end = strchr(row + 1, '|'), *open = strchr(row, '`');
    while (end && open && open < end) {
        const char *shut = strchr(open + 1, '`');
        assert_true(shut && shut < end);
        add_name(to, open + 1, (size_t)(shut - open - 1));
        open = strchr(shut + 1, '`');
    }
}

static void names_of_page(struct names *to)
{
    size_t length;
    const char *line = read_text("doc/json.md", to->mem, &length);
    to->definition = "";
    while (line) {
        if (strncmp(line, "### `", 5) == 0)
            to->definition = arena_copy(to->mem, line + 5, strcspn(line + 5, "`\n"));
        else if (*line == '#')
            to->definition = "";
        else if (*line == '|' && *to->definition)
            add_row(to, line);
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
}

static void test_rows_are_properties(void **state)
{
    (void)state;
    struct arena mem;
    arena_init(&mem);
    struct names schema = {.mem = &mem, .before = ""}, page = {.mem = &mem, .before = ""};
    names_of_schema(&schema);
    names_of_page(&page);
    sort_names(&schema);
    sort_names(&page);
    int i = 0, k = 0, wrong = 0;
    while (i < schema.count || k < page.count) {
        int order = i == schema.count ? 1
                    : k == page.count ? -1
                                      : by_text(&schema.name[i], &page.name[k]);
        if (order < 0)
            print_error("the page has no row for `%s`\n", schema.name[i]);
        if (order > 0)
            print_error("the schema has no property for the row `%s`\n", page.name[k]);
        wrong += order != 0;
        i += order <= 0;
        k += order >= 0;
    }
    assert_true(schema.count > 100);
    assert_int_equal(wrong, 0);
    arena_release(&mem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows_are_properties)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
