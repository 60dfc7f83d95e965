/* The passes and transfers are those of the event simulation, moved by the delay of the pipeline;
 * what stands around them are the parts that partition_step adds up.
 *
 *     compute            | F0 |    | F1 |        | R0 | B0 |
 *     communication           |tp|      |tp|               |tp|      exposed seconds of the pass
 *     optimizer     |gather|                                   |reduce| |optimizer|   exposed
 *     data parallel |gather|gather|              |reduce|   |reduce|     chunks and their buckets
 *     transfers                  |F0 to 1| |F1 to 1|
 *
 * A pass is its compute, then its exposed communication, one axis after the other: in truth they
 * alternate layer by layer. A transfer may outlast the next one's begin, so that there are as
 * many threads of transfers as are under way at once.
 *
 * A slice is a begin and an end, not a begin and a length: viewers round each number to
 * nanoseconds, so that a length could reach into the next slice, and Perfetto drops slices that
 * overlap. */
#include "report/chart/trace_out.h"

#include "base/arena.h"
#include "base/file.h"
#include "base/str.h"
#include "cluster/cluster.h"
#include "simulate/drawn_step.h"
#include "simulate/events.h"

#include <assert.h>
#include <stdio.h>

enum { TICKS_PER_US = 1000000, US_TEXT = 48 }; /* and the room of such a number as text */

/* Numbers of processes and threads never meet: one with its process's number would be taken for its
 * main thread. Nor are they 0, which viewers take for the idle process. */
enum { FIRST_PROCESS = 1, FIRST_THREAD = 2 * SCHEDULE_MAX_RANKS };

enum thread {
    COMPUTE,
    COMMUNICATION,
    OPTIMIZER,
    DATA_PARALLEL,
    TRANSFERS /* and as many more as it needs */
};

/* What a pass consists of, in the order drawn. */
enum { AGAIN, PASS, AXIS, POST = AXIS + AXES, PIECES };

static const struct {
    enum thread thread;
    const char *name; /* NULL: a letter and the micro-batch */
} PIECE[PIECES] = {
    [AGAIN] = {COMPUTE, NULL},
    [PASS] = {COMPUTE, NULL},
    [AXIS + AXIS_TP] = {COMMUNICATION, "tp"},
    [AXIS + AXIS_CP] = {COMMUNICATION, "cp"},
    [AXIS + AXIS_EP] = {COMMUNICATION, "ep"},
    [POST] = {COMMUNICATION, "post"},
};

/* Ends of the pieces, from the pass's start. */
struct cuts {
    int64_t end[PIECES];
};

/* When each thread of a rank's transfers is free. */
struct lanes {
    int count, room;
    int64_t *free_at;
};

struct trace {
    const struct plan *plan;
    const struct drawn_step *step;
    struct cuts *cuts[2]; /* [backward][shapes] */
    struct lanes *lanes;  /* [pp] */
    int64_t slices;
    bool drawn_collectives; /* of the rank at hand there were some */
    struct arena *mem;
    struct str *out;
};

/* The last piece that there is ends with the pass: sums in another order may differ by a tick. */
static struct cuts cuts_of(const struct pass *p, double post_s, int64_t ticks)
{
    double part[PIECES] = {[AGAIN] = p->recompute_s, [PASS] = p->compute_s}, sum = 0;
    struct cuts c;
    int last = POST;
    for (int a = 0; a < AXES; a++)
        part[AXIS + a] = p->comm_s[a];
    part[POST] = post_s;
    while (last > PASS && part[last] == 0)
        last--;
    for (int i = 0; i < PIECES; i++) {
        int64_t end = drawn_ticks(sum += part[i]);
        c.end[i] = i < last && end < ticks ? end : ticks;
    }
    return c;
}

/* The pass itself is drawn always, other pieces where they last. */
static bool is_drawn(const struct cuts *c, int piece)
{
    return piece == PASS || c->end[piece] > (piece > 0 ? c->end[piece - 1] : 0);
}

/* Microseconds, picoseconds as digits behind the point where there are any. */
static void print_us(int64_t ticks, char out[US_TEXT])
{
    int64_t whole = ticks / TICKS_PER_US, rest = ticks % TICKS_PER_US;
    int digits = 6;
    for (; digits > 0 && rest % 10 == 0; digits--)
        rest /= 10;
    if (digits > 0)
        snprintf(out, US_TEXT, "%lld.%0*lld", (long long)whole, digits, (long long)rest);
    else
        snprintf(out, US_TEXT, "%lld", (long long)whole);
}

