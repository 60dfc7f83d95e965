/* Where flags and assignments stand in a script; private to the rewriting. */
#pragma once

#include "export/rewrite.h"

enum byte_state { BYTE_CODE, BYTE_SINGLE, BYTE_DOUBLE, BYTE_COMMENT };

/* Bytes from start to before end. */
struct span {
    size_t start, end;
};

/* The flag where it stands, if it does so once; false with the reason. */
bool place_flag(const struct rewrite *, const char *name, struct span *, struct error *);
/* The next `count` words behind a flag, on its line. */
bool place_values(const struct rewrite *, const char *name, const struct span *flag, size_t count,
                  struct span *value, struct error *);
/* The line of an assignment that nothing but this word, "$NAME", looks at, and that has nothing else on it. False where
 * it is no such variable. */
bool place_only_use(const struct rewrite *, struct span word, struct span *line);

/* The literal that a word means, or the one that the variable in it is assigned: what has to become
 * another for the word to do so. It must say `old` now. */
bool place_literal(const struct rewrite *, struct span word, const char *what, const char *old,
                   struct span *out, struct error *);
/* The value of NAME=..., if it is assigned once. `count`: how often it is. */
bool place_assignment(const struct rewrite *, const char *name, size_t length, struct span *value,
                      int *count);

struct span place_line(const struct rewrite *, size_t at); /* without the newline */
bool place_is_blank(const struct rewrite *, size_t start, size_t end);
/* The line ends in a backslash. */
bool place_goes_on(const struct rewrite *, const struct span *line);
