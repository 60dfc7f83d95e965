/* The order of plans by its definition: all plans are there, and the first is looked for again and
 * again. The judge of search/results.c. */
#pragma once

#include "base/arena.h"
#include "search/mixed/mixed.h"
#include "search/results.h"

#include <math.h>
#include <stdlib.h>

/* The best of each row with each trouble: no other is ever chosen. */
struct choices {
    int count, capacity;
    struct found *x; /* owned */
};

static inline void choices_release(struct choices *c)
{
    free(c->x);
}

static inline bool choices_same_row(const struct found *a, const struct found *b, enum row_of row)
{
    const struct strategy *s = &a->strategy, *t = &b->strategy;
    if (a->mixed || b->mixed)
        return a->mixed && b->mixed && mixed_same_row(a->mixed, b->mixed, row);
    return a->group == b->group && s->tp == t->tp && s->cp == t->cp && s->pp == t->pp &&
           s->dp == t->dp && s->ep == t->ep && s->etp == t->etp &&
           (row == ROW_LAYOUT || (s->micro_batch == t->micro_batch && s->vpp == t->vpp));
}

/* The place it has now, or NULL: there is a better one. */
static inline struct found *choices_add(struct choices *c, const struct found *x, enum row_of row)
{
    int at = 0;
    while (at < c->count &&
           (c->x[at].trouble != x->trouble || !choices_same_row(&c->x[at], x, row)))
        at++;
    if (at < c->count && c->x[at].key <= x->key)
        return NULL;
    if (at == c->capacity) {
        c->capacity = c->capacity ? 2 * c->capacity : 64;
        c->x = memory_grow(c->x, (size_t)c->capacity * sizeof *c->x);
    }
    c->count += at == c->count;
    c->x[at] = *x;
    return &c->x[at];
}

/* The first of those that are left and within the limits; NULL: none. */
static inline const struct found *choices_next(const struct choices *c, const struct limits *w,
                                               const struct found *const *taken, int count)
{
    const struct found *best = NULL;
    double least = INFINITY;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < c->count; i++) {
            const struct found *x = &c->x[i];
            bool left = score_allowed(w, &x->score);
            for (int k = 0; k < count; k++)
                left = left && !choices_same_row(x, taken[k], w->row);
            if (left && pass == 0)
                least = fmin(least, x->key);
            else if (left && x->key <= least * (1 + w->resolution) &&
                     (!best || x->trouble < best->trouble ||
                      (x->trouble == best->trouble && x->key < best->key)))
                best = x;
        }
    return best;
}

static inline int choices_rank(const struct choices *c, const struct limits *w, int top,
                               const struct found *out[])
{
    int count = 0;
    while (count < top && (out[count] = choices_next(c, w, out, count)))
        count++;
    return count;
}

/* Of a plan, by what it says itself. */
static inline unsigned choices_trouble(const struct limits *w, const struct plan *p, int cautions,
                                       int complexity)
{
    bool crowded = false;
    for (int i = 0; i < p->stages; i++)
        crowded = crowded || p->stage[i].device_bytes > 0.95 * p->stage[i].limit_bytes;
    return w->resolution > 0 ? trouble_of(cautions, crowded, complexity) : 0;
}
