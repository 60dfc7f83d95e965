/* Two passes over the fields: one counts rows, one keeps them; the same scanner serves both. */
#include "base/csv.h"

#include "base/arena.h"

#include <string.h>

struct scanner {
    const char *at, *end, *name;
    int line;
};

/* How a field ended. */
enum ending { END_FIELD, END_ROW, END_TEXT, END_BROKEN };

/* One field; its text (quotes resolved) goes to `out`, which has room for what is left. */
static enum ending scan_field(struct scanner *s, char *out, struct error *err)
{
    int line = s->line;
    if (s->at < s->end && *s->at == '"') {
        for (s->at++;; s->at++) {
            if (s->at == s->end) {
                fail(err, ERROR_INPUT, "%s:%d: a quoted field is not closed", s->name, line);
                return END_BROKEN;
            }
            if (*s->at == '"' && (s->at + 1 == s->end || s->at[1] != '"'))
                break;
            s->at += *s->at == '"';
            s->line += *s->at == '\n';
            *out++ = *s->at;
        }
        s->at++;
    } else {
        while (s->at < s->end && *s->at != ',' && *s->at != '\n' && *s->at != '\r')
            *out++ = *s->at++;
    }
    *out = 0;
    if (s->at < s->end && *s->at == '\r')
        s->at++;
    if (s->at == s->end)
        return END_TEXT;
    char c = *s->at++;
    if (c != ',' && c != '\n') {
        fail(err, ERROR_INPUT,
             "%s:%d: expected a comma or the end of the line behind a quoted field", s->name, line);
        return END_BROKEN;
    }
    s->line += c == '\n';
    return c == ',' ? END_FIELD : END_ROW;
}

static bool skip_empty_lines(struct scanner *s)
{
    while (s->at < s->end &&
           (*s->at == '\n' || (*s->at == '\r' && s->at + 1 < s->end && s->at[1] == '\n'))) {
        s->line += *s->at == '\n';
        s->at++;
    }
    return s->at < s->end;
}

/* Fields of one row into `field` (up to `most`); -1 when broken, else how many there were. */
static int scan_row(struct scanner *s, const char **field, int most, struct arena *mem,
                    char *scratch, struct error *err)
{
    int count = 0;
    for (enum ending e = END_FIELD; e == END_FIELD; count++) {
        e = scan_field(s, scratch, err);
        if (e == END_BROKEN)
            return -1;
        if (count < most)
            field[count] = arena_string(mem, scratch);
    }
    return count;
}

static int count_lines(const char *text, size_t length)
{
    int lines = 1;
    for (size_t i = 0; i < length; i++)
        lines += text[i] == '\n';
    return lines;
}

bool csv_parse(struct csv *c, const char *text, size_t length, const char *name, struct arena *mem,
               struct error *err)
{
    enum { MOST_COLUMNS = 256 };
    size_t mark = length >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    struct scanner s = {text + mark, text + length, name, 1};
    char *scratch = arena_alloc(mem, length + 1);
    memset(c, 0, sizeof *c);
    if (memchr(text, 0, length))
        return fail(err, ERROR_INPUT, "%s: holds a 0 byte, text was expected", name);
    if (!skip_empty_lines(&s))
        return fail(err, ERROR_INPUT, "%s: is empty, a header line was expected", name);
    c->header = arena_array(mem, MOST_COLUMNS, sizeof *c->header);
    c->columns = scan_row(&s, c->header, MOST_COLUMNS, mem, scratch, err);
    if (c->columns < 0)
        return false;
    if (c->columns > MOST_COLUMNS)
        return fail(err, ERROR_INPUT, "%s:1: %d columns, at most %d are read", name, c->columns,
                    MOST_COLUMNS);
    size_t most = (size_t)count_lines(s.at, (size_t)(s.end - s.at));
    c->field = arena_array(mem, most * (size_t)c->columns, sizeof *c->field);
    c->line = arena_array(mem, most, sizeof *c->line);
    while (skip_empty_lines(&s)) {
        int line = s.line;
        int n = scan_row(&s, &c->field[c->rows * c->columns], c->columns, mem, scratch, err);
        if (n < 0)
            return false;
        if (n != c->columns)
            return fail(err, ERROR_INPUT, "%s:%d: %d fields, the header has %d", name, line, n,
                        c->columns);
        c->line[c->rows++] = line;
    }
    return true;
}

int csv_column(const struct csv *c, const char *name)
{
    for (int i = 0; i < c->columns; i++)
        if (strcmp(c->header[i], name) == 0)
            return i;
    return -1;
}

const char *csv_at(const struct csv *c, int row, int column)
{
    return c->field[row * c->columns + column];
}
