/* What the fields of a model mean to each other; private to the model stage. */
#pragma once

#include "model/model.h"

int model_field_find(const char *name); /* enum model_field, or -1 */
/* " (did you mean X?)" among the fields' names, or "". Valid until the next call in this thread. */
const char *model_field_near(const char *name);

/* A field that says something only together with another one: topk with experts. */
struct field_owner {
    enum model_field field, owner;
};

/* The first field that is set although its owner is 0, or NULL. */
const struct field_owner *model_field_unused(const struct model *);
