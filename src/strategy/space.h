/* Every strategy worth naming: a list of axes, each with its options, in the order of
 * params.def. An axis binds one parameter, or a few that only make sense together (recompute).
 * The space is their product; rules and --set cut it. */
#ifndef ASTRA_SPACE_H
#define ASTRA_SPACE_H

#include "rules/rules.h"
#include "strategy/names.h"
#include "strategy/strategy.h"

struct arena;
struct model;
struct node_group;

enum { AXIS_PARAMS = 4, SETTING_VALUES = 64 };

struct axis {
    int params;
    enum param param[AXIS_PARAMS];
    bool derives; /* derived values follow from it */
    int options;
    int *value; /* [options * params] */
};

/* What the user fixed or restricted with --set; count 0 = free. */
struct setting {
    int count;
    int value[SETTING_VALUES];
};
/* "tp=8" or "tp=2,4,8". */
bool setting_parse(struct setting settings[PARAMS], const char *text, struct error *);

struct space {
    int axes;
    struct axis axis[PARAMS];
    int first_part, first_partition, first_pass_times,
        first_state;              /* axes before: cells, parts, partitions, pass times */
    double size_from[PARAMS + 1]; /* product of the options of axes i and behind */
};

/* `base` has the fixed parameters (global_batch, seq_len, precision). `max_gpus` limits the
 * lists. */
void space_init(struct space *, const struct model *, const struct node_group *,
                const struct strategy *base, const struct setting settings[PARAMS],
                int64_t max_gpus, bool te, struct arena *);

/* Whether a parameter with an axis of its own may have this value. */
bool space_lists(const struct space *, enum param, int value);

/* Moves pp behind all other axes, for jobs whose stages are chosen last. */
void space_put_pp_last(struct space *);

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
/* The same walk on one more group of a mixed job; `other` has room for one more. */
void walk_add_group(struct walk *, double (*other)[SLOTS], const double fixed[SLOTS]);

#endif
