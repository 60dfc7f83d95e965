/* What one arrangement costs: so many stages of each type, the types in an order. assign.c finds the
 * layers. */
#include "search/mixed/mixed_problem.h"

#include <math.h>
#include <string.h>

/* Of an assignment that is put off when it takes more: what is found later may spare it. */
enum { SCOUT_NODES = 200, DIVE_NODES = 40 };

static enum stage_end end_of(int stage, int stages)
{
    return stage == 0 ? STAGE_FIRST : stage == stages - 1 ? STAGE_LAST : STAGE_MIDDLE;
}

/* Layers of a chunk of a rank that has `count`: as even as possible, the first ones larger. */
static int chunk_layers(int count, int vpp, int chunk)
{
    return count / vpp + (chunk < count % vpp);
}

/* Ticks that a pass beside hidden transfers takes longer: the shortest of all decides
 * (transfer_fixed_s). A tick less, as the sum is rounded once there. */
static int64_t transfer_tax(const struct problem *p)
{
    int64_t shortest = p->send[0];
    for (int r = 1; r < p->pp; r++)
        shortest = p->send[r] < shortest ? p->send[r] : shortest;
    int64_t tax = (int64_t)(OVERLAP_TAX * (double)shortest) - 1;
    return p->c->s.p2p_overlap && tax > 0 ? tax : 0;
}

/* Ticks of the chunks of a rank, and of all of them with what rounding may add. */
static void chunk_ticks(struct problem *p, int rank, int count, struct rank_cost *out,
                        int64_t *forward, int64_t *backward)
{
    struct mixed_cell *c = p->c;
    int vpp = c->s.vpp;
    int64_t *ticks = arena_array(&c->w->problem, 2 * (size_t)vpp, sizeof *ticks);
    int64_t longest = c->s.p2p_overlap ? p->tax + 3 : 0; /* the longer, the more they hide */
    *forward = *backward = 0;
    for (int v = 0; v < vpp; v++) {
        enum stage_end end = end_of(v * p->pp + rank, p->pp * vpp);
        const struct stage_time *x =
            stage_time(&c->w->table[p->type[rank]], &c->s, end, 0, chunk_layers(count, vpp, v));
        ticks[v] = x->forward + p->tax;
        ticks[vpp + v] = x->backward + p->tax;
        *forward += x->forward + longest;
        *backward += x->backward + longest;
    }
    *out = (struct rank_cost){.forward = ticks, .backward = ticks + vpp};
}

static bool chunks_fit(struct problem *p, int rank, int count)
{
    struct mixed_cell *c = p->c;
    struct stage_table *t = &c->w->table[p->type[rank]];
    const struct strategy *s = &c->s;
    enum stage_end whole = end_of(rank, p->pp);
    bool any = c->state <= ANY_STATE;
    const struct rank_state *memory =
        any ? smallest_state(stage_params(t, whole, 0, count), c->state)
            : &stage_rank(t, c->state, whole, 0, count)->memory;
    struct chunk_bytes bytes[LAYOUT_MAX_STAGES];
    struct pass_times none = {0};
    struct pipeline pipe = pass_times_pipeline(t->partition, s, &none);
    pipe.pp = p->pp;
    pipe.group = s->micro_batch_group > 0 ? s->micro_batch_group : p->pp;
    for (int v = 0; v < s->vpp; v++) {
        enum stage_end end = end_of(v * p->pp + rank, p->pp * s->vpp);
        bytes[v] = *stage_bytes(t, &c->keeps, end, 0, chunk_layers(count, s->vpp, v));
    }
    double buffers = rank_buffers(t->partition, 0, rank == 0, rank == p->pp - 1);
    if (!stage_host_fits(t, memory, 0)) /* what is offloaded is for the whole partition to say */
        return false;
    return rank_fullness(t->partition, 0, pipeline_fullest(&pipe, rank, bytes).bytes, memory,
                         buffers, any ? 1 : state_stretch(t->partition, s)) <= t->most;
}

/* Whether a rank with several chunks and so many layers fits under c->state, or of several under some:
 * asked once for all arrangements of these pass times and stages. */
static bool rank_fits(struct problem *p, int rank, int count)
{
    struct mixed_cell *c = p->c;
    struct room *x = cell_room_at(c);
    size_t counts = (size_t)c->layers + 1, ranks = (size_t)c->pp[0].pp;
    size_t types = (size_t)c->set->groups;
    if (!x->chunks_fit)
        x->chunks_fit =
            arena_array(&c->w->scratch, 2 * types * ranks * counts, sizeof *x->chunks_fit);
    size_t row = ((size_t)p->uncrowded * types + (size_t)p->type[rank]) * ranks + (size_t)rank;
    uint32_t *known = &x->chunks_fit[row * counts + (size_t)count];
    if (*known >> 1 != c->asked)
        *known = c->asked << 1 | chunks_fit(p, rank, count);
    return *known & 1;
}

