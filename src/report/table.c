/* An aligned table: widths are found when everything is there, so rows may come in any length. When
 * the style's width is too small, columns go in the order their makers gave, and are named below.
 */
#include "report/table.h"

#include "base/arena.h"
#include "base/str.h"
#include "report/report.h"
#include "report/typeset.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { INDENT = 2, GAP = 2 };

void table_init(struct table *t, struct arena *mem)
{
    memset(t, 0, sizeof *t);
    t->mem = mem;
}

int table_column(struct table *t, const char *head, enum table_align align, int drop)
{
    assert(t->columns < TABLE_MAX_COLUMNS && t->cells == 0);
    t->column[t->columns] = (struct table_column){head, align, drop, false};
    return t->columns++;
}

static void add_cell(struct table *t, const char *text)
{
    if (t->cells == t->capacity) {
        size_t capacity = t->capacity ? 2 * t->capacity : 64;
        const char **more = arena_array(t->mem, capacity, sizeof *more);
        if (t->cells)
            memcpy(more, t->cell, t->cells * sizeof *more);
        t->cell = more;
        t->capacity = capacity;
    }
    char *copy = arena_string(t->mem, text);
    typeset_clean(copy);
    t->cell[t->cells++] = copy;
}

void table_add(struct table *t, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    add_cell(t, text);
}

void table_take(struct table *t, struct str *s)
{
    add_cell(t, str_text(s));
    str_clear(s);
}

void table_hide(struct table *t, int column)
{
    t->column[column].hidden = true;
}

void table_hide_if_all(struct table *t, int column, const char *text)
{
    for (size_t i = (size_t)column; i < t->cells; i += (size_t)t->columns)
        if (strcmp(t->cell[i], text) != 0)
            return;
    table_hide(t, column);
}

struct fit {
    size_t width[TABLE_MAX_COLUMNS];
    bool shown[TABLE_MAX_COLUMNS];
};

static void measure(const struct table *t, struct fit *f)
{
    for (int c = 0; c < t->columns; c++) {
        f->shown[c] = !t->column[c].hidden;
        f->width[c] = typeset_width(t->column[c].head);
        for (size_t i = (size_t)c; i < t->cells; i += (size_t)t->columns) {
            size_t width = typeset_width(t->cell[i]);
            f->width[c] = width > f->width[c] ? width : f->width[c];
        }
    }
}

static size_t total_width(const struct table *t, const struct fit *f)
{
    size_t total = INDENT;
    for (int c = 0; c < t->columns; c++)
        if (f->shown[c])
            total += f->width[c] + GAP;
    return total - GAP;
}

/* The column to leave out next, or -1. */
static int least_needed(const struct table *t, const struct fit *f)
{
    int found = -1;
    for (int c = 0; c < t->columns; c++)
        if (f->shown[c] && t->column[c].drop > 0 &&
            (found < 0 || t->column[c].drop >= t->column[found].drop))
            found = c;
    return found;
}

static void fit_to(const struct table *t, const struct report_style *style, struct fit *f)
{
    measure(t, f);
    for (int c; style->columns > 0 && total_width(t, f) > (size_t)style->columns;
         f->shown[c] = false)
        if ((c = least_needed(t, f)) < 0)
            return;
}

static void spaces(struct str *out, size_t count)
{
    while (count-- > 0)
        str_add(out, " ");
}

/* Blanks are owed until something follows them, so that no line ends in any. Without a row, the
 * heads. */
static void print_row(const struct table *t, const struct fit *f, const char *const *row,
                      struct str *out)
{
    size_t owed = INDENT;
    for (int c = 0; c < t->columns; c++) {
        const char *text = row ? row[c] : t->column[c].head;
        size_t room = f->width[c] - typeset_width(text);
        bool right = t->column[c].align == TABLE_RIGHT;
        if (!f->shown[c])
            continue;
        if (*text) {
            spaces(out, owed + (right ? room : 0));
            str_add(out, text);
            owed = (right ? 0 : room) + GAP;
        } else {
            owed += f->width[c] + GAP;
        }
    }
}

static bool has_heads(const struct table *t)
{
    for (int c = 0; c < t->columns; c++)
        if (*t->column[c].head)
            return true;
    return false;
}

static void name_left_out(const struct table *t, const struct report_style *style,
                          const struct fit *f, struct str *out)
{
    struct str text;
    str_init(&text);
    for (int c = 0; c < t->columns; c++)
        if (!f->shown[c] && !t->column[c].hidden)
            str_addf(&text, "%s%s", text.length ? ", " : "too narrow for: ", t->column[c].head);
    if (text.length) {
        spaces(out, INDENT);
        typeset_wrap(style, str_text(&text), INDENT, out);
    }
    str_release(&text);
}

void table_print(const struct table *t, const struct report_style *style, struct str *out)
{
    struct fit f;
    assert(t->columns > 0 && t->cells % (size_t)t->columns == 0);
    fit_to(t, style, &f);
    if (has_heads(t)) {
        typeset_ink(style, INK_BOLD, out);
        print_row(t, &f, NULL, out);
        typeset_ink(style, INK_PLAIN, out);
        str_add(out, "\n");
    }
    for (size_t i = 0; i < t->cells; i += (size_t)t->columns) {
        print_row(t, &f, t->cell + i, out);
        str_add(out, "\n");
    }
    name_left_out(t, style, &f, out);
}
