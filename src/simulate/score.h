/* What plans are compared by: how long a step takes and what it costs, outages included. Both in
 * units of a step's ticks, so that a search can tell at which step a plan is of no use any more. */
#pragma once

#include "simulate/outage.h"
#include "strategy/strategy.h"

#include <stdbool.h>
#include <stdint.h>

struct dataset;
struct node_group;
struct rent;
struct task;

enum objective { OBJECTIVE_SPEED, OBJECTIVE_COST };

#define RESOLUTION_USUAL 0.01 /* of predicted times: a smaller difference is none */

/* What is asked for, of any plan. */
struct limits {
    enum objective objective;
    double most_time;  /* ticks of a step; INFINITY = no limit */
    double most_usd;   /* USD an hour x ticks of a step; INFINITY = no limit */
    bool by_gpus;      /* no price is known: a GPU-hour counts as one USD */
    double resolution; /* differences of the objective below it are none, and other things decide;
                        * 0 = the objective alone */
    enum row_of row;   /* of what each row of the list has the best */
    struct outage outage;
    double generation; /* ticks beside each step, in which the GPUs generate */
};

/* The run that a step is part of. */
struct run_terms {
    double tokens; /* 0 = not known */
    struct outage outage;
    double samples; /* 0 = its tokens are what is known */
    double epoch;   /* samples of the dataset; 0 = not known */
};

/* What a step trains on, padding apart; without a dataset each sample is a full sequence. */
struct step_content {
    double samples, tokens;
};
struct step_content step_content_of(const struct dataset *, const struct task *,
                                    double global_batch, double seq_len);
/* Whole steps for the run. */
double run_steps(const struct run_terms *, struct step_content);

struct score {
    double time; /* ticks of a step, with its share of the time that outages take */
    double usd;  /* that times USD an hour; INFINITY when a price is not known */
};

/* GPUs that a job holds: what they cost, and how much longer it takes with their outages. */
struct rental {
    double usd_per_h; /* whole nodes; INFINITY when a price is not known */
    double outages_per_h;
    double slowdown;   /* >= 1, by rental_finish */
    double generation; /* as in limits, by the same */
};
/* `rent` by group as in a scene. */
void rental_add(struct rental *, const struct limits *, const struct rent *,
                const struct node_group *, int64_t gpus);
void rental_finish(struct rental *, const struct limits *);
/* All of a job on one group. */
struct rental rental_of(const struct limits *, const struct rent *, const struct node_group *,
                        int64_t gpus);

struct score score_of(const struct rental *, int64_t step);
bool score_allowed(const struct limits *, const struct score *);
/* What the objective looks at first. */
double score_key(const struct limits *, const struct score *);

/* The longest step, in ticks, whose time and cost are not above these, give or take one. */
int64_t step_within_score(const struct rental *, double time, double usd);
/* The same of what the objective looks at, within the limits. */
int64_t step_within_key(const struct limits *, const struct rental *, double key);

/* Speed without limits: what is asked where nothing else is said. */
extern const struct limits SPEED_ALONE;
