/* Settings as Megatron-Bridge and NeMo take them on their command lines:
 * model.tensor_model_parallel_size=4 train.micro_batch_size=1 ... */
#pragma once

#include "base/error.h"

#include <stddef.h>

struct arena;
struct launch;

/* Whether the first word that is no comment is such a setting. */
bool overrides_are(const char *text, size_t length);

/* Words separated by blanks and lines; # begins a comment; quotes as in a shell. */
bool overrides_read(const char *path, const char *text, size_t length, struct launch *out,
                    struct arena *, struct error *);

/* A word that may stand for settings and is not known: true, with an error, where only a run could tell what it is; a
 * note where a variable is not set. */
bool overrides_hidden(struct launch *, int word, struct arena *, struct error *);

/* Where the words of a launch are such settings, or those of verl or slime, makes flags of them. */
bool overrides_of_launch(struct launch *, struct arena *, struct error *);
