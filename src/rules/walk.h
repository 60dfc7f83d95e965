/* The space walked axis by axis, with the rules that each step makes decidable. */
#pragma once

#include "rules/rules.h"
#include "strategy/space.h"

/* Rules by the axis at which they can be judged: the last of those they look at that has a
 * choice. Axes of pass times and state are walked apart, so that rules on both are judged on pairs. */
struct rule_plan {
    int first[PARAMS + 1]; /* into `order`: rules of axis i are [first[i], first[i + 1]) */
    int pairs;             /* from first[axes] on */
    const struct rule **order;
};
void rule_plan_init(struct rule_plan *, const struct space *, const struct rules *, struct arena *);

/* One walk through the space. */
struct walk {
    const struct space *space;
    const struct rule_plan *plan;
    struct strategy strategy;
    double values[SLOTS];
    int option[PARAMS]; /* by axis */
    int others;         /* of a mixed job, the values on its other groups: all must allow it */
    double (*other)[SLOTS];
};
/* `fixed` has the values of what is no parameter. Axes without a choice are set at once. */
void walk_init(struct walk *, const struct space *, const struct rule_plan *,
               const double fixed[SLOTS]);
/* Sets the parameters of an axis to one of its options. */
void walk_set(struct walk *, int axis, int option);
/* The same, and judges the rules that became decidable: NULL when it passes, else the rule that
 * drops it. */
const struct rule *walk_bind(struct walk *, int axis, int option);
/* Whether a rule allows what is bound, on every group. */
bool walk_allows(const struct walk *, const struct rule *);
/* Whether it holds, on some group. */
bool walk_holds(const struct walk *, const struct rule *);
/* The same walk on one more group of a mixed job; `other` has room for one more. */
void walk_add_group(struct walk *, double (*other)[SLOTS], const double fixed[SLOTS]);
