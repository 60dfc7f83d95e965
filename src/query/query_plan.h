/* Reads a plan back from the JSON that search or estimate wrote. */
#ifndef ASTRA_LOAD_PLAN_H
#define ASTRA_LOAD_PLAN_H

#include "base/error.h"

struct options;
struct text;

/* A cluster that the query has already stays. `path` is for messages. */
bool load_plan(struct options *, const struct text *, const char *path, struct error *);

#endif
