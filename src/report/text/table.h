/* Aligned tables: columns first, then cells row by row. */
#ifndef ASTRA_TABLE_H
#define ASTRA_TABLE_H

#include <stdbool.h>
#include <stddef.h>

struct arena;
struct report_style;
struct str;

enum { TABLE_MAX_COLUMNS = 32 };

enum table_align { TABLE_LEFT, TABLE_RIGHT };

struct table {
    struct arena *mem; /* holds the cells */
    int columns;
    struct table_column {
        const char *head;
        enum table_align align;
        int drop; /* 0 = never; of a table that is too wide the highest goes first */
        bool hidden;
    } column[TABLE_MAX_COLUMNS];
    int ink[TABLE_MAX_COLUMNS]; /* enum ink of its cells */
    size_t cells, capacity;
    const char **cell;
};

void table_init(struct table *, struct arena *);
/* Returns the column's index. `head` is borrowed. */
int table_column(struct table *, const char *head, enum table_align, int drop);

/* The next cell; a row is complete when it has one for each column. */
void table_add(struct table *, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same with text that was put together in `s`, which is emptied. */
void table_take(struct table *, struct str *s);

/* A column of bars, as wide as the style has them: hidden where it has none. */
int table_bar_column(struct table *, const char *head, int drop, const struct report_style *);
void table_add_bar(struct table *, const struct report_style *, double share);

void table_hide(struct table *, int column);
/* Hides a column in which every cell is `text`. */
void table_hide_if_all(struct table *, int column, const char *text);

/* Two columns in from the left, two between columns; heads only if any has text. Columns left out
 * for want of room are named below the table; where that is not enough, the widest of text is
 * narrowed and its cells go on in the next line. */
void table_print(const struct table *, const struct report_style *, struct str *out);

#endif
