/* Parts of JSON answers that several of them have. */
#pragma once

struct compare_report;
struct json;
struct plan;
struct run_terms;
struct search_report;
struct str;

struct json *json_of_plan(const struct plan *);
struct json *json_of_compare(const struct compare_report *);
/* What a function of plan_words.h says. */
struct json *json_of_words(const struct plan *, void (*add)(const struct plan *, struct str *));

/* "money" of a plan, and of a search. */
struct json *json_of_money(const struct plan *);
struct json *json_of_terms(const struct run_terms *);
struct json *json_of_run(const struct search_report *);
/* What a GPU-hour of each group costs, and where that is from. */
struct json *json_of_prices(const struct search_report *);

struct json *json_of_what_ifs(const struct search_report *);