/* Ticks of a bound that is rounded otherwise than the exact value. */
static int64_t below(double seconds)
{
    int64_t ticks = llround(seconds * TICKS_PER_S) - 2;
    return ticks > 0 ? ticks : 0;
}

/* Collectives of all chunks, one after the other; returns those of chunk 0. */
static const struct rank_times *chunk_times(struct problem *p, int rank, int count,
                                            struct rank_times *all)
{
    struct mixed_cell *c = p->c;
    const struct rank_times *first = NULL;
    all->reduce_s = all->gather_s = 0;
    for (int v = 0; v < c->s.vpp; v++) {
        enum stage_end end = end_of(v * p->pp + rank, p->pp * c->s.vpp);
        const struct rank_times *x = &stage_rank(&c->w->table[p->type[rank]], c->state, end, 0,
                                                 chunk_layers(count, c->s.vpp, v))
                                          ->times;
        first = v == 0 ? x : first;
        all->reduce_s += x->reduce_s;
        all->gather_s += x->gather_s;
    }
    return first;
}

/* A rank with several chunks has the parameters of one stage with all of its layers. */
static void cost_of_chunks(struct problem *p, int rank, int count, struct rank_cost *out)
{
    struct mixed_cell *c = p->c;
    struct stage_table *t = &c->w->table[p->type[rank]];
    enum stage_end end = end_of(rank, p->pp);
    int64_t forward, backward;
    chunk_ticks(p, rank, count, out, &forward, &backward);
    if (c->state <= ANY_STATE)
        return;
    struct rank_times all = stage_rank(t, c->state, end, 0, count)->times;
    const struct rank_times *chunk = chunk_times(p, rank, count, &all);
    struct edges e = rank_edges(t->partition, &c->s, (double)forward / TICKS_PER_S,
                                (double)backward / TICKS_PER_S, chunk, 1, &all);
    out->delay = below(e.delay);
    out->after = below(e.after);
    out->behind = llround(e.behind * TICKS_PER_S);
}

void problem_set_cost(struct problem *p, int rank, int first, int count, struct rank_cost *out)
{
    struct mixed_cell *c = p->c;
    struct stage_table *t = &c->w->table[p->type[rank]];
    enum stage_end end = end_of(rank, p->pp);
    if (c->s.vpp > 1) {
        cost_of_chunks(p, rank, count, out);
        return;
    }
    const struct stage_time *x = stage_time(t, &c->s, end, first, count);
    *out = (struct rank_cost){.forward = &x->forward, .backward = &x->backward};
    if (c->state > ANY_STATE) {
        const struct stage_state *y = stage_state(t, &c->s, c->state, end, first, count);
        out->delay = y->delay;
        out->after = y->after;
        out->behind = y->behind;
    }
}

static bool cost_of(void *context, int rank, int first, int count, struct rank_cost *out)
{
    struct problem *p = context;
    struct mixed_cell *c = p->c;
    struct stage_table *t = &c->w->table[p->type[rank]];
    bool fits = c->s.vpp > 1 ? rank_fits(p, rank, count)
                             : layout_may_start(c->w->query->scene.model, first) &&
                                   stage_fits(t, &c->keeps, c->state, end_of(rank, p->pp), first,
                                              count, cell_alive(c, rank, p->pp));
    if (fits)
        problem_set_cost(p, rank, first, count, out);
    return fits;
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
    struct pass_times t;
    struct state st;
    set_layout(p, layers);
    for (int i = 0; i < p->meshes.count; i++)
        costs[i] = p->c->costs[p->c->order[i]];
    w->counts.simulated++;
    if (!partition_init(w->partition, &p->scene, costs, &p->c->s, &p->layout, NULL))
        return INT64_MAX;
    pass_times_of(w->partition, &p->c->s, &w->problem, &t);
    pass_times_memory(w->partition, &p->c->s, &w->problem, &t);
    state_of(w->partition, &p->c->s, &w->problem, &st);
    p->crowded = p->weighs && partition_crowded(w->partition, &t, &st);
    if (partition_fullness(w->partition, &t, &st) > 1 || (p->crowded && p->uncrowded))
        return INT64_MAX;
    pass_times_stages(w->partition, &p->c->s, &w->problem, &t);
    pass_times_run(w->partition, &p->c->s, &w->problem, &t);
    state_times(w->partition, &p->c->s, &w->problem, &st);
    struct step_parts parts = partition_parts(w->partition, &p->c->s, &t, &st);
    *pipeline = parts.pipeline;
    return parts.delay + parts.pipeline + parts.tied + parts.behind;
}

