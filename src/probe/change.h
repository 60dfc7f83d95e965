/* A change of a plan in words that can be typed. */
#ifndef ASTRA_CHANGE_H
#define ASTRA_CHANGE_H

#include <stddef.h>

struct arena;
struct change;
struct plan;
struct query;

/* Another plan for the same job, and what makes it of the one that was asked about. */
struct change {
    const struct plan *plan;
    size_t sets, flags;       /* words */
    const char **set;         /* "tp=8": what differs, as --set takes it */
    const char **flag;        /* launch flags of the plan, as plan.engine has them */
    const char *add, *remove; /* flags that differ, for a shell; "" = none */
};

/* What makes `then` of the plan that was asked about. Lives in the arena. */
void change_fill(struct change *, const struct query *, const struct plan *asked,
                 const struct plan *then, struct arena *);

#endif
