/* FlagScale's flags of a mixed job, private to the import stage. */
#ifndef ASTRA_FLAGS_HETERO_H
#define ASTRA_FLAGS_HETERO_H

#include "import/megatron/flags.h"

struct words;

/* The meshes as they stand there; the strategy then has the values of the first. */
bool flags_read_hetero(struct flags_result *, const struct words *, struct error *);

/* What follows from the model and the number of GPUs: layers, batches, recompute of each mesh. */
bool flags_finish_hetero(struct flags_result *, int64_t world, struct error *);

#endif
