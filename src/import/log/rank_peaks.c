#include "import/log/train_steps.h"

#include "base/arena.h"

#include <math.h>
#include <string.h>

/* Where the rank is or belongs. */
static int place(const struct rank_peak *peak, int count, int rank)
{
    int lo = 0, hi = count;
    while (lo < hi) {
        int mid = lo + (hi - lo) / 2;
        if (peak[mid].rank < rank)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

void rank_peaks_add(struct rank_peaks *r, int64_t iterations, struct rank_peak p, struct arena *mem)
{
    struct rank_peak **list = iterations < 2 ? &r->first : &r->later;
    int *count = iterations < 2 ? &r->firsts : &r->laters;
    if (!*list)
        *list = arena_array(mem, STEP_RANKS_MAX, sizeof **list);
    int at = place(*list, *count, p.rank);
    struct rank_peak *here = *list + at;
    if (at < *count && here->rank == p.rank) {
        here->allocated_bytes = fmax(here->allocated_bytes, p.allocated_bytes);
        here->reserved_bytes = fmax(here->reserved_bytes, p.reserved_bytes);
        return;
    }
    if (*count == STEP_RANKS_MAX) {
        r->full = true;
        return;
    }
    memmove(here + 1, here, (size_t)(*count - at) * sizeof *here);
    *here = p;
    ++*count;
}
