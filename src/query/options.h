/* The options table (options.def), and how a value is read by its row. */
#ifndef ASTRA_OPTIONS_H
#define ASTRA_OPTIONS_H

#include "base/error.h"

#include <stddef.h>

struct query;

enum option_id {
#define ROW(id, ...) OPTION_##id,
#include "query/options.def"
#undef ROW
    OPTION_COUNT
};

/* What a value is, and so which reader takes it. */
enum option_kind {
    KIND_SWITCH,   /* bool */
    KIND_WHOLE,    /* int: a whole number in a range, 1.5K too; 0 = not given */
    KIND_COUNT,    /* int64_t: the same */
    KIND_REAL,     /* double in a range */
    KIND_AMOUNT,   /* the same as 1.5T */
    KIND_DURATION, /* the same in seconds, as 10m */
    KIND_CHOICE,   /* int: which word of the argument */
    KIND_WORD,     /* const char *: the word */
    KIND_TEXT,     /* const char * */
    KIND_OUTPUT,   /* const char *: a file that is written beside the answer */
    KIND_LIST,     /* struct texts: one text each time */
    KIND_OWN       /* by a function of its own */
};

/* What an option is for: see options.def. */
enum option_use { ASKS, ASKS_EACH, ASKS_ALL, SHOWS, WRITES };

struct option {
    const char *name, *argument, *commands, *usual;
    enum option_kind kind;
    enum option_use use;
    int most; /* times that it may be given; 1 = the last one holds */
    size_t at;
    double lo, hi;
    const char *expected; /* for messages */
    bool (*read)(struct query *, const char *value, struct error *);
};

enum { TEXTS_MAX = 64 };
struct texts {
    int count;
    const char *text[TEXTS_MAX];
};

const struct option *option_row(enum option_id);
/* NULL without such an option. */
const struct option *option_find(const char *name);
bool option_takes(const struct option *, const char *command);
/* Whether --what-if may change it. */
bool option_is_input(const struct option *);

#endif
