/* What the rules let pass on a run of axes, listed once for each combination of the earlier
 * parameters that those rules look at, as far as it matters: combinations that leave the same of every
 * rule have one list. */
#pragma once

#include "base/arena.h"
#include "rules/walk.h"

struct rule_residues;

struct option_drop {
    const struct rule *rule;
    double count; /* options of these axes it dropped */
};

struct option_list {
    int count;
    int first, end; /* parameters [first, end) are those of these axes */
    int *value;     /* [count * (end - first)] */
    int axes;
    uint16_t *option; /* [count * axes] by axis, the first of them first */
    double slower;    /* left out: another option is never slower and needs no more memory */
    int drops;
    struct option_drop *drop;
};

struct option_cache {
    int first, last; /* axes [first, last) */
    int keys;        /* earlier parameters that the rules look at */
    enum param key[PARAMS];
    bool never_slower[PARAMS]; /* by axis: a switch that is never slower when on ... */
    bool alone[PARAMS];        /* ... and that no rule behind its axis looks at */
    double behind[PARAMS];     /* options of the axes behind one, up to `last` */
    bool known[SLOTS];         /* before these axes are walked */
    int rules;
    struct rule_residues *rule; /* [rules] owned: those of these axes that look at a key */
    int residues;
    int *residue;                /* owned: the numbers of all, on every group, as they are now */
    size_t bytes;                /* of what is remembered */
    int forgotten;               /* how often all of it was */
    int listed, capacity;        /* while a list is made: */
    struct strategy *work;       /* owned */
    struct option_lists **lists; /* by residues */
    struct arena mem;
};

/* `dominance`: leave out what an overlap switched on makes better or equal, but for those of the
 * parameters `weighed`, of which off may be the better one. */
void option_cache_init(struct option_cache *, const struct space *, const struct rule_plan *,
                       int first, int last, bool dominance, uint64_t weighed);
void option_cache_release(struct option_cache *);

/* For the parameters bound in the walk; valid until the next call. The walk's parameters of
 * these axes are changed. */
const struct option_list *options_get(struct option_cache *, struct walk *);
/* Binds option `i` in a walk; returns the first axis that has another option than before, or the
 * axis behind these. */
int option_bind(const struct option_cache *, const struct option_list *, int i, struct walk *);
/* Sets the parameters of these axes to option `i`. */
void option_take(const struct option_list *, int i, struct strategy *);
