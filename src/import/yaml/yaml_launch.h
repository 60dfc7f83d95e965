/* The training that a YAML file of someone's describes or starts: settings of Megatron-LM, FlagScale, Primus, NeMo,
 * Megatron-Bridge and others by the place where they stand (yaml_dialects.def), or the command of a job (Kubernetes,
 * SkyPilot), which is read as a launch script. Nothing is executed; files that it is made of are opened where they
 * lie in its folder or below. */
#pragma once

#include "base/error.h"

#include <stddef.h>

struct arena;
struct launch;
struct script_env;

/* Whether the first line with anything in it is YAML's: no shell has a command like it. */
bool yaml_launch_is(const char *text, size_t length);

/* Variables in values (${TP}, ${TP:4}) are those of `env`. */
bool yaml_launch_read(const char *path, const char *text, size_t length,
                      const struct script_env *env, int envs, bool follow, struct launch *out,
                      struct arena *, struct error *);
