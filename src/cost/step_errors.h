/* How far predicted steps were off: a line for each source of published runs and class of run, and
 * what they say of a run of a source that nobody has seen. The table comes compiled in;
 * `make step-errors` writes it. */
#pragma once

#include "base/error.h"

#include <stddef.h>

struct arena;
struct gpu;

/* What sets the pace of a step beside its kernels, first that applies. */
#define PACE_TABLE(X)                                                                              \
    X(host, "waiting for the host")                                                                \
    X(fsdp, "FSDP")                                                                                \
    X(pipeline, "pipelines")                                                                       \
    X(nodes, "several nodes")                                                                      \
    X(node, "one node")

enum pace {
#define X(name, words) PACE_##name,
    PACE_TABLE(X)
#undef X
        PACES
};
const char *pace_name(enum pace);
const char *pace_words(enum pace);

struct step_class {
    const struct gpu *gpu;
    bool experts;
    int format; /* of products, PRECISION_...: bf16 stands for 16 bits */
    enum pace pace;
};

/* Runs of one class in one source; errors are predicted / measured - 1. */
struct step_line {
    struct step_class of;
    const char *source; /* one pointer for all lines of a source */
    int generation;     /* of the GPU */
    int runs;
    double mean, mean_abs, deviation; /* the last: of |error| within the line */
    double
        kernels; /* what those never measured on the GPU were said to add, as in step_error_of() */
};

/* What runs are looked at, from all of them down to those of one class; each narrows the one before.
 * Graphics cards, GPUs for computing and AMD's are sorts; experts or none is the first cut. */
#define SCOPE_TABLE(X)                                                                             \
    X(all, "any GPU")                                                                              \
    X(kind, "any GPU")                                                                             \
    X(sort, "GPUs of its sort")                                                                    \
    X(generation, "GPUs of its generation")                                                        \
    X(gpu, "this GPU, other number formats")                                                       \
    X(precision, "this GPU")

enum scope {
#define X(name, words) SCOPE_##name,
    SCOPE_TABLE(X)
#undef X
        SCOPES
};
const char *scope_name(enum scope);
const char *scope_words(enum scope);

struct step_errors {
    struct step_line *line; /* by source */
    int lines;
    double correlation;  /* of the sizes of errors of one line */
    double paces[PACES]; /* how much larger errors are at this pace than their scope says */
};

struct step_evidence {
    double error;      /* expected: about 80 of 100 runs lie within */
    int runs, sources; /* of the narrowest scope that has any */
    enum scope scope;
};

/* `name` stands in messages. */
bool step_errors_parse(struct step_errors *, const char *text, size_t length, const char *name,
                       struct arena *, struct error *);
bool step_errors_load(struct step_errors *, struct arena *, struct error *); /* compiled in */
/* The same without one source; lines are shared. */
void step_errors_without(struct step_errors *out, const struct step_errors *, const char *source,
                         struct arena *);

/* `kernels` is what kernels that were never measured on the GPU add to a step's error; what those of
 * the runs looked at added is in their errors already. */
struct step_evidence step_error_of(const struct step_errors *, const struct step_class *,
                                   double kernels);
