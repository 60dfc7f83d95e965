/* Quotes and comments are told apart byte by byte, as bash does outside of here-documents. */
#include "export/rewrite_place.h"

#include "base/arena.h"
#include "base/str.h"

#include <string.h>

#define NAME_CHARS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"
/* What a word may have that means itself, in quotes or not. */
#define PLAIN_CHARS NAME_CHARS ".,:+-/@%=*|()[]"

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

void rewrite_init(struct rewrite *r, const char *text, size_t length, struct arena *mem)
{
    enum byte_state state = BYTE_CODE;
    r->text = text;
    r->length = length;
    r->state = arena_array(mem, length + 1, 1);
    r->edits = 0;
    r->mem = mem;
    for (size_t i = 0; i < length; i++) {
        char c = text[i], before = i ? text[i - 1] : '\n';
        if (state == BYTE_COMMENT && c == '\n')
            state = BYTE_CODE;
        if (state == BYTE_CODE && c == '#' && (is_blank(before) || strchr("\n;(", before)))
            state = BYTE_COMMENT;
        r->state[i] = (unsigned char)state;
        if (state == BYTE_COMMENT)
            continue;
        if (c == '\\' && state != BYTE_SINGLE && i + 1 < length) {
            r->state[++i] = (unsigned char)state;
        } else if (c == '\'' && state != BYTE_DOUBLE) {
            state = state == BYTE_SINGLE ? BYTE_CODE : BYTE_SINGLE;
        } else if (c == '"' && state != BYTE_SINGLE) {
            state = state == BYTE_DOUBLE ? BYTE_CODE : BYTE_DOUBLE;
        }
    }
}

struct span place_line(const struct rewrite *r, size_t at)
{
    struct span line = {at, at};
    while (line.start > 0 && r->text[line.start - 1] != '\n')
        line.start--;
    while (line.end < r->length && r->text[line.end] != '\n')
        line.end++;
    return line;
}

bool place_is_blank(const struct rewrite *r, size_t start, size_t end)
{
    while (start < end && is_blank(r->text[start]))
        start++;
    return start == end;
}

bool place_goes_on(const struct rewrite *r, const struct span *line)
{
    return line->end > line->start && r->text[line->end - 1] == '\\' &&
           r->state[line->end - 1] != BYTE_COMMENT;
}

/* Where `name` stands as a word, from `from` on; the length of the text where it does not. */
static size_t next_place(const struct rewrite *r, const char *name, size_t from, const char *before,
                         const char *behind)
{
    size_t n = strlen(name);
    for (const char *at = r->text + from; (at = strstr(at, name)); at += n) {
        size_t i = (size_t)(at - r->text);
        if (r->state[i] != BYTE_COMMENT && (i == 0 || strchr(before, at[-1])) &&
            (!at[n] || strchr(behind, at[n])))
            return i;
    }
    return r->length;
}

bool place_flag(const struct rewrite *r, const char *name, struct span *out, struct error *err)
{
    static const char before[] = " \t\n\"'(=", behind[] = " \t\n\"')=\\;";
    size_t n = strlen(name), at = next_place(r, name, 0, before, behind);
    if (at == r->length)
        return fail(err, ERROR_INPUT, "%s does not stand in the script itself", name);
    if (next_place(r, name, at + n, before, behind) < r->length)
        return fail(err, ERROR_INPUT, "%s stands there more than once", name);
    *out = (struct span){at, at + n};
    return true;
}

/* Past the word at `at`: to a blank outside of quotes, or the end of the quotes that it began in. */
static size_t word_end(const struct rewrite *r, size_t at)
{
    int began = r->state[at];
    if (began == BYTE_CODE && strchr("\"'", r->text[at])) { /* the quotes are its own */
        size_t i = at + 1;
        while (i < r->length && r->text[i] != r->text[at])
            i++;
        return i < r->length ? i + 1 : i;
    }
    for (int depth = 0; at < r->length; at++) {
        char c = r->text[at];
        depth += (c == '{' || c == '(') - (c == '}' || c == ')');
        if (depth < 0 || (depth == 0 && strchr(" \t\n;\\", c)) || c == '\n' ||
            (began != BYTE_CODE && strchr("\"'", c)))
            break;
    }
    return at;
}

bool place_values(const struct rewrite *r, const char *name, const struct span *flag, size_t count,
                  struct span *value, struct error *err)
{
    size_t at = flag->end;
    bool attached = r->text[at] == '=';
    for (size_t i = 0; i < count; i++) {
        at += i == 0 && attached;
        while (is_blank(r->text[at]))
            at++;
        size_t end = at < r->length ? word_end(r, at) : at;
        if (end == at)
            return fail(err, ERROR_INPUT, "%s: its value is not on its line", name);
        value[i] = (struct span){at, end};
        at = end;
    }
    return true;
}

/* Without a pair of quotes around it. */
static struct span unquoted(const struct rewrite *r, struct span s)
{
    char first = s.end > s.start + 1 ? r->text[s.start] : 0;
    if ((first == '"' || first == '\'') && r->text[s.end - 1] == first)
        return (struct span){s.start + 1, s.end - 1};
    return s;
}