/* `args` is "" or one more member of the event. */
static void add_slice(struct trace *t, int rank, int thread, int64_t start, int64_t end,
                      const char *name, const char *args)
{
    int process = FIRST_PROCESS + rank;
    char from[US_TEXT], to[US_TEXT];
    print_us(start, from);
    print_us(end, to);
    thread += FIRST_THREAD;
    str_addf(t->out,
             ",\n{\"ph\":\"B\",\"pid\":%d,\"tid\":%d,\"ts\":%s,\"name\":\"%s\"%s}"
             ",\n{\"ph\":\"E\",\"pid\":%d,\"tid\":%d,\"ts\":%s}",
             process, thread, from, name, args, process, thread, to);
    t->slices++;
}

static void name_thread(struct trace *t, int rank, int thread, const char *name)
{
    int process = FIRST_PROCESS + rank, number = FIRST_THREAD + thread;
    str_addf(t->out,
             ",\n{\"ph\":\"M\",\"pid\":%d,\"tid\":%d,\"name\":\"thread_name\","
             "\"args\":{\"name\":\"%s\"}}"
             ",\n{\"ph\":\"M\",\"pid\":%d,\"tid\":%d,\"name\":\"thread_sort_index\","
             "\"args\":{\"sort_index\":%d}}",
             process, number, name, process, number, thread);
}

static void name_process(struct trace *t, int rank)
{
    str_addf(t->out,
             "%s\n{\"ph\":\"M\",\"pid\":%d,\"name\":\"process_name\","
             "\"args\":{\"name\":\"stage %d: %s, %d layers\"}}"
             ",\n{\"ph\":\"M\",\"pid\":%d,\"name\":\"process_sort_index\","
             "\"args\":{\"sort_index\":%d}}",
             rank > 0 ? "," : "", FIRST_PROCESS + rank, rank, t->plan->stage[rank].group->gpu->name,
             t->plan->stage[rank].layers, FIRST_PROCESS + rank, rank);
    name_thread(t, rank, COMPUTE, "compute");
    name_thread(t, rank, COMMUNICATION, "communication");
    name_thread(t, rank, OPTIMIZER, "optimizer");
}

/* The first thread of transfers that is free. Transfers of a rank come in the order of their
 * starts. */
static int take_lane(struct trace *t, int rank, int64_t start, int64_t end)
{
    struct lanes *l = &t->lanes[rank];
    int lane = 0;
    while (lane < l->count && l->free_at[lane] > start)
        lane++;
    l->free_at = arena_room(t->mem, l->free_at, lane, &l->room, sizeof *l->free_at);
    if (lane == l->count) {
        l->count++;
        name_thread(t, rank, TRANSFERS + lane, "transfers");
    }
    l->free_at[lane] = end;
    return TRANSFERS + lane;
}

static void draw_transfer(struct trace *t, const struct event *e, const char *args)
{
    int pp = t->step->pipeline.pp, to = (e->rank + (e->backward ? pp - 1 : 1)) % pp;
    int64_t start = t->step->parts.delay + e->end, end = t->step->parts.delay + e->sent;
    char name[64];
    snprintf(name, sizeof name, "%c%lld to %d", e->backward ? 'B' : 'F', (long long)e->micro_batch,
             to);
    add_slice(t, e->rank, take_lane(t, e->rank, start, end), start, end, name, args);
}

static void draw_pass(void *context, const struct event *e)
{
    struct trace *t = context;
    int stage = e->chunk * t->step->pipeline.pp + e->rank;
    const struct cuts *c = &t->cuts[e->backward][t->step->partition->shape_of[stage]];
    int64_t start = t->step->parts.delay + e->start, from = start;
    char args[96], name[32];
    snprintf(args, sizeof args, ",\"args\":{\"micro_batch\":%lld,\"chunk\":%d}",
             (long long)e->micro_batch, e->chunk);
    for (int i = 0; i < PIECES; i++) {
        int64_t to = start + c->end[i];
        snprintf(name, sizeof name, "%c%lld", i == AGAIN ? 'R' : "FB"[e->backward],
                 (long long)e -> micro_batch);
        if (is_drawn(c, i))
            add_slice(t, e->rank, (int)PIECE[i].thread, from, to,
                      PIECE[i].name ? PIECE[i].name : name, args);
        from = to;
    }
    assert(from == t->step->parts.delay + e->end);
    if (e->sent > e->end)
        draw_transfer(t, e, args);
}

