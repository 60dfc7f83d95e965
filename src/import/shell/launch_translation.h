/* A launch while its words are translated: what launch_dialect.c and the files beside it share. */
#pragma once

#include "import/shell/launch.h"

struct translation {
    const struct launch *from;
    struct launch *notes; /* the same */
    struct arena *mem;
    int count, capacity, implied_capacity, firsts, first_capacity, lasts, last_capacity;
    struct launch_word *word, *first;
    bool *implied;            /* of `word`: it stands there under another name */
    struct launch_word *last; /* worked out of several flags: these win */
    int worked[12];           /* mentions of each: all are worked out at the first */
    bool chunked;             /* a layout says how layers lie in virtual stages */
};

/* Before all other words, or behind them: what does not stand in the script as such. */
void translation_first(struct translation *, const char *text, int line);
void translation_last(struct translation *, const char *flag, const char *value, int line);

/* launch_lookup.c. */
bool launch_mentions(const struct launch *, const char *flag);
/* Whether a word SECTION.NAME=VALUE sets this name, in whatever section, to nothing as well. */
bool launch_overrides(const struct launch *, const char *name);
/* Takes a flag and its value out of words, of `implied` (NULL = none) alike; returns how many are left. */
int launch_drop(struct launch_word *, bool *implied, int count, const char *flag);
/* -1 where the flag has another value than a number from 0 to a million. */
int64_t launch_number(const struct launch *, const char *flag, int64_t missing);

/* launch_defaults.c: what wrappers set where the script says nothing, and what follows from settings of theirs. */
void translation_defaults(struct translation *, struct launch *);

/* launch_worked_out.c: how many words were read; 0 = none, it is no such flag, or cannot be worked out. */
int translation_work_out(struct translation *, const char *name, const char *value, int behind,
                         int line);

/* launch_layers.c: whose layers they are, and as what they are planned. */
void translation_layers(struct translation *, struct launch *);
