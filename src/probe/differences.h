/* Two plans side by side: in what they differ, and what each difference does to the time. */
#pragma once

#include "simulate/plan.h"

#include <stdbool.h>

struct arena;
struct error;
struct estimate_query;
struct query;

/* One of the plans that are compared. */
struct side {
    const char *name, *kind; /* "train.sh", "launch script" */
    const struct query *query;
    const struct estimate_query *asked;
    const struct plan *plan;
};

enum { DIFFERENCES_MAX = PARAMS + 8 };
struct difference {
    const char *name, *from, *to; /* "tp", "8", "4" */
    int what;                     /* a parameter, or behind PARAMS something of the query */
};

/* Differences are applied to A one behind the other, in the order of the list. */
struct difference_step {
    int first, count;         /* differences that it adds: several where fewer cannot be laid out */
    const struct plan *plan;  /* with all until here; that of the last step is B */
    const struct plan *alone; /* A with these alone; NULL: that cannot be laid out */
};

struct differences {
    const struct side *a, *b;
    int count;
    struct difference difference[DIFFERENCES_MAX];
    const char *why_not; /* they are not taken apart; NULL = they are */
    int steps;
    struct difference_step step[DIFFERENCES_MAX];
};

/* Lives in the arena, as the plans of the steps do; the sides must outlive it. NULL with a message. */
const struct differences *differences_of(const struct side *a, const struct side *b, struct arena *,
                                         struct error *);

/* Seconds of a step a token of it: batches and sequences may differ. */
double plan_token_s(const struct plan *);
