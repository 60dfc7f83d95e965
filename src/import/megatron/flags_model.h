/* The model part of flags.h, private to the import stage. */
#ifndef ASTRA_FLAGS_MODEL_H
#define ASTRA_FLAGS_MODEL_H

#include "import/megatron/flags.h"

struct words;

/* Fills the model's part of the result; finishes the model where it is complete. */
bool flags_read_model(struct flags_result *, const struct words *, struct error *);

/* The whole number behind `flag`, which is there. */
bool flags_number(const struct words *, const char *flag, int lo, int hi, int *out, struct error *);

#endif
