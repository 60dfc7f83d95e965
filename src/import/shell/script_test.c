/* Conditions: [ ... ], test and [[ ... ]]. What only a run could tell, such as whether a file is
 * there, may be so or not. */
#include "import/shell/script_parts.h"

#include <stdlib.h>
#include <string.h>

enum answer answer_not(enum answer a)
{
    return a == ANSWER_MAYBE ? a : a == ANSWER_YES ? ANSWER_NO : ANSWER_YES;
}

static enum answer answer_of(bool yes)
{
    return yes ? ANSWER_YES : ANSWER_NO;
}

struct test {
    struct script *s;
    const struct launch_word *word;
    int at, count, depth;
    bool patterns; /* [[ ]]: what stands behind == is one */
};

static const char *peek(const struct test *t, int ahead)
{
    return t->at + ahead < t->count ? t->word[t->at + ahead].text : "";
}

static bool is(const struct test *t, int ahead, const char *text)
{
    return t->at + ahead < t->count && strcmp(t->word[t->at + ahead].text, text) == 0;
}

static enum answer compare_numbers(const char *a, const char *op, const char *b)
{
    int64_t x, y;
    if (!parse_int(a, &x) || !parse_int(b, &y))
        return ANSWER_MAYBE;
    return answer_of(strcmp(op, "-eq") == 0   ? x == y
                     : strcmp(op, "-ne") == 0 ? x != y
                     : strcmp(op, "-lt") == 0 ? x < y
                     : strcmp(op, "-le") == 0 ? x <= y
                     : strcmp(op, "-gt") == 0 ? x > y
                                              : x >= y);
}

static bool is_number_operator(const char *op)
{
    return is_one_of(op, "-eq -ne -lt -le -gt -ge");
}

static bool is_binary(const char *op)
{
    return is_number_operator(op) || is_one_of(op, "= == != =~ < > -nt -ot -ef");
}

/* Which variable the doubt is about, so that a message can name it. */
static enum answer doubt(struct script *s, const char *word)
{
    const char *mark = strchr(word, LAUNCH_MARK);
    long number = mark ? strtol(mark + 1, NULL, 10) : -1;
    if (number >= 0 && number < s->unknowns && s->unknown[number].name)
        s->doubt = s->unknown[number].name;
    return ANSWER_MAYBE;
}

/* One of [abc], [a-z] or [!abc] from behind its bracket; NULL = what is not worked out. */
static const char *match_set(const char *p, char c, bool *matches)
{
    bool not = *p == '!' || *p == '^', found = false;
    const char *first = p += not ;
    for (; *p && (*p != ']' || p == first); p++) {
        if (*p == '[' || *p == '\\')
            return NULL;
        bool range = p[1] == '-' && p[2] && p[2] != ']';
        found |= range ? *p <= c && c <= p[2] : *p == c;
        p += range ? 2 : 0;
    }
    *matches = found != not ;
    return *p ? p + 1 : NULL;
}

/* *, ? and [...] as in the names of files. */
static enum answer glob(struct script *s, const char *pattern, const char *text)
{
    const char *star = NULL, *from = NULL;
    while (*text && script_spend(s, 1, 0)) {
        bool matches = *pattern == *text || *pattern == '?';
        const char *next = pattern + 1;
        if (*pattern == '[' && !(next = match_set(pattern + 1, *text, &matches)))
            return ANSWER_MAYBE;
        if (*pattern == '*') {
            star = pattern++;
            from = text;
        } else if (*pattern && matches) {
            pattern = next;
            text++;
        } else if (star) {
            pattern = star + 1;
            text = ++from;
        } else {
            return ANSWER_NO;
        }
    }
    return answer_of(!pattern[strspn(pattern, "*")]);
}

enum answer script_matches(struct script *s, const char *pattern, const char *text)
{
    if (strcmp(pattern, "*") == 0)
        return ANSWER_YES;
    script_add_choice(s, text, pattern);
    if (!launch_is_known(pattern) || !launch_is_known(text))
        return doubt(s, launch_is_known(text) ? pattern : text);
    if (strpbrk(pattern, "\\") || strstr(pattern, "(")) /* escaped, or one of the extended ones */
        return ANSWER_MAYBE;
    return glob(s, pattern, text);
}

