#include "base/str.h"

#include "base/arena.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void str_init(struct str *s)
{
    *s = (struct str){0};
}

void str_release(struct str *s)
{
    free(s->data);
    str_init(s);
}

const char *str_keep(struct str *s, struct arena *mem)
{
    const char *text = arena_string(mem, str_text(s));
    str_release(s);
    return text;
}

void str_clear(struct str *s)
{
    s->length = 0;
    if (s->data)
        s->data[0] = 0;
}

static void reserve(struct str *s, size_t more)
{
    size_t need = s->length + more + 1;
    if (need <= s->capacity)
        return;
    s->capacity = need < 256 ? 256 : need * 2;
    s->data = memory_grow(s->data, s->capacity);
}

void str_add_bytes(struct str *s, const char *bytes, size_t count)
{
    reserve(s, count);
    memcpy(s->data + s->length, bytes, count);
    s->length += count;
    s->data[s->length] = 0;
}

void str_add(struct str *s, const char *text)
{
    str_add_bytes(s, text, strlen(text));
}

void str_addf(struct str *s, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (n > 0) {
        reserve(s, (size_t)n);
        vsnprintf(s->data + s->length, (size_t)n + 1, format, again);
        s->length += (size_t)n;
    }
    va_end(again);
}

void str_pad(struct str *s, size_t column)
{
    size_t start = s->length;
    while (start > 0 && s->data[start - 1] != '\n')
        start--;
    while (s->length - start < column)
        str_add_bytes(s, " ", 1);
}

const char *str_text(const struct str *s)
{
    return s->data ? s->data : "";
}

bool parse_int(const char *text, int64_t *out)
{
    const char *digits = text + (*text == '-' || *text == '+');
    if (!isdigit((unsigned char)*digits))
        return false;
    char *end;
    errno = 0;
    long long v = strtoll(text, &end, 10);
    if (errno || *end)
        return false;
    *out = v;
    return true;
}

/* strtod also takes hexadecimal, "nan" and "inf", and follows the locale: only plain decimal
 * characters are let through. */
bool parse_real(const char *text, double *out)
{
    if (!*text || text[strspn(text, "0123456789+-.eE")])
        return false;
    char *end;
    double v = strtod(text, &end);
    if (end == text || *end || !isfinite(v))
        return false;
    *out = v;
    return true;
}

static int fold(char c)
{
    return c == '_' ? '-' : tolower((unsigned char)c);
}

bool same_name(const char *a, const char *b)
{
    while (*a && fold(*a) == fold(*b))
        a++, b++;
    return fold(*a) == fold(*b);
}

bool is_one_of(const char *word, const char *words)
{
    size_t length = strlen(word);
    while (*words) {
        size_t n = strcspn(words, " ");
        if (n == length && memcmp(words, word, n) == 0)
            return true;
        words += n + (words[n] == ' ');
    }
    return false;
}

bool next_word(const char **words, char *out, size_t size)
{
    *words += strspn(*words, " ");
    size_t length = strcspn(*words, " "), kept = length < size ? length : size - 1;
    memcpy(out, *words, kept);
    out[kept] = 0;
    *words += length;
    return length > 0;
}

/* Where the text leaves the pattern, the latest * takes one character more. */
bool matches_pattern(const char *pattern, const char *text)
{
    const char *star = NULL, *from = NULL;
    while (*text) {
        if (*pattern == '*') {
            star = pattern++;
            from = text;
        } else if (*pattern == *text) {
            pattern++, text++;
        } else if (star) {
            pattern = star + 1;
            text = ++from;
        } else {
            return false;
        }
    }
    return !pattern[strspn(pattern, "*")];
}

size_t name_distance(const char *a, const char *b)
{
    enum { LONGEST = 63 };
    size_t n = strlen(a), m = strlen(b), row[LONGEST + 1];
    if (n > LONGEST || m > LONGEST)
        return SIZE_MAX;
    for (size_t j = 0; j <= m; j++)
        row[j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t best = diagonal + (fold(a[i - 1]) != fold(b[j - 1]));
            diagonal = row[j];
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[m];
}

/* The shortest name that goes on behind the word: qwen3-235b means qwen3-235b-a22b. */
static const char *begun_name(const char *word, const char *const *names, size_t count)
{
    enum { LEAST = 4 };
    const char *best = NULL;
    size_t n = strlen(word);
    for (size_t i = 0; i < count && n >= LEAST; i++) {
        char begin[64];
        if (strlen(names[i]) <= n || n >= sizeof begin || !strchr("-_.", names[i][n]))
            continue;
        memcpy(begin, names[i], n);
        begin[n] = 0;
        if (same_name(begin, word) && (!best || strlen(names[i]) < strlen(best)))
            best = names[i];
    }
    return best;
}

const char *nearest_name(const char *word, const char *const *names, size_t count)
{
    size_t n = strlen(word), limit = n > 8 ? n / 3 : n > 2 ? 2 : 1, best = SIZE_MAX;
    const char *name = NULL;
    for (size_t i = 0; i < count; i++) {
        size_t d = name_distance(word, names[i]);
        if (d < best) {
            best = d;
            name = names[i];
        }
    }
    const char *begun = best > 1 ? begun_name(word, names, count) : NULL; /* one letter is a slip */
    return begun ? begun : best <= limit ? name : NULL;
}

const char *did_you_mean(const char *word, const char *const *names, size_t count)
{
    static _Thread_local char text[128];
    const char *name = nearest_name(word, names, count);
    text[0] = 0;
    if (name)
        snprintf(text, sizeof text, " (did you mean %s?)", name);
    return text;
}
