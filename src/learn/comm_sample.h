/* What readers of collectives share: names of kinds, where ranks sit, which rows count. */
#ifndef ASTRA_COMM_SAMPLE_H
#define ASTRA_COMM_SAMPLE_H

#include "learn/sample.h"

bool comm_kind_called(const char *name, enum comm_kind *out);
int whole_count(double value); /* 0 unless 1 to a million */

/* Ranks of one node over the scale-up link, or over PCIe where it does not join them. */
void comm_place_inside(struct comm_sample *, const struct gpu *, int ranks);
/* Ranks of several; nodes of four GPUs in a domain of 72 count as one domain. */
void comm_place_across(struct comm_sample *, const struct gpu *, int ranks, int nodes);

/* Adds or skips. Rows whose analytic time is below `least_s` measure more of something else. */
void comm_add(struct samples *, const struct comm_sample *, double least_s);

#endif
