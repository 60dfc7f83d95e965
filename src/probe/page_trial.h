/* Changes of plan 1 that a page shows, tried one by one. */
#ifndef ASTRA_PAGE_TRIAL_H
#define ASTRA_PAGE_TRIAL_H

#include "report/page/page.h"
#include "rules/rules.h"
#include "simulate/partition.h"

struct arena;
struct query;

struct page_trial {
    const struct query *query; /* answered: its groups have their learned times */
    const struct plan *plan;   /* plan 1 */
    struct rules rules;        /* that Megatron and the user have */
    struct arena *mem;         /* of what is found */
};
bool page_trial_init(struct page_trial *, const struct query *, const struct plan *, struct arena *,
                     struct error *);

/* A strategy on other nodes or the same: infeasible where a rule does not hold, which is then its
 * first reason. */
struct plan *page_trial_plan(const struct page_trial *, const struct scene *,
                             const struct strategy *, const struct layout *);

/* The changes of inputs (sensitivity.c), and plans with other values (alternatives.c). */
bool sensitivity_of(const struct page_trial *, struct page *, struct error *);
bool alternatives_of(const struct page_trial *, struct page *, struct error *);

#endif
