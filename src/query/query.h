/* What was asked: options as they came, checked one by one, and the defaults that fill the rest. */
#ifndef ASTRA_QUERY_H
#define ASTRA_QUERY_H

#include "base/arena.h"
#include "cluster/cluster.h"
#include "import/megatron/flags.h"
#include "import/shell/script.h"
#include "query/options.h"
#include "query/query_export.h"
#include "query/query_prices.h"
#include "query/query_verify.h"
#include "rules/rules.h"
#include "search/search.h"
#include "simulate/outage.h"
#include "strategy/space.h"

struct group_costs;
struct imported;
struct learned;
struct profile;

enum { QUERY_RATES = 64, QUERY_WHAT_IFS = 16, QUERY_ENVS = 64 };

/* An option as it came. */
struct given {
    const struct option *option;
    const char *value;
    const struct given *next;
};

enum engine { ENGINE_MEGATRON, ENGINE_FLAGSCALE, ENGINE_ANY };
enum stack { STACK_OPEN = -1, STACK_TE, STACK_TORCH };

/* One --mtbf or --interruptions. */
struct outage_rate {
    const char *option, *text; /* for messages */
    const struct gpu *gpu;     /* NULL = all */
    bool failures;             /* hours between those of a GPU; otherwise interruptions an hour */
    double value;
};

struct query {
    struct arena mem; /* everything that was read */
    bool has_model, has_cluster, has_flags;
    struct model model;
    struct cluster cluster;
    struct flags_result flags;
    int64_t gpus;              /* 0 = at most the pool */
    int global_batch, seq_len; /* 0 = default */
    int precision;             /* -1 = default */
    int stack;                 /* enum stack */
    double memory_margin, imbalance;
    int top, threads; /* threads 0 = all cores */
    int mix;          /* types in one job; 0 = default */
    int engine;       /* enum engine */
    bool exhaustive, check, stats;
    const char *stage;  /* of explain; NULL = all */
    const char *trace;  /* file of a trace; NULL = none */
    const char *plot;   /* file of the front's picture; NULL = none */
    const char *report; /* file of a page; NULL = none */
    const char *output; /* file of the answer, which the caller writes; NULL = none */
    struct setting settings[PARAMS];
    struct texts price;
    struct run_terms run;          /* what a step is part of */
    const char *budget;            /* as it came; NULL = none */
    double budget_usd, deadline_s; /* of the run; 0 = no limit */
    int objective;                 /* which word of --objective; -1 = default */
    int rates;                     /* of outages */
    struct outage_rate rate[2 * QUERY_RATES];
    bool prices_of_plan;         /* prices came with a plan: options win over them */
    struct query_prices pricing; /* tables of prices and what counts of them */
    struct export_ask export;    /* a script to write */
    struct verify_ask verify;    /* ranks to run */
    struct rules rules;          /* the user's */
    struct texts measured;       /* of fit */
    const char *into;
    struct texts from;             /* inputs of calibrate */
    struct texts held_out;         /* inputs that are compared with, not fitted */
    const struct profile *profile; /* residual factors; NULL = none */
    const char *efficiency;        /* folder of learned models; NULL = those compiled in */
    struct learned *learned;       /* owned; NULL until needed */
    struct group_costs *costs[CLUSTER_MAX_GROUPS]; /* owned */
    struct given *given, *last_given;              /* in the order they came; NULL: none */
    int times[OPTION_COUNT];                       /* that each was given */
    int envs;
    struct script_env env[QUERY_ENVS];
    const struct imported *imported; /* the file that was read; NULL = none (query_file.c) */
    int what_ifs;
    const char *what_if[QUERY_WHAT_IFS];
    struct query *changed[QUERY_WHAT_IFS]; /* owned: this one with what_if[i] (what_if.c) */
};

void query_init(struct query *);
void query_release(struct query *);
bool query_set(struct query *, const char *option, const char *value, struct error *);
bool query_flags(struct query *, size_t count, const char *const *words, struct error *);

/* The model is there, prices are applied, and no option contradicts another. */
bool query_ready(struct query *, struct error *);

/* The search on group `g` of the pool. `rules` is filled with all that apply and must outlive
 * it. */
bool query_search(struct query *, int g, struct rules *rules, struct search_query *out,
                  struct error *);

/* Whether jobs on several types are searched as well. */
bool query_mixes(const struct query *);
/* The search over several types at once. False without a message: the query is not of that
 * kind. */
struct mixed_query;
bool query_mixed(struct query *, struct rules *rules, struct mixed_query *out, struct error *);

/* The one strategy that was asked about, as Megatron would read it. Reasons why it is refused
 * before any rule is judged go to `reasons`. */
struct estimate_query {
    struct scene scene;
    struct strategy strategy;
    const struct layout *layout; /* NULL unless split is SPLIT_LAYOUT */
    struct rules rules;
    struct flags_texts reasons;
    int nodes;    /* of the first group */
    int64_t gpus; /* of the job */
    bool placed;  /* every stage is on one group; otherwise nothing can be computed */
};
bool query_estimate(struct query *, struct estimate_query *out, struct error *);

/* Groups of nodes that the job is on, in rank order: 1 unless it is mixed. The rules hold on each
 * of them, with the values that estimate_slots() fills. */
int estimate_groups(const struct estimate_query *);
const struct node_group *estimate_group(const struct estimate_query *, int g);
void estimate_slots(const struct estimate_query *, int g, double values[SLOTS]);
/* The part of them that another strategy changes, as the mesh on this group runs it. */
void estimate_set_strategy(const struct estimate_query *, int g, const struct strategy *,
                           double values[SLOTS]);

/* Nothing is missing for a fit, and nothing contradicts. */
bool query_fit(const struct query *, struct error *);

/* Learned times (query_costs.c): the models of --efficiency or those compiled in, for group `g`;
 * once an answer is there, that none of them failed on the way. query_ready() drops those of the
 * query before. */
bool query_models(struct query *, struct error *);
bool query_costs(struct query *, int g, struct error *);
bool query_costs_hold(const struct query *, struct error *);
void query_drop_costs(struct query *);

/* Residual factors (query_profile.c): those of the profile for every group of the pool, once the
 * stack is known; it is wrong when none has any. The groups without are noted: at most as many
 * notes as groups. */
bool query_residuals(struct query *, struct error *);
/* Those for a type of GPU that need not be in the pool; NULL = none. */
const struct residual *query_residual(const struct query *, const struct gpu *, bool te);
/* False, and says that the profile has none of them. */
bool query_no_residual(const struct query *, const struct gpu *, bool te, struct error *);
int query_profile_notes(const struct query *, const char **note, struct arena *);
/* The notes behind those of a source. */
struct plan_source;
const struct plan_source *query_source(const struct query *, const struct plan_source *,
                                       struct arena *);
/* The factors that a plan was made with, unless --profile is given; `list` may be NULL. */
struct json;
bool query_take_residual(struct query *, const struct json *list, struct error *);

/* What plans are compared by (query_money.c). */
enum objective query_objective(const struct query *);
bool query_limits(const struct query *, struct limits *, struct error *);
/* Whether the whole front of speed and money is asked for, jobs on several types included: the pool
 * leaves open how many nodes there are, or money decides. */
bool query_asks_front(const struct query *);

/* No option of an export is without effect (query_export.c). */
bool query_export(const struct query *, struct error *);

int query_global_batch(const struct query *); /* asked for, or the default of a search */

/* One line for people, with the defaults that were used. */
const char *query_line(struct query *, const struct strategy *base, struct arena *);

#endif
