/* Where in a text something is wrong: the text, and below it a caret. */
#include "base/error.h"

#include "base/str.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { SHOWN_BYTES = 120 /* of a line */ };

static char shown(char c)
{
    if (c == '\t' || c == '\r')
        return ' ';
    return c < ' ' || c > '~' ? '?' : c;
}

void caret_add(struct str *out, const char *line, size_t length, size_t at)
{
    size_t from = 0, to = length;
    if (at > SHOWN_BYTES - 20)
        from = at - SHOWN_BYTES / 2;
    if (to - from > SHOWN_BYTES)
        to = from + SHOWN_BYTES;
    while (to > from && shown(line[to - 1]) == ' ')
        to--;
    for (size_t i = from; i < to; i++) {
        char c = shown(line[i]);
        str_add_bytes(out, &c, 1);
    }
    str_add(out, "\n");
    str_pad(out, at - from);
    str_add(out, "^");
}

static bool show(struct error *err, const char *line, size_t length, size_t at)
{
    struct str place = {0};
    assert(at <= length);
    if (!err)
        return false;
    caret_add(&place, line, length, at);
    snprintf(err->place, sizeof err->place, "%s", str_text(&place));
    str_release(&place);
    return false;
}

bool error_show(struct error *err, const char *text, size_t at)
{
    return show(err, text, strlen(text), at);
}

/* Bytes of the end of a line that stands here; 0 = none does. */
static size_t line_end(const char *at, const char *end)
{
    static const char *const ends[] = {"\r\n",     "\n",           "\r",
                                       "\xc2\x85", "\xe2\x80\xa8", "\xe2\x80\xa9"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t bytes = strlen(ends[i]);
        if (bytes <= (size_t)(end - at) && memcmp(at, ends[i], bytes) == 0)
            return bytes;
    }
    return 0;
}

static const char *line_after(const char *at, const char *end)
{
    while (at < end && line_end(at, end) == 0)
        at++;
    return at + line_end(at, end);
}

bool error_show_line(struct error *err, const char *text, size_t length, int line, int column)
{
    static const char mark[] = "\xef\xbb\xbf"; /* of UTF-8, in front of the first line */
    const char *from = text, *end = text + length, *to, *at;
    if (length >= 3 && memcmp(text, mark, 3) == 0)
        from += 3;
    for (int i = 1; i < line; i++)
        from = line_after(from, end);
    for (to = from; to < end && line_end(to, end) == 0;)
        to++;
    for (at = from; at < to && column > 1; column--)
        for (at++; at < to && ((unsigned char)*at & 0xc0) == 0x80;)
            at++;
    if (from < end)
        show(err, from, (size_t)(to - from), (size_t)(at - from));
    return false;
}

bool error_show_as(struct error *err, const struct error *cause)
{
    if (err)
        memcpy(err->place, cause->place, sizeof err->place);
    return false;
}
