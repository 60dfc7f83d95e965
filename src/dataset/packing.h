/* First-fit packing, as Megatron-Bridge packs a shuffled dataset. */
#pragma once

#include <stdint.h>

struct arena;
struct lengths;

/* Packs of a fixed, shuffled draw of the lengths, each cut at `room`. */
struct packs {
    int count;
    double samples;         /* in all of them */
    double *tokens, *pairs; /* [count] sums of lengths, and of their squares, shares of the room */
};
void packs_make(const struct lengths *, int room, struct arena *, struct packs *out);
