/* The training that a shell script would start, read without running anything. The subset of bash
 * that launch scripts use: variables, arrays, defaults, arithmetic, conditions, loops, functions,
 * eval and bash -c of known text, #SBATCH headers. doc/import.md says what is taken. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct arena;
struct launch;

/* NAME=VALUE of --env: wins over what the script itself assigns. A NAME that is a number is an
 * argument of the script. */
/* No name that a script could have: how many GPUs a node of the cluster has that is planned. */
#define SCRIPT_NODE_GPUS ">node_gpus"

struct script_env {
    const char *name, *value;
    bool weak; /* what the job sets before the script runs, which may set it again */
};

enum script_reading {
    SCRIPT_FOLLOWS = 1, /* files beside the script that it sources are read too */
    SCRIPT_CURIOUS = 2, /* arguments that are not given may be anything: what would they decide? */
    SCRIPT_DOUBTS = 4   /* so may any variable that is not set */
};

/* `reading`: which of these. `text` has no NUL. False on what no shell would take (an unclosed quote, with its line), on
 * what grows without end, and where no training is started. Everything lives in the arena. */
bool script_read(const char *path, const char *text, size_t length, const struct script_env *env,
                 int envs, int reading, struct launch *out, struct arena *, struct error *);

/* The arguments that a comment calls the script with, `# bash train.sh 7B 1 8`: of a script with `arguments` of them.
 * False where none does. */
struct script_call {
    int line, count;
    const char **word;
};
bool script_call(const char *path, const char *text, size_t length, int arguments,
                 struct script_call *, struct arena *);
/* The same of a text beside the script, a call of which has all of its arguments, on as many lines as it needs. */
bool script_call_elsewhere(const char *path, const char *text, size_t length, int arguments,
                           struct script_call *, struct arena *);
