/* Aligned tables: columns first, then cells row by row. */
#pragma once

#include "base/arena.h"
#include "base/str.h"
#include "report/text/typeset.h"

#include <stdbool.h>
#include <stddef.h>

struct report_style;

enum { TABLE_MAX_COLUMNS = 32 };

enum table_align {
    TABLE_LEFT,
    TABLE_RIGHT,
    TABLE_BAR
}; /* bars are hidden where a style has none */

struct table_column {
    const char *head; /* borrowed */
    enum table_align align;
    int drop; /* 0 = never; of a table that is too wide the highest goes first */
};

struct table {
    struct arena mem; /* holds the cells */
    struct str text;  /* a cell that is put together, until table_take */
    int columns;
    struct table_column column[TABLE_MAX_COLUMNS];
    bool hidden[TABLE_MAX_COLUMNS];
    int cells, capacity;
    struct table_cell {
        const char *text;
        enum ink ink; /* on a terminal with colours */
    } * cell;
};

void table_init(struct table *, const struct table_column *, size_t count);
void table_column(struct table *, const char *head, enum table_align, int drop); /* one more */

/* The next cell; a row is complete when it has one for each column. */
void table_add(struct table *, const char *format, ...) __attribute__((format(printf, 2, 3)));
void table_take(struct table *); /* what was put together in `text` */
void table_seconds(struct table *, double seconds);
void table_count(struct table *, double count);
void table_bar(struct table *, const struct report_style *, double share);

/* The colour of the last cell, of the cells of a row that have none; of a change in the last cell, where
 * less is better. */
void table_ink(struct table *, enum ink);
void table_row_ink(struct table *, enum ink);
void table_change_ink(struct table *, double change);

void table_hide(struct table *, int column);
/* Hides a column in which every cell is `text`. */
void table_hide_if_all(struct table *, int column, const char *text);

/* Two columns in from the left, two between columns; heads only if any has text. Columns left out
 * for want of room are named below the table; where that is not enough, the widest of text is
 * narrowed and its cells go on in the next line. Releases the table. */
void table_print(struct table *, const struct report_style *, struct str *out);
