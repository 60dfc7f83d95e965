/* Tokens of one line of a rule file, and messages that point at them. For this stage only. */
#pragma once

#include "base/error.h"

#include <stddef.h>

enum token_kind {
    TOKEN_END, /* of the line */
    TOKEN_NUMBER,
    TOKEN_NAME,
    TOKEN_STRING,
    TOKEN_OR,
    TOKEN_AND,
    TOKEN_NOT,
    TOKEN_EQ,
    TOKEN_NE,
    TOKEN_LT,
    TOKEN_LE,
    TOKEN_GT,
    TOKEN_GE,
    TOKEN_PLUS,
    TOKEN_MINUS,
    TOKEN_STAR,
    TOKEN_SLASH,
    TOKEN_PERCENT,
    TOKEN_OPEN,
    TOKEN_CLOSE,
    TOKEN_COMMA
};

struct token {
    enum token_kind kind;
    size_t begin, end; /* in the text; a name's without '$', a string's without quotes */
    double number;
};

struct lexer {
    const char *text; /* borrowed */
    size_t length;
    const char *file; /* stands before line and column in messages */
    int line;         /* from 1 */
    size_t line_begin, line_end, next;
    struct token token; /* the current one */
    struct error *err;
};

/* Before the first line. */
void lex_init(struct lexer *, const char *text, size_t length, const char *file, struct error *);
/* Goes to the next line; false when there is none. Call lex_next for its first token. */
bool lex_line(struct lexer *);
/* Reads the next token of the line; false with a message when there is no sense in it. */
bool lex_next(struct lexer *);

/* Enough for every name there is; longer ones are cut and so match nothing. */
enum { NAME_BYTES = 80 };
void lex_name(const struct lexer *, const struct token *, char name[NAME_BYTES]);

/* "FILE:LINE:COL: message", the line, and a caret under offset `at` of the text. Returns false. */
bool lex_fail(const struct lexer *, size_t at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* lex_fail at the current token: "expected X but found Y". */
bool lex_expected(const struct lexer *, const char *what);
