/* A cell while it is searched: shared by the files that search it.
 *
 *   worker.c   what a thread has found, cuts, counters
 *   cell.c     parts, partitions, pass times
 *   pairs.c    pass times with each state: the strategy is complete */
#pragma once

#include "search/one_type/cell.h"

/* Whether the search is to end: then what is left of the cell stays open. */
bool cell_stopped(struct worker *);

void count_fixed(struct worker *, int reason, double count);
/* Of all options of a list what rules dropped, and what is never faster. */
void count_list(struct worker *, const struct option_list *, double beside);

/* Cautions that hold, of those that can be told once these axes are bound. */
int cautioned_at(const struct worker *, int first, int end);
/* Steps longer than this are of no use to the list nor to the front. To be forgotten when what tells
 * rows apart is bound. */
int64_t cut_of(struct worker *);
void forget_cut(struct worker *);
/* Whether a strategy with such a step, or one that is not shorter, has no use. */
bool is_useless(const struct worker *, struct found *, int64_t step);
/* False when there are better ones. */
bool keep_found(struct worker *, const struct found *);
void note_fullness(struct worker *, const struct strategy *, double fullness);

/* The values that rules and cautions look at. */
void worker_set_values(struct worker *, const struct strategy *, int first, int end);
/* The states of the partition, for so many pass times. */
void list_states(struct worker *, double pass_times);
/* Of all of them, and the least that is beside the pipeline. */
void time_states(struct worker *);
void judge_pairs(struct worker *, struct strategy *, struct pass_times *);
/* Nothing fits: the state that comes nearest. */
void note_nearest(struct worker *, struct strategy, const struct pass_times *);
/* Which reason of dropping it is that the fullest memory is above 1. */
int memory_shortage(const struct worker *, double fullness, const struct pass_times *,
                    const struct state *);
