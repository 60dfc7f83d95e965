/* Parts of JSON answers that several of them have. */
#pragma once

#include "strategy/strategy.h"

struct compare_report;
struct json;
struct model;
struct plan;
struct rule;
struct run_terms;
struct search_report;
struct str;

struct json *json_of_bytes(double bytes);
struct json *json_of_param(enum param, int value);
struct json *json_of_strategy(const struct strategy *);
struct json *json_of_model(const struct model *);
struct json *json_of_cautions(const struct rule *const *caution, int count);
struct json *json_of_plan(const struct plan *);
struct json *json_of_compare(const struct compare_report *);
/* "defaults": what a file of defaults gave, if any. */
void json_set_defaults(struct json *, const char *defaults);
/* What a function of plan_words.h says. */
struct json *json_of_words(const struct plan *, void (*add)(const struct plan *, struct str *));

/* "money" of a plan, and of a search. */
struct json *json_of_money(const struct plan *);
struct json *json_of_terms(const struct run_terms *);
struct json *json_of_run(const struct search_report *);
/* What a GPU-hour of each group costs, and where that is from. */
struct json *json_of_prices(const struct search_report *);

struct json *json_of_what_ifs(const struct search_report *);
