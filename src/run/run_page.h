/* The page of an answer. */
#ifndef ASTRA_PAGE_ANSWER_H
#define ASTRA_PAGE_ANSWER_H

#include "base/error.h"

struct arena;
struct plan_answer;
struct query;
struct search_report;

/* Of a search, with what is computed for a page alone. */
bool page_of_search(const struct query *, const struct search_report *, struct arena *,
                    struct error *);
/* Of one plan, which need not be feasible. */
bool page_of_plan(const struct query *, const struct plan_answer *, struct arena *, struct error *);

#endif