bool problem_split_crowded(struct problem *p, const int layers[])
{
    int64_t pipeline;
    p->crowded = false;
    step_of(p, layers, &pipeline);
    return p->crowded;
}

static void place_types(struct problem *p)
{
    struct mixed_cell *c = p->c;
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
    p->scene = c->w->query->scene;
    p->scene.group = p->meshes.mesh[0].group;
    p->scene.meshes = &p->meshes;
    p->scene.cluster = c->w->query->cluster;
}

/* Most layers, of at most n, that fit on a rank with several chunks: more need more. */
static int most_chunked(struct problem *p, int rank, int n)
{
    int low = p->c->s.vpp - 1;
    while (low < n) {
        int middle = n - (n - low) / 4; /* most often all of them fit, or nearly */
        middle = middle > low ? middle : low + 1;
        if (rank_fits(p, rank, middle))
            low = middle;
        else
            n = middle - 1;
    }
    return n;
}

/* What each rank may hold. False: too little in all. */
static bool find_limits(struct problem *p, int64_t cut, int *least, int *most)
{
    struct mixed_cell *c = p->c;
    int vpp = c->s.vpp, room = 0;
    bool bare = c->w->query->layouts && !c->st->per_type; /* Megatron's layouts allow it */
    struct allowed a = cell_allowed(c, p->pp, c->work, cut);
    const struct room *x = cell_room(c);
    for (int r = 0; r < p->pp; r++) {
        int g = p->type[r], n = x->layers[g][cell_alive(c, r, p->pp)];
        enum stage_end end = end_of(r, p->pp);
        bool ends = end != STAGE_MIDDLE;
        n = n < c->by_time[g] ? n : c->by_time[g];
        while (ends && vpp == 1 && n > 0) { /* embedding and loss leave time for fewer */
            const struct stage_time *t =
                stage_time(&c->w->table[g], &c->s, end, r == 0 ? 0 : c->layers - n, n);
            if (stage_allowed(c, a, t))
                break;
            n--;
        }
        least[r] = vpp > 1 ? vpp : ends && bare ? 0 : 1;
        n = vpp > 1 ? most_chunked(p, r, n) : n;
        if (n < least[r])
            return false;
        most[r] = n;
        room += n;
    }
    return room >= c->layers;
}

/* The transfers between ranks: those of partition_init. */
static void find_sends(const struct problem *p, int64_t send[])
{
    const struct mixed_cell *c = p->c;
    int first = 0;
    for (int r = 0; r < p->pp; r++) {
        int to = (r + 1) % p->pp, a = p->type[r], b = p->type[to];
        first = r > 0 && p->type[r - 1] != a ? r : first;
        send[r] = c->crossing[a][b];
        if (a == b)
            send[r] = c->sends[a][pair_nearness(&c->w->table[a].partition->mesh[0], r - first,
                                                to - first)];
    }
}

static bool assign_stopped(void *context)
{
    const struct problem *p = context;
    return structure_stopped(p->c);
}

static int64_t nodes_allowed(const struct mixed_worker *w)
{
    return w->diving ? DIVE_NODES : w->scouting ? SCOUT_NODES : 0;
}

bool problem_pose(struct problem *p, int64_t cut, struct assign_problem *out)
{
    if (!find_limits(p, cut, p->least, p->most))
        return false;
    *out = (struct assign_problem){.layers = p->c->layers,
                                   .edges = p->c->state > ANY_STATE,
                                   .fixed = p->c->state > ANY_STATE ? 0 : (int64_t)p->c->behind,
                                   .start_of = p->c->s.vpp > 1 ? NULL : p->c->w->start_of,
                                   .least = p->least,
                                   .most = p->most,
                                   .cost = cost_of,
                                   .step = step_of,
                                   .context = p,
                                   .chains = &p->chains,
                                   .stopped = assign_stopped,
                                   .nodes = nodes_allowed(p->c->w)};
    out->pipeline =
        pass_times_pipeline(p->c->w->table[0].partition, &p->c->s, &(struct pass_times){0});
    out->pipeline.send = p->send;
    return true;
}

void problem_place(struct problem *p, struct mixed_cell *c)
{
    p->c = c;
    place_types(p);
    find_sends(p, p->send);
    p->tax = transfer_tax(p);
}
