/* Lower bounds of what is left of the space once some parameters are bound. Ticks; INT64_MAX when
 * nothing fits. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct arena;
struct cell;
struct costs_table;
struct least;
struct least_table;
struct space;
struct worker;

/* Binds tp, cp, pp and dp of a cell in the worker's walk. */
void enter_cell(struct worker *, struct cell *);

void least_table_init(struct least_table *, const struct space *, const struct costs_table *,
                      struct arena *);
/* The entries of one option of tp and one of cp. */
void least_table_fill(struct least_table *, struct worker *, int tp, int cp);

/* Fills cell->bound; the table must be there. */
void cell_bound(struct worker *, struct cell *);
/* With ep, etp and micro-batch bound as well. Fills worker->least. */
int64_t part_bound(struct worker *);
/* What the two bounds below need to know of memory. */
void part_memory(struct worker *);
/* The first rank must fit, whatever vpp and split are. */
int64_t any_split_bound(const struct worker *);
/* The states alone do not fit on the stages, however layers are split over them, nor come they
 * nearest to it. */
bool states_too_large(const struct worker *);
/* With vpp and split bound. */
int64_t split_bound(const struct worker *);
/* With all before pass times bound, of these costs. */
int64_t costs_bound(const struct worker *, const struct least *);
