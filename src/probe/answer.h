/* What is said of one plan that somebody asked about: the prediction, and what probes found beside
 * it. Everything a report prints of it is computed before. */
#ifndef ASTRA_ANSWER_H
#define ASTRA_ANSWER_H

#include "probe/hints.h"

struct better_plan;
struct comparison;
struct drawn_step;
struct fix;
struct plan;
struct plan_source;
struct speedups;

struct plan_answer {
    const struct plan *plan;
    const struct plan_source *source;    /* NULL unless read from a file, or flags with notes */
    const struct fix *fix;               /* NULL unless memory is the only fault */
    const struct speedups *speedups;     /* explain: NULL unless it fits, or its fix does */
    const struct better_plan *better;    /* estimate of flags or a file; else NULL */
    const struct comparison *comparison; /* explain: NULL unless mixed and computed */
    const struct drawn_step *step;       /* explain, and where it is drawn: NULL unless computed */
    int hints;                           /* 0 where there are speedups */
    const char *hint[HINTS_MAX];
};

#endif
