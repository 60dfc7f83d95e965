/* Profiles: residual factors by GPU type and software stack, as `astra calibrate` writes them
 * (data/schema/profile.schema.json). */
#pragma once

#include "base/error.h"
#include "cost/residual.h"
#include "strategy/strategy.h"

#include <stddef.h>

struct arena;
struct gpu;
struct json;

enum { PROFILE_MAX_ENTRIES = 64 };
#define PROFILE_LEAST_FACTOR 0.2
#define PROFILE_MOST_FACTOR 5.0
#define PROFILE_MOST_SCATTER 2.0

struct profile_entry {
    const struct gpu *gpu;
    enum stack stack;
    struct residual residual;
    int observations[RESIDUALS];
    const char *why[RESIDUALS]; /* a factor is not fitted; "" = it is */
};

struct profile {
    const char *name; /* of the file, for messages */
    int entries;
    struct profile_entry entry[PROFILE_MAX_ENTRIES];
};

/* Everything is checked: kind, version, names, ranges. Unknown keys are errors. */
bool profile_read(struct profile *, const char *text, size_t length, const char *name,
                  struct arena *, struct error *);
/* The list of entries alone, as a plan carries it. */
bool profile_read_entries(struct profile *, const struct json *list, struct arena *,
                          struct error *);

/* NULL when there is none. */
const struct profile_entry *profile_find(const struct profile *, const struct gpu *, enum stack);

/* Six decimals are what a factor is worth; what is written reads back the same. */
double profile_rounded(double value);

struct json *json_of_profile_entry(const struct profile_entry *);
/* `made_from` are the inputs' names. */
struct json *json_of_profile(const struct profile *, const char *const *made_from, int count);
