/* One step for a chart. Times are whole parts of the step, so small that a pass has many. A pass is the time since the one
 * before it on its rank began, and a number: (micro-batch x vpp + chunk) x 2, plus 1 backward; how
 * long its parts take is written once for each virtual stage. A rank of many passes has its first
 * and its last ones. */
#include "report/page/page_parts.h"

#include "base/arena.h"
#include "base/json.h"
#include "simulate/drawn_step.h"
#include "simulate/events.h"

#include <math.h>

enum {
    UNITS = 1000000, /* of a step */
    UNITS_OF_MANY = 1000000000,
    MANY_PASSES = 10000,   /* of one rank */
    MOST_PASSES = 12000,   /* of all ranks together */
    MOST_EVENTS = 4000000, /* more are not simulated for a picture */
    MOST_RANKS = 256
};

struct passes_seen {
    int64_t start;
    int64_t number;
};

struct drawing {
    const struct drawn_step *step;
    int64_t units;            /* of the step */
    double unit;              /* ticks */
    int64_t each, half;       /* passes of a rank; of them kept at either end */
    struct passes_seen *seen; /* [pp][2 half] */
    int64_t *count;           /* [pp] */
};

static int64_t in_units(const struct drawing *d, int64_t ticks)
{
    return llround((double)ticks / d->unit);
}

static void take_pass(void *context, const struct event *e)
{
    struct drawing *d = context;
    int64_t at = d->count[e->rank]++;
    if (at >= d->half && at < d->each - d->half)
        return;
    if (at >= d->half && d->each > 2 * d->half)
        at -= d->each - 2 * d->half;
    d->seen[e->rank * 2 * d->half + at] = (struct passes_seen){
        in_units(d, d->step->parts.delay + e->start),
        2 * (e->micro_batch * d->step->pipeline.vpp + e->chunk) + e->backward,
    };
}

static int64_t kept(const struct drawing *d)
{
    return d->each < 2 * d->half ? d->each : 2 * d->half;
}

static struct json *passes_of(const struct drawing *d, int rank)
{
    struct json *list = json_new_array();
    int64_t before = 0, count = kept(d);
    for (int64_t i = 0; i < count; i++) {
        const struct passes_seen *s = &d->seen[rank * 2 * d->half + i];
        json_append(list, json_new_integer(s->start - before));
        json_append(list, json_new_integer(s->number));
        before = s->start;
    }
    return list;
}

static struct json *edges_of(const struct drawing *d, int rank)
{
    struct drawn_edge edge[DRAWN_EDGES];
    int edges = drawn_step_edges(d->step, rank, edge);
    struct json *list = json_new_array();
    for (int i = 0; i < edges; i++) {
        struct json *one = json_new_array();
        json_append(one, json_new_string(edge[i].name));
        json_append(one, json_new_integer(in_units(d, edge[i].start)));
        json_append(one, json_new_integer(in_units(d, edge[i].end)));
        json_append(list, one);
    }
    return list;
}

static struct json *ranks_of(const struct drawing *d)
{
    struct json *list = json_new_array();
    for (int r = 0; r < d->step->pipeline.pp; r++) {
        struct json *rank = json_new_object();
        json_set(rank, "passes", passes_of(d, r));
        json_set(rank, "edges", edges_of(d, r));
        json_append(list, rank);
    }
    return list;
}

/* Recomputed, compute, then communication that nothing hides. */
static struct json *parts_of(const struct drawing *d, const struct pass *p, int64_t all)
{
    double comm_s = 0;
    struct json *list = json_new_array();
    for (int a = 0; a < AXES; a++)
        comm_s += p->comm_s[a];
    int64_t again = in_units(d, drawn_ticks(p->recompute_s));
    int64_t comm = in_units(d, drawn_ticks(comm_s));
    json_append(list, json_new_integer(again));
    json_append(list, json_new_integer(in_units(d, all) - again - comm));
    json_append(list, json_new_integer(comm));
    return list;
}

/* By virtual stage, forward and backward. */
static struct json *shapes_of(const struct drawing *d)
{
    const struct partition *f = d->step->partition;
    struct json *list = json_new_array();
    for (int i = 0; i < f->layout.stages; i++) {
        int shape = f->shape_of[i];
        struct pass forward, backward;
        struct json *both = json_new_array();
        shape_passes(f, d->step->strategy, shape, &forward, &backward);
        json_append(both, parts_of(d, &forward, d->step->pass_times.forward[shape]));
        json_append(both, parts_of(d, &backward, d->step->pass_times.backward[shape]));
        json_append(list, both);
    }
    return list;
}

static bool is_drawable(const struct plan *p)
{
    const struct strategy *s = &p->strategy;
    return p->feasible && s->pp <= MOST_RANKS &&
           2 * strategy_micro_batches(s) * s->vpp * s->pp <= MOST_EVENTS;
}

static struct json *draw(struct drawing *d, double step_s, struct arena *mem)
{
    const struct pipeline *p = &d->step->pipeline;
    struct json *o = json_new_object();
    d->each = 2 * p->micro_batches * p->vpp;
    d->units = d->each > MANY_PASSES ? UNITS_OF_MANY : UNITS;
    d->unit = step_s * TICKS_PER_S / (double)d->units;
    d->half = MOST_PASSES / 2 / p->pp;
    d->half = d->half > d->each ? d->each : d->half;
    d->seen = arena_array(mem, (size_t)(2 * d->half * p->pp), sizeof *d->seen);
    d->count = arena_array(mem, (size_t)p->pp, sizeof *d->count);
    events_run(p, take_pass, d);
    json_set(o, "units", json_new_integer(d->units));
    json_set(o, "vpp", json_new_integer(p->vpp));
    json_set(o, "micro_batches", json_new_integer(p->micro_batches));
    json_set(o, "each", json_new_integer(d->each));
    json_set(o, "half", json_new_integer(d->each > 2 * d->half ? d->half : d->each));
    json_set(o, "shapes", shapes_of(d));
    json_set(o, "ranks", ranks_of(d));
    return o;
}

struct json *page_timeline(const struct plan *p)
{
    struct arena mem = {0};
    if (!is_drawable(p))
        return json_new_null();
    struct drawing *d = arena_alloc(&mem, sizeof *d);
    d->step = drawn_step_new(p, &mem);
    struct json *o = draw(d, p->step_s, &mem);
    arena_release(&mem);
    return o;
}
