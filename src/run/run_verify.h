/* From a plan to ranks that ran and what they say of it. */
#ifndef ASTRA_VERIFY_ANSWER_H
#define ASTRA_VERIFY_ANSWER_H

#include "verify/verify.h"

struct options;
struct resources;

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
bool verify_answer(const struct verifying *);

#endif
