/* From a query to the whole answer of a search. */
#ifndef ASTRA_SEARCH_ANSWER_H
#define ASTRA_SEARCH_ANSWER_H

#include "base/error.h"

struct arena;
struct query;
struct search_report;

struct answering {
    const struct query *query;
    struct arena *mem; /* of the answer */
    struct search_report *report;
    struct error *err;
    void (*progress)(void *context, double done); /* may be NULL */
    void *progress_context;
    double done_before, share; /* of all that is asked, 0..1 */
    double start_s;            /* by search_clock_s(): when it was asked; 0 = now */
};

bool search_answer(struct answering *);
double search_clock_s(void);

#endif
