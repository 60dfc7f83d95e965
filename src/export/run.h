/* What is the user's to set of a run, with its defaults: rows of run.def. */
#pragma once

#include <stdbool.h>

struct export_job;

/* Sets of groups; ALWAYS are those that need nothing of the user. */
enum run_group {
    RUN_DATA = 1,
    RUN_SAVE = 2,
    RUN_LENGTH = 4,
    RUN_LOG = 8,
    RUN_EVAL = 16,
    RUN_MOCK = 32,
    RUN_ALWAYS = RUN_LENGTH | RUN_LOG | RUN_EVAL,
    RUN_ALL = 63
};

struct run_row {
    enum run_group group;
    const char *flag;
    const char *variable; /* "" = none */
    const char *value;    /* of the variable until it is set, or of the flag; may be "" */
    const char *help;     /* may be "" */
};

/* Row after row of these groups: NULL begins, NULL ends. */
const struct run_row *run_next(const struct run_row *, int groups);
/* The same, of rows with a variable. */
const struct run_row *run_next_variable(const struct run_row *, int groups);

enum { RUN_PORT = 29500 }; /* of the first node, where ranks meet */

/* Stands for a container image, which is the user's to choose, and what it must have. */
#define RUN_IMAGE "IMAGE"
#define RUN_IMAGE_NEEDS "set: an image with PyTorch and TransformerEngine for these GPUs"

/* Whether the plan's environment has a value for CUDA_DEVICE_MAX_CONNECTIONS. Where it has none the
 * variable must not be 1, as it often is in images: unset, or with CUDA's own default. */
bool run_sets_connections(const struct export_job *);
#define RUN_CONNECTIONS "CUDA_DEVICE_MAX_CONNECTIONS"
#define RUN_CONNECTIONS_DEFAULT "8"
