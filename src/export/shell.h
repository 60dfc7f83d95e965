/* Words for bash: quoted so that they mean themselves, and as arrays by section. */
#pragma once

#include <stddef.h>

struct str;

/* The word as it stands where that is safe, otherwise in single quotes. */
void add_shell_word(struct str *out, const char *word);

/* "NAME=(" and ")" around the flags of each section that has any, a flag with its values a line;
 * `indent` stands before every line. */
void add_shell_arrays(struct str *out, const char *const *words, size_t count, const char *indent);
/* The words that expand them all: "${MODEL_ARGS[@]}" "${BATCH_ARGS[@]}" ...; `fold` stands where a
 * line ends. */
void add_shell_expansions(struct str *out, const char *const *words, size_t count,
                          const char *fold);

/* A text as a comment: what would end the line or is no text is replaced. Adds no newline. */
void add_comment_text(struct str *out, const char *text);

/* The lines of a text, each behind `indent`; empty ones stay empty. */
void add_indented(struct str *out, const char *text, const char *indent);
