/* How things fail: a function that can fail returns bool and takes `struct error *` last. The
 * text is complete as it stands: file, line, column, the value, and what would be right. */
#ifndef ASTRA_ERROR_H
#define ASTRA_ERROR_H

#include <stdbool.h>

enum error_kind {
    ERROR_NONE,
    ERROR_INPUT,      /* the user's input is wrong: exit code 2 */
    ERROR_INFEASIBLE, /* a well-formed question without an answer: exit code 1 */
    ERROR_SYSTEM      /* a file or thread could not be had: exit code 3 */
};

struct error {
    enum error_kind kind;
    char text[2048];
};

/* Writes the message (cut at the buffer's size) and returns false, so that callers write
 * `return fail(err, ...)`. `err` may be NULL. */
bool fail(struct error *err, enum error_kind kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
