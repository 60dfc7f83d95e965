/* What stands behind `struct astra`: what was given, the latest query that was made of it, and its
 * answer in the form that its kind has. */
#ifndef ASTRA_SESSION_H
#define ASTRA_SESSION_H

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "calibrate/calibrate.h"
#include "probe/answer.h"
#include "query/query.h"
#include "report/report.h"
#include "simulate/plan.h"
#include "verify/verify.h"

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
    ANSWER_CALIBRATE
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
    struct search_report report;
    struct price_list prices;
    struct price_ask price_ask;
    const struct learned *learned; /* of a list of GPUs */
    struct verify_report verify;
    struct calibrate_report calibration;
    struct str text;
    struct str fit; /* report of a fit */
    struct str script;
    const char *staged; /* a file of the script, written beside its place; NULL = none */
    void (*progress)(void *context, double done);
    void *progress_context;
};

#endif
