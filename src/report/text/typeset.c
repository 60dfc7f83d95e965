/* Text output in small pieces. Widths count UTF-8 characters, so that "±" takes one column; colours
 * are written around whole pieces and take none. */
#include "report/text/typeset.h"

#include "astra.h"
#include "base/str.h"
#include "report/report.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { WIDE = 100, WIDE_BAR = 30, NARROW_BAR = 16 };

static const char *const INKS[] = {
    [INK_PLAIN] = "\033[0m",  [INK_BOLD] = "\033[1m",  [INK_GOOD] = "\033[1;32m",
    [INK_BAD] = "\033[1;31m", [INK_WARN] = "\033[33m", [INK_BAR] = "\033[36m",
};

void typeset_ink(const struct report_style *style, enum ink ink, struct str *out)
{
    if (style->look != ASTRA_PLAIN)
        str_add(out, INKS[ink]);
}

void typeset_text(const struct report_style *style, enum ink ink, const char *text, struct str *out)
{
    typeset_ink(style, ink, out);
    str_add(out, text);
    typeset_ink(style, INK_PLAIN, out);
}

void typeset_end(const struct report_style *style, struct str *out)
{
    if (style->look == ASTRA_PLAIN)
        return;
    assert(out->length > 0 && str_text(out)[out->length - 1] == '\n');
    out->data[--out->length] = 0;
    typeset_ink(style, INK_PLAIN, out);
    str_add(out, "\n");
}

void typeset_heading(const struct report_style *style, const char *text, struct str *out)
{
    struct str lines = {0};
    typeset_wrap(style, text, 2, &lines);
    str_add(out, "\n");
    typeset_ink(style, INK_BOLD, out);
    str_add_bytes(out, str_text(&lines), lines.length - 1);
    typeset_ink(style, INK_PLAIN, out);
    str_add(out, "\n");
    str_release(&lines);
}

static bool starts_character(char c)
{
    return ((unsigned char)c & 0xC0) != 0x80;
}

/* Bytes of the colour that begins here, 0 = none does. */
static size_t ink_bytes(const char *text)
{
    return text[0] == '\033' && text[1] == '[' ? strcspn(text, "m") + 1 : 0;
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

/* Bytes of the character at the start of at most so many bytes; 0 where it would steer a terminal or
 * is no UTF-8. */
static size_t visible_bytes(const char *text, size_t bytes)
{
    const unsigned char *c = (const unsigned char *)text;
    size_t n = *c < 0x80 ? 1 : *c < 0xE0 ? 2 : *c < 0xF0 ? 3 : 4;
    if (*c < 0x20 || *c == 0x7F || (*c >= 0x80 && *c < 0xC2) || *c >= 0xF5 || n > bytes)
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((c[i] & 0xC0) != 0x80)
            return 0;
    return *c == 0xC2 && c[1] < 0xA0 ? 0 : n;
}

void typeset_clean(char *text)
{
    for (size_t left = strlen(text), n; left > 0; text += n, left -= n) {
        n = visible_bytes(text, left);
        if (n == 0)
            *text = '?';
        n = n > 0 ? n : 1;
    }
}

static void add_clean(struct str *out, const char *text, size_t bytes)
{
    for (size_t i = 0, n; i < bytes; i += n) {
        n = visible_bytes(text + i, bytes - i);
        str_add_bytes(out, n > 0 ? text + i : "?", n > 0 ? n : 1);
        n = n > 0 ? n : 1;
    }
}

/* Columns of the line that `out` ends in. */
static size_t column_of(const struct str *out)
{
    const char *text = str_text(out) + out->length; /* back from the end: answers may be long */
    while (text > str_text(out) && text[-1] != '\n')
        text--;
    size_t width = 0;
    while (*text) {
        size_t ink = ink_bytes(text);
        width += ink == 0 && starts_character(*text);
        text += ink > 0 ? ink : 1;
    }
    return width;
}

size_t typeset_cut(const char *text, size_t width)
{
    size_t bytes = 0, blank = 0, dash = 0, columns = 0;
    for (; text[bytes]; bytes++) {
        if (starts_character(text[bytes]) && columns++ == width)
            break;
        if (text[bytes] == ' ')
            blank = bytes;
        else if (bytes > 0 && text[bytes - 1] == '-')
            dash = bytes;
    }
    if (!text[bytes] || text[bytes] == ' ')
        return bytes;
    return blank > 0 ? blank : dash > 0 ? dash : bytes > 0 ? bytes : 1;
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

bool typeset_has_bars(const struct report_style *style)
{
    return style->look != ASTRA_PLAIN;
}

int typeset_bar_width(const struct report_style *style)
{
    return style->columns == 0 || style->columns >= WIDE ? WIDE_BAR : NARROW_BAR;
}

static void add_times(struct str *out, const char *text, int times)
{
    while (times-- > 0)
        str_add(out, text);
}

static void add_blocks(double share, int width, struct str *out)
{
    static const char *const EIGHTHS[] = {" ", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    int eighths = (int)lround(share * width * 8);
    if (eighths == 0 && share > 0)
        eighths = 1;
    add_times(out, "█", eighths / 8);
    if (eighths % 8 > 0)
        str_add(out, EIGHTHS[eighths % 8]);
    add_times(out, " ", width - (eighths + 7) / 8);
}

void typeset_bar(const struct report_style *style, double share, int width, struct str *out)
{
    double within = fmin(fmax(share, 0), 1);
    int full = (int)lround(within * width);
    if (style->look == ASTRA_COLOUR_UTF8) {
        add_blocks(within, width, out);
        return;
    }
    if (full == 0 && within > 0)
        full = 1;
    add_times(out, "#", full);
    add_times(out, ".", width - full);
}
