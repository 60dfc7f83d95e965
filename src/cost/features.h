/* What a learned model is told of one operation, and the analytic time that its answer multiplies:
 *
 *     time = base * exp(f(features)),  never less than FLOPs over the peak.
 *
 * Peak and bandwidth of the GPU stand in the base alone. So a GPU with more of either is never
 * slower, whatever the trees say; its generation and how its units are filled are features. */
#pragma once

#include "cost/operation.h"

struct gpu;

enum { FEATURES_MAX = 24 };

/* Under which conditions a time was taken: short loops at full clock, or a step's power limit. */
enum regime { BURST, SUSTAINED };

int features_count(enum family);
const char *feature_name(enum family, int column);
/* Writes features_count() numbers. */
void features_of(const struct operation *, const struct gpu *, enum regime, float *out);

/* A pass over memory takes fixed_s when it is short and its bytes at this share of the bandwidth
 * when it is long; between them the root of the sum of squares. */
struct memory_curve {
    double fixed_s, share;
};
struct memory_curves {
    struct memory_curve of[MEMORY_KINDS][2]; /* forward, backward */
};
/* Seconds of a memory-bound pass at the full bandwidth. */
double pass_time(const struct operation *, const struct gpu *);
struct memory_curve curve_unmeasured(int kind); /* of a kind that nobody measured */

/* `curves` matters to memory-bound operators alone. */
double base_time(const struct operation *, const struct gpu *, enum regime,
                 const struct memory_curves *curves);
/* base_time times exp(f), not faster than the peak. */
double learned_time(const struct operation *, const struct gpu *, enum regime,
                    const struct memory_curves *, double f);

double gpu_units(const struct gpu *); /* SMs; an A100's where the table has none */
/* The share of its waves' room that so many tiles use. */
double wave_use(double tiles, double units);
/* How much longer a product or attention takes because its tiles are whole and come in whole waves:
 * 128 x 128 results of a product, 128 queries of attention. */
double whole_waves(const struct operation *, const struct gpu *);

/* One number per generation of matrix units: computing chips 0 to 3, graphics chips 5 to 8, AMD
 * 10. */
int generation_of(const struct gpu *);
enum sort { COMPUTING, GRAPHICS, AMD };
enum sort sort_of(int generation);
