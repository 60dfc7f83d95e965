/* Launch flags by section. */
#pragma once

#include "strategy/strategy.h"

#include <stddef.h>

/* MODEL where the flag belongs to no parameter: those of the model's fields. */
enum section section_of(const char *flag);
const char *section_name(enum section); /* of the array: "MODEL_ARGS" */

/* Behind the values of the flag at words[i]. */
size_t flag_end(const char *const *words, size_t count, size_t i);