/* Text against text; what a name of a file would take the place of is not known. */
static enum answer equals(const struct test *t, const char *a, const char *b)
{
    if (t->patterns)
        return script_matches(t->s, b, a);
    return strcmp(a, b) == 0 ? ANSWER_YES : strpbrk(b, "*?[") ? ANSWER_MAYBE : ANSWER_NO;
}

static enum answer binary(const struct test *t, const char *a, const char *op, const char *b)
{
    bool texts = is_one_of(op, "= == !=");
    if (texts)
        script_add_choice(t->s, a, b);
    if (!launch_is_known(a))
        return doubt(t->s, a);
    if (!launch_is_known(b))
        return doubt(t->s, b);
    if (strcmp(op, "=") == 0 || strcmp(op, "==") == 0)
        return equals(t, a, b);
    if (strcmp(op, "!=") == 0)
        return answer_not(equals(t, a, b));
    return is_number_operator(op) ? compare_numbers(a, op, b) : ANSWER_MAYBE;
}

/* A variable that is not set is empty here: what it would be set to is not in the script. */
static bool is_unset(const struct test *t, const char *word)
{
    long number = word[0] == LAUNCH_MARK ? strtol(word + 1, NULL, 10) : -1;
    const char *end = strchr(word, LAUNCH_MARK_END);
    return number >= 0 && number < t->s->unknowns && end && !end[1] &&
           strncmp(t->s->unknown[number].why, "which is not set", 16) == 0;
}

static enum answer unary(const struct test *t, const char *op, const char *word)
{
    bool empty = strcmp(op, "-z") == 0;
    if (strcmp(op, "-v") == 0)
        return answer_of(script_variable(t->s, word, strlen(word))->value != NULL);
    if (!empty && strcmp(op, "-n") != 0)
        return ANSWER_MAYBE;
    if (is_unset(t, word))
        return answer_of(empty);
    if (!launch_is_known(word))
        return doubt(t->s, word);
    return answer_of((*word == 0) == empty);
}

static enum answer either(struct test *);

/* A side of a comparison: what is not set is empty, unless we want to know what it would decide. */
static const char *plain(const struct test *t, const char *word, const char *other)
{
    const struct launch l = {.unknowns = t->s->unknowns, .unknown = t->s->unknown};
    const struct launch_unknown *u = launch_unknown_of(&l, word);
    bool argument = u && u->name && *u->name >= '1' && *u->name <= '9';
    bool asks = *other && (t->s->doubts || (t->s->curious && argument));
    return is_unset(t, word) && !asks ? "" : word;
}

static enum answer primary(struct test *t)
{
    const char *word = peek(t, 0), *op = peek(t, 1);
    if (++t->depth > SCRIPT_DEPTH)
        return ANSWER_MAYBE;
    enum answer a;
    if (is(t, 0, "!") && t->count - t->at > 1) {
        t->at++;
        a = answer_not(primary(t));
    } else if (is(t, 0, "(")) {
        t->at++;
        a = either(t);
        t->at += is(t, 0, ")");
    } else if (t->at + 2 < t->count && is_binary(op)) {
        a = binary(t, plain(t, word, peek(t, 2)), op, plain(t, peek(t, 2), word));
        t->at += 3;
    } else if (word[0] == '-' && word[1] && !word[2] && t->at + 1 < t->count && !is(t, 1, "&&") &&
               !is(t, 1, "||")) {
        a = unary(t, word, op);
        t->at += 2;
    } else {
        a = t->at < t->count ? unary(t, "-n", word) : ANSWER_NO;
        t->at++;
    }
    t->depth--;
    return a;
}

/* Conditions with one of two signs between them; `settles` is what one alone makes of all. */
static enum answer joined(struct test *t, enum answer (*next)(struct test *), const char *sign,
                          const char *option, enum answer settles)
{
    enum answer a = next(t);
    while (is(t, 0, sign) || is(t, 0, option)) {
        t->at++;
        enum answer b = next(t);
        a = a == settles || b == settles ? settles : a == b ? a : ANSWER_MAYBE;
    }
    return a;
}

static enum answer both(struct test *t)
{
    return joined(t, primary, "&&", "-a", ANSWER_NO);
}

static enum answer either(struct test *t)
{
    return joined(t, both, "||", "-o", ANSWER_YES);
}

enum answer script_test(struct script *s, int count, const struct launch_word *word, bool patterns)
{
    struct test t = {.s = s, .word = word, .count = count, .patterns = patterns};
    enum answer a = either(&t);
    return t.at == count ? a : ANSWER_MAYBE;
}
