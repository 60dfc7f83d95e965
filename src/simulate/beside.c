#include "simulate/beside.h"

#include "base/arena.h"

#include <assert.h>
#include <math.h>

static bool is_busy(const struct beside *b)
{
    return b->finished < b->launched;
}

static int64_t launch(struct beside *b, double length)
{
    b->left[b->launched] = length;
    return b->launched++;
}

/* The collective at the head runs for a while at a part of its speed. */
static void run_head(struct beside *b, double seconds, double speed)
{
    double *left = &b->left[b->finished];
    b->now += seconds;
    *left -= seconds * speed;
    if (*left <= 1e-6) /* rounding leaves less than that of a tick */
        b->finished++;
}

/* No compute until then. */
static void idle_until(struct beside *b, double until)
{
    while (is_busy(b) && b->now < until)
        run_head(b, fmin(until - b->now, b->left[b->finished]), 1);
    b->now = fmax(b->now, until);
}

static void wait_for(struct beside *b, int64_t launch)
{
    while (b->finished <= launch)
        run_head(b, b->left[b->finished], 1);
}

static void compute(struct beside *b, double work)
{
    const struct company *by = &b->c->company[b->rank];
    double speed = 1 - by->tax, share = 1 / by->stretch;
    while (is_busy(b) && work > 0) {
        double seconds = fmin(work / speed, b->left[b->finished] / share);
        run_head(b, seconds, share);
        work -= seconds * speed;
    }
    b->now += fmax(0, work);
}

/* One chunk a rank: buckets go with the layers. */
static void first_forward(struct beside *b, double ticks, double gather)
{
    int64_t n = b->rank == 0 ? b->c->buckets : 1;
    double each = gather / (double)n;
    int64_t next = launch(b, each);
    for (int64_t i = 0; i < n; i++) {
        wait_for(b, next);
        if (i + 1 < n)
            next = launch(b, each);
        compute(b, ticks / (double)n);
    }
}

static void last_backward(struct beside *b, double ticks, double reduce)
{
    int64_t n = b->rank == 0 ? b->c->buckets : 1;
    for (int64_t i = 0; i < n; i++) {
        compute(b, ticks / (double)n);
        launch(b, reduce / (double)n);
    }
}

/* Virtual stages: see struct pipeline_marks. */
static void before_forward(struct beside *b, const struct beside_pass *x)
{
    const struct pipeline *p = b->p;
    int64_t next = (x->k + b->rank) / p->group + 1;
    if (!b->c->gathers || x->k >= (int64_t)p->vpp * p->group)
        return;
    if ((x->k + b->rank) % p->group == 0 && next > 1 && next < p->vpp)
        b->gathered[next] = launch(b, b->c->gather[next * p->pp + b->rank]);
    if (x->k % p->group == 0)
        wait_for(b, b->gathered[x->chunk]);
}

static void after_backward(struct beside *b, const struct beside_pass *x)
{
    const struct pipeline *p = b->p;
    int64_t rest = p->micro_batches % p->group, size = rest ? rest : p->group;
    int64_t total = p->micro_batches * p->vpp, left = total - 1 - (x->k - b->rank);
    if (!b->c->reductions)
        return;
    if (left % size == 0 && left / size > 0 && left / size < p->vpp)
        launch(b, b->c->reduce[left / size * p->pp + b->rank]);
    if (x->k == total - 1)
        launch(b, b->c->reduce[b->rank]);
}

void beside_init(struct beside *b, const struct pipeline *p, const struct step_collectives *c,
                 int rank, struct arena *mem)
{
    size_t most = 2 * (size_t)(p->vpp > 1 ? p->vpp : c->buckets);
    *b = (struct beside){.p = p, .c = c, .rank = rank};
    b->left = arena_array(mem, most, sizeof *b->left);
    b->gathered = arena_array(mem, (size_t)p->vpp, sizeof *b->gathered);
    for (int v = 0; v < 2 && p->vpp > 1 && c->gathers; v++)
        b->gathered[v] = launch(b, c->gather[v * p->pp + rank]);
}

int64_t beside_run(struct beside *b, const struct beside_pass *x, int64_t start)
{
    const struct pipeline *p = b->p;
    int stage = x->chunk * p->pp + b->rank;
    double ticks = (double)(x->backward ? p->backward : p->forward)[stage];
    bool one = p->vpp == 1;
    idle_until(b, (double)start);
    if (one && b->c->gathers && !x->backward && x->k == 0) {
        first_forward(b, ticks, b->c->gather[stage]);
    } else if (one && b->c->reductions && x->backward && x->k == p->micro_batches - 1) {
        last_backward(b, ticks, b->c->reduce[stage]);
    } else {
        if (!one && !x->backward)
            before_forward(b, x);
        compute(b, ticks);
        if (!one && x->backward)
            after_backward(b, x);
    }
    return llround(b->now);
}

int64_t beside_end(struct beside *b)
{
    if (b->launched > 0)
        wait_for(b, b->launched - 1);
    return llround(b->now);
}
