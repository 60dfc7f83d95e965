/* Someone's launch script with other flags: only what changes is touched, everything else stays as
 * it was written. Nothing here knows what a flag means; that the text says what it should, its
 * caller finds by reading it again. */
#pragma once

#include "base/error.h"

#include <stddef.h>

struct arena;
struct str;

enum flag_edit_kind { EDIT_SET, EDIT_REMOVE, EDIT_ADD };

/* A flag of the launch that becomes another. */
struct flag_edit {
    enum flag_edit_kind kind;
    const char *name; /* as the script writes it */
    size_t olds, values;
    const char *const *old; /* values that it has now */
    const char *const *value;
};

/* A piece of the text, and what takes its place. */
struct text_edit {
    size_t start, end;
    const char *text;
};

enum { REWRITE_EDITS = 256 };

struct rewrite {
    const char *text; /* ends in 0 */
    size_t length;
    unsigned char *state; /* of each byte: code, in quotes, a comment */
    int edits;
    struct text_edit edit[REWRITE_EDITS]; /* in the order of the text once it is sorted */
    struct arena *mem;
};

void rewrite_init(struct rewrite *, const char *text, size_t length, struct arena *);

/* Changes values where they stand, or where the variable that holds them is assigned; removes flags;
 * adds new ones beside a flag that every script has, on lines of their own or, `inline_added`, on
 * its line. False with the reason where this cannot be done safely. */
bool rewrite_flags(struct rewrite *, const struct flag_edit *, size_t count, bool inline_added,
                   struct error *);
/* "NAME=VALUE" or "NAME", which is to have none: changed where it is set, or said at the top. */
bool rewrite_environment(struct rewrite *, const char *setting, struct error *);
/* Sorts the edits; false where two touch the same place. */
bool rewrite_sort(struct rewrite *, struct error *);

/* The new text; and what differs, as a unified diff. */
void rewrite_apply(const struct rewrite *, struct str *out);
void rewrite_diff(const struct rewrite *, const char *old_name, const char *new_name,
                  struct str *out);
