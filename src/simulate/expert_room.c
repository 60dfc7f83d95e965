/* Up to which imbalance of experts a plan fits. Memory never shrinks as experts get fuller (layer_ops.c:
 * every byte of theirs is a multiple of the rows; reserve_experts()), so that halving finds it. */
#include "simulate/expert_room.h"

#include "base/arena.h"
#include "simulate/partition.h"

#include <math.h>

/* Steps of the answer. */
static const double HUNDRED = 100;

static bool fits_at(const struct plan *p, double imbalance)
{
    struct arena mem = {0};
    struct scene sc = plan_scene(p);
    struct pass_times t;
    struct state st;
    sc.memory_imbalance = imbalance;
    struct partition *f = partition_new(&sc, &p->strategy, &p->layout, &mem, NULL);
    bool fits = false;
    if (f) {
        pass_times_of(f, &p->strategy, &mem, &t);
        pass_times_memory(f, &p->strategy, &mem, &t);
        state_of(f, &p->strategy, &mem, &st);
        fits = partition_fullness(f, &t, &st) <= 1;
    }
    arena_release(&mem);
    return fits;
}

struct expert_room expert_room_of(const struct plan *p)
{
    struct expert_room room = {.possible = most_imbalance(p->model, &p->strategy)};
    if (!p->computed || room.possible <= 1)
        return (struct expert_room){0};
    int low = (int)HUNDRED, high = (int)floor(room.possible * HUNDRED) + 1;
    if (!fits_at(p, 1))
        return room;
    if (fits_at(p, room.possible)) {
        room.fits = room.possible;
        return room;
    }
    while (high - low > 1) {
        int middle = (low + high) / 2;
        if (fits_at(p, middle / HUNDRED))
            low = middle;
        else
            high = middle;
    }
    room.fits = low / HUNDRED;
    return room;
}
