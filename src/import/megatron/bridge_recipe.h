/* Recipes of Megatron-Bridge by name: run_recipe.py --recipe llama3_8b_pretrain_config, setup_experiment.py -mr
 * llama31_405b -g h100 -ng 1024. */
#pragma once

#include "base/error.h"

struct arena;
struct dest_list;
struct launch;

struct bridge_recipe {
    const char *name, *model;
    int tp, pp, vpp, cp, ep, etp, micro, batch, sequence; /* 0 = the recipe does not say */
    const char *precision, *others;                       /* blank-separated NAME=VALUE */
};

/* Sorted by name; a name of NULL ends them. */
const struct bridge_recipe *bridge_recipes(void);

/* Whether the words of a launch choose a recipe. */
bool bridge_names_recipe(const struct launch *);
/* The settings of the recipe and, behind them, of the program's own options; sets the model and the GPUs. False where the
 * recipe trains adapters, or is not known. */
bool bridge_take_recipe(struct launch *, struct dest_list *, struct arena *, struct error *);
/* What Bridge and NeMo turn off by themselves once all settings are there: overlap of tensor parallelism without it. */
void bridge_finish(struct dest_list *);
