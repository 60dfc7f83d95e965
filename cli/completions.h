/* What completions of every shell share: what the value of an option is, by its argument. */
#ifndef ASTRA_COMPLETIONS_H
#define ASTRA_COMPLETIONS_H

#include "cli.h"

enum value_kind {
    VALUE_NONE,   /* a switch */
    VALUE_FREE,   /* nothing can be offered */
    VALUE_WORDS,  /* one of "a|b|c" */
    VALUE_MODEL,  /* a preset or a file */
    VALUE_POOL,   /* 64x8:GPU, or a file */
    VALUE_GPU,    /* the name of a GPU */
    VALUE_OF_GPU, /* GPU=... */
    VALUE_PARAM,  /* PARAMETER=... */
    VALUE_FILE,
    VALUE_FOLDER
};

enum value_kind value_kind(const char *argument);

/* One option of a command, the library's or the program's. */
struct offered {
    const char *name, *argument, *help;
};
/* Option `i` of the command; false when there are fewer. */
bool option_of(const struct command *, int i, struct offered *);

/* Words of "a|b|c" or of a list with blanks, with one blank between them. */
void print_words(const char *list);

/* Each prints a whole script. The query knows the names. */
void print_bash(struct astra *);
void print_zsh(struct astra *);
void print_fish(struct astra *);

#endif
