/* Text output in small pieces. Widths count UTF-8 characters, so that "±" takes one column; colours
 * are written around whole pieces and take none. */
#include "report/typeset.h"

#include "base/str.h"
#include "report/report.h"

#include <math.h>
#include <string.h>

static const char *const INKS[] = {
    [INK_PLAIN] = "\033[0m",  [INK_BOLD] = "\033[1m",  [INK_GOOD] = "\033[1;32m",
    [INK_BAD] = "\033[1;31m", [INK_WARN] = "\033[33m",
};

void typeset_ink(const struct report_style *style, enum ink ink, struct str *out)
{
    if (style->colour)
        str_add(out, INKS[ink]);
}

void typeset_text(const struct report_style *style, enum ink ink, const char *text, struct str *out)
{
    typeset_ink(style, ink, out);
    str_add(out, text);
    typeset_ink(style, INK_PLAIN, out);
}

void typeset_heading(const struct report_style *style, const char *text, struct str *out)
{
    str_add(out, "\n");
    typeset_text(style, INK_BOLD, text, out);
    str_add(out, "\n");
}

static bool starts_character(char c)
{
    return ((unsigned char)c & 0xC0) != 0x80;
}

static size_t width_of(const char *text, size_t bytes)
{
    size_t width = 0;
    for (size_t i = 0; i < bytes; i++)
        width += starts_character(text[i]);
    return width;
}

size_t typeset_width(const char *text)
{
    return width_of(text, strlen(text));
}

static bool is_control(char c)
{
    return (unsigned char)c < 0x20 || c == 0x7F;
}

void typeset_clean(char *text)
{
    for (; *text; text++)
        if (is_control(*text))
            *text = '?';
}

static void add_clean(struct str *out, const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        str_add_bytes(out, is_control(text[i]) ? "?" : text + i, 1);
}

/* Columns of the line that `out` ends in. */
static size_t column_of(const struct str *out)
{
    const char *text = str_text(out), *line = strrchr(text, '\n');
    return typeset_width(line ? line + 1 : text);
}

void typeset_wrap(const struct report_style *style, const char *text, size_t indent,
                  struct str *out)
{
    size_t at = column_of(out), limit = style->columns > 0 ? (size_t)style->columns : SIZE_MAX;
    bool first = true;
    while (*(text += strspn(text, " "))) {
        size_t bytes = strcspn(text, " "), width = width_of(text, bytes);
        if (!first && at + 1 + width > limit) {
            str_add(out, "\n");
            str_pad(out, indent);
            at = indent;
        } else if (!first) {
            str_add(out, " ");
            at++;
        }
        add_clean(out, text, bytes);
        at += width;
        text += bytes;
        first = false;
    }
    str_add(out, "\n");
}

void typeset_item(const struct report_style *style, const char *text, struct str *out)
{
    str_add(out, "  - ");
    typeset_wrap(style, text, 4, out);
}

void typeset_bar(double share, int width, struct str *out)
{
    double within = fmin(fmax(share, 0), 1);
    int full = (int)lround(within * width);
    if (full == 0 && within > 0)
        full = 1;
    for (int i = 0; i < width; i++)
        str_add_bytes(out, i < full ? "#" : ".", 1);
}