static void draw_edges(struct trace *t, int rank)
{
    struct drawn_edge edge[DRAWN_EDGES];
    int count = drawn_step_edges(t->step, rank, edge);
    for (int i = 0; i < count; i++)
        add_slice(t, rank, OPTIMIZER, edge[i].start, edge[i].end, edge[i].name, "");
}

static void draw_collective(void *context, const struct collective *c)
{
    struct trace *t = context;
    char args[96];
    if (!t->drawn_collectives)
        name_thread(t, c->rank, DATA_PARALLEL, "data parallel");
    t->drawn_collectives = true;
    snprintf(args, sizeof args, ",\"args\":{\"chunk\":%d,\"bucket\":%lld}", c->chunk,
             (long long)c->bucket);
    add_slice(t, c->rank, DATA_PARALLEL, c->start, c->end, c->reduction ? "reduce" : "gather",
              args);
}

static void draw_collectives(struct trace *t, int rank)
{
    const struct collective_visit visit = {draw_collective, t};
    t->drawn_collectives = false;
    drawn_collectives(t->step, rank, &visit);
}

static void find_cuts(struct trace *t)
{
    const struct partition *f = t->step->partition;
    double post_s = transfer_fixed_s(f, &t->plan->strategy);
    for (int b = 0; b < 2; b++)
        t->cuts[b] = arena_array(t->mem, (size_t)f->shapes, sizeof *t->cuts[b]);
    for (int i = 0; i < f->shapes; i++) {
        struct pass forward, backward;
        shape_passes(f, &t->plan->strategy, i, &forward, &backward);
        t->cuts[0][i] = cuts_of(&forward, post_s, t->step->pass_times.forward[i]);
        t->cuts[1][i] = cuts_of(&backward, post_s, t->step->pass_times.backward[i]);
    }
}

/* Slices of one micro-batch on all stages. */
static int64_t slices_of_passes(const struct trace *t)
{
    const struct partition *f = t->step->partition;
    int pp = t->step->pipeline.pp, stages = f->layout.stages;
    int64_t count = 0;
    for (int i = 0; i < stages; i++) {
        for (int k = 0; k < 2 * PIECES; k++)
            count += is_drawn(&t->cuts[k / PIECES][f->shape_of[i]], k % PIECES);
        if (i < stages - 1 && f->send[i % pp] > 0)
            count += 2; /* forward, and backward again */
    }
    return count;
}

/* Around the passes first: they are few. */
static bool draw(struct trace *t, struct error *err)
{
    int64_t m = t->step->pipeline.micro_batches, each = slices_of_passes(t);
    str_add(t->out, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[");
    for (int r = 0; r < t->step->pipeline.pp; r++) {
        name_process(t, r);
        draw_edges(t, r);
        draw_collectives(t, r);
    }
    int64_t slices = t->slices + m * each;
    if (slices > TRACE_MOST_SLICES)
        return fail(err, ERROR_INPUT,
                    "a trace of this step would have %lld slices, the most are %d: take %lld "
                    "micro-batches or fewer instead of %lld (a smaller global batch, or larger "
                    "micro-batches)",
                    (long long)slices, TRACE_MOST_SLICES,
                    (long long)((TRACE_MOST_SLICES - t->slices) / each), (long long)m);
    int64_t end = events_run(&t->step->pipeline, draw_pass, t);
    assert(end >= 0 && t->slices == slices);
    (void)end;
    str_add(t->out, "\n]}\n");
    return true;
}

bool trace_print(const struct plan *p, struct str *out, struct error *err)
{
    struct arena mem = {0};
    if (!p->computed)
        return fail(err, ERROR_INPUT, "a plan that cannot be computed has no trace: %s",
                    p->reason[0]);
    struct trace *t = arena_alloc(&mem, sizeof *t);
    t->plan = p;
    t->mem = &mem;
    t->out = out;
    t->step = drawn_step_new(p, &mem);
    find_cuts(t);
    t->lanes = arena_array(&mem, (size_t)t->step->pipeline.pp, sizeof *t->lanes);
    bool ok = draw(t, err);
    arena_release(&mem);
    return ok;
}

bool trace_write(const struct plan *p, const char *path, struct error *err)
{
    struct str text = {0};
    bool ok = trace_print(p, &text, err) && file_write(path, text.data, text.length, err);
    str_release(&text);
    return ok;
}
