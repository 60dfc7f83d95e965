/* Strings: a growable buffer, strict number parsing, names compared without case, nearest names. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;

struct str {
    char *data; /* owned, always ends in 0 once anything was added; NULL when empty */
    size_t length, capacity;
};

/* An empty one needs no more than `= {0}`. */
void str_init(struct str *);
void str_release(struct str *);
void str_clear(struct str *);
void str_add(struct str *, const char *text);
void str_add_bytes(struct str *, const char *bytes, size_t count);
void str_addf(struct str *, const char *format, ...) __attribute__((format(printf, 2, 3)));
void str_pad(struct str *, size_t column); /* spaces until the current line is `column` wide */
/* The text so far, "" when nothing was added. Owned by the str. */
const char *str_text(const struct str *);
/* The same kept in an arena; the str is released. */
const char *str_keep(struct str *, struct arena *);

/* Whole text must be one number, no blanks; false otherwise or out of range. Locale-free. */
bool parse_int(const char *text, int64_t *out);
bool parse_real(const char *text, double *out); /* finite only */

bool same_name(const char *a, const char *b); /* ASCII case ignored; '-' and '_' are equal */

/* Edit distance with insertion, deletion, replacement at cost 1; words over 63 characters are far. */
size_t name_distance(const char *a, const char *b);
bool is_one_of(const char *word, const char *words); /* `words` have one blank between them */
/* The next of such words, cut where it does not fit; false and "" behind the last. */
bool next_word(const char **words, char *out, size_t size);

/* Whether all of `text` is as `pattern` says, in which * stands for any text. */
bool matches_pattern(const char *pattern, const char *text);

/* The known name closest to `word` by edit distance, or NULL when none is close enough to suggest
 * (distance above a third of the word, at least 2). */
const char *nearest_name(const char *word, const char *const *names, size_t count);

/* " (did you mean X?)" for an error message, or "". Valid until the next call in this thread. */
const char *did_you_mean(const char *word, const char *const *names, size_t count);
