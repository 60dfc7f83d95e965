/* The readers of the two formats, and what they share. */
#pragma once

#include "price/prices.h"

/* `name` stands in messages; the rows belong to the table being read. */
struct csv;
bool prices_read_own(struct price_list *, const struct csv *, const char *name,
                     const struct price_reading *, struct error *);
bool prices_read_catalog(struct price_list *, const struct csv *, const char *name,
                         const char *cloud, const struct price_reading *, struct error *);
bool prices_is_catalog(const struct csv *);

/* The columns of a catalog that carry figures, which overrides may correct. */
enum figure { FIGURE_COUNT, FIGURE_PRICE, FIGURE_SPOT, FIGURES_COUNT };
const char *figure_name(enum figure);

/* The figure as corrected, "" when it was dropped; `text` where no override speaks of it. */
const char *overrides_apply(const struct price_overrides *, const char *cloud, const char *instance,
                            enum figure, const char *text);
