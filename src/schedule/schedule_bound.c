/* What can be said of a schedule without running it: a lower bound of its end, O(pp), and the
 * fullest moment of each rank's activations. doc/evidence/bounds.md has the proof of the bound. */
#include "schedule/schedule.h"

#include <assert.h>

static int64_t max2(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Own work of a rank in the whole step, the sends it waits for included. */
static int64_t busy(const struct pipeline *p, int r)
{
    int64_t per_micro_batch = 0;
    for (int c = 0; c < p->vpp; c++) {
        int stage = c * p->pp + r;
        per_micro_batch += p->forward[stage] + p->backward[stage];
        if (p->blocking_send) {
            if (stage < p->vpp * p->pp - 1)
                per_micro_batch += p->send[r];
            if (stage > 0)
                per_micro_batch += p->send[r == 0 ? p->pp - 1 : r - 1];
        }
    }
    return p->micro_batches * per_micro_batch;
}

/* 1F1B: rank r cannot start the first backward before that micro-batch went down and came back,
 * `away` ticks after its forward; meanwhile it has n forwards to do. The same at the end with n
 * backwards. */
static int64_t idle(const struct pipeline *p, int r, int64_t away)
{
    int64_t n = p->pp - 1 - r, m = p->micro_batches;
    int64_t down = p->blocking_send && r < p->pp - 1 ? p->send[r] : 0;
    int64_t up = p->blocking_send && r > 0 ? p->send[r - 1] : 0;
    int64_t passes = n < m - 1 ? n : m - 1;
    int64_t first = max2(0, away - down - passes * (p->forward[r] + down));
    int64_t last = max2(0, away - down - passes * (p->backward[r] + up));
    return m - 1 > n ? first + last : max2(first, last);
}

int64_t pipeline_lower_bound(const struct pipeline *p, const int64_t after[])
{
    int64_t best = 0, before = 0, tail = after ? after[0] : 0, away = 0;
    for (int r = p->pp - 1; r > 0; r--) /* of rank 0 */
        away += p->forward[r] + p->backward[r] + 2 * p->send[r - 1];
    for (int r = 0; r < p->pp; r++) {
        if (r > 0) {
            int64_t wait = p->blocking_send ? (r > 1 ? p->send[r - 2] : 0) : p->send[r - 1];
            before += p->forward[r - 1] + p->send[r - 1];
            tail = max2(after ? after[r] : 0, wait + p->backward[r - 1] + tail);
            away -= p->forward[r] + p->backward[r] + 2 * p->send[r - 1];
        }
        assert(away >= 0);
        int64_t waits = p->vpp == 1 ? idle(p, r, away) : 0;
        best = max2(best, before + busy(p, r) + waits + tail);
    }
    assert(away == 0); /* nothing is behind the last rank */
    return best;
}
