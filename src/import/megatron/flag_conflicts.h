/* Flags that exclude or need each other, private to the import stage. */
#ifndef ASTRA_FLAG_CONFLICTS_H
#define ASTRA_FLAG_CONFLICTS_H

#include "import/megatron/flags.h"

struct words;

/* Adds to `reasons` what Megatron refuses although the strategy alone looks right: rules on a
 * strategy are in megatron.rules. Needs a complete model, and etp as Megatron takes it (tp where
 * it is not given, also without experts). */
void flag_conflicts(struct flags_result *, const struct words *);

#endif
