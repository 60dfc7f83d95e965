/* What known values leave of a rule, as a number: the same number, the same residue. Values that came
 * before are remembered, for a walk asks for few combinations many times. */
#pragma once

#include "rules/rules.h"

enum { RESIDUE_SLOTS = 12 };

struct rule_residues {
    const struct rule *rule;
    const bool *known; /* [SLOTS] the caller's */
    int slots;         /* known ones that it looks at; -1: more than are remembered */
    int slot[RESIDUE_SLOTS];
    double *memo; /* owned: by hash, values and number */
    int count, capacity;
    struct residue_text {
        size_t bytes;
        char *text; /* owned */
    } * text;       /* [count] owned: by number */
};
void rule_residues_init(struct rule_residues *, const struct rule *, const bool known[SLOTS]);
void rule_residues_release(struct rule_residues *);

int rule_residues_get(struct rule_residues *, const double values[SLOTS]);
