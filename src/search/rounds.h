/* The loop of both searches: items are bounded and taken best bound first, in rounds. Within a round
 * every item is cut by what was known when the round began, so that the result and every counter are
 * the same whatever the number of threads. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct stop;

/* What a search does with its items. Workers call `bound` and `search`, of several items at once;
 * all else is of the calling thread. */
struct round_work {
    size_t size;         /* of an item */
    long first, largest; /* items of the first rounds, and of any; those that are cut not counted */
    int steady;          /* so many have as many, then each has twice as many as the one before */
    void (*bound)(void *search, int worker, void *item);
    /* Of two pointers to items, in the order to take them. Total: the order of listing decides. */
    int (*compare)(const void *, const void *);
    /* Whether neither this item nor any behind it has a place in the results. May be NULL. */
    bool (*done)(const void *search, const void *item);
    /* Whether its bound alone says that this item has none: `search` then only counts it, and does
     * so in the calling thread. May be NULL. */
    bool (*cut)(const void *search, const void *item);
    bool (*left)(const void *item); /* whether `search` was stopped within it */
    /* No plan of the item has a smaller objective, by its bound. */
    double (*least_key)(const void *search, const void *item);
    /* Nothing in it with a larger objective has a place in the results, by now. INFINITY: all has. */
    double (*limit)(const void *search, const void *item);
    /* Sees the results as they were when the round began, and writes to its item alone. */
    void (*search)(void *search, int worker, void *item);
    void (*merge)(void *search, const void *item); /* in the order of items */
};

struct rounds {
    const struct round_work *work;
    void *search; /* whose items they are */
    int workers;
    struct stop *stop;                            /* NULL: until all is done */
    void (*progress)(void *context, double done); /* may be NULL; 0..1 */
    void *progress_context;
    double done_before, share; /* of all that is to be told of, 0..1; share 0 = all of it */
    double told_s;             /* when to tell it next, by stop_clock_s() */
    long listed, capacity;
    char *list; /* owned: items in the order of listing */
    long count, taken;
    void **item; /* [count] owned: in the order to take them */
    long searched;
    void **round; /* [searched] owned: of the round at hand, those that are not cut */
};

/* One more item, all zero; those before may move. */
void *rounds_add(struct rounds *);
void *rounds_at(const struct rounds *, long i); /* as listed */
/* Bounds and orders what is listed, and takes it until none is left, or none that has a place. */
void rounds_order(struct rounds *);
void rounds_run(struct rounds *);
/* Items that were not searched to their end, though they may have a place in the results: how many,
 * and the least objective of any, INFINITY where there are none. */
struct rounds_open {
    long count;
    double key;
};
struct rounds_open rounds_open(const struct rounds *);
void rounds_release(struct rounds *);
