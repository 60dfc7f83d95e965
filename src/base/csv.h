/* Comma-separated tables with a header line: quoted fields ("" inside is one "), CRLF or LF. A byte
 * order mark in front, as spreadsheets write it, is passed over. */
#pragma once

#include "base/error.h"

#include <stddef.h>

struct arena;

struct csv {
    int columns, rows;
    const char **header; /* [columns] */
    const char **field;  /* [rows * columns], never NULL */
    int *line;           /* [rows] where each row begins, from 1 */
};

/* Every row must have as many fields as the header; empty lines are passed over. `name` stands
 * in messages. */
bool csv_parse(struct csv *, const char *text, size_t length, const char *name, struct arena *,
               struct error *);

int csv_column(const struct csv *, const char *name); /* -1 when there is none */
const char *csv_at(const struct csv *, int row, int column);
