/* How long the samples of a dataset are, in tokens: a distribution, or the counts of a file. */
#pragma once

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct arena;

enum { LENGTH_MAX = 1 << 26, LENGTHS_MOST = 4096 };

/* A fixed sample of the lengths, shortest first, each as likely as the others: the middle of as many
 * equal parts of the distribution. Of a file with no more lines, all of them. */
struct lengths {
    const char *text; /* as it was given; NULL = in another way */
    int count;
    int32_t *of;
    double samples; /* in the file; 0 = not known */
    int longest;    /* 0 = there is no longest */
};

/* "800", "uniform:512..4096", "lognormal:MEAN,SIGMA" or a file's name: what --lengths takes. */
bool lengths_parse(const char *text, struct arena *, struct lengths *out, struct error *);
/* The text of a file, a number, {"length": N} or {"tokens": N} a line; it ends in 0. `name` stands in
 * messages. */
bool lengths_read(const char *text, size_t size, const char *name, struct arena *,
                  struct lengths *out, struct error *);
