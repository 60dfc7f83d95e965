/* A rule file is read line by line, a line token by token, in one pass without copying. What people
 * write by habit from other languages (=, and, <>) is known by name, so that the message can say
 * what to write instead. Every message shows the line with a caret. */
#include "rules/lex.h"

#include "base/str.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Longer spellings first: the first match wins. */
static const struct {
    const char *text;
    enum token_kind kind;
    const char *instead; /* of what other languages allow */
} SIGNS[] = {
    {"||", TOKEN_OR, NULL},   {"&&", TOKEN_AND, NULL},    {"==", TOKEN_EQ, NULL},
    {"!=", TOKEN_NE, NULL},   {"<=", TOKEN_LE, NULL},     {">=", TOKEN_GE, NULL},
    {"=<", TOKEN_END, "<="},  {"=>", TOKEN_END, ">="},    {"<>", TOKEN_END, "!="},
    {"<", TOKEN_LT, NULL},    {">", TOKEN_GT, NULL},      {"!", TOKEN_NOT, NULL},
    {"+", TOKEN_PLUS, NULL},  {"-", TOKEN_MINUS, NULL},   {"*", TOKEN_STAR, NULL},
    {"/", TOKEN_SLASH, NULL}, {"%", TOKEN_PERCENT, NULL}, {"(", TOKEN_OPEN, NULL},
    {")", TOKEN_CLOSE, NULL}, {",", TOKEN_COMMA, NULL},   {"=", TOKEN_END, "=="},
    {"|", TOKEN_END, "||"},   {"&", TOKEN_END, "&&"},
};

static const struct {
    const char *word, *instead;
} WORDY[] = {{"and", "&&"}, {"or", "||"}, {"not", "!"}};

void lex_init(struct lexer *l, const char *text, size_t length, const char *file, struct error *err)
{
    *l = (struct lexer){.text = text, .length = length, .file = file, .err = err};
}

bool lex_line(struct lexer *l)
{
    size_t begin = l->line == 0 ? 0 : l->line_end + 1;
    if (begin >= l->length)
        return false;
    const char *newline = memchr(l->text + begin, '\n', l->length - begin);
    l->line++;
    l->line_begin = l->next = begin;
    l->line_end = newline ? (size_t)(newline - l->text) : l->length;
    return true;
}

bool lex_fail(const struct lexer *l, size_t at, const char *format, ...)
{
    char message[512];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    struct str excerpt = {0};
    caret_add(&excerpt, l->text + l->line_begin, l->line_end - l->line_begin, at - l->line_begin);
    fail(l->err, ERROR_INPUT, "%s:%d:%zu: %s\n%s", l->file, l->line, at - l->line_begin + 1,
         message, str_text(&excerpt));
    str_release(&excerpt);
    return false;
}

bool lex_expected(const struct lexer *l, const char *what)
{
    const struct token *t = &l->token;
    if (t->kind == TOKEN_END)
        return lex_fail(l, t->begin, "expected %s, but the line ends here", what);
    if (t->kind == TOKEN_STRING)
        return lex_fail(l, t->begin - 1, "expected %s, but found the reason", what);
    char name[NAME_BYTES];
    lex_name(l, t, name);
    return lex_fail(l, t->begin, "expected %s, but found '%s'", what, name);
}

void lex_name(const struct lexer *l, const struct token *t, char name[NAME_BYTES])
{
    size_t n = t->end - t->begin < NAME_BYTES - 1 ? t->end - t->begin : NAME_BYTES - 1;
    memcpy(name, l->text + t->begin, n);
    name[n] = 0;
}

static bool in_name(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.';
}

static size_t name_end(const struct lexer *l, size_t at)
{
    while (at < l->line_end && in_name(l->text[at]))
        at++;
    return at;
}

static bool read_name(struct lexer *l, struct token *t)
{
    char name[NAME_BYTES];
    size_t dollar = l->text[l->next] == '$';
    t->kind = TOKEN_NAME;
    t->begin = l->next + dollar;
    t->end = l->next = name_end(l, t->begin);
    if (t->begin == t->end)
        return lex_fail(l, t->begin, "expected a name after '$'");
    lex_name(l, t, name);
    for (size_t i = 0; i < sizeof WORDY / sizeof *WORDY; i++)
        if (same_name(name, WORDY[i].word))
            return lex_fail(l, t->begin, "'%s' is not an operator, write %s", name,
                            WORDY[i].instead);
    return true;
}

/* All that could belong to a number is taken, so that 4K or 1.2.3 is one wrong number. */
static bool read_number(struct lexer *l, struct token *t)
{
    char digits[NAME_BYTES];
    t->kind = TOKEN_NUMBER;
    t->begin = l->next;
    t->end = name_end(l, l->next);
    char last = l->text[t->end - 1];
    if ((last == 'e' || last == 'E') && t->end + 1 < l->line_end && strchr("+-", l->text[t->end]) &&
        isdigit((unsigned char)l->text[t->end + 1]))
        t->end = name_end(l, t->end + 1);
    l->next = t->end;
    lex_name(l, t, digits);
    if (t->end - t->begin >= NAME_BYTES || !parse_real(digits, &t->number))
        return lex_fail(l, t->begin, "'%s' is not a number", digits);
    return true;
}

static bool read_string(struct lexer *l, struct token *t)
{
    t->kind = TOKEN_STRING;
    t->begin = t->end = l->next + 1;
    while (t->end < l->line_end && l->text[t->end] != '"') {
        unsigned char c = (unsigned char)l->text[t->end];
        if ((c < ' ' && c != '\t' && c != '\r') || c == 127)
            return lex_fail(l, t->end, "the reason holds a control character (code %d)", c);
        t->end++;
    }
    if (t->end == l->line_end)
        return lex_fail(l, l->next, "the reason that starts here has no closing quote");
    l->next = t->end + 1;
    return true;
}

static bool read_sign(struct lexer *l, struct token *t)
{
    for (size_t i = 0; i < sizeof SIGNS / sizeof *SIGNS; i++) {
        size_t n = strlen(SIGNS[i].text);
        if (n > l->line_end - l->next || memcmp(l->text + l->next, SIGNS[i].text, n) != 0)
            continue;
        if (SIGNS[i].instead)
            return lex_fail(l, l->next, "'%s' is not an operator, write %s", SIGNS[i].text,
                            SIGNS[i].instead);
        *t = (struct token){.kind = SIGNS[i].kind, .begin = l->next, .end = l->next + n};
        l->next += n;
        return true;
    }
    unsigned char c = (unsigned char)l->text[l->next];
    if (c > ' ' && c < 127)
        return lex_fail(l, l->next, "'%c' has no meaning in a rule", c);
    return lex_fail(l, l->next, "%s (byte 0x%02x) has no meaning in a rule",
                    c < 128 ? "a control character" : "a sign that is not ASCII", c);
}

bool lex_next(struct lexer *l)
{
    while (l->next < l->line_end && strchr(" \t\r", l->text[l->next]) && l->text[l->next])
        l->next++;
    l->token = (struct token){.kind = TOKEN_END, .begin = l->next, .end = l->next};
    if (l->next == l->line_end || l->text[l->next] == '#')
        return true;
    char c = l->text[l->next];
    if (isdigit((unsigned char)c) || c == '.')
        return read_number(l, &l->token);
    if (c == '$' || in_name(c))
        return read_name(l, &l->token);
    return c == '"' ? read_string(l, &l->token) : read_sign(l, &l->token);
}
