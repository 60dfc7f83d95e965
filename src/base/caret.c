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

bool error_show(struct error *err, const char *text, size_t at)
{
    struct str place;
    assert(at <= strlen(text));
    if (!err)
        return false;
    str_init(&place);
    caret_add(&place, text, strlen(text), at);
    snprintf(err->place, sizeof err->place, "%s", str_text(&place));
    str_release(&place);
    return false;
}

bool error_show_as(struct error *err, const struct error *cause)
{
    if (err)
        memcpy(err->place, cause->place, sizeof err->place);
    return false;
}
