/* What stands behind a variable's name inside ${...}: patterns cut from an end (% and #), text put in the place of
 * other text (/), parts (:2:3), letters made large or small (^ and ,). NULL is what is not worked out. */
#include "import/shell/script_parts.h"

#include <string.h>

enum { PATTERN_MOST = 1024 }; /* characters that a pattern with signs is tried on */

static bool has_signs(const char *pattern)
{
    return strpbrk(pattern, "*?[(\\") != NULL;
}

static bool matches(struct script *s, const char *pattern, char *text, size_t length)
{
    char end = text[length];
    text[length] = 0;
    enum answer a = script_matches(s, pattern, text);
    text[length] = end;
    return a == ANSWER_YES;
}

/* How many characters the pattern takes from one end of the text, as few or as many as it can; 0 = none. */
static size_t matched(struct script *s, const char *pattern, char *text, size_t length, bool last,
                      bool most)
{
    size_t n = strlen(pattern);
    if (!has_signs(pattern)) {
        const char *from = last && n <= length ? text + length - n : text;
        return n <= length && memcmp(from, pattern, n) == 0 ? n : 0;
    }
    for (size_t i = 0; i <= length; i++) {
        size_t take = most ? length - i : i;
        if (take > 0 && matches(s, pattern, last ? text + length - take : text, take))
            return take;
    }
    return 0;
}

/* The pattern that begins at `p`; NULL = not known, or of a kind that is not worked out. */
static const char *pattern_of(struct script *s, const char *p, const char *end)
{
    struct raw raw = {.text = p, .length = (size_t)(end - p), .line = s->line};
    const char *pattern = script_expand_pattern(s, &raw);
    return launch_is_known(pattern) && !strpbrk(pattern, "(") ? pattern : NULL;
}

static const char *cut_end(struct script *s, char *text, const char *p, const char *end)
{
    bool last = *p == '%', most = p + 1 < end && p[1] == *p;
    const char *pattern = pattern_of(s, p + 1 + most, end);
    size_t length = strlen(text);
    if (!pattern || (has_signs(pattern) && length > PATTERN_MOST))
        return NULL;
    size_t n = matched(s, pattern, text, length, last, most);
    return last ? arena_copy(s->mem, text, length - n) : text + n;
}

/* The first / that no quote and no dollar sign hides. */
static const char *find_slash(const char *p, const char *end)
{
    while (p && p < end && *p != '/') {
        if (*p == '$')
            p = script_skip_dollar(p, end);
        else if (*p == '\\')
            p += p + 1 < end ? 2 : 1;
        else
            p++;
    }
    return p ? p : end;
}

/* /OLD/NEW, //OLD/NEW, /#OLD/NEW and /%OLD/NEW. */
static const char *replace(struct script *s, char *text, const char *p, const char *end)
{
    char sign = p + 1 < end && strchr("/#%", p[1]) ? p[1] : 0;
    const char *from = p + 1 + (sign != 0), *slash = find_slash(from, end);
    const char *old = pattern_of(s, from, slash);
    const char *new = slash < end ? script_expand_one(s, slash + 1, (size_t)(end - slash - 1)) : "";
    size_t length = strlen(text), n;
    struct str out = {0};
    if (!old || !*old || length > (has_signs(old) ? PATTERN_MOST / 2 : 1 << 20))
        return NULL;
    if (sign == '#' || sign == '%') {
        n = matched(s, old, text, length, sign == '%', true);
        if (n == 0)
            return text;
        return sign == '#' ? arena_format(s->mem, "%s%s", new, text + n)
                           : arena_format(s->mem, "%.*s%s", (int)(length - n), text, new);
    }
    for (size_t i = 0; i < length && !s->failed;) {
        n = matched(s, old, text + i, length - i, false, true);
        if (n > 0 && script_spend(s, 1, strlen(new)))
            str_add(&out, new);
        else
            str_add_bytes(&out, text + i, 1);
        i += n > 0 ? n : 1;
        if (n > 0 && sign != '/') {
            str_add(&out, text + i);
            break;
        }
    }
    return str_keep(&out, s->mem);
}

/* A number of :OFFSET:LENGTH; false where it is not known. */
static bool number_at(struct script *s, const char *p, const char *end, int64_t *n)
{
    return parse_int(script_arithmetic(s, p, (size_t)(end - p)), n);
}

bool script_slice(struct script *s, const char *p, const char *end, int64_t count, int64_t *from,
                  int64_t *taken)
{
    const char *colon = memchr(p + 1, ':', (size_t)(end - p - 1));
    int64_t length = count;
    if (!number_at(s, p + 1, colon ? colon : end, from) ||
        (colon && !number_at(s, colon + 1, end, &length)))
        return false;
    *from = *from < 0 ? *from + count : *from;
    *from = *from < 0 || *from > count ? count : *from;
    length = length < 0 ? length + count - *from : length;
    *taken = length < 0 ? 0 : length > count - *from ? count - *from : length;
    return true;
}

static const char *part_of(struct script *s, const char *text, const char *p, const char *end)
{
    int64_t from, taken;
    if (!script_slice(s, p, end, (int64_t)strlen(text), &from, &taken))
        return NULL;
    return arena_copy(s->mem, text + from, (size_t)taken);
}

static const char *letters(char *text, const char *p, const char *end)
{
    char first = *p == '^' ? 'a' : 'A', last = *p == '^' ? 'z' : 'Z';
    bool all = p + 1 < end && p[1] == *p;
    if (p + 1 + all != end)
        return NULL;
    for (char *c = text; *c && (all || c == text); c++)
        if (*c >= first && *c <= last)
            *c ^= 'a' ^ 'A';
    return text;
}

const char *script_apply(struct script *s, const char *value, const char *p, const char *end)
{
    char *text = arena_string(s->mem, value);
    if (!launch_is_known(value) || !script_spend(s, 1, strlen(value)))
        return NULL;
    switch (*p) {
    case '%':
    case '#':
        return cut_end(s, text, p, end);
    case '/':
        return replace(s, text, p, end);
    case ':':
        return part_of(s, text, p, end);
    case '^':
    case ',':
        return letters(text, p, end);
    default:
        return NULL;
    }
}
