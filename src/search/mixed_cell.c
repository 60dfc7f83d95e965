/* From a structure to its best plans.
 *
 *   structure  tp cp dp ep etp micro_batch vpp ...   bound: all stages there could be, least times
 *   timing     recompute, overlap                    bound: the same with its own times
 *   state      optimizer                             memory: layers that fit by micro-batches in flight
 *   pp         stages in all                         bound and memory of any arrangement; rules
 *   stages     of each type, and the types' order    layers each rank may have; then assign.c decides
 */
#include "search/mixed_cell.h"

#include "cluster/cluster.h"
#include "search/assign.h"

#include <math.h>
#include <string.h>

void mixed_worker_init(struct mixed_worker *w, const struct mixed_question *q,
                       const struct mixed_set *sets, int count)
{
    const struct model *m = q->scene.model;
    memset(w, 0, sizeof *w);
    w->question = q;
    w->sets = count;
    w->first_set = sets;
    arena_init(&w->keep);
    arena_init(&w->scratch);
    arena_init(&w->problem);
    w->set = arena_array(&w->keep, (size_t)count, sizeof *w->set);
    for (int i = 0; i < count; i++) {
        struct set_worker *x = &w->set[i];
        const struct space *s = &sets[i].space;
        walk_init(&x->walk, s, &sets[i].plan, sets[i].fixed[0]);
        for (int g = 1; g < sets[i].groups; g++)
            walk_add_group(&x->walk, x->other, sets[i].fixed[g]);
        option_cache_init(&x->timings, s, &sets[i].plan, s->first_timing, s->first_state, true);
        option_cache_init(&x->states, s, &sets[i].plan, s->first_state, s->axes - 1, true);
    }
    w->start_of = arena_array(&w->keep, 2 * ((size_t)m->layers + 1), sizeof *w->start_of);
    w->first_with = w->start_of + m->layers + 1;
    w->starts = stage_starts(m, w->start_of, w->first_with);
    for (int g = 0; g < MIX_MAX; g++)
        stage_table_init(&w->table[g], m->layers, w->starts, w->start_of, w->first_with, &w->keep);
    w->frame = arena_alloc(&w->keep, sizeof *w->frame);
}

void mixed_worker_release(struct mixed_worker *w)
{
    for (int i = 0; i < w->sets; i++) {
        option_cache_release(&w->set[i].timings);
        option_cache_release(&w->set[i].states);
    }
    arena_release(&w->keep);
    arena_release(&w->scratch);
    arena_release(&w->problem);
}

struct walk *mixed_walk(struct mixed_worker *w, const struct mixed_set *set)
{
    return &w->set[set - w->first_set].walk;
}

