/* What was asked: options as they came, checked one by one, and the defaults that fill the rest. */
#ifndef ASTRA_QUESTION_H
#define ASTRA_QUESTION_H

#include "base/arena.h"
#include "cluster/cluster.h"
#include "import/megatron/flags.h"
#include "import/shell/script.h"
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

enum {
    QUESTION_PRICES = 64,
    QUESTION_SETS = 64,
    QUESTION_TABLES = 64,
    QUESTION_FROMS = 64,
    QUESTION_RATES = 64,
    QUESTION_WHAT_IFS = 16,
    QUESTION_ENVS = 64
};

/* An option as it came. */
struct given {
    const char *option, *value;
    const struct given *next;
};

/* Seconds that a checkpoint and a restart take where nothing is said: doc/outages.md says why. */
#define USUAL_WRITE_S 60.0
#define USUAL_RESTART_S 600.0

enum engine { ENGINE_MEGATRON, ENGINE_FLAGSCALE, ENGINE_ANY };

/* One --mtbf or --interruptions. */
struct outage_rate {
    const char *option, *text; /* for messages */
    const struct gpu *gpu;     /* NULL = all */
    bool failures;             /* hours between those of a GPU; otherwise interruptions an hour */
    double value;
};

struct question {
    struct arena mem; /* everything that was read */
    bool has_model, has_cluster, has_flags;
    struct model model;
    struct cluster cluster;
    struct flags_result flags;
    int64_t gpus;              /* 0 = at most the pool */
    int global_batch, seq_len; /* 0 = default */
    int precision;             /* -1 = default */
    int te;                    /* -1 = default */
    double memory_margin, imbalance;
    int top, threads; /* threads 0 = all cores */
    int mix;          /* types in one job; 0 = default */
    enum engine engine;
    bool exhaustive, check, stats;
    const char *stage;  /* of explain; NULL = all */
    const char *trace;  /* file of a trace; NULL = none */
    const char *plot;   /* file of the front's picture; NULL = none */
    const char *report; /* file of a page; NULL = none */
    const char *output; /* file of the answer, which the caller writes; NULL = none */
    struct setting settings[PARAMS];
    int sets;
    const char *set[QUESTION_SETS];
    int prices;
    const char *price[QUESTION_PRICES];
    struct run_terms run;          /* what a step is part of */
    const char *budget;            /* as it came; NULL = none */
    double budget_usd, deadline_s; /* of the run; 0 = no limit */
    int objective;                 /* enum objective; -1 = default */
    int rates;                     /* of outages */
    struct outage_rate rate[QUESTION_RATES];
    bool prices_of_plan;            /* prices came with a plan: options win over them */
    struct question_prices pricing; /* tables of prices and what counts of them */
    struct export_ask export;       /* a script to write */
    struct verify_ask verify;       /* ranks to run */
    struct rules rules;             /* the user's */
    int measured;                   /* of fit */
    const char *measured_file[QUESTION_TABLES];
    const char *into, *sources, *plots;
    bool alone;
    int froms; /* inputs of calibrate */
    const char *from[QUESTION_FROMS];
    int held_outs; /* inputs that are compared with, not fitted */
    const char *held_out[QUESTION_FROMS];
    const struct profile *profile; /* residual factors; NULL = none */
    const char *efficiency;        /* folder of learned models; NULL = those compiled in */
    struct learned *learned;       /* owned; NULL until needed */
    struct group_costs *costs[CLUSTER_MAX_GROUPS]; /* owned */
    struct given *given, *last_given;              /* in the order they came; NULL: none */
    int envs;
    struct script_env env[QUESTION_ENVS];
    const struct imported *imported; /* the file that was read; NULL = none (query_file.c) */
    int what_ifs;
    const char *what_if[QUESTION_WHAT_IFS];
    struct question *changed[QUESTION_WHAT_IFS]; /* owned: this one with what_if[i] (what_if.c) */
};

