/* What tools/rank/rank.py says: the one line `RANK {json}` of a check or of a rank that ran. Any
 * bytes may come: what is no such line is refused, and so are times and memory that no GPU has;
 * other figures that make no sense count as not said. */
#pragma once

#include "base/error.h"

#include <stddef.h>

enum { RANK_TEXT = 256 };

/* Of the machine. Texts are "" where there is no such thing, numbers NAN. */
struct rank_check {
    char python[RANK_TEXT], torch[RANK_TEXT], te[RANK_TEXT], megatron[RANK_TEXT], gpu[RANK_TEXT];
    bool cuda, fake_process_group;
    double total_mib, free_mib;
};

/* Of one rank. Numbers are NAN where they are not said. */
struct rank_result {
    char status[RANK_TEXT]; /* "ok", "out of memory", "exit 1", an exception */
    int iterations;
    double peak_mib, reserved_mib, total_mib;
    double compute_ms;                /* of a step, without what stands in for the other ranks */
    double fill_ms;                   /* of a step: that; the median */
    double spread;                    /* of the timed steps: longest over shortest, less 1 */
    double sm_mhz, watts, watt_limit; /* while it ran */
    bool loss_not_finite;
};

/* The JSON behind "RANK ". */
bool rank_check_parse(const char *text, size_t length, struct rank_check *out, struct error *);
bool rank_result_parse(const char *text, size_t length, struct rank_result *out, struct error *);
