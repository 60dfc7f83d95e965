/* The recurrence. Rank r does w_r warm-up forwards, then rounds of one forward and one backward,
 * then the remaining backwards. Number a rank's rounds j = -w_r, ..., total - 1: round j does
 * forward w_r + j (if there is one) and, from j = 0, backward j. Let all ranks advance together,
 * rank r doing round j = g + r at step g. With w_r = pp - 1 - r (1F1B) or 2 (pp - 1 - r) + (vpp
 * - 1) group (interleaved), what a round needs was done
 *
 *      forward of rank r - 1          the same step (1F1B), the step before (interleaved)
 *      backward of rank r + 1         the step before
 *      forward of the last rank,      group_size - pp + 1 steps before
 *        chunk c - 1 (rank 0, c > 0)
 *      backward of rank 0, chunk c + 1    the same number of steps before
 *        (last rank, c < vpp - 1)
 *
 * so the state between steps is one clock and two finish times per rank, and a short history for
 * the two wraps. When that state has moved by the same amount everywhere since an earlier step
 * at the same place of the pattern, it will go on doing so (all operations are max and plus):
 * whole periods are skipped. Brent's method finds the period. */
#include "schedule/schedule.h"

#include <assert.h>
#include <string.h>

enum { HISTORY = 4096 }; /* steps kept for the wraps, a power of two */

struct schedule_state {
    int64_t clock[SCHEDULE_MAX_RANKS];
    int64_t
        sent[SCHEDULE_MAX_RANKS]; /* when the rank's latest forward output reached the next one */
    int64_t returned[SCHEDULE_MAX_RANKS]; /* the same of its latest backward output */
};

struct schedule_run {
    const struct pipeline *p;
    const struct pipeline_marks *marks; /* NULL: not asked for */
    int64_t total;                      /* forward passes of a rank */
    int64_t last_size, last_from;       /* of the last group: micro-batches, first backward */
    int64_t warmup[SCHEDULE_MAX_RANKS];
    struct schedule_cursor forward[SCHEDULE_MAX_RANKS],
        backward[SCHEDULE_MAX_RANKS]; /* what is next */
    struct schedule_state now;
    int64_t began[SCHEDULE_MAX_RANKS]; /* the latest forward of a rank */
    int64_t forward_history[HISTORY];  /* by step: `sent` of the last rank */
    int64_t backward_history[HISTORY]; /* by step: `returned` of rank 0 */
};

int64_t pipeline_warmup(const struct pipeline *p, int rank)
{
    int64_t behind = p->pp - 1 - rank;
    return p->vpp == 1 ? behind : 2 * behind + (int64_t)(p->vpp - 1) * p->group;
}

struct schedule_item schedule_item(const struct pipeline *p, int64_t k)
{
    if (p->vpp == 1)
        return (struct schedule_item){k, 0, 1};
    int64_t m = p->micro_batches, group = p->group, whole = group * p->vpp;
    int64_t start = k / whole * group;
    int64_t size = start + group > m ? m - start : group;
    int64_t within = k - start * p->vpp;
    return (struct schedule_item){start + within % size, (int)(within / size), size};
}

static int64_t group_size(const struct pipeline *p, int64_t start)
{
    int64_t left = p->micro_batches - start;
    return left < p->group ? left : p->group;
}

struct schedule_cursor schedule_begin(const struct pipeline *p)
{
    return (struct schedule_cursor){.size = p->vpp == 1 ? p->micro_batches : group_size(p, 0)};
}

void schedule_advance(const struct pipeline *p, struct schedule_cursor *c, int64_t passes)
{
    c->index += passes;
    if (c->index < c->size)
        return;
    c->index = 0;
    if (++c->chunk < p->vpp)
        return;
    c->chunk = 0;
    c->start += c->size;
    c->size = group_size(p, c->start);
}

