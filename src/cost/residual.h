/* What runs on the user's own machines say beyond the models: few factors on predicted seconds and
 * bytes, each with its uncertainty. `astra calibrate` fits them, a profile carries them
 * (residual_file.h), a costing (cost.h) has those of its GPU type. */
#pragma once

#include <stdbool.h>

struct costing;

/*    name     what it multiplies */
#define RESIDUAL_TABLE(X)                                                                          \
    X(compute, "seconds of operators and of the optimizer; not those of the host")                 \
    X(intra, "seconds of communication inside a node or scale-up domain")                          \
    X(inter, "seconds of communication between nodes")                                             \
    X(host, "seconds that the host needs to issue a pass")                                         \
    X(memory, "bytes that the framework allocates")

enum residual_factor {
#define X(name, help) RESIDUAL_##name,
    RESIDUAL_TABLE(X)
#undef X
        RESIDUALS,
    RESIDUAL_TIMES = RESIDUAL_memory /* the first ones are of seconds */
};

/* Half of the interval that `error` of a factor gives is a standard deviation: about 95 of 100
 * true factors lie within value x (1 ± error). */
#define RESIDUAL_DEVIATIONS 2.0

/* The runs whose seconds were fitted: only plans like them are known better. */
struct residual_runs {
    int configurations;
    unsigned models;     /* 1 << experts: dense ones, models with experts */
    unsigned precisions; /* 1 << PRECISION_... */
};

struct residual {
    double value[RESIDUALS];
    double error[RESIDUALS]; /* relative; counts where fitted */
    bool fitted[RESIDUALS];  /* otherwise the value is 1 */
    double time_scatter;     /* relative standard deviation of steps around the prediction */
    double memory_scatter;   /* of peaks */
    struct residual_runs runs;
};

const char *residual_name(enum residual_factor);

/* Whether the runs had such a model in this precision. */
bool residual_runs_have(const struct residual_runs *, bool experts, int precision);

/* All 1. */
void residual_init(struct residual *);

/* 1 for a group without any. */
double residual_of(const struct costing *, enum residual_factor);
/* Of communication over so many nodes or scale-up domains. */
double residual_of_comm(const struct costing *, int nodes);
/* Whether a factor of seconds is fitted. */
bool residual_times_fitted(const struct costing *);
