/* The most memory that each rank of a training said it had, out of its memory lines. */
#ifndef ASTRA_RANK_PEAKS_H
#define ASTRA_RANK_PEAKS_H

#include <stdbool.h>
#include <stdint.h>

struct arena;

enum { STEP_RANKS_MAX = 4096 };

struct rank_peak {
    int rank;
    double allocated_bytes, reserved_bytes; /* reserved: 0 = not said */
};

/* After the first step the state of the optimizer can still be missing. */
struct rank_peaks {
    struct rank_peak *first, *later; /* of the arena, by rank: after one step, after two or more */
    int firsts, laters;
    bool full; /* there are more ranks than can be kept */
};

void rank_peaks_add(struct rank_peaks *, int64_t iterations, struct rank_peak, struct arena *);

#endif
