/* One arrangement: so many stages of each type, the types in an order. assign.c finds the
 * layers. */
#include "search/mixed/mixed_parts.h"

#include "search/mixed/assign.h"
#include "strategy/mesh_check.h"

#include <math.h>
#include <string.h>

/* Of an assignment that is put off when it takes more: what is found later may spare it. */
enum { SCOUT_NODES = 200, DIVE_NODES = 40 };

struct problem {
    struct mixed_cell *c;
    int pp, type[SCHEDULE_MAX_RANKS]; /* of each rank */
    struct mesh_list meshes;
    struct scene scene;
    struct layout layout;
    int least[SCHEDULE_MAX_RANKS], most[SCHEDULE_MAX_RANKS]; /* layers of each rank */
    int64_t send[SCHEDULE_MAX_RANKS];
    int64_t tax;                 /* transfer_tax() */
    bool weighs;                 /* more than time decides */
    bool crowded;                /* the last split: partition_crowded() */
    bool uncrowded;              /* only splits that are not */
    struct mixed_found plan;     /* this one, without its layers */
    struct found found;          /* the same in the order of plans */
    struct assign_chains chains; /* that one state has learned, for the next */
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

/* Whether it fits or not. */
static void set_cost(struct problem *p, int rank, int first, int count, struct rank_cost *out)
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
        set_cost(p, rank, first, count, out);
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

/* Of the split that is best: its layers stay in p->layout. */
static bool split_crowded(struct problem *p, const int layers[])
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

/* Values that differ between meshes are the first one's. */
static struct strategy first_strategy(const struct problem *p)
{
    const struct mesh *m = &p->meshes.mesh[0];
    struct strategy s = p->c->s;
    if (m->own) {
#define X(name) s.name = m->name;
        MESH_TABLE(X)
#undef X
    }
    return s;
}

/* What is known of a plan before its layers are. */
static void set_plan(struct problem *p)
{
    p->plan.gpus = mesh_list_gpus(&p->meshes, &p->c->s);
    p->plan.strategy = first_strategy(p);
    p->plan.meshes = p->meshes;
    p->found = (struct found){.gpus = p->plan.gpus,
                              .strategy = p->plan.strategy,
                              .trouble = p->c->trouble,
                              .group = p->meshes.mesh[0].group,
                              .mixed = &p->plan};
}

static void keep_front(struct mixed_cell *c, const struct found *x)
{
    struct structure *st = c->st;
    st->front = arena_room(&c->w->keep, st->front, st->fronts, &st->capacity, sizeof *st->front);
    st->front[st->fronts++] = *x;
}

/* A split that was found joins what its structure has. */
static void keep_found(struct problem *p, int64_t step, bool crowded)
{
    struct mixed_cell *c = p->c;
    struct found x = p->found;
    x.step = p->plan.step = step;
    p->plan.layout = p->layout;
    if (crowded)
        x.trouble |= trouble_of(0, true, 0);
    found_judge(&x, c->w->results->limits, &c->rental);
    bool front = cell_front_of_use(c, &x), list = !shortlist_refuses(&c->st->best, &x);
    if (!front && !list)
        return;
    struct mixed_found *kept = arena_alloc(&c->w->keep, sizeof *kept);
    *kept = p->plan;
    x.mixed = kept;
    shortlist_add(&c->st->best, &x);
    if (front)
        keep_front(c, &x);
}

/* Where types differ, all stages with one type's GPUs each are more or fewer than the job has: the
 * pool's rules are kept by most_stages() and judge_stages(). */
static void hold_pool(const struct mixed_cell *c, struct walk *w, bool hold)
{
    for (int g = 0; g <= w->others && c->st->per_type; g++) {
        double *values = g == 0 ? w->values : w->other[g - 1];
        const double *fixed = c->set->fixed[g];
        values[SLOT_cluster_max_gpus] = hold ? 1e18 : fixed[SLOT_cluster_max_gpus];
    }
}

/* Rules on the number of stages, and those on pass times and state at once. */
static bool rules_allow(struct mixed_cell *c)
{
    struct walk *w = mixed_walk(c->w, c->set);
    const struct space *s = w->space;
    int first = c->st->per_type ? 0 : w->plan->first[s->axes - 1]; /* own values: all again */
    int end = w->plan->first[s->axes] + w->plan->pairs;
    for (int g = 0; g <= w->others; g++) {
        struct strategy room;
        const struct strategy *own = mesh_strategy(&c->alone[g].mesh[0], &c->s, &room);
        slots_set_strategy(g == 0 ? w->values : w->other[g - 1], own);
    }
    hold_pool(c, w, true);
    bool allow = true;
    for (int i = first; i < end && allow; i++)
        allow = walk_allows(w, w->plan->order[i]);
    hold_pool(c, w, false);
    return allow;
}

/* Cautions that hold on any of the types. The values are there: rules_allow(). */
static int cautions_of(struct mixed_cell *c)
{
    const struct rules *r = c->w->query->cautions;
    const struct walk *w = mixed_walk(c->w, c->set);
    int met = 0;
    for (int i = 0; r && i < r->count; i++)
        met += walk_holds(w, &r->rule[i]);
    return met;
}

static unsigned state_trouble(struct mixed_cell *c)
{
    struct mesh_list all = {.count = c->set->groups};
    if (c->w->results->limits->resolution <= 0)
        return 0;
    for (int g = 0; g < c->set->groups; g++)
        all.mesh[g] = c->alone[g].mesh[0];
    return trouble_of(cautions_of(c), false, mesh_list_complexity(&all, &c->s));
}

/* The same, asked once for each pp, pass times and state. */
static bool state_allowed(struct mixed_cell *c)
{
    struct room *x = &c->room[c->state];
    if (x->rules_pp != c->s.pp || x->rules_pass_times != c->w->table[0].pass_times) {
        x->rules_pp = c->s.pp;
        x->rules_pass_times = c->w->table[0].pass_times;
        x->rules_allow = rules_allow(c);
        x->trouble = state_trouble(c);
    }
    return x->rules_allow;
}

/* The optimizer of the stage that has most: at least the average, on the type that is done
 * first. */
static double least_behind(struct mixed_cell *c)
{
    double least = INFINITY;
    int layers = (c->layers + c->s.pp - 1) / c->s.pp;
    for (int g = 0; g < c->set->groups; g++)
        for (int i = 0; i < c->w->starts && c->w->first_with[i] + layers <= c->layers; i++)
            least = fmin(least, (double)stage_behind(&c->w->table[g], c->state, STAGE_MIDDLE,
                                                     c->w->first_with[i], layers));
    return least < INFINITY ? least : 0;
}

double cell_least_behind(struct mixed_cell *c)
{
    double *known = &c->at->behind[c->state];
    if (*known < 0)
        *known = least_behind(c);
    return *known;
}

/* Of a rank with several chunks both grow with its layers and do not depend on passes: of one layer a
 * chunk. With one chunk what is hidden depends on its passes. */
static double least_ends_of_chunks(struct mixed_cell *c)
{
    struct problem *p = arena_alloc(&c->w->problem, sizeof *p);
    struct strategy kept = c->s;
    double least = INFINITY;
    option_take(c->state_list, c->state, &c->s);
    p->c = c;
    p->pp = c->s.pp;
    for (p->type[0] = 0; p->type[0] < c->set->groups; p->type[0]++) {
        struct rank_cost x;
        set_cost(p, 0, 0, c->s.vpp, &x);
        least = fmin(least, (double)(x.delay + x.after));
    }
    c->s = kept;
    arena_clear(&c->w->problem);
    return least;
}

double cell_least_ends(struct mixed_cell *c)
{
    double *known = &c->at->ends[c->state];
    if (c->s.vpp == 1)
        return 0;
    if (*known < 0)
        *known = least_ends_of_chunks(c);
    return *known;
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

/* Fills what assign.c needs under c->state. False: too little room. */
static bool pose(struct problem *p, int64_t cut, struct assign_problem *out)
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

static void set_uncrowded(struct problem *p, bool uncrowded)
{
    p->uncrowded = uncrowded;
    for (int g = 0; g < p->c->set->groups; g++) {
        struct stage_table *t = &p->c->w->table[g];
        t->most = uncrowded ? t->partition->mesh[0].crowded : 1;
    }
}

/* No split of it is below the bound. */
static void note_given_up(struct mixed_cell *c, int64_t bound)
{
    struct mixed_result *counts = &c->w->counts;
    struct score least = score_of(&c->rental, bound);
    if (c->w->scouting) {
        c->st->deferred = true;
        return;
    }
    counts->unproven++;
    counts->open_key = fmin(counts->open_key, score_key(c->w->results->limits, &least));
}

/* The fastest split below the cut joins what was found. Whether it is crowded. */
static bool solve_below(struct problem *p, int64_t cut)
{
    struct mixed_cell *c = p->c;
    struct assign_problem a;
    struct assign_result r;
    if (!pose(p, cut, &a))
        return false;
    c->w->counts.problems++;
    assign_run(&a, cut, &c->w->problem, &r);
    if (!r.proven && !c->st->left)
        note_given_up(c, r.bound);
    if (r.step == INT64_MAX)
        return false;
    bool crowded = split_crowded(p, r.layers);
    keep_found(p, r.step, crowded);
    return crowded;
}

/* Where the fastest split is crowded, one that is not may be as good. */
static void solve_state(struct problem *p)
{
    struct mixed_cell *c = p->c;
    p->found.trouble = c->room[c->state].trouble;
    p->found.strategy = p->plan.strategy = first_strategy(p);
    if (!solve_below(p, cell_cut_of(c, &p->found)))
        return;
    set_uncrowded(p, true);
    solve_below(p, cell_cut_of(c, &p->found));
    set_uncrowded(p, false);
}

/* Whether FlagScale does not run such meshes, under the current state or whatever it is. */
static bool refused(const struct problem *p)
{
    struct strategy s = first_strategy(p);
    if (p->c->state <= ANY_STATE) { /* all that is asked of states */
        s.dist_opt = 0;
        s.optimizer_instances = 1;
    }
    bool flagscale = p->c->st->per_type || !p->c->w->query->layouts;
    return flagscale &&
           meshes_refused(&p->meshes, &s, p->c->w->query->scene.model, &p->c->w->problem);
}

/* Least delay and reduction of a first rank of type g under c->state, of the layers that any may have.
 * Ticks. */
static double find_least_ends(struct problem *p)
{
    struct mixed_cell *c = p->c;
    double least = INFINITY;
    for (int n = p->least[0]; n <= c->longest[p->type[0]]; n++) {
        struct rank_cost x;
        set_cost(p, 0, 0, n, &x);
        least = fmin(least, (double)(x.delay + x.after));
    }
    return least;
}

/* The same, asked once for all arrangements of these pass times and stages. */
static double least_ends(struct problem *p)
{
    struct mixed_cell *c = p->c;
    struct room *x = &c->room[c->state];
    int g = p->type[0];
    if (x->ends_asked[g] != c->asked) {
        x->ends_asked[g] = c->asked;
        x->ends[g] = find_least_ends(p);
    }
    return x->ends[g];
}

/* Whether c->state may be fast enough for a cut: `bound` is of any. */
static bool state_of_use(struct problem *p, int64_t bound, int64_t cut)
{
    struct mixed_cell *c = p->c;
    double least = (double)bound - floor(c->behind) + cell_least_behind(c);
    return least < (double)cut && state_allowed(c) && !refused(p) &&
           least + least_ends(p) < (double)cut;
}

static void note_dive(struct mixed_cell *c, int64_t bound)
{
    if (bound >= c->dive.bound)
        return;
    c->dive.bound = bound;
    c->dive.at = c->at;
    memcpy(c->dive.stages, c->stages, sizeof c->stages);
    memcpy(c->dive.order, c->order, sizeof c->order);
}

/* First whatever the state, then each that may be fast enough. */
bool cell_solve(struct mixed_cell *c)
{
    struct problem *p = arena_alloc(&c->w->problem, sizeof *p);
    struct assign_problem a;
    p->c = c;
    p->weighs = c->w->results->limits->resolution > 0;
    place_types(p);
    find_sends(p, p->send);
    p->tax = transfer_tax(p);
    c->state = c->any_state;
    if (refused(p)) {
        arena_clear(&c->w->problem);
        return false;
    }
    c->w->counts.judged++;
    set_plan(p);
    int64_t cut = cell_cut_of(c, &p->found), bound = INT64_MAX;
    if (pose(p, cut, &a))
        bound = assign_bound(&a, cut, &c->w->problem);
    note_dive(c, bound);
    bool of_use = bound < cut, solve = of_use && !c->relaxed;
    for (c->state = 0; c->state < c->states && solve && bound < cut && !structure_stopped(c);
         c->state++) {
        if (!state_at_hand(c))
            continue;
        option_take(c->state_list, c->state, &c->s);
        p->found.trouble = c->trouble;
        cut = cell_cut_of(c, &p->found);
        if (state_of_use(p, bound, cut))
            solve_state(p);
    }
    c->state = c->any_state;
    arena_clear(&c->w->problem);
    return of_use;
}
