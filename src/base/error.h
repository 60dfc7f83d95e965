/* How things fail: a function that can fail returns bool and takes `struct error *` last. The
 * text is complete as it stands: file, line, column, the value, and what would be right. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum error_kind {
    ERROR_NONE,
    ERROR_INPUT,      /* the user's input is wrong: exit code 2 */
    ERROR_INFEASIBLE, /* a well-formed query without an answer: exit code 1 */
    ERROR_SYSTEM      /* a file or thread could not be had: exit code 3 */
};

struct error {
    enum error_kind kind;
    char text[2048];
    char place[256];  /* what is wrong and a caret under the place: two lines, or "" */
    char missing[64]; /* what is wrong is that this is not there; "" = something else */
    bool in_file;     /* the text begins with the name of a file */
};

/* Writes the message (cut at the buffer's size) and returns false, so that callers write
 * `return fail(err, ...)`. `err` may be NULL. */
bool fail(struct error *err, enum error_kind kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Shows the text that is wrong with a caret under its byte `at`, for a message that was just
 * written and is one line. Returns false. */
bool error_show(struct error *err, const char *text, size_t at);
/* The same for a place in a file's text, by line and column (in characters of UTF-8) from 1. Lines
 * end as in YAML. Nothing is shown of a place behind the text. */
bool error_show_line(struct error *err, const char *text, size_t length, int line, int column);
/* The same as an error that `err` was made of shows. */
bool error_show_as(struct error *err, const struct error *cause);

/* Notes for who adds to a message that was just written. Both return false. */
bool error_missing(struct error *err, const char *what);
bool error_in_file(struct error *err);

struct str;
/* The part of a line around byte `at`, a newline, blanks and the caret. Bytes that a terminal might
 * not show in one column are '?', so that the caret stays under the place. */
void caret_add(struct str *out, const char *line, size_t length, size_t at);
