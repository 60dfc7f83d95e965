/* An aligned table: widths are found when everything is there, so rows may come in any length. When
 * the style's width is too small, columns go in the order their makers gave, and are named below;
 * then text is broken within its column. */
#include "report/text/table.h"

#include "base/units.h"
#include "report/report.h"
#include "report/text/typeset.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { INDENT = 2, GAP = 2, LEAST_TEXT = 10 };
static const double LEAST_CHANGE = 0.0005; /* smaller ones are written as none */

void table_init(struct table *t, const struct table_column *columns, size_t count)
{
    memset(t, 0, sizeof *t);
    for (size_t i = 0; i < count; i++)
        table_column(t, columns[i].head, columns[i].align, columns[i].drop);
}

void table_column(struct table *t, const char *head, enum table_align align, int drop)
{
    assert(t->columns < TABLE_MAX_COLUMNS && t->cells == 0);
    t->column[t->columns++] = (struct table_column){head, align, drop};
}

static void add_cell(struct table *t, const char *text)
{
    char *copy = arena_string(&t->mem, text);
    typeset_clean(copy);
    t->cell = arena_room(&t->mem, t->cell, t->cells, &t->capacity, sizeof *t->cell);
    t->cell[t->cells++] = (struct table_cell){copy, INK_PLAIN};
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

void table_take(struct table *t)
{
    add_cell(t, str_text(&t->text));
    str_clear(&t->text);
}

void table_seconds(struct table *t, double seconds)
{
    add_seconds(&t->text, seconds);
    table_take(t);
}

void table_count(struct table *t, double count)
{
    add_count(&t->text, count);
    table_take(t);
}

void table_bar(struct table *t, const struct report_style *style, double share)
{
    typeset_bar(style, share, typeset_bar_width(style), &t->text);
    table_take(t);
}

void table_ink(struct table *t, enum ink ink)
{
    assert(t->cells > 0);
    t->cell[t->cells - 1].ink = ink;
}

void table_row_ink(struct table *t, enum ink ink)
{
    assert(t->cells >= t->columns);
    for (int i = t->cells - t->columns; i < t->cells; i++)
        if (t->cell[i].ink == INK_PLAIN)
            t->cell[i].ink = ink;
}

void table_change_ink(struct table *t, double change)
{
    if (fabs(change) >= LEAST_CHANGE)
        table_ink(t, change < 0 ? INK_GOOD : INK_BAD);
}

void table_hide(struct table *t, int column)
{
    t->hidden[column] = true;
}

void table_hide_if_all(struct table *t, int column, const char *text)
{
    for (int i = column; i < t->cells; i += t->columns)
        if (strcmp(t->cell[i].text, text) != 0)
            return;
    table_hide(t, column);
}

struct table_fit {
    size_t width[TABLE_MAX_COLUMNS];
    bool shown[TABLE_MAX_COLUMNS];
};

static void measure(const struct table *t, struct table_fit *f)
{
    for (int c = 0; c < t->columns; c++) {
        f->shown[c] = !t->hidden[c];
        f->width[c] = typeset_width(t->column[c].head);
        for (int i = c; i < t->cells; i += t->columns) {
            size_t width = typeset_width(t->cell[i].text);
            f->width[c] = width > f->width[c] ? width : f->width[c];
        }
    }
}

static size_t total_width(const struct table *t, const struct table_fit *f)
{
    size_t total = INDENT;
    for (int c = 0; c < t->columns; c++)
        if (f->shown[c])
            total += f->width[c] + GAP;
    return total - GAP;
}

/* The column to leave out next, or -1. */
static int least_needed(const struct table *t, const struct table_fit *f)
{
    int found = -1;
    for (int c = 0; c < t->columns; c++)
        if (f->shown[c] && t->column[c].drop > 0 &&
            (found < 0 || t->column[c].drop >= t->column[found].drop))
            found = c;
    return found;
}

/* The widest column of text that can be narrowed, or -1. */
static int widest_text(const struct table *t, const struct table_fit *f)
{
    int found = -1;
    for (int c = 0; c < t->columns; c++)
        if (f->shown[c] && t->column[c].align != TABLE_RIGHT && f->width[c] > LEAST_TEXT &&
            (found < 0 || f->width[c] > f->width[found]))
            found = c;
    return found;
}

static void narrow(const struct table *t, size_t limit, struct table_fit *f)
{
    for (size_t width; (width = total_width(t, f)) > limit;) {
        int c = widest_text(t, f);
        if (c < 0)
            return;
        size_t excess = width - limit, most = f->width[c] - LEAST_TEXT;
        f->width[c] -= excess < most ? excess : most;
    }
}

static void fit_to(const struct table *t, const struct report_style *style, struct table_fit *f)
{
    measure(t, f);
    for (int c; style->columns > 0 && total_width(t, f) > (size_t)style->columns;
         f->shown[c] = false)
        if ((c = least_needed(t, f)) < 0) {
            narrow(t, (size_t)style->columns, f);
            return;
        }
}

static void spaces(struct str *out, size_t count)
{
    while (count-- > 0)
        str_add(out, " ");
}

/* What a line shows of each cell, and what is left for the next ones. */
struct line {
    const char *rest[TABLE_MAX_COLUMNS];
    enum ink ink[TABLE_MAX_COLUMNS];
};

/* Blanks are owed until something follows them, so that no line ends in any. */
static void print_piece(const struct table *t, int c, size_t width,
                        const struct report_style *style, enum ink ink, const char *text,
                        size_t *owed, struct str *out)
{
    bool right = t->column[c].align == TABLE_RIGHT;
    size_t columns = typeset_width(text), room = width > columns ? width - columns : 0;
    if (!*text) {
        *owed += width + GAP;
        return;
    }
    spaces(out, *owed + (right ? room : 0));
    if (ink != INK_PLAIN)
        typeset_text(style, ink, text, out);
    else
        str_add(out, text);
    *owed = (right ? 0 : room) + GAP;
}

/* One line of a row; true when cells go on in another one. */
static bool print_line(const struct table *t, const struct table_fit *f,
                       const struct report_style *style, struct line *l, struct str *out)
{
    size_t owed = INDENT;
    bool more = false;
    struct str piece = {0};
    for (int c = 0; c < t->columns; c++) {
        if (!f->shown[c])
            continue;
        size_t bytes = *l->rest[c] ? typeset_cut(l->rest[c], f->width[c]) : 0;
        str_clear(&piece);
        str_add_bytes(&piece, l->rest[c], bytes);
        print_piece(t, c, f->width[c], style, l->ink[c], str_text(&piece), &owed, out);
        l->rest[c] += bytes;
        if (bytes > 0 && *l->rest[c])
            l->rest[c] += strspn(l->rest[c], " ");
        more = more || *l->rest[c];
    }
    str_release(&piece);
    return more;
}

/* Without a row, the heads. */
static void print_row(const struct table *t, const struct table_fit *f,
                      const struct report_style *style, const struct table_cell *row,
                      struct str *out)
{
    struct line l;
    for (int c = 0; c < t->columns; c++) {
        l.rest[c] = row ? row[c].text : t->column[c].head;
        l.ink[c] = row && t->column[c].align == TABLE_BAR ? INK_BAR : row ? row[c].ink : INK_PLAIN;
    }
    while (print_line(t, f, style, &l, out))
        str_add(out, "\n");
}

static bool has_heads(const struct table *t)
{
    for (int c = 0; c < t->columns; c++)
        if (*t->column[c].head)
            return true;
    return false;
}

/* Whether a column with the same head, or none, is shown or stands before this one. */
static bool is_named(const struct table *t, const struct table_fit *f, int column)
{
    const char *head = t->column[column].head;
    for (int c = 0; c < t->columns; c++)
        if ((c < column || f->shown[c]) && strcmp(t->column[c].head, head) == 0)
            return true;
    return !*head;
}

static void name_left_out(const struct table *t, const struct report_style *style,
                          const struct table_fit *f, struct str *out)
{
    struct str text = {0};
    for (int c = 0; c < t->columns; c++)
        if (!f->shown[c] && !t->hidden[c] && !is_named(t, f, c))
            str_addf(&text, "%s%s", text.length ? ", " : "too narrow for: ", t->column[c].head);
    if (text.length) {
        spaces(out, INDENT);
        typeset_wrap(style, str_text(&text), INDENT, out);
    }
    str_release(&text);
}

void table_print(struct table *t, const struct report_style *style, struct str *out)
{
    const struct report_style plain = {style->columns, 0}; /* heads have an ink of their own */
    struct table_fit f;
    assert(t->columns > 0 && t->cells % t->columns == 0);
    for (int c = 0; c < t->columns; c++)
        if (t->column[c].align == TABLE_BAR && !typeset_has_bars(style))
            table_hide(t, c);
    fit_to(t, style, &f);
    if (has_heads(t)) {
        typeset_ink(style, INK_BOLD, out);
        print_row(t, &f, &plain, NULL, out);
        typeset_ink(style, INK_PLAIN, out);
        str_add(out, "\n");
    }
    for (int i = 0; i < t->cells; i += t->columns) {
        print_row(t, &f, style, t->cell + i, out);
        str_add(out, "\n");
    }
    name_left_out(t, style, &f, out);
    str_release(&t->text);
    arena_release(&t->mem);
}
