/* Launches of NeMo-Framework-Launcher, whose settings are a file of its own tree and what is said beside it. */
#pragma once

#include "import/megatron/dest_names.h"

/* What training=GROUP/NAME names; NULL = it is no such launch. */
const char *nemo_training(const struct launch *);
/* Takes the model by the file's name. False where the launch leaves the split to the file. */
bool nemo_name_model(struct launch *, struct dest_list *, struct arena *, struct error *);