void question_init(struct question *);
void question_release(struct question *);
bool question_set(struct question *, const char *option, const char *value, struct error *);
bool question_flags(struct question *, size_t count, const char *const *words, struct error *);

/* The model is there, prices are applied, and no option contradicts another. */
bool question_ready(struct question *, struct error *);

/* The search on group `g` of the pool. `rules` is filled with all that apply and must outlive
 * it. */
bool question_search(struct question *, int g, struct rules *rules, struct search_question *out,
                     struct error *);

/* Whether jobs on several types are searched as well. */
bool question_mixes(const struct question *);
/* The search over several types at once. False without a message: the question is not of that
 * kind. */
struct mixed_question;
bool question_mixed(struct question *, struct rules *rules, struct mixed_question *out,
                    struct error *);

/* The one strategy that was asked about, as Megatron would read it. Reasons why it is refused
 * before any rule is judged go to `reasons`. */
struct estimate_question {
    struct scene scene;
    struct strategy strategy;
    const struct layout *layout; /* NULL unless split is SPLIT_LAYOUT */
    struct rules rules;
    struct flags_texts reasons;
    int nodes;    /* of the first group */
    int64_t gpus; /* of the job */
    bool placed;  /* every stage is on one group; otherwise nothing can be computed */
};
bool question_estimate(struct question *, struct estimate_question *out, struct error *);

/* Groups of nodes that the job is on, in rank order: 1 unless it is mixed. The rules hold on each
 * of them, with the values that estimate_slots() fills. */
int estimate_groups(const struct estimate_question *);
const struct node_group *estimate_group(const struct estimate_question *, int g);
void estimate_slots(const struct estimate_question *, int g, double values[SLOTS]);
/* The part of them that another strategy changes, as the mesh on this group runs it. */
void estimate_set_strategy(const struct estimate_question *, int g, const struct strategy *,
                           double values[SLOTS]);

/* Nothing is missing for a fit, and nothing contradicts. */
bool question_fit(const struct question *, struct error *);

/* Learned times (query_costs.c): the models of --efficiency or those compiled in, for group `g`;
 * once an answer is there, that none of them failed on the way. question_ready() drops those of the
 * question before. */
bool question_models(struct question *, struct error *);
bool question_costs(struct question *, int g, struct error *);
bool question_costs_hold(const struct question *, struct error *);
void question_drop_costs(struct question *);

/* Residual factors (query_profile.c): those of the profile for every group of the pool, once the
 * stack is known; it is wrong when none has any. The groups without are noted: at most as many
 * notes as groups. */
bool question_residuals(struct question *, struct error *);
/* Those for a type of GPU that need not be in the pool; NULL = none. */
const struct residual *question_residual(const struct question *, const struct gpu *, bool te);
/* False, and says that the profile has none of them. */
bool question_no_residual(const struct question *, const struct gpu *, bool te, struct error *);
int question_profile_notes(const struct question *, const char **note, struct arena *);
/* The notes behind those of a source. */
struct plan_source;
const struct plan_source *question_source(const struct question *, const struct plan_source *,
                                          struct arena *);
/* The factors that a plan was made with, unless --profile is given; `list` may be NULL. */
struct json;
bool question_take_residual(struct question *, const struct json *list, struct error *);

/* What plans are compared by (query_money.c). */
enum objective question_objective(const struct question *);
bool question_wanted(const struct question *, struct wanted *, struct error *);
/* Whether the whole front of speed and money is asked for, jobs on several types included: the pool
 * leaves open how many nodes there are, or money decides. */
bool question_asks_front(const struct question *);

/* No option of an export is without effect (query_export.c). */
bool question_export(const struct question *, struct error *);

int question_global_batch(const struct question *); /* asked for, or the default of a search */

/* One line for people, with the defaults that were used. */
const char *question_line(struct question *, const struct strategy *base, struct arena *);

#endif
