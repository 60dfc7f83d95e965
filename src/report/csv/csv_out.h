/* Rows of CSV, cell by cell. */
#ifndef ASTRA_CSV_OUT_H
#define ASTRA_CSV_OUT_H

#include <stdbool.h>

struct str;

struct csv {
    struct str *out;
    int cells; /* of the row so far */
};

void csv_text(struct csv *, const char *text); /* quoted where it must be */
void csv_number(struct csv *, double value);   /* 9 digits; an empty cell unless finite */
void csv_number_if(struct csv *, bool known, double value);
void csv_end(struct csv *); /* of the row */

#endif
