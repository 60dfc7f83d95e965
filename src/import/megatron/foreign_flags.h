/* Flags of earlier releases, forks and wrappers, and what may be guessed of those that nobody knows. */
#pragma once

#include <stdbool.h>

enum foreign_treatment { MEANS, HARMLESS, READ, NOTES, REFUSES };

struct foreign_flag {
    const char *name, *value;
    enum foreign_treatment treatment;
    const char *text;
};

/* The first row behind `after` (NULL = of all) that is about the flag with this value (NULL = none is there); rows that
 * name the value before those that take any. NULL = there is none. */
const struct foreign_flag *foreign_next(const char *name, const char *value,
                                        const struct foreign_flag *after);

/* Whether any row is about a flag. */
bool foreign_knows(const char *name);

/* What flags of a vision or audio model are said to change: it is beside the decoder, and left out. */
extern const char FOREIGN_PART[];

/* What a flag may change, by the words that its name is made of: "the model's shape". NULL = likely nothing that takes
 * time or memory. */
const char *foreign_may_change(const char *name);

/* Why a program trains no decoder, and what can be done; NULL = it may. `note` is set where a figure can be given all the
 * same, with a word of warning. */
const char *foreign_program(const char *program, const char **note);
