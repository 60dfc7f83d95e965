/* What the edits of a script change, as a unified diff: the edits themselves say which lines differ,
 * so that nothing has to be compared. */
#include "export/rewrite.h"

#include "base/str.h"
#include "export/rewrite_place.h"

#include <string.h>

enum { CONTEXT = 3 };

/* Whole lines of the old text that change, and what they become. */
struct change_lines {
    size_t start, end; /* bytes of the old text */
    struct str text;   /* the new lines */
    int count, added;  /* old lines, and new ones */
};

static int lines_in(const char *text, size_t length)
{
    int lines = 0;
    for (size_t i = 0; i < length; i++)
        lines += text[i] == '\n' || i + 1 == length;
    return lines;
}

/* Past the newline of the line that `at` is in, or stands at the beginning of. */
static size_t behind_line(const struct rewrite *r, size_t start, size_t at)
{
    if (at > start && r->text[at - 1] == '\n')
        return at;
    size_t end = place_line(r, at).end;
    return end + (end < r->length);
}

/* New lines alone, before the line that begins there. */
static bool is_insertion(const struct rewrite *r, const struct text_edit *e)
{
    return e->start == e->end && place_line(r, e->start).start == e->start && e->text[0] &&
           e->text[strlen(e->text) - 1] == '\n';
}

/* Edits of the same lines, and of those beside them, from edit `i` on; returns the next one. */
static int take_lines(const struct rewrite *r, int i, struct change_lines *c)
{
    size_t at = c->start = c->end = place_line(r, r->edit[i].start).start;
    do {
        const struct text_edit *e = &r->edit[i++];
        str_add_bytes(&c->text, r->text + at, e->start - at);
        str_add(&c->text, e->text);
        at = e->end;
        size_t end = is_insertion(r, e) ? at : behind_line(r, c->start, at);
        c->end = end > c->end ? end : c->end;
    } while (i < r->edits && place_line(r, r->edit[i].start).start <= c->end);
    str_add_bytes(&c->text, r->text + at, c->end - at);
    c->count = lines_in(r->text + c->start, c->end - c->start);
    c->added = lines_in(str_text(&c->text), c->text.length);
    return i;
}

static void add_marked(struct str *out, char mark, const char *text, size_t length)
{
    for (size_t at = 0; at < length;) {
        const char *end = memchr(text + at, '\n', length - at);
        size_t n = end ? (size_t)(end - text) - at : length - at;
        str_add_bytes(out, &mark, 1);
        str_add_bytes(out, text + at, n);
        str_add(out, end ? "\n" : "\n\\ No newline at end of file\n");
        at += n + 1;
    }
}

/* So many lines before, or behind, a place. */
static size_t lines_before(const struct rewrite *r, size_t at, size_t least, int count)
{
    while (count-- > 0 && at > least)
        at = place_line(r, at - 1).start;
    return at;
}

static size_t lines_behind(const struct rewrite *r, size_t at, int count)
{
    while (count-- > 0 && at < r->length) {
        size_t end = place_line(r, at).end;
        at = end + (end < r->length);
    }
    return at;
}

static void add_hunk(const struct rewrite *r, const struct change_lines *c, int count, int *shift,
                     struct str *out)
{
    const struct change_lines *last = &c[count - 1];
    size_t from = lines_before(r, c->start, 0, CONTEXT), to = lines_behind(r, last->end, CONTEXT);
    int first = lines_in(r->text, from) + 1, old = lines_in(r->text + from, to - from), new = old;
    for (int i = 0; i < count; i++)
        new += c[i].added - c[i].count;
    str_addf(out, "@@ -%d,%d +%d,%d @@\n", first, old, first + *shift, new);
    *shift += new - old;
    for (int i = 0; i < count; i++) {
        add_marked(out, ' ', r->text + from, c[i].start - from);
        add_marked(out, '-', r->text + c[i].start, c[i].end - c[i].start);
        add_marked(out, '+', str_text(&c[i].text), c[i].text.length);
        from = c[i].end;
    }
    add_marked(out, ' ', r->text + from, to - from);
}

void rewrite_diff(const struct rewrite *r, const char *old_name, const char *new_name,
                  struct str *out)
{
    struct change_lines c[REWRITE_EDITS];
    int count = 0, shift = 0;
    for (int i = 0; i < r->edits; count++) {
        c[count] = (struct change_lines){0};
        i = take_lines(r, i, &c[count]);
    }
    str_addf(out, "--- %s\n+++ %s\n", old_name, new_name);
    for (int i = 0, end; i < count; i = end) {
        end = i + 1;
        while (end < count && lines_behind(r, c[end - 1].end, 2 * CONTEXT) >= c[end].start)
            end++;
        add_hunk(r, &c[i], end - i, &shift, out);
    }
    for (int i = 0; i < count; i++)
        str_release(&c[i].text);
}
