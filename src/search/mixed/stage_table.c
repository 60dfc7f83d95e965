#include "search/mixed/stage_table.h"

#include "base/arena.h"
#include "simulate/host_memory.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* Whether stages that begin at `a` and at `b` > `a` are alike however long they are. */
static bool alike(const struct model *m, int a, int b)
{
    return memcmp(&m->layer[a], &m->layer[b], (size_t)(m->layers - b)) == 0;
}

int stage_starts(const struct model *m, uint16_t start_of[], uint16_t first_with[])
{
    int starts = 0;
    for (int first = 0; first <= m->layers; first++) {
        int i = 0;
        while (i < starts && !alike(m, first_with[i], first))
            i++;
        if (i == starts)
            first_with[starts++] = (uint16_t)first;
        start_of[first] = (uint16_t)i;
    }
    assert(starts >= 1 && starts <= m->layers + 1);
    return starts;
}

static size_t entries(const struct stage_table *t)
{
    return (size_t)STAGE_ENDS * (size_t)t->starts * (size_t)(t->layers + 1);
}

void stage_table_init(struct stage_table *t, int layers, int starts, const uint16_t *start_of,
                      const uint16_t *first_with, struct arena *mem)
{
    t->layers = layers;
    t->starts = starts;
    t->start_of = start_of;
    t->first_with = first_with;
    t->partition = arena_alloc(mem, sizeof *t->partition);
    t->time = arena_array(mem, entries(t), sizeof *t->time);
}

void stage_table_structure(struct stage_table *t, const struct strategy *states, int count,
                           struct arena *mem)
{
    t->states = count;
    t->most = 1;
    t->state_strategy = states;
    t->params = arena_array(mem, entries(t), sizeof *t->params);
    t->sums = arena_array(mem, entries(t), sizeof *t->sums);
    t->stretch = arena_array(mem, (size_t)count, sizeof *t->stretch);
    t->of_state = arena_array(mem, (size_t)count, sizeof *t->of_state);
    t->mem = mem;
    for (int i = 0; i < count; i++)
        t->stretch[i] = state_stretch(t->partition, &states[i]);
    for (int end = 0; end < STAGE_ENDS; end++)
        t->buffers[end] = rank_buffers(t->partition, 0, end == STAGE_FIRST, end == STAGE_LAST);
    t->pass_times++;
}

void stage_table_pass_times(struct stage_table *t)
{
    t->pass_times++;
}

static size_t at(const struct stage_table *t, enum stage_end end, int first, int layers)
{
    return ((size_t)end * (size_t)t->starts + t->start_of[first]) * (size_t)(t->layers + 1) +
           (size_t)layers;
}

static struct stage_shape shape_of(const struct stage_table *t, enum stage_end end, int first,
                                   int layers)
{
    const struct model *m = t->partition->scene->model;
    return (struct stage_shape){{t->first_with[t->start_of[first]], layers, end == STAGE_FIRST,
                                 end == STAGE_LAST, end == STAGE_LAST ? m->mtp : 0},
                                0};
}

/* The partition's one shape becomes this one; its sums are asked once for all pass times. */
static void set_shape(struct stage_table *t, size_t entry, const struct stage_shape *shape)
{
    struct stage_sums **known = &t->sums[entry];
    if (*known) {
        t->partition->shape[0] = *shape;
        t->partition->sums[0] = **known;
        return;
    }
    partition_set_shape(t->partition, 0, shape);
    *known = arena_alloc(t->mem, sizeof **known);
    **known = t->partition->sums[0];
}

const struct stage_time *stage_time(struct stage_table *t, const struct strategy *s,
                                    enum stage_end end, int first, int layers)
{
    size_t entry = at(t, end, first, layers);
    struct stage_time *x = &t->time[entry];
    if (x->pass_times == t->pass_times)
        return x;
    struct stage_shape shape = shape_of(t, end, first, layers);
    set_shape(t, entry, &shape);
    shape_ticks(t->partition, s, 0, t->fixed_s, &x->forward, &x->backward);
    x->pass_times = t->pass_times;
    return x;
}

const struct chunk_bytes *stage_bytes(struct stage_table *t, const struct strategy *s,
                                      enum stage_end end, int first, int layers)
{
    struct stage_time *x = &t->time[at(t, end, first, layers)];
    if (x->bytes_pass_times == t->pass_times)
        return &x->bytes;
    t->partition->shape[0] = shape_of(t, end, first, layers); /* sums have no part in bytes */
    x->bytes = shape_bytes(t->partition, s, 0);
    x->hosted = t->partition->hosts ? shape_hosted(t->partition, s, 0) : 0;
    x->bytes_pass_times = t->pass_times;
    return &x->bytes;
}

/* Memory under the i-th state. */
static struct stage_state *state_at(struct stage_table *t, int i, size_t entry,
                                    const struct rank_params *p)
{
    if (!t->of_state[i])
        t->of_state[i] = arena_array(t->mem, entries(t), sizeof *t->of_state[i]);
    struct stage_state *x = &t->of_state[i][entry];
    if (x->known)
        return x;
    x->memory = rank_state_of(t->partition, 0, p, &t->state_strategy[i]);
    x->known = true;
    return x;
}

