/* Shared by the two files that give layers to ranks:
 *
 *   assign_tables.c   what each rank takes with its layers, and chains as bounds
 *   assign.c          labels, and branch and bound
 *
 * Tables are by rank, prefix and count, over the windows that the ranks' limits leave open: a node
 * has given layers to ranks 0 .. r - 1, that is the first `prefix` layers. */
#pragma once

#include "search/mixed/assign.h"

enum { MAX_CUTS = ASSIGN_MAX_CHAINS, MAX_LABELS = 6 };

/* The ranks from one on, in some split of what is left: when the first micro-batch is back from
 * them (`away`), and the most of (work of a rank, what it waits for, fill and drain from the first
 * of them on). */
struct label {
    int64_t away, most;
};

/* A chain of passes as a bound. */
struct cut {
    struct assign_chain chain;
    int64_t *adds;  /* [entries] what a rank with its layers adds to its length */
    int64_t *least; /* by cell: least length of what ranks r .. pp - 1 add to it */
    int64_t *taken; /* [pp + 1] what ranks 0 .. r - 1 of the current node add */
};

struct window {
    int first_prefix, prefixes; /* layers before the rank */
    int first_count, counts;
    int cells; /* index of its first cell, one for each prefix; its first list of labels too */
};

/* A rank with its layers: M rounds of its passes, and how long the first and the last micro-batch
 * may be away without a wait. */
struct rank_own {
    int64_t busy, first, last;
};

struct kept_node {
    bool fits;
    int number; /* of all that are kept */
    struct rank_cost cost;
    struct rank_own own;
    int64_t passing; /* fill and drain of the rank before and behind what the next ones do */
    int64_t trip;    /* what it adds to `away` of the rank before it */
    int64_t rest_forward, rest_backward; /* of its chunks behind the first, once */
};

/* A rank of a node. */
struct given_layers {
    const struct kept_node *entry;
    int64_t before; /* fill and drain of the ranks before it */
    int64_t fill;   /* of it the fill: when its first forward can start */
    int64_t late;   /* by how much the step begins late, for it and those before it */
};

struct branch {
    int count;
    int64_t bound;
};

struct assign {
    const struct assign_problem *p;
    struct arena *mem;
    int pp, vpp;
    struct window *window;  /* [pp + 1]: the last one is the end, one prefix */
    struct kept_node **row; /* by cell: one for each count; those that cost the same share them */
    int entries;            /* kept in all */
    int64_t *before;        /* by cell: least fill and drain of ranks 0 .. r - 1 */
    int64_t *behind;        /* by cell: least possible `behind` of ranks r .. pp - 1 */
    struct label *label;    /* by cell, MAX_LABELS each: none is as good as another in both */
    uint8_t *labels;        /* by cell: how many */
    bool *apart; /* [pp] whether a rank waits for its first and for its last micro-batch, or once */
    struct given_layers *given; /* [pp] ranks of the current node */
    int64_t *early, *late; /* [vpp * pp] passes before the first backward, after the last forward */
    int64_t rest_forward, rest_backward; /* least of all chunks but the first */
    struct branch **child;               /* [pp] of the node at each depth */
    int cuts;
    struct cut cut[MAX_CUTS];
    int *layers; /* of the current node */
    int64_t limit;
    struct assign_result *out;
    int64_t most_nodes;
    bool gave_up;
};

static inline int min2(int a, int b)
{
    return a < b ? a : b;
}

static inline int max2(int a, int b)
{
    return a > b ? a : b;
}

static inline int cell_at(const struct assign *a, int rank, int prefix)
{
    return a->window[rank].cells + prefix - a->window[rank].first_prefix;
}

static inline struct kept_node *entry_at(const struct assign *a, int rank, int prefix, int count)
{
    return &a->row[cell_at(a, rank, prefix)][count - a->window[rank].first_count];
}

/* Counts of a rank that lead to a prefix which can be completed. */
struct layer_span {
    int low, high;
};

static inline struct layer_span span_of(const struct assign *a, int rank, int prefix)
{
    const struct window *w = &a->window[rank], *next = w + 1;
    return (struct layer_span){
        max2(w->first_count, next->first_prefix - prefix),
        min2(w->first_count + w->counts, next->first_prefix + next->prefixes - prefix) - 1};
}

static inline int64_t longer(int64_t x, int64_t y)
{
    return x > y ? x : y;
}

static inline int64_t shorter(int64_t x, int64_t y)
{
    return x < y ? x : y;
}

/* What is left open for each rank by the limits of all. False: nothing. */
bool assign_find_windows(struct assign *);
/* What each rank takes with its layers, and the least that is behind. False: there is no split. */
bool assign_fill_tables(struct assign *);
/* The chain becomes a bound; `depth` ranks of the node are given. Returns the least length of any
 * split. */
int64_t assign_add_cut(struct assign *, const struct assign_chain *, int depth);
