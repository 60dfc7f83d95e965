/* Plans of options, for tests that compare plans; behind asked.h, simulate/partition.h and cmocka.h. */
#pragma once

#include "must.h"

static inline void near(double got, double want, double tolerance)
{
    if (!(fabs(got - want) <= tolerance * fabs(want)))
        fail_msg("%.17g, expected %.17g", got, want);
}

/* An estimate with these options, name and value in turns; NULL ends. */
static inline struct plan asked_plan(struct asked *a, const char *const *given)
{
    struct estimate_query e;
    struct error err = {0};
    struct plan p;
    asked_init(a);
    for (; *given; given += 2)
        must(asked_set(a, given[0], given[1], &err), &err);
    must(asked_estimate(a, &e, &err), &err);
    plan_evaluate(&e.scene, &e.strategy, e.layout, &a->mem, &p);
    assert_true(p.computed);
    return p;
}
