/* Numbers for random tests, the same in every run. */
#pragma once

#include <stdint.h>

static uint64_t seed = 88172645463325252ull;

/* From lo to hi, both included. */
static int pick(int lo, int hi)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return lo + (int)(seed % (uint64_t)(hi - lo + 1));
}
