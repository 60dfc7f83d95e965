/* What issuing operators costs the host. */
#pragma once

#include "layer/ops.h"

enum host_call {
#define HOST_CALL(id, ...) CALL_##id,
#include "layer/host_calls.def"
#undef HOST_CALL
};

/* Seconds of one thread of an x86 server. */
struct host_time {
    double forward_s, back_s;
};
/* Whose layers the host issues; a truth value is whether they are TransformerEngine's. */
enum host_stack { HOST_TORCH, HOST_TE, HOST_EAGER };
struct host_time host_call(enum host_call, enum host_stack, bool fp8);

/* Sets the operator's. */
void host_issue(const struct block_shape *, struct op *);
