/* A whole answer as one page of HTML that needs nothing else: no network, no other file. */
#pragma once

#include "base/error.h"

struct alternative;
struct compare_report;
struct plan;
struct plan_answer;
struct search_report;
struct sensitivity;
struct str;

/* More are not listed: the page says how many are not. */
enum { PAGE_MOST_PLANS = 5000 };

struct page {
    const struct search_report *report; /* of one plan that was estimated: without a funnel */
    const struct plan_answer *answer;   /* about that plan; NULL of a search */
    int changes, others;
    const struct sensitivity *change; /* [changes] */
    const struct alternative *other;  /* [others] in the order of parameters and values */
};

/* The same bytes for the same answer: neither times nor dates are in it. */
void page_print(const struct page *, struct str *out);
/* To a file, whole or not at all; plans side by side likewise. */
bool page_write(const struct page *, const char *path, struct error *);
bool page_write_compare(const struct compare_report *, const char *path, struct error *);