int state_kind(const struct strategy *s)
{
    return 2 * (s->fsdp > FSDP_NONE) + (s->optimizer_offload > 0);
}

static void note_smallest(const struct rank_state *one, double stretch, struct rank_state *out)
{
    out->bytes = fmin(out->bytes, stretch * one->bytes);
    out->step_bytes = fmin(out->step_bytes, stretch * one->step_bytes);
    out->setup_bytes = fmin(out->setup_bytes, stretch * one->setup_bytes);
    out->host_bytes = fmin(out->host_bytes, one->host_bytes);
}

const struct stage_params *stage_params(struct stage_table *t, enum stage_end end, int first,
                                        int layers)
{
    size_t entry = at(t, end, first, layers);
    struct stage_params *x = &t->params[entry];
    if (x->known)
        return x;
    struct stage_shape shape = shape_of(t, end, first, layers);
    x->params = shape_params(t->partition, &shape);
    for (int k = 0; k <= STATE_KINDS; k++)
        x->smallest[k] = (struct rank_state){INFINITY, INFINITY, INFINITY, INFINITY};
    for (int i = 0; i < t->states; i++) {
        const struct strategy *s = &t->state_strategy[i];
        struct rank_state one = rank_state_of(t->partition, 0, &x->params, s);
        note_smallest(&one, t->stretch[i], &x->smallest[0]);
        note_smallest(&one, t->stretch[i], &x->smallest[1 + state_kind(s)]);
    }
    x->known = true;
    return x;
}

/* Of a stage that is a rank's chunk 0: several on the first rank alone. */
static double buckets_of(const struct stage_table *t, enum stage_end end,
                         const struct rank_params *p)
{
    return end == STAGE_FIRST ? rank_buckets(t->partition, 0, p) : 1;
}

/* Whether the times were there already. */
static bool set_times(struct stage_table *t, int state, enum stage_end end,
                      const struct rank_params *p, struct stage_state *x)
{
    const struct strategy *own = &t->state_strategy[state];
    int pp = own->fsdp >= FSDP_OPTIM_GRADS ? t->partition->strategy.pp : 1; /* units are by stage */
    if (x->pp == pp)
        return true;
    x->times = rank_times_of(t->partition, 0, p, buckets_of(t, end, p), own);
    x->pp = pp;
    return false;
}

const struct stage_state *stage_rank(struct stage_table *t, int state, enum stage_end end,
                                     int first, int layers)
{
    const struct rank_params *p = &stage_params(t, end, first, layers)->params;
    struct stage_state *x = state_at(t, state, at(t, end, first, layers), p);
    if (!set_times(t, state, end, p, x))
        x->pass_times = 0; /* its ticks were of the times before */
    return x;
}

int64_t stage_behind(struct stage_table *t, int state, enum stage_end end, int first, int layers)
{
    const struct rank_times *x = &stage_rank(t, state, end, first, layers)->times;
    return llround(rank_edges(t->partition, &t->state_strategy[state], 0, 0, x, 1, x).behind *
                   TICKS_PER_S);
}

const struct stage_state *stage_state(struct stage_table *t, const struct strategy *s, int state,
                                      enum stage_end end, int first, int layers)
{
    const struct rank_params *p = &stage_params(t, end, first, layers)->params;
    struct stage_state *x = state_at(t, state, at(t, end, first, layers), p);
    double buckets = buckets_of(t, end, p);
    if (set_times(t, state, end, p, x) && x->pass_times == t->pass_times)
        return x;
    const struct stage_time *time = stage_time(t, s, end, first, layers);
    struct edges e =
        rank_edges(t->partition, s, (double)time->forward / TICKS_PER_S,
                   (double)time->backward / TICKS_PER_S, &x->times, buckets, &x->times);
    x->delay = llround(e.delay * TICKS_PER_S);
    x->after = llround(e.after * TICKS_PER_S);
    x->behind = llround(e.behind * TICKS_PER_S);
    x->pass_times = t->pass_times;
    return x;
}

bool stage_host_fits(const struct stage_table *t, const struct rank_state *own, double hosted)
{
    return host_fullness(&t->partition->mesh[0], own->host_bytes, hosted) <= 1;
}

bool stage_fits(struct stage_table *t, const struct strategy *s, int state, enum stage_end end,
                int first, int layers, int64_t alive)
{
    const struct chunk_bytes *b = stage_bytes(t, s, end, first, layers);
    const struct stage_params *p = stage_params(t, end, first, layers);
    double fullest = alive > 0 ? (double)alive * b->saved + b->peak - b->saved : 0;
    double hosted = (double)alive * t->time[at(t, end, first, layers)].hosted;
    bool any = state <= ANY_STATE;
    const struct rank_state *own =
        any ? smallest_state(p, state)
            : &state_at(t, state, at(t, end, first, layers), &p->params)->memory;
    return stage_host_fits(t, own, hosted) &&
           rank_fullness(t->partition, 0, fullest, own, t->buffers[end],
                         any ? 1 : t->stretch[state]) <= t->most;
}
