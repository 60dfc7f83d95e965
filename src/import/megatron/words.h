/* A Megatron command line read against the table of every flag its parser knows: which flags are
 * there and with which values. What they mean is not known here. */
#pragma once

#include "base/error.h"

struct arena;

struct words; /* the last mention of each flag, as in argparse */

/* Words stay borrowed. A leading path ending in .py is skipped; both `--flag value` and
 * `--flag=value` are read. Unknown flags come with the nearest known one; a missing, superfluous
 * or malformed value names the flag. NULL on error. */
const struct words *words_read(int argc, const char *const *argv, struct arena *, struct error *);

bool words_has(const struct words *, const char *flag);
/* Values of a flag, in order; 0 when it is not there. */
int words_count(const struct words *, const char *flag);
const char *words_at(const struct words *, const char *flag, int i);
/* The first value, or NULL when the flag is not there. */
const char *words_value(const struct words *, const char *flag);

/* Old flags that are there and have no effect any more: "--flag: why". In order of appearance; NULL
 * ends. */
const char *const *words_notes(const struct words *);

/* A flag, unless it looks like a negative number. */
bool words_is_flag(const char *word);

/* The table itself. How many values a flag takes at most: 0 for a switch, -1 = it is no flag, old
 * ones included. */
int words_most_values(const char *flag);
int words_least_values(const char *flag);
/* What its values are: "a whole number", or the words it takes. */
const char *words_expected(const char *flag);
/* A number as Python takes it, 220_000_000, without the underscores; any other word as it is. */
const char *words_plain(const char *word, struct arena *);
/* Today's name of a flag that was renamed; of any other, the name itself. */
const char *words_today(const char *flag);
bool words_takes(const char *flag, const char *value);
/* The word that the flag takes for one that differs in case; NULL = none. */
const char *words_choice(const char *flag, const char *value, struct arena *);

/* Whether it is there, without asking for it. */
bool words_there(const struct words *, const char *flag);
/* Its i-th value, the same way; NULL = none. */
const char *words_peek(const struct words *, const char *flag, int i);
/* Whether a reader has asked for the flag so far: those that nobody asks for have no effect. */
bool words_asked(const struct words *, const char *flag);
/* How many flags are there, and how many of them nobody has asked for. */
void words_tally(const struct words *, int *there, int *idle);