static bool says(const struct rewrite *r, struct span s, const char *text)
{
    size_t n = strlen(text);
    return s.end - s.start == n && strncmp(r->text + s.start, text, n) == 0 &&
           strspn(text, PLAIN_CHARS) == n;
}

/* "$NAME", "${NAME}": the name; "${NAME:-4}", "${NAME:=4}": also what stands for it. */
static bool variable_in(const struct rewrite *r, struct span s, struct span *name,
                        struct span *usual)
{
    const char *t = r->text;
    if (s.end < s.start + 2 || t[s.start] != '$')
        return false;
    bool braces = t[s.start + 1] == '{';
    size_t at = s.start + 1 + braces, end = s.end - braces;
    name->start = at;
    while (at < end && strchr(NAME_CHARS, t[at]))
        at++;
    name->end = at;
    *usual = (struct span){end, end};
    if (at == name->start || (braces && t[end] != '}'))
        return false;
    if (at + 2 <= end && t[at] == ':' && (t[at + 1] == '-' || t[at + 1] == '='))
        usual->start = at + 2;
    else if (at < end && (t[at] == '-' || t[at] == '='))
        usual->start = at + 1;
    return at == end || usual->start < end;
}

/* Whether a command may begin here, or goes on with assignments: what `echo TP=4` says is none. */
static bool begins_command(const struct rewrite *r, size_t at)
{
    static const char words[] = "export readonly local declare typeset -x -i -g then do else";
    struct span line = place_line(r, at);
    while (at > line.start && is_blank(r->text[at - 1]))
        at--;
    size_t end = at;
    while (at > line.start && !is_blank(r->text[at - 1]))
        at--;
    const char *word = arena_copy(r->mem, r->text + at, end - at);
    return at == end || strchr(";&|{(", r->text[end - 1]) || strchr(word, '=') ||
           is_one_of(word, words);
}

/* "NAME=", "NAME+=" of a command, "${NAME:=" anywhere. */
bool place_assignment(const struct rewrite *r, const char *name, size_t length, struct span *value,
                      int *count)
{
    static const char *const forms[] = {"%.*s=", "%.*s+=", "{%.*s:="};
    *count = 0;
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
        const char *text = arena_format(r->mem, forms[f], (int)length, name);
        const char *before = f == 2 ? "$" : " \t\n;({", *behind = NAME_CHARS "\"'$-./{( \t\n;)";
        size_t n = strlen(text), at = 0;
        for (; (at = next_place(r, text, at, before, behind)) < r->length; at += n) {
            bool counts = f == 2 ? at > 0 : r->state[at] == BYTE_CODE && begins_command(r, at);
            if (!counts)
                continue;
            size_t start = f == 2 ? at - 1 : at + n;
            ++*count;
            *value = (struct span){start, start < r->length ? word_end(r, start) : start};
        }
    }
    return *count == 1;
}

static bool follow(const struct rewrite *r, struct span word, const char *what, const char *old,
                   int depth, struct span *out, struct error *err)
{
    struct span s = unquoted(r, word), name, usual, value;
    int count;
    if (says(r, s, old)) {
        *out = s;
        return true;
    }
    if (!variable_in(r, s, &name, &usual) || depth > 4)
        return fail(err, ERROR_INPUT, "%s is computed: %.*s", what, (int)(s.end - s.start),
                    r->text + s.start);
    int length = (int)(name.end - name.start);
    if (says(r, usual, old)) {
        *out = usual;
        return true;
    }
    if (usual.start < usual.end)
        return fail(err, ERROR_INPUT, "%s is computed: %.*s", what, (int)(s.end - s.start),
                    r->text + s.start);
    if (!place_assignment(r, r->text + name.start, (size_t)length, &value, &count))
        return fail(err, ERROR_INPUT,
                    count ? "%s is in the variable %.*s, which is assigned %d times"
                          : "%s is in the variable %.*s, which the script does not assign",
                    what, length, r->text + name.start, count);
    return follow(r, value, what, old, depth + 1, out, err);
}

/* How often a name stands there as a word of its own, comments left out. */
static int mentions_of(const struct rewrite *r, const char *name)
{
    size_t n = strlen(name);
    int count = 0;
    for (const char *at = r->text; (at = strstr(at, name)); at += n) {
        bool whole = (at == r->text || !strchr(NAME_CHARS, at[-1])) &&
                     (!at[n] || !strchr(NAME_CHARS, at[n]));
        count += whole && r->state[at - r->text] != BYTE_COMMENT;
    }
    return count;
}

bool place_only_use(const struct rewrite *r, struct span word, struct span *line)
{
    struct span name, usual, value;
    int count;
    if (!variable_in(r, unquoted(r, word), &name, &usual) || usual.start < usual.end)
        return false;
    size_t length = name.end - name.start;
    const char *text = arena_copy(r->mem, r->text + name.start, length);
    if (!place_assignment(r, text, length, &value, &count) || mentions_of(r, text) != 2)
        return false;
    *line = place_line(r, value.start);
    return value.start >= length + 1 && place_is_blank(r, line->start, value.start - length - 1) &&
           place_is_blank(r, value.end, line->end);
}

bool place_literal(const struct rewrite *r, struct span word, const char *what, const char *old,
                   struct span *out, struct error *err)
{
    return follow(r, word, what, old, 0, out, err);
}
