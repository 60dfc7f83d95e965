/* Why nothing was found, and the nearest change that would find something. */
#pragma once

#include "query/query.h"

/* One message: what cut the most, and what would help. `results` are those of the groups
 * searched. */
void advice_write(const struct query *, const struct search_result *results, int count,
                  struct error *);
