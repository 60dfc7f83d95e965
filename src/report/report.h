/* What people and programs read. Every function appends to `out`. */
#ifndef ASTRA_REPORT_H
#define ASTRA_REPORT_H

#include "search/search.h"
#include "simulate/plan.h"
#include "simulate/worth.h"

struct cluster;
struct learned;
struct mixed_result;
struct str;

struct report_style {
    int columns; /* width to fit into; 0 = as wide as needed */
    bool colour;
};

/* A run of so many tokens: what its limits did to the choice. Plans are on the front. */
enum limit { LIMIT_NONE, LIMIT_BUDGET, LIMIT_DEADLINE };
struct money {
    enum objective objective;
    double tokens, steps;          /* 0 = not known, and nothing below is */
    double budget_usd, deadline_s; /* 0 = no limit */
    const struct plan *chosen;
    const struct plan *cheapest, *fastest; /* within the limits */
    enum limit binds;
    const struct plan *more_budget, *more_time; /* what 10 % more of it buys; NULL = nothing */
};

/* A whole answer of `search`. Plans are evaluated ones. */
struct search_report {
    const struct model *model;
    const struct cluster *cluster;
    const char *question; /* one line: model, pool, batch ..., defaults included */
    int best;
    const struct plan *plan; /* [best] */
    int front;
    const struct plan *pareto; /* [front] cheapest first */
    bool part_front;           /* of mixed plans only those that are listed were looked at */
    const struct money *money; /* NULL: nothing but speed was asked for */
    const struct funnel *funnel;
    const struct mixed_result *mixed; /* what a mixed pool took; NULL: one type at a time */
    double elapsed_s;
    bool stats; /* text: show the funnel */
    int notes;
    const char **note; /* what the user should know: rules without effect */
};

void report_search_text(const struct search_report *, const struct report_style *, struct str *out);
void report_search_json(const struct search_report *, struct str *out);
void report_search_csv(const struct search_report *, struct str *out);

void report_plan_text(const struct plan *, const struct report_style *, struct str *out);
void report_plan_json(const struct plan *, struct str *out);
void report_plan_csv(const struct plan *, struct str *out);

/* Why the plan is fast or slow, valid or not: reasons, where the step's time goes, stage by
 * stage time and memory with a bar, what the fullest stage consists of. `stage` names one stage
 * of the pipeline of Astra itself ("ops", "memory", "cost", "schedule") to print what it hands
 * on, or is NULL. */
void report_explain_text(const struct plan *, const char *stage, const struct report_style *,
                         struct str *out);

void report_gpus(int format, const struct learned *, struct str *out); /* enum astra_format */
void report_models(int format, struct str *out);

#endif
