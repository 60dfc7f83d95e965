/* What completions of every shell share. */
#pragma once

#include "cli.h"

/* The arguments of an own command are its words "a|b|c", or names of commands. */
bool takes_words(const struct own_command *);
/* Words of "a|b|c" or of a list with blanks, with one blank between them. */
void print_words(const char *list);

/* Each prints a whole script. The query knows the names. */
void print_bash(struct astra *);
void print_zsh(struct astra *);
void print_fish(struct astra *);
