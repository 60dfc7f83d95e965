/* How uneven the experts of a plan may become before it runs out of memory. */
#pragma once

struct plan;

/* Imbalances, as in a scene. */
struct expert_room {
    double possible; /* the largest there can be; 0: none, every rank has all experts */
    double fits;     /* the largest at which the plan fits, rounded down; 0: it does not balanced */
};
struct expert_room expert_room_of(const struct plan *);
