/* The training that a shell script would start, read without running anything. The subset of bash
 * that launch scripts use: variables, arrays, defaults, arithmetic, conditions, loops, functions,
 * eval and bash -c of known text, #SBATCH headers. doc/import.md says what is taken. */
#pragma once

#include "base/error.h"

#include <stddef.h>

struct arena;
struct launch;

/* NAME=VALUE of --env: wins over what the script itself assigns. A NAME that is a number is an
 * argument of the script. */
struct script_env {
    const char *name, *value;
};

/* `follow`: files that are sourced and lie in the script's folder or below are read too. `text` has no NUL. False on what no shell would take (an unclosed quote, with its line), on what
 * grows without end, and where no training is started. Everything lives in the arena. */
bool script_read(const char *path, const char *text, size_t length, const struct script_env *env,
                 int envs, bool follow, struct launch *out, struct arena *, struct error *);
