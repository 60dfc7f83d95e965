#include "cost/clock.h"

#include "cluster/cluster.h"
#include "cost/cost.h"
#include "cost/features.h"

#include <math.h>
#include <stddef.h>

/* By generation (features.h). A chip keeps its clock with `keeps` watts per TFLOP/s of its bf16 peak;
 * with fewer it slows down by the root of what is missing. That is so in a layer that does `usual`
 * TFLOP/s for each watt; 0: the clock of others is not known to follow the load.
 *   Hopper      an H200's sustained products reach 0.94 of burst ones; `usual` was chosen on the ranks
 *               `fit` of data/measured/h200_ranks_2.csv.
 *   Blackwell   chosen on Together's dense steps on B200 (data/published.csv). SimuMax's B200 is
 *               slower than all others' by a fifth, kernels and steps alike: 0.8 there.
 *   CDNA        between what steps of MI300X (0.9) and MI355X (0.5) ask for.
 *   graphics    at the limit even in short loops (L40S: 0.97 W and 0.57 of the peak; A40: 2.0 and
 *               0.74). */
static const struct power {
    double keeps, usual;
} POWER[] = {[2] = {0.8, 0.74}, [3] = {0.54, 0}, [5] = {1.3, 0},  [6] = {1.3, 0},
             [7] = {1.3, 0},    [8] = {1.3, 0},  [10] = {0.65, 0}};
static const struct power OTHERS = {0.8, 0};

/* Of an 8-bit operation over a 16-bit one. Data move as before: chosen on the H100 runs of
 * dgxc-benchmarking. */
static const double FP8_ENERGY = 0.55;

/* Watts rise with about the cube of the clock: that of the matrix units goes with the third root of a
 * layer's load, up to the highest. Passes over memory are as fast at any clock. MHz of an H200: the
 * middle of 14 ranks (data/measured), and the most that nvidia-smi showed. */
static const double FULL_CLOCK = 1620.0 / 1980;

static const struct power *power_of(const struct gpu *g)
{
    size_t generation = (size_t)generation_of(g);
    bool known = generation < sizeof POWER / sizeof *POWER && POWER[generation].keeps > 0;
    return known ? &POWER[generation] : &OTHERS;
}

double throttle(const struct gpu *g, enum dtype dtype, bool burst)
{
    double half_peak = dtype_peak(g, dtype) / (dtype == DTYPE_FP8 && g->fp8_tflops > 0 ? 2 : 1);
    double watts = g->tdp_w / (1e-12 * half_peak); /* 8 bits take half the energy of 16 */
    if (g->tdp_w <= 0 || (burst && sort_of(generation_of(g)) != GRAPHICS))
        return 1;
    return fmax(1, sqrt(power_of(g)->keeps / watts));
}

double clock_block(const struct gpu *g, bool fp8, double times, struct block_cost *b)
{
    double usual = 1e12 * power_of(g)->usual * g->tdp_w;
    double flops =
        b->attention_flops + b->product_flops * (fp8 && g->fp8_tflops > 0 ? FP8_ENERGY : 1);
    double seconds = (b->forward_s + b->backward_s) / times, matrix_s = b->matrix_s / times;
    if (usual <= 0 || flops <= 0 || seconds <= 0)
        return 1;
    double units = fmax(FULL_CLOCK, cbrt(flops / seconds / usual)),
           slower = 1 + matrix_s / seconds * (units - 1);
    block_cost_slow(b, slower);
    return slower;
}
