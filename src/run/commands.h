/* The commands: what stands behind `struct astra`, and a function for each of them. */
#pragma once

#include <stdatomic.h>

#include "base/str.h"
#include "calibrate/calibrate.h"
#include "learn/fit.h"
#include "probe/answer.h"
#include "probe/differences.h"
#include "query/query.h"
#include "report/report.h"
#include "verify/verify.h"

/* What was given, the latest query that was made of it, and its answer in the form that its kind
 * has. */
enum answer_kind {
    ANSWER_NONE,
    ANSWER_SEARCH,
    ANSWER_PLAN,
    ANSWER_EXPLAIN,
    ANSWER_GPUS,
    ANSWER_FIT,
    ANSWER_MODELS,
    ANSWER_PRICES,
    ANSWER_SCRIPT,
    ANSWER_VERIFY,
    ANSWER_CALIBRATE,
    ANSWER_IMPROVE,
    ANSWER_COMPARE,
    ANSWER_DEFAULTS
};

struct astra {
    struct arena given_mem;
    struct options options;
    struct resources resources;
    struct query query;
    struct error error;
    enum answer_kind kind;
    struct arena mem;          /* of the answer */
    struct plan plan;          /* of an estimate */
    struct plan_answer answer; /* about it */
    struct estimate_query asked;
    size_t flags; /* words behind those of a file */
    const char *const *flag;
    struct improvement improvement;
    struct compare_report comparing;
    struct search_report report;
    struct price_list prices;
    struct price_ask price_ask;
    const struct learned *learned; /* of a list of GPUs */
    struct verify_report verify;
    struct calibrate_report calibration;
    struct str text;
    struct fit_report fit;
    struct str script;
    const char *staged; /* a file of the script, written beside its place; NULL = none */
    void (*progress)(void *context, double done);
    void *progress_context;
    atomic_bool cancel; /* the search that runs, or the next one, is to end */
    bool (*cancelled)(void *context);
    void *cancelled_context;
};

/* run_search.c: from a query to the whole answer of a search. */
struct answering {
    const struct query *query;
    struct arena *mem; /* of the answer */
    struct search_report *report;
    struct error *err;
    void (*progress)(void *context, double done); /* may be NULL */
    void *progress_context;
    double done_before, share; /* of all that is asked, 0..1 */
    double start_s;            /* by search_clock_s(): when it was asked; 0 = now */
    const atomic_bool *cancel; /* as in struct stop */
    bool (*cancelled)(void *context);
    void *cancelled_context;
};

bool run_search(struct answering *);
/* A front, cheapest first, as it is shown; `count` becomes what is left. Twice the GPUs in half the
 * time cost the same but for rounding: of plans of one price only the fastest is there, of equally
 * fast ones the cheapest. Where no price is known GPUs stand for it, and none is alike. */
struct plan *front_without_ties(struct plan *front, int *count);
double search_clock_s(void);

/* run_what_if.c: what would the answer be with one input changed?
 *
 * The changed query of each --what-if, so that what is wrong with them is known before anything is
 * searched; NULL with a message. They live in the arena, and with them what plans look at. */
const struct query **what_if_queries(const struct query *, struct arena *, struct error *);

/* Answers them, once the query itself is answered, into the same report. No plan is an answer
 * too. */
bool run_what_ifs(struct answering *, const struct query *const *changed);

/* run_money.c: what limits on hours and dollars make of the front: which binds, and what a little
 * more buys.
 *
 * NULL when neither the run's tokens nor the cheapest plan were asked for. `front` is the whole
 * one, cheapest first, `best` the plan that was chosen. */
const struct money *money_answer(const struct query *, const struct plan *best,
                                 const struct plan *front, int count, struct arena *);

/* run_offers.c: the best plan of every type of the pool, and why it lost to `best`. `binds`: a limit
 * keeps better plans away. NULL where there is one type. Runs a search on each. */
const struct offers *offers_of(const struct query *, const struct plan *best, bool binds,
                               struct arena *);

/* No plan keeps the limits: says by how much. Always false. */
bool money_refuse(const struct query *, const struct plan *front, int count, struct error *);

/* run_estimate.c: the plan that flags or options describe.
 *
 * Fills the plan of the session and what is said of it. False with a message; an infeasible plan
 * is an answer all the same. */
bool run_estimate(struct astra *, bool explain);

/* run_improve.c: the script that was read, with the better plan put in.
 *
 * Fills the script and what is said of it. False with a message where there is no better plan or it
 * cannot be put in; the answer then has the flags. */
bool run_improve(struct astra *);

/* run_compare.c: the plans of the options, side by side.
 *
 * False with a message: one of them is no plan. */
bool run_compare(struct astra *);

/* The plan alone, held to the rules; and the rules alone. */
void run_evaluate(const struct query *, const struct estimate_query *, struct arena *,
                  struct plan *out);
void run_judge_rules(const struct estimate_query *, struct arena *, struct plan *);

/* run_export.c: from a plan to the script that starts it.
 *
 * As the options of an export ask; `answer` is the file of the script, NULL = none. `staged` is
 * written beside its place, for files_replace() or files_forget(): a hostfile that is asked for, or
 * the module of stack torch, which belongs into the script's folder; NULL = neither. */
bool run_export(const struct export_options *, const struct plan *, const char *answer,
                struct arena *, struct str *out, const char **staged, struct error *);

/* run_page.c: the page of an answer.
 *
 * Of a search, with what is computed for a page alone. */
bool page_of_search(const struct answering *, struct error *);
#define PAGE_FROM 0.4 /* of the time that search and page take: the search's part, at a guess */
/* Of one plan, which need not be feasible. */
bool page_of_plan(const struct query *, const struct plan_answer *, struct arena *, struct error *);

/* run_verify.c: from a plan to ranks that ran and what they say of it. */
struct verifying {
    const struct options *options;
    struct resources *resources;
    struct arena *mem;                            /* of the answer */
    struct verify_report *report;                 /* filled */
    void (*progress)(void *context, double done); /* NULL = none */
    void *progress_context;
    struct error *err;
};

/* False with a message: there is nothing to print. An answer that does not confirm the plan is one:
 * report->verdict says why. */
bool run_verify(const struct verifying *);

/* outputs.c: files that a command writes beside its answer, judged before anything is computed.
 *
 * Two outputs of one name are an error of the query; a folder of a page or a picture that is not
 * there, or may not be written, is the system's. */
bool outputs_check(const struct output_options *, struct error *);
