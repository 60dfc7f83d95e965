/* What is said of one plan that somebody asked about: the prediction, and what probes found beside
 * it. Everything a report prints of it is computed before, and lives in the arena of the answer; it
 * is the same for any number of threads. */
#pragma once

#include "simulate/plan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct drawn_step;
struct estimate_query;
struct flag_edit;
struct plan_source;
struct query;

/* Another plan for the same job, and what makes it of the one that was asked about. */
struct change {
    const struct plan *plan;
    size_t sets, flags;       /* words */
    const char **set;         /* "tp=8": what differs, as --set takes it */
    const char **flag;        /* launch flags of the plan, as plan.engine has them */
    const char *add, *remove; /* flags that differ, for a shell; "" = none */
    int cautions;
    const struct rule **caution; /* that hold for the plan, and did not for the one asked about */
};

/* What makes `then` of the plan that was asked about. Lives in the arena. */
void change_fill(struct change *, const struct query *, const struct plan *asked,
                 const struct plan *then, struct arena *);

/* Of a list of flags: words of the one at `i`, its name and what belongs to it; one more word. */
struct str;
size_t flag_words(const char *const *words, size_t count, size_t i);
void add_flag_word(struct str *out, const char *word);

/* What would make a plan fit whose only fault is a stage that is too full. */
struct fix {
    bool fits;            /* false: nothing on these GPUs does */
    bool numerics;        /* the change rounds numbers of the training differently */
    bool searched;        /* no one or two changes suffice: another plan */
    struct change change; /* to the one that needs least where nothing fits */
    int64_t gpus;         /* where nothing fits: GPUs of this type that would do, 0 = unknown */
};

/* NULL unless a stage is too full and that is the plan's only fault. The number of GPUs, the global
 * batch and the sequence stay. Everything lives in the arena. */
const struct fix *fix_of(const struct query *, const struct estimate_query *, const struct plan *,
                         struct arena *);

/* What would make it faster: the best change of each of the kinds that gain most. */
enum { SPEEDUPS_MAX = 3 };
struct speedups {
    const struct plan *from; /* the plan, or what its fix makes of it */
    int count;
    struct speedup {
        struct change change;
        enum breakdown_part part; /* that shrinks most, in seconds */
    } speedup[SPEEDUPS_MAX];      /* fastest first */
    bool found;                   /* the search finds something, perhaps slower than `from`; it is
                                   * not asked about a mixed job */
    struct change searched;       /* to its best plan on the same GPUs */
};

/* NULL unless the plan is feasible, or its fix is: then the speedups are those of the plan with the
 * fix. GPUs, batch, sequence and numerics stay. Runs a search, but for a mixed job. Everything
 * lives in the arena; the same for any number of threads. */
const struct speedups *speedups_of(const struct query *, const struct estimate_query *,
                                   const struct plan *, const struct fix *, struct arena *);

/* What Astra would run on the same GPUs. */
struct better_plan {
    bool found;           /* the search finds something */
    bool better;          /* and it is worth the change */
    const char *why_not;  /* it is not looked for; NULL = it is */
    struct change change; /* to it: the user's own flags with `add`, without `remove` */
    const char *env;      /* "NAME=VALUE" that it needs besides, "" = none */
    const char *unset;    /* variable that must have no such value, "" = none */
    size_t edits;
    struct flag_edit *edit; /* the same of each of the user's flags; valid where `better` is */
};

/* GPUs, batch, sequence and numerics stay. Runs a search, but for a job on several groups of nodes:
 * `why_not` says so. Never NULL. */
const struct better_plan *better_of(const struct query *, const struct estimate_query *,
                                    const struct plan *, struct arena *);
/* The same among plans that keep what the file says by words of another dialect, or by its defaults: these can be read,
 * and not be written. */
const struct better_plan *better_held(const struct query *, const struct estimate_query *,
                                      const struct plan *, struct arena *);

/* better_flags.c: fills `add` and `remove` of the change. The user's flags without the one and with
 * the other behind them are the plan of the change. False when no such list of flags is found. */
bool better_flags(const struct query *, const struct estimate_query *, const struct plan *asked,
                  struct better_plan *, struct arena *);

/* Fills what the plan demands of the environment and the one that was asked about did not. */
void better_environment(const struct plan *asked, struct better_plan *, struct arena *);

/* What a mixed plan is worth, beside other uses of the same GPUs. */
enum { COMPARISON_SPLITS = 2 };
struct comparison {
    struct more_layer {
        int from;          /* stage that gives a layer away; -1 when none can */
        double seconds;    /* more of a micro-batch, forward and backward, compute only */
        struct plan *plan; /* with the layer moved; NULL when none can be */
    } * more;              /* [stages] the cheapest way to one more layer on each */
    struct comparison_split {
        const char *name, *words;
        const struct plan *plan; /* NULL when there are fewer layers than stages */
    } split[COMPARISON_SPLITS];  /* layers as many on each stage, and by the speed of its GPUs */
    int groups;
    struct comparison_alone {
        const struct node_group *group;
        const struct plan *plan; /* the best on this group alone; NULL when there is none */
    } * alone;                   /* [groups] */
};

/* NULL unless the job is mixed and the plan computed. Batch, sequence and numerics stay. Runs a
 * search on every group. Everything lives in the arena; the same for any number of threads. */
const struct comparison *comparison_of(const struct query *, const struct estimate_query *,
                                       const struct plan *, struct arena *);

/* What would make a plan faster or make it fit, guessed from its figures alone (hints.c). */
enum { HINTS_MAX = 16 };

/* One sentence each; returns how many. None of a plan that is not computed. */
int hints_of(const struct plan *, const char *hint[HINTS_MAX]);

struct plan_answer {
    const struct plan *plan;
    bool assumed[PARAM_FIRST_CELL];      /* of batch, sequence and precision: nobody said it */
    const char *defaults;                /* files of defaults that were used; "" = none */
    const struct plan_source *source;    /* NULL unless read from a file, or flags with notes */
    const struct fix *fix;               /* NULL unless memory is the only fault */
    const struct speedups *speedups;     /* explain: NULL unless it fits, or its fix does */
    const struct better_plan *better;    /* estimate of flags or a file; else NULL */
    const struct comparison *comparison; /* explain: NULL unless mixed and computed */
    const struct drawn_step *step;       /* explain, and where it is drawn: NULL unless computed */
    int hints;                           /* 0 where there are speedups */
    const char *hint[HINTS_MAX];
};
