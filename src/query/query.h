/* What is asked: made once of the options that were given, and then constant. It owns nothing, so
 * that a copy is as good as the query: texts live in an arena, options, models of operators and the
 * times that they predict with those who own them. */
#pragma once

#include "base/arena.h"
#include "dataset/dataset.h"
#include "dataset/task.h"
#include "price/rent.h"
#include "query/options.h"
#include "query/resources.h"
#include "search/search.h"

/* Of which kind, as that decides what may be given. Of a verify the stack of the plan counts: which
 * one runs, and on which GPU, is known only later, and with it what a profile must be about. */
enum query_kind { QUERY_SEARCH, QUERY_ESTIMATE, QUERY_VERIFY };

struct query {
    enum query_kind kind;
    const struct options *given;
    struct resources *resources; /* NULL: nothing is timed */
    struct model model;
    struct cluster cluster;
    struct rent rent[CLUSTER_MAX_GROUPS];       /* by group: prices and outages */
    struct costing costing[CLUSTER_MAX_GROUPS]; /* by group, as in a scene */
    struct query_terms terms;
    const struct flags_result *flags; /* finished; NULL = none */
    const struct dataset *dataset;    /* NULL = every sample is a full sequence */
    const struct task *task;          /* NULL = not said: as pre-training */
    struct run_terms run;
    struct search_options search;
    double budget_usd, deadline_s; /* of the run; 0 = no limit */
};

/* The model is there, prices, outages and learned times are applied, and no option contradicts
 * another. What is made lives in the arena; options and resources must outlive the query. Without
 * resources nothing is timed. */
bool query_resolve(const struct options *, enum query_kind, struct resources *, struct arena *,
                   struct query *out, struct error *);

/* The same query with other terms, or on another cluster (NULL: the same). It lives in the arena,
 * its learned times with those of `from`. NULL with a message: the profile has nothing about it. */
const struct query *query_derive(const struct query *from, const struct query_terms *,
                                 const struct cluster *, struct arena *, struct error *);
/* The other entrance: the same options but for a change such as "gpus=64" (query_change.c). */
const struct query *query_change(const struct query *from, const char *change, struct arena *,
                                 struct error *);
/* A scene of one query on the nodes of another that was derived from it. */
struct scene query_rebase(const struct query *from, const struct query *to, const struct scene *,
                          struct arena *);

/* The search on group `g` of the pool. The query must outlive it; rules live in the arena. */
bool query_search(const struct query *, int g, struct arena *, struct search_query *out,
                  struct error *);

/* Whether jobs on several types are searched as well. */
bool query_mixes(const struct query *);
/* The search over several types at once. False without a message: the query is not of that
 * kind. */
struct mixed_query;
bool query_mixed(const struct query *, struct arena *, struct mixed_query *out, struct error *);

/* The one strategy that was asked about, as Megatron would read it. Reasons why it is refused
 * before any rule is judged go to `reasons`. */
struct estimate_query {
    struct scene scene;
    struct strategy strategy;
    const struct layout *layout; /* NULL unless split is SPLIT_LAYOUT */
    struct rules rules, cautions;
    struct flags_texts reasons;
    int nodes;    /* of the first group */
    int64_t gpus; /* of the job */
    bool placed;  /* every stage is on one group; otherwise nothing can be computed */
};
bool query_estimate(const struct query *, struct arena *, struct estimate_query *out,
                    struct error *);

/* Groups of nodes that the job is on, in rank order: 1 unless it is mixed. The rules hold on each
 * of them, with the values that estimate_slots() fills. */
int estimate_groups(const struct estimate_query *);
const struct node_group *estimate_group(const struct estimate_query *, int g);
void estimate_slots(const struct estimate_query *, int g, double values[SLOTS]);
/* The part of them that another strategy changes, as the mesh on this group runs it. */
void estimate_set_strategy(const struct estimate_query *, int g, const struct strategy *,
                           double values[SLOTS]);

/* Residual factors of the profile (query_profile.c) for a type of GPU that need not be in the pool;
 * NULL = none. */
const struct residual *query_residual(const struct query *, const struct gpu *, enum stack);
/* False, and says that the profile has none of them. */
bool query_no_residual(const struct query *, const struct gpu *, enum stack, struct error *);
/* The groups without are noted: at most as many notes as groups. */
int query_profile_notes(const struct query *, const char **note, struct arena *);
/* The sequence is longer than the model's own maximum; NULL: it is not. */
/* Samples that are cut; NULL: none. */
const char *query_cut_note(const struct query *, struct arena *);
const char *query_length_note(const struct query *, struct arena *);
/* The notes behind those of a source. */
struct plan_source;
const struct plan_source *query_source(const struct query *, const struct plan_source *,
                                       struct arena *);

/* What plans are compared by (query_money.c). */
enum objective query_objective(const struct query *);
bool query_limits(const struct query *, struct limits *, struct error *);

enum stack query_stack(const struct query *); /* whose layers */
int query_engine(const struct query *);       /* what trains: a word of the parameter `engine` */
double query_release(const struct query *);   /* of Megatron core, as rules know it */
int query_seq_len(const struct query *);      /* asked for, or the default */
int query_global_batch(const struct query *); /* asked for, or the default of a search */
/* Of experts: of the run that is predicted, and what it must fit at. */
double query_imbalance(const struct query *);
double query_memory_imbalance(const struct query *);
/* Of batch, sequence and precision: said neither by an option nor by a flag. */
bool query_assumes(const struct query *, enum param);

/* Those of Megatron and of the engine, for a search those of sense and of the pool, the user's. */
bool query_rules(const struct query *, bool search, struct arena *, struct rules *, struct error *);

/* Those that are known, and the user's. */
bool query_cautions(const struct query *, struct arena *, struct rules *, struct error *);

/* One line for people, with the defaults that were used. */
const char *query_line(const struct query *, const struct strategy *base, struct arena *);
