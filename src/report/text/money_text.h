/* Hours and dollars of a run, for people and programs. */
#ifndef ASTRA_MONEY_TEXT_H
#define ASTRA_MONEY_TEXT_H

struct arena;
struct json;
struct plan;
struct report_style;
struct run_terms;
struct search_report;
struct str;
struct table;

/* "12.1 d", "never ends", "" where the run's tokens are not known. */
void add_run_time(const struct plan *, struct str *out);
/* "$1,168,123", "" where it is not known. */
void add_run_cost(const struct plan *, struct str *out);

/* The section on a run and its limits: what binds, what a little more buys, prices, outages. */
void print_run(const struct search_report *, const struct report_style *, struct arena *,
               struct str *out);
/* Rows on the run of one plan. */
void add_run_rows(struct table *, const struct plan *);

/* "money" of a plan, and of a search. */
struct json *json_of_money(const struct plan *);
struct json *json_of_terms(const struct run_terms *);
struct json *json_of_run(const struct search_report *);

#endif
