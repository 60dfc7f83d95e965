/* What people and programs read. Every function appends to `out`. */
#pragma once

#include "search/search.h"
#include "simulate/plan.h"
#include "simulate/score.h"

struct calibrate_report;
struct cluster;
struct rent;
struct learned;
struct mixed_result;
struct plan_answer;
struct price_ask;
struct price_list;
struct str;
struct verify_report;

struct report_style {
    int columns; /* width to fit into; 0 = as wide as needed */
    int look;    /* enum astra_look */
};

/* A run of so many tokens: what its limits did to the choice. Plans are on the front. */
enum limit { LIMIT_NONE, LIMIT_BUDGET, LIMIT_DEADLINE };
struct money {
    enum objective objective;
    double tokens, steps;          /* 0 = not known, and nothing below is */
    double samples;                /* 0 = its tokens are what is known */
    double budget_usd, deadline_s; /* 0 = no limit */
    const struct plan *chosen;
    const struct plan *cheapest, *fastest; /* within the limits */
    enum limit binds;
    const struct plan *more_budget, *more_time; /* what 10 % more of it buys; NULL = nothing */
};

/* What each type of GPU that was asked about would do. */
struct offers {
    int count;
    struct offer {
        const struct node_group *group;
        const struct rent *rent;
        const struct plan
            *plan;       /* its best within the limits, else what comes nearest; NULL: none */
        bool within;     /* it keeps the limits */
        const char *why; /* "plan 1", or why it lost */
    } * offer;           /* [count] */
    const char *other;   /* another rule for prices chooses another type; NULL: it does not */
};

/* The answer with one input changed. */
struct what_if {
    const char *change;      /* "gpus=64", as it was asked */
    const struct plan *plan; /* the best one then; NULL: there is none */
    const char *message;     /* why there is none */
};

/* A launch script with the better plan put in. */
struct improvement {
    const struct plan_answer *answer; /* of the script as it was */
    const char *why_not;              /* it is not put in; NULL = it is, or there is none */
    const char *also;                 /* flags that follow a changed variable; NULL = none */
    const char *diff;                 /* NULL = nothing is written */
    bool newest;                      /* flags are added, and nobody said for which release */
    double
        best_step_s; /* of the plan that also changes what the script says in other words; 0 = it is this one */
    double step_s, device_bytes, limit_bytes; /* of the new script, read again */
};

/* Plans side by side, the others beside the first. */
struct compare_report {
    int sides;
    const struct side *side;         /* [sides] */
    const struct differences **pair; /* [sides] of the first and this one; [0] is NULL */
};

/* A whole answer of `search`. Plans are evaluated ones. */
struct search_report {
    const struct model *model;
    const struct cluster *cluster;
    const struct rent *rent; /* by group; NULL: no prices */
    const char *query;       /* one line: model, pool, batch ..., defaults included */
    const char *defaults;    /* files of defaults that were used, and what of them; "" = none */
    int best;
    const struct plan *plan; /* [best] */
    int front;
    const struct plan *pareto;   /* [front] cheapest first */
    const struct money *money;   /* NULL: nothing but speed was asked for */
    const struct offers *offers; /* NULL: one type, or nothing but speed was asked for */
    const struct funnel *funnel;
    const struct mixed_result *mixed; /* what a mixed pool took; NULL: one type at a time */
    double
        production_s; /* a step of plan 1's layout with production numerics; 0: not known, or asked */
    double elapsed_s;
    bool open;   /* not all was looked at: the search was stopped, or gave some of it up */
    double left; /* of it, groups of strategies for want of time */
    double gap;  /* share that the best objective found is above the least of what is open, at most;
                  * INFINITY: not known */
    bool stats;  /* text: show the funnel */
    int notes;
    const char **note; /* what the user should know: rules without effect */
    int what_ifs;
    const struct what_if *what_if; /* [what_ifs] */
};

void report_search_text(const struct search_report *, const struct report_style *, struct str *out);
void report_search_json(const struct search_report *, struct str *out);
void report_search_csv(const struct search_report *, struct str *out);

void report_plan_text(const struct plan_answer *, const struct report_style *, struct str *out);
void report_plan_json(const struct plan_answer *, struct str *out);
void report_plan_csv(const struct plan_answer *, struct str *out);
void report_improve_text(const struct improvement *, const struct report_style *, struct str *out);

void report_compare_text(const struct compare_report *, const struct report_style *,
                         struct str *out);
void report_compare_json(const struct compare_report *, struct str *out);
void report_compare_csv(const struct compare_report *, struct str *out);

/* data/schema/verify.schema.json */
void report_verify_text(const struct verify_report *, const struct report_style *, struct str *out);
void report_verify_json(const struct verify_report *, struct str *out);
void report_verify_csv(const struct verify_report *, struct str *out);

/* Why the plan is fast or slow, valid or not: reasons, where the step's time goes, stage by
 * stage time and memory with a bar, what the fullest stage consists of. `stage` names one stage
 * of the pipeline of Astra itself ("ops", "memory", "cost", "schedule") to print what it hands
 * on, or is NULL. */
void report_explain_text(const struct plan_answer *, const char *stage, const struct report_style *,
                         struct str *out);

/* What calibrate says: every measured figure beside its predictions, the factors, what is refused.
 * `format`: enum astra_format, as of those below. */
void report_calibrate(const struct calibrate_report *, int format, const struct report_style *,
                      struct str *out);
struct fit_report;
void report_fit(const struct fit_report *, const struct report_style *, struct str *out);
void report_gpus(int format, const struct learned *, const struct report_style *, struct str *out);
struct defaults;
void report_defaults(const struct defaults *, int format, const struct report_style *,
                     struct str *out);
void report_models(int format, const struct report_style *, struct str *out);

/* Offers and what a search would use of them. */
struct price_report {
    const struct price_list *list;
    const struct price_ask *ask;
    bool one_market;       /* only offers of the market asked for */
    const struct gpu *gpu; /* NULL = all */
};
void report_prices(const struct price_report *, int format, const struct report_style *,
                   struct str *out);
