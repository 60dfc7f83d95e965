/* What readers of measurements share: a CSV file with the function that makes samples of one row, and
 * how operators and collectives are named and placed. */
#pragma once

#include "learn/sample.h"

enum { TABLE_COLUMNS = 24 };

struct table_row;

struct table_file {
    const char *name;    /* below the source's folder */
    const char *columns; /* that it must have, blank-separated: the order of a row's cells */
    /* Adds or skips; a count per use. NULL: nothing of the file is used, its rows are counted. */
    void (*use)(const struct table_row *);
    const char *gpu;     /* whose times these are, NULL when a column says */
    const void *context; /* for `use` */
};

struct table_row {
    const struct table_file *file;
    const char *cell[TABLE_COLUMNS]; /* NULL beyond the file's columns */
    struct samples *to;
};

/* `name` in the table is not looked at. */
bool read_table(const char *path, const struct table_file *, struct samples *, struct error *);

double row_number(const struct table_row *, int column); /* NaN unless a number */
bool row_says(const struct table_row *, int column, const char *text);
void row_skip(const struct table_row *, enum skip);
/* `gpu` NULL: not known. */
void row_add(const struct table_row *, const struct gpu *, const struct operation *,
             double time_us);

/* Operations with what a source does not say filled in: one product, no window, no grouping. */
struct operation product_op(enum op_pass, enum dtype, double m, double n, double k);
struct operation attention_op(enum op_pass, enum dtype, double seq, double heads, double width);
struct operation memory_op(enum op_pass, enum memory_kind, double bytes);

/* Collectives (comm_sample.c) */

bool comm_kind_called(const char *name, enum comm_kind *out);
int whole_count(double value); /* 0 unless 1 to a million */
/* Ranks of one node over the scale-up link, or over PCIe where it does not join them. */
void comm_place_inside(struct comm_sample *, const struct gpu *, int ranks);
/* Ranks of several; nodes of four GPUs in a domain of 72 count as one domain. */
void comm_place_across(struct comm_sample *, const struct gpu *, int ranks, int nodes);
/* Adds or skips. Rows whose analytic time is below `least_s` measure more of something else. */
void comm_add(struct samples *, const struct comm_sample *, double least_s);