static int64_t max2(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t *slot(int64_t *history, int64_t step)
{
    return &history[(uint64_t)step & (HISTORY - 1)];
}

/* When the input of a forward pass has arrived. */
static int64_t forward_ready(struct schedule_run *u, int rank, int64_t step)
{
    const struct schedule_cursor *c = &u->forward[rank];
    if (rank > 0)
        return u->now.sent[rank - 1];
    if (c->chunk == 0)
        return 0;
    return *slot(u->forward_history, step - (c->size - u->p->pp + 1));
}

/* Backward chunks come in mirror order: chunk 0 of the cursor is the last, which has no
 * successor. */
static int64_t backward_ready(struct schedule_run *u, int rank, int64_t step)
{
    const struct schedule_cursor *c = &u->backward[rank];
    if (rank < u->p->pp - 1)
        return u->now.returned[rank + 1];
    if (c->chunk == 0)
        return 0;
    return *slot(u->backward_history, step - (c->size - u->p->pp + 1));
}

/* One pass on a rank: starts when the rank and its input are there, then sends. */
static int64_t pass(struct schedule_run *u, int rank, int64_t ready, int64_t ticks, int64_t send)
{
    int64_t end = max2(u->now.clock[rank], ready) + ticks;
    u->now.clock[rank] = u->p->blocking_send ? end + send : end;
    return end + send;
}

/* The next forward of a rank begins, in the first group of micro-batches. Chunk c + 1 is asked for r
 * forwards before the first one of chunk c. */
static void mark_forward(struct schedule_run *u, int rank, int64_t start)
{
    const struct pipeline *p = u->p;
    const struct schedule_cursor *c = &u->forward[rank];
    int next = c->chunk + (rank == 0 ? 1 : 2);
    if (c->index == 0)
        u->marks->needed[c->chunk * p->pp + rank] = start;
    if (c->index == (rank == 0 ? 0 : p->group - rank) && next > 1 && next < p->vpp)
        u->marks->asked[next * p->pp + rank] = start;
}

/* Backward j of a rank has ended: was backward j - r the last one of a chunk? Both are of the last
 * group of micro-batches, whose passes of one chunk are at least as many as ranks. */
static void mark_backward(struct schedule_run *u, int rank, int64_t j)
{
    int64_t left = u->total - 1 - (j - rank);
    if (left % u->last_size == 0)
        u->marks->reduced[left / u->last_size * u->p->pp + rank] = u->now.clock[rank];
}

static void do_forward(struct schedule_run *u, int rank, int64_t step)
{
    const struct pipeline *p = u->p;
    int64_t j = step + rank, k = j + u->warmup[rank];
    if (k < 0 || k >= u->total)
        return;
    int chunk = u->forward[rank].chunk;
    bool last = rank == p->pp - 1 && chunk == p->vpp - 1;
    int64_t ready = forward_ready(u, rank, step);
    if (u->marks && u->forward[rank].start == 0)
        mark_forward(u, rank, max2(ready, u->now.clock[rank]));
    u->now.sent[rank] =
        pass(u, rank, ready, p->forward[chunk * p->pp + rank], last ? 0 : p->send[rank]);
    schedule_advance(p, &u->forward[rank], 1);
}

static void do_backward(struct schedule_run *u, int rank, int64_t step)
{
    const struct pipeline *p = u->p;
    int64_t j = step + rank;
    if (j < 0 || j >= u->total)
        return;
    int chunk = p->vpp - 1 - u->backward[rank].chunk;
    bool first = rank == 0 && chunk == 0;
    int64_t ready = backward_ready(u, rank, step);
    int64_t send = first ? 0 : p->send[rank == 0 ? p->pp - 1 : rank - 1];
    u->now.returned[rank] = pass(u, rank, ready, p->backward[chunk * p->pp + rank], send);
    if (u->marks && j - rank >= u->last_from)
        mark_backward(u, rank, j);
    schedule_advance(p, &u->backward[rank], 1);
}

/* Forwards in the order that gives each the finish time it needs: of this step from rank r - 1
 * in 1F1B, of the step before when interleaved. Backwards need the step before. */
static void do_step(struct schedule_run *u, int64_t step)
{
    int pp = u->p->pp;
    if (u->p->vpp == 1)
        for (int r = 0; r < pp; r++)
            do_forward(u, r, step);
    else
        for (int r = pp - 1; r >= 0; r--)
            do_forward(u, r, step);
    for (int r = 0; r < pp; r++)
        do_backward(u, r, step);
    if (u->p->vpp > 1) {
        *slot(u->forward_history, step) = u->now.sent[pp - 1];
        *slot(u->backward_history, step) = u->now.returned[0];
    }
}

/* The regular case, which most are: every group has as many micro-batches as there are ranks, or
 * there is one chunk. Forward k = ahead + g - r of rank r (interleaved) is of chunk k / pp mod vpp: at a
 * step the ranks are in two chunks at most, one up to rank (ahead + g) mod pp and the one before it
 * behind, and likewise backward. So passes are loops over ranks without cursors. */
struct rank_span {
    int first, end; /* ranks */
    int chunk;
};

/* Ranks first .. end - 1 of the step, cut where the chunk changes. */
static int cut_span(int first, int end, int change, int before, int behind, struct rank_span out[2])
{
    int n = 0;
    if (first < end && first < change)
        out[n++] = (struct rank_span){first, end < change ? end : change, before};
    if (first < end && end > change)
        out[n++] = (struct rank_span){first > change ? first : change, end, behind};
    return n;
}

static int clamp(int64_t x, int most)
{
    return x < 0 ? 0 : x > most ? most : (int)x;
}

static int64_t whole_mod(int64_t x, int64_t n)
{
    int64_t rest = x % n;
    return rest < 0 ? rest + n : rest;
}

/* One pass of a rank; returns when its output has arrived. `held` has all bits where the rank waits
 * for its send. */
static inline int64_t run_pass(int64_t *clock, int64_t begin, int64_t ticks, int64_t send,
                               int64_t held)
{
    int64_t end = begin + ticks;
    *clock = end + (send & held);
    return end + send;
}

/* Forward of a chunk on the ranks of a span. `wrapped`: when the last rank's output of the chunk before
 * is there. Interleaved, a rank needs what the one before it sent a step ago: last rank first. */
static void forward_span(struct schedule_run *u, const struct rank_span *x, int64_t wrapped)
{
    const struct pipeline *p = u->p;
    const int64_t *ticks = &p->forward[x->chunk * p->pp], *send = p->send;
    int64_t *clock = u->now.clock, *sent = u->now.sent, *began = u->began;
    int64_t held = p->blocking_send ? -1 : 0, first = x->chunk > 0 ? wrapped : 0;
    int r = x->end - 1, last = x->chunk == p->vpp - 1 ? p->pp - 1 : p->pp; /* which sends nothing */
    if (p->vpp == 1) {
        for (r = 0; r < p->pp; r++) {
            began[r] = max2(clock[r], r > 0 ? sent[r - 1] : 0);
            sent[r] = run_pass(&clock[r], began[r], ticks[r], r < last ? send[r] : 0, held);
        }
        return;
    }
    if (r == last) {
        began[r] = max2(clock[r], r > 0 ? sent[r - 1] : first);
        sent[r] = run_pass(&clock[r], began[r], ticks[r], 0, held);
        r--;
    }
    for (; r >= x->first && r > 0; r--) {
        began[r] = max2(clock[r], sent[r - 1]);
        sent[r] = run_pass(&clock[r], began[r], ticks[r], send[r], held);
    }
    if (r == 0 && x->first == 0) {
        began[0] = max2(clock[0], first);
        sent[0] = run_pass(&clock[0], began[0], ticks[0], send[0], held);
    }
}

static void backward_span(struct schedule_run *u, const struct rank_span *x, int64_t wrapped)
{
    const struct pipeline *p = u->p;
    const int64_t *ticks = &p->backward[x->chunk * p->pp], *send = p->send;
    int64_t *clock = u->now.clock, *returned = u->now.returned;
    int64_t held = p->blocking_send ? -1 : 0, first = x->chunk < p->vpp - 1 ? wrapped : 0;
    int r = x->first, last = p->pp - 1;
    if (r == 0) {
        int64_t begin = max2(clock[0], last > 0 ? returned[1] : first);
        returned[0] = run_pass(&clock[0], begin, ticks[0], x->chunk == 0 ? 0 : send[last], held);
        r++;
    }
    for (; r < x->end && r < last; r++)
        returned[r] =
            run_pass(&clock[r], max2(clock[r], returned[r + 1]), ticks[r], send[r - 1], held);
    if (r < x->end && r == last)
        returned[r] = run_pass(&clock[r], max2(clock[r], first), ticks[r], send[r - 1], held);
}

/* As mark_forward() of all ranks: rank (ahead + g) mod pp begins a chunk, and when that is rank 0 all
 * ask for one. */
static void mark_forwards(struct schedule_run *u, int64_t at, const struct rank_span *x)
{
    const struct pipeline *p = u->p;
    int begins = (int)whole_mod(at, p->pp);
    for (int r = x->first; r < x->end; r++) {
        int next = x->chunk + (r == 0 ? 1 : 2);
        if (at - r >= (int64_t)p->pp * p->vpp)
            continue;
        if (r == begins)
            u->marks->needed[x->chunk * p->pp + r] = u->began[r];
        if (begins == 0 && next > 1 && next < p->vpp)
            u->marks->asked[next * p->pp + r] = u->began[r];
    }
}

static void mark_backwards(struct schedule_run *u, int64_t step, int first, int end)
{
    int64_t left = u->total - 1 - step;
    for (int r = first; r < end && left % u->p->pp == 0; r++)
        u->marks->reduced[left + r] = u->now.clock[r];
}

/* Where the ranks of a step are. Interleaved, `at` is the forward of rank 0. */
static int forward_spans(const struct schedule_run *u, int64_t at, struct rank_span out[2])
{
    int pp = u->p->pp, vpp = u->p->vpp;
    if (vpp == 1) {
        out[0] = (struct rank_span){0, pp, 0};
        return at >= 0 && at < u->total;
    }
    int chunk = (int)(whole_mod(at, (int64_t)pp * vpp) / pp);
    return cut_span(clamp(at - u->total + 1, pp), clamp(at + 1, pp), (int)whole_mod(at, pp) + 1,
                    chunk, chunk > 0 ? chunk - 1 : vpp - 1, out);
}

static int backward_spans(const struct schedule_run *u, int64_t step, struct rank_span out[2])
{
    int pp = u->p->pp, vpp = u->p->vpp;
    int chunk = vpp - 1 - (int)(whole_mod(step, (int64_t)pp * vpp) / pp);
    return cut_span(clamp(-step, pp), clamp(u->total - step, pp), pp - (int)whole_mod(step, pp),
                    chunk, chunk > 0 ? chunk - 1 : vpp - 1, out);
}

static void do_regular_step(struct schedule_run *u, int64_t step)
{
    int pp = u->p->pp;
    struct rank_span span[2];
    int64_t at = step + u->warmup[0], sent = u->now.sent[pp - 1], returned = u->now.returned[0];
    for (int n = forward_spans(u, at, span), i = n - 1; i >= 0; i--) {
        forward_span(u, &span[i], sent);
        if (u->marks && at - pp < (int64_t)pp * u->p->vpp)
            mark_forwards(u, at, &span[i]);
    }
    for (int i = 0, n = backward_spans(u, step, span); i < n; i++) {
        backward_span(u, &span[i], returned);
        if (u->marks && step >= u->last_from)
            mark_backwards(u, step, span[i].first, span[i].end);
    }
}

static void copy_state(struct schedule_state *to, const struct schedule_state *from, int pp)
{
    size_t bytes = (size_t)pp * sizeof(int64_t);
    memcpy(to->clock, from->clock, bytes);
    memcpy(to->sent, from->sent, bytes);
    memcpy(to->returned, from->returned, bytes);
}

static bool moved_evenly(const int64_t *a, const int64_t *b, int n, int64_t by)
{
    for (int i = 0; i < n; i++)
        if (a[i] - b[i] != by)
            return false;
    return true;
}

static void move(int64_t *a, int n, int64_t by)
{
    for (int i = 0; i < n; i++)
        a[i] += by;
}

/* Steps from `from` to `to` in which every rank does a forward and a backward of a full group,
 * in units of the pattern. Returns the step to go on with: `to` or a little before. */
static int64_t run_repeating(struct schedule_run *u, int64_t from, int64_t to)
{
    int pp = u->p->pp;
    int64_t unit = u->p->vpp == 1 ? 1 : (int64_t)u->p->group * u->p->vpp;
    struct schedule_state mark;
    copy_state(&mark, &u->now, pp);
    int64_t step = from, since = 0, limit = 1;
    while (to - step >= unit) {
        for (int64_t i = 0; i < unit; i++)
            do_regular_step(u, step++);
        since++;
        int64_t by = u->now.clock[0] - mark.clock[0];
        if (moved_evenly(u->now.clock, mark.clock, pp, by) &&
            moved_evenly(u->now.sent, mark.sent, pp, by) &&
            moved_evenly(u->now.returned, mark.returned, pp, by)) {
            int64_t periods = (to - step) / (since * unit);
            move(u->now.clock, pp, periods * by);
            move(u->now.sent, pp, periods * by);
            move(u->now.returned, pp, periods * by);
            return step + periods * since * unit;
        }
        if (since == limit) {
            copy_state(&mark, &u->now, pp);
            limit *= 2;
            since = 0;
        }
    }
    return step;
}

static void begin_marks(struct schedule_run *u)
{
    const struct pipeline *p = u->p;
    int64_t rest = p->micro_batches % p->group;
    assert(p->vpp > 1);
    u->last_size = rest ? rest : p->group;
    u->last_from = u->total - u->last_size * p->vpp;
    for (int i = 0; i < 2 * p->pp; i++)
        u->marks->asked[i] = 0;
}

int64_t pipeline_run(const struct pipeline *p, int64_t end[])
{
    return pipeline_run_marked(p, end, NULL);
}

int64_t pipeline_run_marked(const struct pipeline *p, int64_t end[],
                            const struct pipeline_marks *marks)
{
    struct schedule_run u;
    u.p = p;
    u.marks = marks;
    u.total = p->micro_batches * p->vpp;
    if (marks)
        begin_marks(&u);
    for (int r = 0; r < p->pp; r++)
        u.now.clock[r] = u.now.sent[r] = u.now.returned[r] = 0;
    int64_t step = 0;
    assert(p->pp >= 1 && p->pp <= SCHEDULE_MAX_RANKS && p->micro_batches >= 1);
    assert(p->vpp == 1 || (p->group >= p->pp && p->group - p->pp + 1 < HISTORY));
    assert(p->vpp == 1 || p->micro_batches % p->group == 0 || p->micro_batches % p->group >= p->pp);
    for (int r = 0; r < p->pp; r++) {
        u.warmup[r] = pipeline_warmup(p, r);
        u.forward[r] = u.backward[r] = schedule_begin(p);
        if (-u.warmup[r] - r < step)
            step = -u.warmup[r] - r;
    }
    bool regular = p->vpp == 1 || (p->group == p->pp && p->micro_batches % p->group == 0);
    while (!regular && step < u.total)
        do_step(&u, step++);
    while (step < 0)
        do_regular_step(&u, step++);
    /* every rank is past its warm-up from step 0 on; the forwards of rank 0 end first */
    if (regular)
        step = run_repeating(&u, step, u.total - u.warmup[0]);
    while (step < u.total)
        do_regular_step(&u, step++);
    int64_t latest = 0;
    for (int r = 0; r < p->pp; r++) {
        end[r] = u.now.clock[r];
        assert(end[r] >= 0);
        latest = max2(latest, end[r]);
        if (marks) /* what is left is launched at the end */
            marks->reduced[r] = end[r];
    }
    return latest;
}
