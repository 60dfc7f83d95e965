/* What a verify needs beyond the plan. */
#ifndef ASTRA_QUERY_VERIFY_H
#define ASTRA_QUERY_VERIFY_H

#include <stdbool.h>

struct verify_ask {
    const char *megatron; /* checkout; NULL = not given */
    const char *python;   /* NULL = python3 */
    const char *stages;   /* NULL = distinct */
    double limit_s;       /* of one rank */
    bool dry_run;
    bool runs; /* verify asks: what a profile must be about is known once GPU and stack are */
};

#endif
