/* Steps of a training in limited memory: all of them up to STORE_STEPS, of more a random part, one
 * in 2, 4, 8 ..., the same in every run. The median of a part of n has a standard error of 1.25
 * spreads / sqrt(n): with the 131,072 or so that are left at least, 0.0035 spreads, under 0.02 %
 * where steps vary by 5 %. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { STORE_STEPS = 1 << 18 };

/* A line of the log, which is about `span` steps. */
struct step {
    double step_s;
    int64_t iteration;
    float tflops, watts; /* per GPU; 0 = not said */
    int batch;           /* 0 = not said */
    int span;
    uint32_t start; /* which start of the run, from 0 */
    uint32_t lot;
    bool early; /* soon after a start */
};

struct step_store {
    struct step *step; /* owned; in the order of the log */
    size_t count, capacity;
    int64_t offered; /* lines given, kept or not */
    uint32_t mask;   /* kept are those whose lot has none of these bits */
};

void step_store_init(struct step_store *);
void step_store_release(struct step_store *);
void step_store_clear(struct step_store *);
void step_store_add(struct step_store *, struct step); /* draws the lot */
