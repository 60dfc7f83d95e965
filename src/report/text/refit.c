/* Fitting text to a width that was laid out without one. A block is lines without a blank one
 * between them. Columns of blanks that the whole block shares are narrowed to one, from the right,
 * until the block fits, so that its numbers stay aligned. A table that is still too wide is cut in
 * two at such a column, the right half of a line below the left one; a single line is wrapped.
 * O(lines x columns) for each column that goes, on a text of a few kilobytes. */
#include "report/text/typeset.h"

#include "base/str.h"
#include "report/report.h"

#include <string.h>

enum { WRAP_INDENT = 4 };

/* Columns are bytes: what is laid out so is ASCII. */
static size_t block_length(const char *text)
{
    const char *end = strstr(text, "\n\n");
    return end ? (size_t)(end - text) + 2 : strlen(text);
}

static size_t widest(const char *text)
{
    size_t most = 0;
    for (; *text; text += strcspn(text, "\n"), text += *text == '\n') {
        size_t width = strcspn(text, "\n");
        most = width > most ? width : most;
    }
    return most;
}

/* Whether every line has a blank in the column, or ends before it. */
static bool is_blank(const char *text, size_t column)
{
    for (; *text; text += strcspn(text, "\n"), text += *text == '\n') {
        size_t width = strcspn(text, "\n");
        if (column < width && text[column] != ' ')
            return false;
    }
    return true;
}

static void take_out(struct str *kept, size_t column)
{
    struct str rest = {0};
    for (const char *text = str_text(kept); *text;) {
        size_t width = strcspn(text, "\n"), line = width + (text[width] == '\n');
        if (column < width) {
            str_add_bytes(&rest, text, column);
            str_add_bytes(&rest, text + column + 1, line - column - 1);
        } else {
            str_add_bytes(&rest, text, line);
        }
        text += line;
    }
    str_clear(kept);
    str_add(kept, str_text(&rest));
    str_release(&rest);
}

static void squeeze(struct str *kept, size_t limit)
{
    size_t width = widest(str_text(kept));
    for (size_t c = width; c-- > 1 && width > limit;)
        if (is_blank(str_text(kept), c) && is_blank(str_text(kept), c - 1)) {
            take_out(kept, c);
            width = widest(str_text(kept));
        }
}

static size_t lines_of(const char *text)
{
    size_t lines = 0;
    for (; *text; text += strcspn(text, "\n"), text += *text == '\n')
        lines += *text != '\n';
    return lines;
}

/* The first column that all lines leave blank and behind which the rest fits; 0 = none. */
static size_t cut_of(const char *text, size_t limit)
{
    size_t width = widest(text);
    for (size_t c = 1; c <= limit && lines_of(text) > 1; c++)
        if (width - c - 1 + WRAP_INDENT <= limit && is_blank(text, c))
            return c;
    return 0;
}

static void add_halves(const char *line, size_t width, size_t cut, struct str *out)
{
    size_t left = width < cut ? width : cut;
    while (left > 0 && line[left - 1] == ' ')
        left--;
    str_add_bytes(out, line, left);
    str_add(out, "\n");
    if (width > cut + 1) {
        str_pad(out, WRAP_INDENT);
        str_add_bytes(out, line + cut + 1, width - cut - 1);
        str_add(out, "\n");
    }
}

static void add_wrapped(const struct report_style *style, const char *text, size_t width,
                        struct str *out)
{
    size_t indent = strspn(text, " ");
    struct str line = {0};
    str_add_bytes(&line, text, width);
    str_pad(out, indent < WRAP_INDENT ? indent : WRAP_INDENT);
    typeset_wrap(style, str_text(&line), WRAP_INDENT, out);
    str_release(&line);
}

static void add_lines(const struct report_style *style, const char *text, struct str *out)
{
    size_t limit = (size_t)style->columns;
    size_t cut = widest(text) > limit ? cut_of(text, limit) : 0;
    for (size_t width; *text; text += width + (text[width] == '\n')) {
        width = strcspn(text, "\n");
        if (cut > 0) {
            add_halves(text, width, cut, out);
        } else if (width > limit) {
            add_wrapped(style, text, width, out);
        } else {
            str_add_bytes(out, text, width);
            str_add(out, "\n");
        }
    }
}

void typeset_refit(const struct report_style *style, const char *text, struct str *out)
{
    if (style->columns <= 0) {
        str_add(out, text);
        return;
    }
    while (*text) {
        size_t length = block_length(text);
        struct str block = {0};
        str_add_bytes(&block, text, length);
        squeeze(&block, (size_t)style->columns);
        add_lines(style, str_text(&block), out);
        str_release(&block);
        text += length;
    }
}
