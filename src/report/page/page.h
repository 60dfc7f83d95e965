/* A whole answer as one page of HTML that needs nothing else: no network, no other file. */
#ifndef ASTRA_PAGE_H
#define ASTRA_PAGE_H

#include "base/error.h"
#include "strategy/strategy.h"

struct plan;
struct plan_answer;
struct search_report;
struct str;

/* More are not listed: the page says how many are not. */
enum { PAGE_MOST_PLANS = 5000 };

/* Plan 1 as it stands, with one input changed. */
struct page_change {
    const char *input, *change; /* "network", "half as fast" */
    const struct plan *plan;    /* not feasible: its first reason says why */
};

/* Plan 1's GPUs with one parameter at a given value. */
struct page_other {
    enum param param;
    const char *value; /* "8", "full" */
    bool chosen;       /* plan 1 has it */
    bool best;         /* `plan` is the best that has it; false: plan 1, otherwise unchanged */
    const struct plan *plan; /* NULL, or not feasible: `reason` says why */
    const char *reason;      /* NULL where it is feasible */
};

struct page {
    const struct search_report *report; /* of one plan that was estimated: without a funnel */
    const struct plan_answer *answer;   /* about that plan; NULL of a search */
    int changes, others;
    const struct page_change *change; /* [changes] */
    const struct page_other *other;   /* [others] in the order of parameters and values */
};

/* The same bytes for the same answer: neither times nor dates are in it. */
void page_print(const struct page *, struct str *out);
/* To a file, whole or not at all. */
bool page_write(const struct page *, const char *path, struct error *);

#endif
