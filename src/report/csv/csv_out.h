/* Rows of CSV, cell by cell. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct str;

struct csv_writer {
    struct str *out;
    int cells; /* of the row so far */
};

/* Names of columns, which need no quotes, with a comma between them. */
void csv_heads(struct csv_writer *, const char *names);
void csv_text(struct csv_writer *, const char *text); /* quoted where it must be */
void csv_number(struct csv_writer *, double value);   /* 9 digits; an empty cell unless finite */
void csv_number_if(struct csv_writer *, bool known, double value);
/* Several texts in one cell. */
void csv_list(struct csv_writer *, const char *const *, size_t count, const char *between);
void csv_end(struct csv_writer *); /* of the row */
