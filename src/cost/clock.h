/* What the power limit makes of the clock. Watts rise with about the cube of the clock at a given
 * load, and with the load: a chip that has few watts for each FLOP/s of its matrix units slows down,
 * the more the more of them a step keeps busy. */
#pragma once

#include "cost/operation.h"

struct block_cost;
struct gpu;

/* How much slower the matrix units run in a step of usual load than at full clock; `burst`: in a
 * short loop of one kernel. */
double throttle(const struct gpu *, enum dtype, bool burst);

/* Brings the seconds of a layer to the clock of its own load. `times` of them are a factor of the
 * user's own, which leaves the clock alone. Returns by how much they are longer. */
double clock_block(const struct gpu *, bool fp8, double times, struct block_cost *);
