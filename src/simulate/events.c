/* Ranks take turns; each runs its list of passes as far as its inputs have arrived. The order of
 * the list is Megatron's: warm-up forwards, pairs of forward and backward, the remaining
 * backwards. */
#include "simulate/events.h"

#include "base/arena.h"
#include "simulate/beside.h"

#include <assert.h>

struct simulation {
    const struct pipeline *p;
    int64_t total;
    int64_t *next;  /* [pp] passes done on each rank */
    int64_t *clock; /* [pp] */
    int64_t
        *forward; /* [vpp * pp * micro_batches] arrival of the output downstream, -1 = not yet */
    int64_t *backward;     /* the same upstream */
    struct beside *beside; /* [pp], NULL: passes alone */
};

struct turn {
    bool backward;
    struct schedule_item item;
    int chunk;
    int64_t k; /* of its direction */
};

/* The i-th pass of a rank. */
static struct turn turn_of(const struct simulation *s, int rank, int64_t i)
{
    int64_t warmup = pipeline_warmup(s->p, rank);
    if (warmup > s->total)
        warmup = s->total;
    int64_t pairs = s->total - warmup, k;
    bool backward;
    if (i < warmup) {
        backward = false;
        k = i;
    } else if (i < warmup + 2 * pairs) {
        backward = (i - warmup) % 2 != 0;
        k = (i - warmup) / 2 + (backward ? 0 : warmup);
    } else {
        backward = true;
        k = i - s->total;
    }
    struct schedule_item item = schedule_item(s->p, k);
    return (struct turn){backward, item, backward ? s->p->vpp - 1 - item.chunk : item.chunk, k};
}

static int64_t *cell(const struct simulation *s, int64_t *table, int stage, int64_t micro_batch)
{
    return &table[stage * s->p->micro_batches + micro_batch];
}

/* When the input of a pass has arrived: 0 when it needs none, -1 when not yet. */
static int64_t input_of(const struct simulation *s, int stage, const struct turn *t)
{
    int last = s->p->pp * s->p->vpp - 1;
    if (!t->backward)
        return stage == 0 ? 0 : *cell(s, s->forward, stage - 1, t->item.micro_batch);
    if (stage == last)
        return *cell(s, s->forward, stage, t->item.micro_batch);
    return *cell(s, s->backward, stage + 1, t->item.micro_batch);
}

static int64_t send_after(const struct pipeline *p, int rank, int stage, bool backward)
{
    int last = p->pp * p->vpp - 1;
    if (!backward)
        return stage == last ? 0 : p->send[rank];
    return stage == 0 ? 0 : p->send[rank == 0 ? p->pp - 1 : rank - 1];
}

static int64_t end_of(struct simulation *s, int rank, const struct turn *t, int64_t start)
{
    int stage = t->chunk * s->p->pp + rank;
    if (s->beside)
        return beside_run(&s->beside[rank], &(struct beside_pass){t->backward, t->chunk, t->k},
                          start);
    return start + (t->backward ? s->p->backward : s->p->forward)[stage];
}

/* Runs the next pass of a rank if its input is there. */
static bool advance(struct simulation *s, int rank, struct event *e)
{
    const struct pipeline *p = s->p;
    if (s->next[rank] == 2 * s->total)
        return false;
    struct turn t = turn_of(s, rank, s->next[rank]);
    int stage = t.chunk * p->pp + rank;
    int64_t ready = input_of(s, stage, &t);
    if (ready < 0)
        return false;
    int64_t start = ready > s->clock[rank] ? ready : s->clock[rank];
    int64_t end = end_of(s, rank, &t, start);
    assert(end >= start && t.item.micro_batch < p->micro_batches);
    int64_t send = send_after(p, rank, stage, t.backward);
    *cell(s, t.backward ? s->backward : s->forward, stage, t.item.micro_batch) = end + send;
    s->clock[rank] = p->blocking_send ? end + send : end;
    s->next[rank]++;
    *e = (struct event){rank, t.chunk, t.backward, t.item.micro_batch, start, end, end + send};
    return true;
}

static struct simulation simulation_of(const struct pipeline *p, struct arena *mem)
{
    size_t cells = (size_t)p->pp * (size_t)p->vpp * (size_t)p->micro_batches;
    struct simulation s = {.p = p, .total = p->micro_batches * p->vpp};
    s.next = arena_array(mem, (size_t)p->pp, sizeof *s.next);
    s.clock = arena_array(mem, (size_t)p->pp, sizeof *s.clock);
    s.forward = arena_array(mem, cells, sizeof *s.forward);
    s.backward = arena_array(mem, cells, sizeof *s.backward);
    for (size_t i = 0; i < cells; i++)
        s.forward[i] = s.backward[i] = -1;
    return s;
}

/* False when the order cannot be completed. */
static bool run_all(struct simulation *s, void (*visit)(void *context, const struct event *),
                    void *context)
{
    int64_t left = 2 * s->total * s->p->pp;
    for (bool moved = true; left > 0 && moved;) {
        moved = false;
        for (int r = 0; r < s->p->pp; r++)
            for (struct event e; advance(s, r, &e); left--, moved = true)
                if (visit)
                    visit(context, &e);
    }
    return left == 0;
}

int64_t events_run(const struct pipeline *p, void (*visit)(void *context, const struct event *),
                   void *context)
{
    struct arena mem = {0};
    struct simulation s = simulation_of(p, &mem);
    int64_t latest = run_all(&s, visit, context) ? 0 : -1;
    for (int r = 0; r < p->pp && latest >= 0; r++)
        latest = s.clock[r] > latest ? s.clock[r] : latest;
    arena_release(&mem);
    return latest;
}

int64_t events_run_step(const struct pipeline *p, const struct step_collectives *c)
{
    struct arena mem = {0};
    struct simulation s = simulation_of(p, &mem);
    s.beside = arena_array(&mem, (size_t)p->pp, sizeof *s.beside);
    for (int r = 0; r < p->pp; r++)
        beside_init(&s.beside[r], p, c, r, &mem);
    int64_t latest = run_all(&s, NULL, NULL) ? 0 : -1;
    for (int r = 0; r < p->pp && latest >= 0; r++) {
        int64_t end = beside_end(&s.beside[r]);
        latest = s.clock[r] > latest ? s.clock[r] : latest;
        latest = end > latest ? end : latest;
    }
    arena_release(&mem);
    return latest;
}
