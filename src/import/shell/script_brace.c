/* Braces: a{1..3}b and a{x,y}b are several words. */
#include "import/shell/script_field.h"

#include <string.h>

/* The first {...} outside quotes that is no ${...}; NULL = there is none. */
static const char *find_brace(const char *p, const char *end, const char **close)
{
    char quote = 0;
    for (; p < end; p++) {
        if (*p == '\\' || (*p == '$' && !quote)) {
            const char *behind = *p == '$' ? script_skip_dollar(p, end) : p + 2;
            p = (behind ? behind : end) - 1;
        } else if (*p == '"' || *p == '\'') {
            quote = quote == *p ? 0 : quote ? quote : *p;
        } else if (*p == '{' && !quote) {
            size_t n = 1;
            while (p + n < end && !strchr("{}\"'$`\\ ", p[n]))
                n++;
            *close = p + n;
            return p + n < end && p[n] == '}' ? p : NULL;
        }
    }
    return NULL;
}

static void expand_piece(struct script *s, const struct raw *raw, const char *open,
                         const char *piece, const char *close, struct fields *out)
{
    struct raw one = *raw;
    one.text = arena_format(s->mem, "%.*s%s%.*s", (int)(open - raw->text), raw->text, piece,
                            (int)(raw->text + raw->length - close - 1), close + 1);
    one.length = strlen(one.text);
    if (script_spend(s, 1, one.length))
        script_expand(s, &one, out);
}

/* a{1..3}b and a{x,y}b: a word of each; false where it is neither. */
bool script_expand_braces(struct script *s, const struct raw *raw, struct fields *out)
{
    enum { PIECES = 1024 };
    const char *close = NULL, *open = find_brace(raw->text, raw->text + raw->length, &close);
    const char *body = open ? arena_copy(s->mem, open + 1, (size_t)(close - open) - 1) : "";
    const char *dots = strstr(body, "..");
    int64_t from, to;
    if (dots && parse_int(arena_copy(s->mem, body, (size_t)(dots - body)), &from) &&
        parse_int(dots + 2, &to) && from > -PIECES * PIECES && to < PIECES * PIECES &&
        to - from < PIECES && from - to < PIECES) {
        for (int64_t i = from;; i += from < to ? 1 : -1) {
            expand_piece(s, raw, open, arena_format(s->mem, "%lld", (long long)i), close, out);
            if (i == to || s->failed)
                return true;
        }
    }
    if (!strchr(body, ','))
        return false;
    for (const char *p = body;; p += strcspn(p, ",") + 1) {
        size_t n = strcspn(p, ",");
        expand_piece(s, raw, open, arena_copy(s->mem, p, n), close, out);
        if (!p[n] || s->failed)
            return true;
    }
}