static int64_t gcd(int64_t a, int64_t b)
{
    while (b > 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Stages that together fill whole nodes. */
static int64_t stage_step(const struct node_group *g, int64_t block, bool any)
{
    return any ? 1 : g->per_node / gcd(g->per_node, block);
}

int most_stages(const struct node_group *g, int64_t block, bool any)
{
    int64_t step = stage_step(g, block, any);
    return (int)((int64_t)g->nodes_max * g->per_node / block / step * step);
}

/* Layers that fit on a stage, by type and micro-batches in flight. */
struct room {
    int timing;                 /* the number of the timing it is of */
    uint16_t *layers[MIX_MAX];  /* [alive_max + 1] */
    int rules_pp, rules_timing; /* what the rules were asked of last, */
    bool rules_allow;           /* and their answer */
};

/* One structure while it is searched. */
struct cell {
    struct mixed_worker *w;
    struct structure *st;
    const struct mixed_set *set;
    struct strategy s; /* with timing and state as they are bound */
    const struct layer_costs *costs[MIX_MAX];
    struct scene scene[MIX_MAX];      /* of each type, with what it has of its own */
    struct mesh_list alone[MIX_MAX];  /* its mesh, for that */
    int64_t block[MIX_MAX];           /* GPUs of a stage */
    int64_t micro_batches;
    bool any;
    int layers;
    int64_t step[MIX_MAX]; /* stages of each type come in multiples of it */
    int fewest[MIX_MAX], most[MIX_MAX];
    double work;          /* least ticks of all layers, once */
    double more[MIX_MAX]; /* least ticks that a layer takes longer on each type */
    double send, cross;   /* least ticks of a transfer, and of one between types */
    double behind;        /* least ticks of optimizer and what follows, for the pp at hand */
    int64_t crossing[MIX_MAX][MIX_MAX];
    int pps, *pp;         /* numbers of stages that are worth a look, most first */
    int by_time[MIX_MAX]; /* layers of a stage that the cut allows, for the pp at hand */
    int alive_max;        /* micro-batches in flight */
    int states;
    const struct option_list *state_list;
    struct room *room;   /* [states + 1] layers that fit; the last is of the smallest state */
    int state;           /* that `room` and costs are asked of, or ANY_STATE */
    int stages[MIX_MAX]; /* of each type, while they are chosen */
    int order[MIX_MAX];  /* types along the pipeline */
};

static void enter(struct mixed_worker *w, const struct structure *st)
{
    struct walk *walk = mixed_walk(w, st->set);
    for (int axis = 0; axis < st->set->space.first_timing; axis++)
        walk_set(walk, axis, st->option[axis]);
}

static void walk_to(struct walk *w, enum param p, int value)
{
    for (int axis = 0; axis < w->space->first_timing; axis++) {
        const struct axis *a = &w->space->axis[axis];
        for (int i = 0; a->param[0] == p && i < a->options; i++)
            if (a->value[i] == value)
                walk_set(w, axis, i);
    }
}

/* No axis of a structure is behind the first state axis: the index in the table is the walk's. */
static const struct layer_costs *costs_of(struct mixed_worker *w, const struct structure *st, int g)
{
    struct walk *walk = mixed_walk(w, st->set);
    struct costs_table *table = (struct costs_table *)&st->set->costs[g];
    if (!st->own)
        return costs_table_get(table, walk, &w->keep);
    struct walk here = *walk;
    const struct mesh *own = &st->own->mesh[g];
    walk_to(walk, PARAM_tp, own->tp);
    walk_to(walk, PARAM_micro_batch, own->micro_batch);
    if (own->tp == 1)
        walk_to(walk, PARAM_seq_parallel, 0);
    const struct layer_costs *costs = costs_table_get(table, walk, &w->keep);
    *walk = here;
    return costs;
}

/* What a type runs, and on how many GPUs a stage. */
static void set_type(struct cell *c, int g)
{
    c->scene[g] = c->set->scene[g];
    c->alone[g] = (struct mesh_list){1, {{.group = c->set->group[g]}}};
    if (c->st->own) {
        c->alone[g].mesh[0] = c->st->own->mesh[g];
        c->scene[g].meshes = &c->alone[g];
    }
    c->alone[g].mesh[0].stages = 2; /* of the frame that stages are asked of */
    c->block[g] = mesh_stage_gpus(&c->alone[g].mesh[0], &c->s);
    c->costs[g] = costs_of(c->w, c->st, g);
}

static void set_cell(struct cell *c, struct mixed_worker *w, struct structure *st)
{
    const struct mixed_question *q = w->question;
    memset(c, 0, sizeof *c);
    c->w = w;
    c->st = st;
    c->set = st->set;
    enter(w, st);
    c->s = mixed_walk(w, st->set)->strategy;
    c->s.split = SPLIT_LAYOUT;
    c->micro_batches = strategy_micro_batches(&c->s);
    c->layers = q->scene.model->layers;
    for (int g = 0; g < c->set->groups; g++)
        c->any |= q->gpus && q->gpus % c->set->group[g]->per_node != 0;
    for (int g = 0; g < c->set->groups; g++) {
        set_type(c, g);
        const struct node_group *group = c->set->group[g];
        bool range = group->nodes_min < group->nodes_max;
        int64_t least = range ? (int64_t)group->nodes_min * group->per_node : 1;
        c->step[g] = stage_step(group, c->block[g], c->any);
        c->most[g] = most_stages(group, c->block[g], c->any);
        c->fewest[g] = (int)((least + c->block[g] - 1) / c->block[g]);
        c->fewest[g] = (int)((c->fewest[g] + c->step[g] - 1) / c->step[g] * c->step[g]);
    }
}

/* Sums of rounded ticks may be a hair less than rounded sums. */
static int64_t bound_ticks(double seconds)
{
    return (int64_t)fmin(seconds * TICKS_PER_S * (1 - 1e-9), 9e18);
}

/* All layers on the type that is fastest for each, and how much more a layer takes at least elsewhere. */
static void find_work(struct cell *c)
{
    const struct model *m = c->w->question->scene.model;
    double least[MODEL_MAX_KINDS];
    for (int g = 0; g < c->set->groups; g++)
        c->more[g] = INFINITY;
    for (int k = 0; k < m->kinds; k++) {
        double one[MIX_MAX];
        least[k] = INFINITY;
        for (int g = 0; g < c->set->groups; g++) {
            one[g] = (double)bound_ticks(block_least_s(&c->costs[g]->kind[k]));
            least[k] = fmin(least[k], one[g]);
        }
        for (int g = 0; g < c->set->groups; g++)
            c->more[g] = fmin(c->more[g], one[g] - least[k]);
    }
    c->work = 0;
    for (int i = 0; i < m->layers; i++)
        c->work += least[m->layer[i]];
}

/* Work of all layers in units of the first type's seconds, and the units a second that one stage of each
 * type does: it is credited with the kind of layer it is best at. */
static double find_rates(const struct cell *c, double rate[MIX_MAX])
{
    const struct model *m = c->w->question->scene.model;
    double work = 0, unit[MODEL_MAX_KINDS];
    for (int k = 0; k < m->kinds; k++)
        unit[k] = block_least_s(&c->costs[0]->kind[k]);
    for (int i = 0; i < m->layers; i++)
        work += unit[m->layer[i]];
    for (int g = 0; g < c->set->groups; g++) {
        rate[g] = 0;
        for (int k = 0; k < m->kinds; k++)
            rate[g] = fmax(rate[g], unit[k] / block_least_s(&c->costs[g]->kind[k]));
    }
    return work;
}

/* Of a stage's seconds those that are surely backward. */
static double backward_share(const struct cell *c)
{
    const struct model *m = c->w->question->scene.model;
    double least = 1;
    for (int g = 0; g < c->set->groups; g++)
        for (int k = 0; k < m->kinds; k++)
            least = fmin(least, block_least_backward_s(&c->costs[g]->kind[k]) /
                                    block_least_s(&c->costs[g]->kind[k]));
    return least;
}

/* The bounds of allowed_of() for the best number of stages, each as fast as the fastest left. */
static double rate_bound(struct cell *c)
{
    double rate[MIX_MAX], work = find_rates(c, rate), share = backward_share(c), best = INFINITY;
    double m = (double)c->micro_batches, sum = 0;
    int used[MIX_MAX] = {0};
    find_work(c);
    for (int pp = 1; pp <= c->layers + 2; pp++) {
        int fastest = -1;
        for (int g = 0; g < c->set->groups; g++)
            if (used[g] < c->most[g] && (fastest < 0 || rate[g] > rate[fastest]))
                fastest = g;
        if (fastest < 0)
            break;
        used[fastest]++;
        sum += rate[fastest];
        double t = work / sum, once = c->work / TICKS_PER_S, bound = m * t;
        if (c->s.vpp == 1)
            bound = fmax(bound, once + (m - 1) * share * t);
        if (c->s.vpp == 1 && m - 1 > pp)
            bound = fmax(bound, 2 * once + (m - 1 - pp) * t);
        best = fmin(best, bound);
    }
    return best;
}

struct strategy structure_strategy(struct mixed_worker *w, const struct structure *st)
{
    enter(w, st);
    return mixed_walk(w, st->set)->strategy;
}

/* Least seconds of each kind of layer on the first type, as the structure says without own values: the
 * unit of rates. */
static void find_units(struct mixed_worker *w, const struct structure *st,
                       double unit[MODEL_MAX_KINDS])
{
    const struct model *m = w->question->scene.model;
    struct structure uniform = *st;
    uniform.own = NULL;
    const struct layer_costs *costs = costs_of(w, &uniform, 0);
    for (int k = 0; k < m->kinds; k++)
        unit[k] = block_least_s(&costs->kind[k]);
}

double type_rate(struct mixed_worker *w, const struct structure *st, int g)
{
    const struct model *m = w->question->scene.model;
    double unit[MODEL_MAX_KINDS], best = 0;
    enter(w, st);
    struct strategy s = mixed_walk(w, st->set)->strategy;
    find_units(w, st, unit);
    const struct layer_costs *costs = costs_of(w, st, g);
    int64_t gpus = w->question->gpus;
    bool any = gpus && gpus % st->set->group[g]->per_node != 0;
    for (int k = 0; k < m->kinds; k++)
        best = fmax(best, unit[k] / block_least_s(&costs->kind[k]));
    return best * most_stages(st->set->group[g], mesh_stage_gpus(&st->own->mesh[g], &s), any);
}

double rate_needed(struct mixed_worker *w, const struct structure *st, int64_t cut)
{
    const struct model *m = w->question->scene.model;
    double unit[MODEL_MAX_KINDS], work = 0;
    enter(w, st);
    find_units(w, st, unit);
    for (int i = 0; i < m->layers; i++)
        work += unit[m->layer[i]];
    int64_t rounds = strategy_micro_batches(&mixed_walk(w, st->set)->strategy);
    return (double)rounds * work / ((double)cut / TICKS_PER_S);
}

static bool possible(const struct cell *c)
{
    int least = 0;
    for (int g = 0; g < c->set->groups; g++) {
        if (c->most[g] < 1 || c->fewest[g] > c->most[g])
            return false;
        least += c->fewest[g];
    }
    return least <= c->layers + 2;
}

void structure_bound(struct mixed_worker *w, struct structure *st)
{
    struct cell c;
    set_cell(&c, w, st);
    st->bound = possible(&c) ? bound_ticks(rate_bound(&c)) : INT64_MAX;
}

/* A plan that is not faster than this is of no use: not among the best, or not the best of its kind. */
static int64_t cut_of(const struct cell *c)
{
    const struct structure *st = c->st;
    int64_t cut = st->cut;
    int top = c->w->question->top, faster = 0;
    if (st->kinds < top)
        return cut;
    int64_t slowest = 0;
    for (int i = 0; i < st->kinds; i++) { /* kinds are sorted, fastest first */
        slowest = st->kind[i].step;
        if (++faster == top)
            break;
    }
    return slowest < cut ? slowest : cut;
}

/* --- layers that time and memory allow a stage ------------------------------------------- */

/* What one micro-batch may take on a stage for the step to stay below the cut. */
struct allowed {
    double both; /* ticks of its passes and transfers */
    double one;  /* ticks of the longer pass and its transfer */
};

/* With T of the longest stage, P of its longer pass, and `work` S of all stages for one micro-batch, a
 * step takes at least M T; S + (M - 1) P; S + (M - 1 - n / 2) T with n < pp stages behind it and n < M; and,
 * where M > pp + 1, 2 S + (M - 1 - pp) T (doc/mixed.md). Interleaved, transfers may hide: M T of the
 * passes. */
static struct allowed allowed_of(const struct cell *c, int pp, double work, int64_t cut)
{
    double m = (double)c->micro_batches, left = (double)cut - c->behind;
    double behind = fmin(pp, m) - 1;
    if (c->s.vpp > 1)
        return (struct allowed){left / m, left};
    work += 2 * (pp - c->set->groups) * c->send + 2 * (c->set->groups - 1) * c->cross;
    double both = fmin(left / m, (left - work) / fmax(m - 1 - behind / 2, 0.5));
    if (m - 1 > pp)
        both = fmin(both, (left - 2 * work) / (m - 1 - pp));
    return (struct allowed){both, (left - work) / fmax(m - 1, 0.5)};
}

static bool is_allowed(const struct cell *c, struct allowed a, const struct stage_time *t)
{
    double send = c->s.vpp > 1 ? 0 : c->send; /* every stage has a neighbour */
    int64_t longer = t->forward > t->backward ? t->forward : t->backward;
    return (double)(t->forward + t->backward) + send < a.both && (double)longer + send < a.one;
}

static bool allowed_somewhere(struct cell *c, int g, int layers, struct allowed a)
{
    for (int i = 0; i < c->w->starts; i++) {
        int first = c->w->first_with[i];
        if (first + layers <= c->layers &&
            is_allowed(c, a, stage_time(&c->w->table[g], &c->s, STAGE_MIDDLE, first, layers)))
            return true;
    }
    return false;
}

/* Most layers of a middle stage below the cut; times grow with layers. */
static int layers_by_time(struct cell *c, int g, struct allowed a)
{
    int low = 0, high = c->layers;
    while (low < high) {
        int middle = (low + high + 1) / 2;
        if (allowed_somewhere(c, g, middle, a))
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* Sets by_time; whether the stages of all types then hold all layers. */
static bool time_has_room(struct cell *c, int pp, int64_t cut)
{
    struct allowed a = allowed_of(c, pp, c->work, cut);
    int64_t room = 0;
    int left = pp, order[MIX_MAX], n = c->set->groups;
    for (int g = 0; g < n; g++) { /* the best types first */
        int at = g;
        c->by_time[g] = layers_by_time(c, g, a);
        for (; at > 0 && c->by_time[order[at - 1]] < c->by_time[g]; at--)
            order[at] = order[at - 1];
        order[at] = g;
    }
    for (int i = 0; i < n; i++) {
        int own = c->most[order[i]] < left ? c->most[order[i]] : left;
        room += (int64_t)own * c->by_time[order[i]];
        left -= own;
    }
    return room >= c->layers;
}

static bool fits_somewhere(struct cell *c, int g, int layers, int64_t alive)
{
    for (int i = 0; i < c->w->starts; i++)
        if (c->w->first_with[i] + layers <= c->layers &&
            stage_fits(&c->w->table[g], &c->s, c->state, STAGE_MIDDLE, c->w->first_with[i], layers,
                       c->s.vpp > 1 ? 1 : alive))
            return true;
    return false;
}

/* More micro-batches in flight, fewer layers. */
static void fill_room(struct cell *c, int g, uint16_t *out)
{
    int low = 0, n = c->layers;
    while (low < n) {
        int middle = (low + n + 1) / 2;
        if (fits_somewhere(c, g, middle, 1))
            low = middle;
        else
            n = middle - 1;
    }
    for (int alive = 1; alive <= c->alive_max; alive++) {
        while (n > 0 && !fits_somewhere(c, g, n, alive))
            n--;
        out[alive] = (uint16_t)n;
    }
}

/* Of the current timing and state. */
static const struct room *room_of(struct cell *c)
{
    struct room *x = &c->room[c->state == ANY_STATE ? c->states : c->state];
    if (x->timing == c->w->table[0].timing)
        return x;
    x->timing = c->w->table[0].timing;
    for (int g = 0; g < c->set->groups; g++) {
        if (!x->layers[g])
            x->layers[g] =
                arena_array(&c->w->scratch, (size_t)c->alive_max + 1, sizeof *x->layers[g]);
        fill_room(c, g, x->layers[g]);
    }
    return x;
}

static int alive_at(const struct cell *c, int rank, int pp)
{
    return (int)(pp - rank < c->micro_batches ? pp - rank : c->micro_batches);
}

/* Whether all layers find room: the best type at every place. */
static bool memory_has_room(struct cell *c, int pp)
{
    const struct room *x = room_of(c);
    int64_t room = 0;
    for (int r = 0; r < pp; r++) {
        int best = 0;
        for (int g = 0; g < c->set->groups; g++) {
            int n = x->layers[g][alive_at(c, r, pp)];
            n = n < c->by_time[g] ? n : c->by_time[g];
            best = n > best ? n : best;
        }
        room += best;
    }
    return room >= c->layers;
}

/* Whether some number of stages has room by time, and by memory if asked. */
static bool some_room(struct cell *c, bool memory)
{
    int64_t cut = cut_of(c);
    for (int i = 0; i < c->pps; i++)
        if (time_has_room(c, c->pp[i], cut) && (!memory || memory_has_room(c, c->pp[i])))
            return true;
    return false;
}

/* --- one arrangement of stages ------------------------------------------------------------ */

struct problem {
    struct cell *c;
    int pp, type[SCHEDULE_MAX_RANKS]; /* of each rank */
    struct mesh_list meshes;
    struct scene scene;
    struct layout layout;
    int least[SCHEDULE_MAX_RANKS], most[SCHEDULE_MAX_RANKS]; /* layers of each rank */
    int64_t send[SCHEDULE_MAX_RANKS];
};

static enum stage_end end_of(int stage, int stages)
{
    return stage == 0 ? STAGE_FIRST : stage == stages - 1 ? STAGE_LAST : STAGE_MIDDLE;
}

/* Layers of a chunk of a rank that has `count`: as even as possible, the first ones larger. */
static int chunk_layers(int count, int vpp, int chunk)
{
    return count / vpp + (chunk < count % vpp);
}

static bool chunks_fit(struct problem *p, int rank, int count, struct rank_cost *out)
{
    struct cell *c = p->c;
    struct stage_table *t = &c->w->table[p->type[rank]];
    const struct strategy *s = &c->s;
    struct chunk_bytes bytes[LAYOUT_MAX_STAGES];
    struct rank_params params = {0};
    int64_t *ticks = arena_array(&c->w->problem, 2 * (size_t)s->vpp, sizeof *ticks);
    int64_t forward = 0, backward = 0;
    out->forward = ticks;
    out->backward = ticks + s->vpp;
    for (int v = 0; v < s->vpp; v++) {
        enum stage_end end = end_of(v * p->pp + rank, p->pp * s->vpp);
        int n = chunk_layers(count, s->vpp, v);
        const struct stage_time *x = stage_time(t, s, end, 0, n);
        const struct rank_params *own = &stage_params(t, end, 0, n)->params;
        ticks[v] = x->forward;
        ticks[s->vpp + v] = x->backward;
        bytes[v] = x->bytes;
        forward += x->forward;
        backward += x->backward;
        params.dense += own->dense;
        params.experts += own->experts;
        params.linear += own->linear;
    }
    if (c->state == ANY_STATE) {
        out->delay = out->after = out->behind = 0;
        return true;
    }
    struct timing none = {0};
    struct pipeline pipe = timing_pipeline(t->frame, s, &none);
    pipe.pp = p->pp;
    pipe.group = s->micro_batch_group > 0 ? s->micro_batch_group : p->pp;
    struct rank_state state = rank_state_of(t->frame, 0, &params, s);
    double buffers = rank_buffers(t->frame, 0, rank == 0, rank == p->pp - 1);
    if (rank_fullness(t->frame, 0, pipeline_fullest(&pipe, rank, bytes).bytes, &state, buffers,
                      state_stretch(t->frame, s)) > 1)
        return false;
    struct rank_times times = rank_times_of(t->frame, 0, &params, s);
    struct edges e =
        rank_edges(t->frame, s, (double)forward / TICKS_PER_S, (double)backward / TICKS_PER_S,
                   &times, rank_buckets(t->frame, 0, &params));
    out->delay = llround(e.delay * TICKS_PER_S);
    out->after = llround(e.after * TICKS_PER_S);
    out->behind = llround(e.behind * TICKS_PER_S);
    return true;
}

static bool cost_of(void *context, int rank, int first, int count, struct rank_cost *out)
{
    struct problem *p = context;
    struct cell *c = p->c;
    struct stage_table *t = &c->w->table[p->type[rank]];
    if (c->s.vpp > 1)
        return chunks_fit(p, rank, count, out);
    enum stage_end end = end_of(rank, p->pp);
    if (!stage_fits(t, &c->s, c->state, end, first, count, alive_at(c, rank, p->pp)))
        return false;
    const struct stage_time *x = stage_time(t, &c->s, end, first, count);
    *out = (struct rank_cost){.forward = &x->forward, .backward = &x->backward};
    if (c->state != ANY_STATE) {
        const struct stage_state *y = stage_state(t, &c->s, c->state, end, first, count);
        out->delay = y->delay;
        out->after = y->after;
        out->behind = y->behind;
    }
    return true;
}

static void set_layout(struct problem *p, const int layers[])
{
    int vpp = p->c->s.vpp, first = 0;
    struct layout *l = &p->layout;
    l->stages = p->pp * vpp;
    for (int i = 0; i < l->stages; i++) {
        int n = vpp == 1 ? layers[i] : chunk_layers(layers[i % p->pp], vpp, i / p->pp);
        l->first[i] = (uint16_t)first;
        l->layers[i] = (uint16_t)n;
        first += n;
    }
    l->mtp_stage = l->loss_stage = l->stages - 1;
}

static int64_t step_of(void *context, const int layers[], int64_t *pipeline)
{
    struct problem *p = context;
    struct mixed_worker *w = p->c->w;
    const struct layer_costs *costs[MIX_MAX];
    struct timing t;
    struct state st;
    set_layout(p, layers);
    for (int i = 0; i < p->meshes.count; i++)
        costs[i] = p->c->costs[p->c->order[i]];
    w->counts.simulated++;
    if (!frame_init(w->frame, &p->scene, costs, &p->c->s, &p->layout, NULL))
        return INT64_MAX;
    timing_of(w->frame, &p->c->s, &w->problem, &t);
    timing_memory(w->frame, &p->c->s, &w->problem, &t);
    state_of(w->frame, &p->c->s, &w->problem, &st);
    if (frame_fullness(w->frame, &t, &st) > 1)
        return INT64_MAX;
    timing_stages(w->frame, &p->c->s, &w->problem, &t);
    timing_run(w->frame, &p->c->s, &w->problem, &t);
    state_times(w->frame, &p->c->s, &w->problem, &st);
    struct step_parts parts = frame_parts(w->frame, &p->c->s, &t, &st);
    *pipeline = parts.pipeline;
    return parts.delay + parts.pipeline + parts.tied + parts.behind;
}

static void place_types(struct problem *p)
{
    struct cell *c = p->c;
    int rank = 0;
    p->meshes.count = c->set->groups;
    for (int i = 0; i < c->set->groups; i++) {
        int g = c->order[i];
        p->meshes.mesh[i] = c->alone[g].mesh[0];
        p->meshes.mesh[i].stages = c->stages[g];
        for (int k = 0; k < c->stages[g]; k++)
            p->type[rank++] = g;
    }
    p->pp = rank;
    p->scene = c->w->question->scene;
    p->scene.group = p->meshes.mesh[0].group;
    p->scene.meshes = &p->meshes;
    p->scene.cluster = c->w->question->cluster;
}

/* What each rank may hold. False: too little in all. */
static bool find_limits(struct problem *p, int64_t cut, int *least, int *most)
{
    struct cell *c = p->c;
    int vpp = c->s.vpp, room = 0;
    struct allowed a = allowed_of(c, p->pp, c->work, cut);
    const struct room *x = room_of(c);
    for (int r = 0; r < p->pp; r++) {
        int g = p->type[r], n = x->layers[g][alive_at(c, r, p->pp)];
        enum stage_end end = end_of(r, p->pp);
        bool ends = end != STAGE_MIDDLE;
        n = n < c->by_time[g] ? n : c->by_time[g];
        while (ends && vpp == 1 && n > 0) { /* embedding and loss leave time for fewer */
            const struct stage_time *t =
                stage_time(&c->w->table[g], &c->s, end, r == 0 ? 0 : c->layers - n, n);
            if (is_allowed(c, a, t))
                break;
            n--;
        }
        least[r] = vpp > 1 ? vpp : ends ? 0 : 1;
        if (n < least[r])
            return false;
        most[r] = n;
        room += n;
    }
    return room >= c->layers;
}

/* The transfers between ranks: those of frame_init. */
static void find_sends(const struct problem *p, int64_t send[])
{
    const struct cell *c = p->c;
    int first = 0;
    for (int r = 0; r < p->pp; r++) {
        int to = (r + 1) % p->pp, a = p->type[r], b = p->type[to];
        first = r > 0 && p->type[r - 1] != a ? r : first;
        send[r] = c->crossing[a][b];
        if (a == b)
            send[r] = send_ticks(&c->w->table[a].frame->mesh[0], r - first, to - first);
    }
}

static struct mixed_found found_of(const struct problem *p, const struct assign_result *r)
{
    struct mixed_found x = {.step = r->step,
                            .gpus = mesh_list_gpus(&p->meshes, &p->c->s),
                            .strategy = p->c->s,
                            .meshes = p->meshes,
                            .layout = p->layout,
                            .proven = r->proven};
    return x;
}

/* Sorted, one of each kind, no more than are of use. */
static void keep_found(struct cell *c, const struct mixed_found *x)
{
    struct structure *st = c->st;
    int at = st->kinds, top = c->w->question->top;
    if (!st->kind)
        st->kind = arena_array(&c->w->keep, (size_t)top + 1, sizeof *st->kind);
    for (int i = 0; i < st->kinds; i++)
        if (mixed_same_kind(&st->kind[i], x)) {
            memmove(&st->kind[i], &st->kind[i + 1], (size_t)(st->kinds - i - 1) * sizeof *st->kind);
            at = --st->kinds;
            break;
        }
    while (at > 0 && st->kind[at - 1].step > x->step)
        at--;
    memmove(&st->kind[at + 1], &st->kind[at], (size_t)(st->kinds - at) * sizeof *st->kind);
    st->kind[at] = *x;
    if (st->kinds < top)
        st->kinds++;
}

static int64_t kind_cut(const struct cell *c, const struct problem *p, int64_t cut)
{
    struct mixed_found x = {.strategy = c->s, .meshes = p->meshes};
    for (int i = 0; i < c->st->kinds; i++)
        if (mixed_same_kind(&c->st->kind[i], &x))
            return c->st->kind[i].step < cut ? c->st->kind[i].step : cut;
    return cut;
}

/* Rules on the number of stages, and those on timing and state at once. */
static bool rules_allow(struct cell *c)
{
    struct walk *w = mixed_walk(c->w, c->set);
    const struct space *s = w->space;
    int first = c->st->own ? 0 : w->plan->first[s->axes - 1]; /* own values: all anew */
    int end = w->plan->first[s->axes] + w->plan->pairs;
    for (int g = 0; g <= w->others; g++) {
        struct strategy room;
        const struct strategy *own = mesh_strategy(&c->alone[g].mesh[0], &c->s, &room);
        slots_set_strategy(g == 0 ? w->values : w->other[g - 1], own);
    }
    for (int i = first; i < end; i++)
        if (!walk_allows(w, w->plan->order[i]))
            return false;
    return true;
}

/* The same, asked once for each pp, timing and state. */
static bool state_allowed(struct cell *c)
{
    struct room *x = &c->room[c->state];
    if (x->rules_pp != c->s.pp || x->rules_timing != c->w->table[0].timing) {
        x->rules_pp = c->s.pp;
        x->rules_timing = c->w->table[0].timing;
        x->rules_allow = rules_allow(c);
    }
    return x->rules_allow;
}

/* The optimizer of the stage that has most: at least the average, on the type that is done first. */
static double least_behind(struct cell *c)
{
    double least = INFINITY;
    int layers = (c->layers + c->s.pp - 1) / c->s.pp;
    for (int g = 0; g < c->set->groups; g++)
        for (int i = 0; i < c->w->starts && c->w->first_with[i] + layers <= c->layers; i++)
            least = fmin(least, (double)stage_state(&c->w->table[g], &c->s, c->state, STAGE_MIDDLE,
                                                    c->w->first_with[i], layers)
                                    ->behind);
    return least < INFINITY ? least : 0;
}

/* Fills what assign.c needs under c->state. False: too little room. */
static bool pose(struct problem *p, int64_t cut, struct assign_problem *out)
{
    if (!find_limits(p, cut, p->least, p->most))
        return false;
    *out = (struct assign_problem){.layers = p->c->layers,
                                   .start_of = p->c->s.vpp > 1 ? NULL : p->c->w->start_of,
                                   .least = p->least,
                                   .most = p->most,
                                   .cost = cost_of,
                                   .step = step_of,
                                   .context = p};
    out->pipeline = timing_pipeline(p->c->w->table[0].frame, &p->c->s, &(struct timing){0});
    out->pipeline.send = p->send;
    return true;
}

static void solve_state(struct problem *p)
{
    struct cell *c = p->c;
    struct assign_problem a;
    struct assign_result r;
    int64_t cut = kind_cut(c, p, cut_of(c));
    if (!pose(p, cut, &a))
        return;
    c->w->counts.problems++;
    assign_run(&a, cut, &c->w->problem, &r);
    c->w->counts.unproven += !r.proven;
    if (r.step == INT64_MAX)
        return;
    set_layout(p, r.layers);
    struct mixed_found x = found_of(p, &r);
    keep_found(c, &x);
}

/* First whatever the state, then each that may be fast enough. */
static void solve(struct cell *c)
{
    struct problem *p = arena_alloc(&c->w->problem, sizeof *p);
    struct assign_problem a;
    p->c = c;
    place_types(p);
    find_sends(p, p->send);
    c->state = ANY_STATE;
    c->w->counts.judged++;
    int64_t cut = kind_cut(c, p, cut_of(c)), bound = INT64_MAX;
    if (pose(p, cut, &a))
        bound = assign_bound(&a, cut, &c->w->problem);
    for (c->state = 0; c->state < c->states && bound < cut; c->state++) {
        option_take(c->state_list, c->state, &c->s);
        cut = kind_cut(c, p, cut_of(c));
        if ((double)bound + least_behind(c) < (double)cut && state_allowed(c))
            solve_state(p);
    }
    c->state = ANY_STATE;
    arena_clear(&c->w->problem);
}

/* Every order of the types. */
static void permute(struct cell *c, int done)
{
    if (done == c->set->groups) {
        solve(c);
        return;
    }
    for (int i = done; i < c->set->groups; i++) {
        int kept = c->order[done];
        c->order[done] = c->order[i];
        c->order[i] = kept;
        permute(c, done + 1);
        c->order[i] = c->order[done];
        c->order[done] = kept;
    }
}

/* Least ticks of all layers once, on so many stages of each type: the fastest take what they may. */
static double work_of_stages(const struct cell *c)
{
    bool taken[MIX_MAX] = {0};
    double sum = c->work;
    for (int left = c->layers, i = 0; i < c->set->groups && left > 0; i++) {
        int best = -1;
        for (int g = 0; g < c->set->groups; g++)
            if (!taken[g] && (best < 0 || c->more[g] < c->more[best]))
                best = g;
        int own = c->stages[best] * c->by_time[best];
        own = own < left ? own : left;
        taken[best] = true;
        sum += own * c->more[best];
        left -= own;
    }
    return sum;
}

/* One number of stages of each type: room for all layers by what the types can take. */
static void judge_stages(struct cell *c, int pp)
{
    int64_t gpus = 0;
    for (int g = 0; g < c->set->groups; g++)
        gpus += c->stages[g] * c->block[g];
    if (c->w->question->gpus && gpus != c->w->question->gpus)
        return;
    int by_time[MIX_MAX];
    int64_t room = 0, cut = cut_of(c);
    memcpy(by_time, c->by_time, sizeof by_time);
    for (int again = 0; again < 2; again++) { /* less time, less on the fastest, more work */
        struct allowed a = allowed_of(c, pp, work_of_stages(c), cut);
        room = 0;
        for (int g = 0; g < c->set->groups; g++) {
            int n = layers_by_time(c, g, a);
            c->by_time[g] = n < c->by_time[g] ? n : c->by_time[g];
            room += (int64_t)c->stages[g] * c->by_time[g];
        }
        if (room < c->layers)
            break;
    }
    if (room >= c->layers)
        permute(c, 0);
    memcpy(c->by_time, by_time, sizeof by_time);
}

/* Every number of stages of each type that adds up to what is left. */
static void share_stages(struct cell *c, int g, int left, int64_t room)
{
    int64_t later = 0;
    int most = c->most[g], behind = 0, ahead = 0;
    for (int i = g + 1; i < c->set->groups; i++) {
        later += (int64_t)c->most[i] * c->by_time[i];
        behind += c->fewest[i];
        ahead += c->most[i];
    }
    for (int n = most < left - behind ? most : left - behind; n >= c->fewest[g]; n--) {
        if (n % c->step[g] != 0)
            continue;
        if (left - n > ahead || room + (int64_t)n * c->by_time[g] + later < c->layers)
            break;
        c->stages[g] = n;
        if (g + 1 < c->set->groups)
            share_stages(c, g + 1, left - n, room + (int64_t)n * c->by_time[g]);
        else if (n == left)
            judge_stages(c, c->s.pp);
    }
}

/* --- parameters --------------------------------------------------------------------------- */

/* Of any state that the rules allow; INFINITY where they allow none. */
static double behind_any(struct cell *c)
{
    double least = INFINITY;
    for (c->state = 0; c->state < c->states; c->state++) {
        option_take(c->state_list, c->state, &c->s);
        if (state_allowed(c))
            least = fmin(least, least_behind(c));
    }
    c->state = ANY_STATE;
    return least;
}

static void search_pp(struct cell *c, int pp)
{
    c->s.pp = pp;
    if (!time_has_room(c, pp, cut_of(c)) || !memory_has_room(c, pp))
        return;
    c->behind = behind_any(c);
    for (int g = 0; g < c->set->groups; g++)
        c->order[g] = g;
    if (c->behind < INFINITY && time_has_room(c, pp, cut_of(c)))
        share_stages(c, 0, pp, 0);
    c->behind = 0;
}

static void new_timing(struct cell *c)
{
    for (int g = 0; g < c->set->groups; g++)
        stage_table_timing(&c->w->table[g]);
}

/* Some number of stages has room under this recompute and the smallest state. */
static bool recompute_fits(struct cell *c, int recompute, int method, int layers, int modules)
{
    struct strategy kept = c->s;
    c->s.recompute = recompute;
    c->s.recompute_method = method;
    c->s.recompute_layers = layers;
    c->s.recompute_modules = modules;
    new_timing(c);
    for (int g = 0; g < c->set->groups; g++)
        c->by_time[g] = c->layers;
    bool fits = false;
    for (int i = 0; i < c->pps && !fits; i++)
        fits = memory_has_room(c, c->pp[i]);
    c->s = kept;
    return fits;
}

/* Fewest layers that block recompute must redo for anything to fit: 0 where no full recompute is needed,
 * -1 where nothing fits. */
static int least_layers_again(struct cell *c)
{
    int low = 0, high = c->layers;
    if (recompute_fits(c, RECOMPUTE_SELECTIVE, METHOD_NONE, 0, (1 << MODULES) - 1))
        return 0;
    if (!recompute_fits(c, RECOMPUTE_FULL, METHOD_UNIFORM, c->layers, 0))
        return -1;
    while (high - low > 1) {
        int middle = (low + high) / 2;
        if (recompute_fits(c, RECOMPUTE_FULL, METHOD_BLOCK, middle, 0))
            high = middle;
        else
            low = middle;
    }
    return high;
}

static bool keeps_too_much(const struct strategy *s, int least_layers)
{
    if (least_layers == 0)
        return false;
    return s->recompute != RECOMPUTE_FULL ||
           (s->recompute_method == METHOD_BLOCK && s->recompute_layers < least_layers);
}

/* More layers again than any stage has are all of them: uniform recompute. */
static bool again_in_vain(const struct cell *c)
{
    int most = 0;
    for (int g = 0; g < c->set->groups; g++)
        most = c->by_time[g] > most ? c->by_time[g] : most;
    return c->s.recompute_method == METHOD_BLOCK && c->s.recompute_layers > most;
}

static void search_timing(struct cell *c)
{
    new_timing(c);
    if (!some_room(c, false))
        return;
    time_has_room(c, 1, cut_of(c)); /* no stage has more layers in a longer pipeline */
    if (again_in_vain(c) || !some_room(c, true))
        return;
    for (int i = 0; i < c->pps; i++)
        search_pp(c, c->pp[i]);
}

/* Rules on the number of stages that look at neither timing nor state. */
static bool pp_allowed(struct cell *c, int option)
{
    struct walk *w = mixed_walk(c->w, c->set);
    int axis = c->set->space.axes - 1;
    walk_set(w, axis, option);
    for (int i = w->plan->first[axis]; i < w->plan->first[axis + 1]; i++)
        if (w->plan->order[i]->depends >> PARAM_FIRST_TIMING == 0 &&
            !walk_allows(w, w->plan->order[i]))
            return false;
    return true;
}

/* Numbers of stages that the pool, --gpus and rules allow, most first. */
static void list_pps(struct cell *c)
{
    const struct axis *a = &c->set->space.axis[c->set->space.axes - 1];
    int64_t gpus = c->w->question->gpus;
    int least = 0, most = 0;
    for (int g = 0; g < c->set->groups; g++) {
        least += c->fewest[g];
        most += c->most[g];
    }
    c->pp = arena_array(&c->w->scratch, (size_t)a->options, sizeof *c->pp);
    for (int i = a->options - 1; i >= 0; i--) {
        int pp = a->value[i];
        if (pp >= least && pp <= most && pp <= SCHEDULE_MAX_RANKS &&
            (gpus == 0 || c->st->own || pp * c->block[0] == gpus) &&
            pp * c->s.vpp <= c->layers + 2 &&
            pp_allowed(c, i))
            c->pp[c->pps++] = pp;
    }
    c->alive_max = c->pps > 0 ? alive_at(c, 0, c->pp[0]) : 1;
}

static void set_tables(struct cell *c, const struct option_list *states)
{
    static const struct layout any = {.stages = 2, .mtp_stage = 1, .loss_stage = 1};
    struct strategy s = c->s, *state;
    state = arena_array(&c->w->scratch, (size_t)states->count, sizeof *state);
    for (int i = 0; i < states->count; i++) {
        state[i] = c->s;
        option_take(states, i, &state[i]);
    }
    s.pp = 2;
    s.vpp = 1;
    c->send = INFINITY;
    c->state = ANY_STATE;
    c->states = states->count;
    c->state_list = states;
    c->room = arena_array(&c->w->scratch, (size_t)states->count + 1, sizeof *c->room);
    for (int g = 0; g < c->set->groups; g++) {
        struct stage_table *t = &c->w->table[g];
        frame_init(t->frame, &c->scene[g], &c->costs[g], &s, &any, NULL);
        t->frame->strategy.vpp = t->frame->mesh[0].strategy.vpp = c->s.vpp;
        t->fixed_s = transfer_fixed_s(t->frame, &s);
        stage_table_structure(t, state, states->count, &c->w->scratch);
        c->send = fmin(c->send, (double)t->frame->send[0]);
    }
}

static void find_crossings(struct cell *c)
{
    int groups = c->set->groups;
    for (int a = 0; a < groups; a++)
        for (int b = 0; b < groups; b++)
            c->crossing[a][b] =
                crossing_ticks(c->w->question->cluster, &c->w->table[a].frame->mesh[0],
                               &c->w->table[b].frame->mesh[0]);
    c->cross = INFINITY;
    for (int a = 0; a < groups; a++)
        for (int b = 0; b < a; b++)
            c->cross = fmin(c->cross, (double)c->crossing[a][b]);
}

/* No timing has a shorter pipeline than this one. */
static bool too_slow(struct cell *c)
{
    struct strategy kept = c->s;
    c->s.recompute = RECOMPUTE_NONE;
    c->s.tp_overlap = c->s.p2p_overlap = c->s.moe_overlap = 1;
    c->s.cuda_graph = GRAPH_STEP; /* no host to wait for */
    new_timing(c);
    bool slow = !some_room(c, false);
    c->s = kept;
    return slow;
}

static void search_timings(struct cell *c, const struct option_list *timings)
{
    int least_layers = least_layers_again(c);
    if (least_layers < 0)
        return;
    for (int i = 0; i < timings->count; i++) {
        option_take(timings, i, &c->s);
        if (c->st->own && c->s.recompute != RECOMPUTE_NONE)
            continue; /* each mesh says itself */
        if (!keeps_too_much(&c->s, least_layers))
            search_timing(c);
    }
}

void structure_search(struct mixed_worker *w, struct structure *st)
{
    struct cell c;
    if (st->bound >= st->cut)
        return;
    set_cell(&c, w, st);
    find_work(&c);
    list_pps(&c);
    struct set_worker *sw = &w->set[st->set - w->first_set];
    struct walk here = sw->walk;
    const struct option_list *timings = options_get(&sw->timings, &sw->walk);
    sw->walk = here;
    const struct option_list *states = options_get(&sw->states, &sw->walk);
    sw->walk = here;
    w->counts.structures++;
    if (c.pps > 0 && states->count > 0) {
        set_tables(&c, states);
        find_crossings(&c);
        if (!too_slow(&c))
            search_timings(&c, timings);
    }
    arena_clear(&w->scratch);
}
