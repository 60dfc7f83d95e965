/* A change of a plan in words that can be typed. */
#ifndef ASTRA_CHANGE_H
#define ASTRA_CHANGE_H

struct arena;
struct change;
struct plan;
struct query;

/* What makes `then` of the plan that was asked about. Lives in the arena. */
void change_fill(struct change *, const struct query *, const struct plan *asked,
                 const struct plan *then, struct arena *);

#endif
