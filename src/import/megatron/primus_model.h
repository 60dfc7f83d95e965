/* Models of Primus: files of its own tree, which launches name. What each sets is a row of primus_models.def. */
#pragma once

#include "import/megatron/dest_names.h"

#include <stdbool.h>

/* Adds the settings of the model that a name without .yaml is, or begins with up to a "-" ("qwen3_8B-BF16-pretrain"). False
 * where it is none of them. */
bool primus_model_add(struct dest_list *, const char *name, int line);

/* What is said of it: the release that the rows are of. */
const char *primus_model_note(const char *name, struct arena *);
