/* From a structure to its best plans.
 *
 *   structure  tp cp dp ep etp micro_batch vpp ...   bound: all stages there could be, least times
 *   pass times recompute, overlap                    bound: the same with its own times
 *   state      optimizer                             memory: layers that fit by micro-batches in flight
 *   pp         stages in all                         bound and memory of any arrangement; rules
 *   stages     of each type, and the types' order    layers each rank may have; then assign.c decides
 */
#include "search/mixed/mixed_parts.h"

#include "base/arena.h"
#include "simulate/host_memory.h"

#include <math.h>
#include <string.h>

/* Every order of the types of which a bit is set, by its number; clears the bits of those that are of
 * no use. */
static void permute(struct mixed_cell *c, int done, int *number, uint32_t *orders)
{
    if (done == c->set->groups) {
        uint32_t bit = (uint32_t)1 << (*number)++;
        if (*orders & bit && !cell_solve(c))
            *orders &= ~bit;
        return;
    }
    for (int i = done; i < c->set->groups; i++) {
        int kept = c->order[done];
        c->order[done] = c->order[i];
        c->order[i] = kept;
        permute(c, done + 1, number, orders);
        c->order[i] = c->order[done];
        c->order[done] = kept;
    }
}

/* What is of use of c->stages waits for the pass times of the class. */
static void keep_arrangement(struct mixed_cell *c, uint32_t orders)
{
    struct arrangements *l = c->left;
    if (!c->relaxed || orders == 0)
        return;
    l->of = arena_room(&c->w->scratch, l->of, l->count, &l->capacity, sizeof *l->of);
    struct arrangement *x = &l->of[l->count++];
    *x = (struct arrangement){.at = c->at, .orders = orders};
    memcpy(x->stages, c->stages, sizeof x->stages);
}

/* Keeps c->stages among the fastest; of those that are alike the first. */
static void collect_stages(struct mixed_cell *c, int pp, uint32_t orders)
{
    struct dive_stages *l = c->collects;
    double bound = stages_bound(c, pp);
    int at = l->count;
    while (at > 0 && l->bound[at - 1] > bound)
        at--;
    if (at == l->most)
        return;
    int behind = (l->count < l->most ? l->count : l->most - 1) - at;
    memmove(&l->bound[at + 1], &l->bound[at], (size_t)behind * sizeof *l->bound);
    memmove(&l->of[at + 1], &l->of[at], (size_t)behind * sizeof *l->of);
    l->count = at + behind + 1;
    l->bound[at] = bound;
    l->of[at] = (struct arrangement){.at = c->at, .orders = orders};
    memcpy(l->of[at].stages, c->stages, sizeof c->stages);
}

/* Least ticks of all layers once, on so many stages of each type: the fastest take what they
 * may. */
static double work_of_stages(const struct mixed_cell *c)
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
static void judge_stages(struct mixed_cell *c, int pp, uint32_t orders)
{
    int number = 0;
    if (!cell_gpus_asked(c))
        return;
    cell_rent(c);
    int by_time[MIX_MAX];
    int64_t room = 0, cut = cell_cut(c);
    if (!stages_of_use(c, pp, cut))
        return;
    memcpy(by_time, c->by_time, sizeof by_time);
    enum { ROUNDS = 8 };
    double work = 0, before = -1;
    for (int i = 0; i < ROUNDS && work > before;
         i++) { /* less time, less on the fastest, more work */
        before = work;
        work = work_of_stages(c);
        struct allowed a = cell_allowed(c, pp, work, cut);
        room = 0;
        for (int g = 0; g < c->set->groups; g++) {
            int n = cell_layers_by_time(c, g, a);
            c->by_time[g] = n < c->by_time[g] ? n : c->by_time[g];
            room += (int64_t)c->stages[g] * c->by_time[g];
        }
        if (room < c->layers)
            break;
    }
    if (room >= c->layers && c->collects) {
        collect_stages(c, pp, orders);
    } else if (room >= c->layers) {
        permute(c, 0, &number, &orders);
        keep_arrangement(c, orders);
    }
    memcpy(c->by_time, by_time, sizeof by_time);
}

/* One bit for each order of so many types. */
static const uint32_t ALL_ORDERS[MIX_MAX + 1] = {0, 1, 0x3, 0x3f, 0xffffff};

/* Every number of stages of each type that adds up to what is left. */
static void share_stages(struct mixed_cell *c, int g, int left, int64_t room)
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
        if (left - n > ahead || structure_stopped(c) ||
            room + (int64_t)n * c->by_time[g] + later < c->layers)
            break;
        c->stages[g] = n;
        if (g + 1 < c->set->groups)
            share_stages(c, g + 1, left - n, room + (int64_t)n * c->by_time[g]);
        else if (n == left)
            judge_stages(c, c->s.pp, ALL_ORDERS[c->set->groups]);
    }
}

bool state_at_hand(const struct mixed_cell *c)
{
    return c->any_state == ANY_STATE ||
           c->any_state == any_of_kind(state_kind(&c->w->table[0].state_strategy[c->state]));
}

void cell_new_pass_times(struct mixed_cell *c)
{
    for (int g = 0; g < c->set->groups; g++)
        stage_table_pass_times(&c->w->table[g]);
}

/* Optimizer and ends of any state, whether the rules allow it or not. */
static double behind_any(struct mixed_cell *c)
{
    double least = INFINITY;
    for (c->state = 0; c->state < c->states; c->state++)
        if (state_at_hand(c))
            least = fmin(least, cell_least_behind(c) + cell_least_ends(c));
    c->state = c->any_state;
    return least;
}

/* Whether a number of stages has room. Sets what is to be known of it. */
static bool enter_pp(struct mixed_cell *c, struct stage_count *x)
{
    int pp = c->s.pp = x->pp;
    c->at = x;
    c->asked++;
    c->behind = 0;
    if (c->s.moe_overlap) /* what is hidden depends on it */
        cell_new_pass_times(c);
    for (int g = 0; g < c->set->groups; g++) /* units of FSDP are by stage */
        c->w->table[g].partition->strategy.pp = pp;
    int64_t cut = cell_enter_pp(c, x);
    if (!cell_has_time(c, pp, cut) || !cell_has_memory(c, pp))
        return false;
    c->behind = behind_any(c);
    for (int g = 0; g < c->set->groups; g++)
        c->order[g] = g;
    return cell_has_time(c, pp, cut);
}

static void search_pp(struct mixed_cell *c, struct stage_count *x)
{
    if (enter_pp(c, x))
        share_stages(c, 0, x->pp, 0);
    c->behind = 0;
}

/* One layer more again may need a little more memory at the peak: its input and the gradient that
 * waits, and the inputs that recomputed experts leave behind (stage_memory.c). */
static void loosen_limits(struct mixed_cell *c, double limit[MIX_MAX])
{
    const struct model *m = c->w->query->scene.model;
    int inputs = 2 + (m->experts > 0 ? m->layers : 0);
    for (int g = 0; g < c->set->groups; g++) {
        struct partition_mesh *mesh = &c->w->table[g].partition->mesh[0];
        limit[g] = mesh->limit;
        mesh->limit += inputs * c->costs[g]->boundary_bytes;
    }
}

static void restore_limits(struct mixed_cell *c, const double limit[MIX_MAX])
{
    for (int g = 0; g < c->set->groups; g++)
        c->w->table[g].partition->mesh[0].limit = limit[g];
}

/* Some number of stages has room under this recompute, give or take a little, and the smallest
 * state. */
static bool recompute_fits(struct mixed_cell *c, int recompute, int method, int layers, int modules)
{
    double limit[MIX_MAX];
    c->keeps = c->s;
    c->keeps.recompute = recompute;
    c->keeps.recompute_method = method;
    c->keeps.recompute_layers = layers;
    c->keeps.recompute_modules = modules;
    cell_new_pass_times(c);
    loosen_limits(c, limit);
    for (int g = 0; g < c->set->groups; g++)
        c->by_time[g] = c->longest[g] = c->layers;
    bool fits = false;
    for (int i = 0; i < c->pps && !fits; i++)
        fits = cell_has_memory(c, c->pp[i].pp);
    restore_limits(c, limit);
    return fits;
}

/* Fewest layers that block recompute must redo for anything to fit: 0 where no full recompute is
 * needed, -1 where nothing fits. */
static int least_layers_again(struct mixed_cell *c)
{
    int low = 0, high = c->layers;
    if (recompute_fits(c, RECOMPUTE_SELECTIVE, METHOD_NONE, 0, (1 << MODULES) - 1))
        return 0;
    if (!recompute_fits(c, RECOMPUTE_FULL, METHOD_UNIFORM, 1, 0) &&
        !recompute_fits(c, RECOMPUTE_FULL, METHOD_UNIFORM, c->layers, 0))
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

/* More layers again than any stage has are all of them: uniform recompute, where that may be
 * used. */
static bool again_in_vain(struct mixed_cell *c)
{
    int most = 0;
    for (int g = 0; g < c->set->groups; g++)
        most = c->longest[g] > most ? c->longest[g] : most;
    return c->uniform && c->s.recompute_method == METHOD_BLOCK && c->s.recompute_layers > most &&
           cell_uniform_goes(c);
}

/* Those given, which are sorted by their number of stages. */
static void search_among(struct mixed_cell *c, const struct arrangements *among)
{
    bool open = false;
    for (int i = 0; i < among->count && !structure_stopped(c); i++) {
        const struct arrangement *x = &among->of[i];
        if (i == 0 || x->at != x[-1].at)
            open = enter_pp(c, x->at);
        memcpy(c->stages, x->stages, sizeof c->stages);
        if (open)
            judge_stages(c, x->at->pp, x->orders);
    }
    c->behind = 0;
}

/* A dive looks at few stages of each type, in every order. */
static void search_fastest(struct mixed_cell *c)
{
    static const int orders[MIX_MAX + 1] = {1, 1, 2, 6, 24};
    struct dive_stages found = {.most = DIVE_BOUNDS / orders[c->set->groups]};
    c->collects = &found;
    for (int i = 0; i < c->pps && !structure_stopped(c); i++)
        search_pp(c, &c->pp[i]);
    c->collects = NULL;
    search_among(c, &(struct arrangements){.count = found.count, .of = found.of});
}

static void search_everywhere(struct mixed_cell *c)
{
    if (!cell_has_room(c, true))
        return;
    if (c->w->diving) {
        search_fastest(c);
        return;
    }
    for (int i = 0; i < c->pps && !structure_stopped(c); i++)
        search_pp(c, &c->pp[i]);
}

void cell_search_pass_times(struct mixed_cell *c, const struct arrangements *among)
{
    bool loosen = c->relaxed && c->s.recompute_method == METHOD_BLOCK;
    double limit[MIX_MAX];
    c->s.pp = c->pp[c->pps - 1].pp; /* of fewer stages no pass is longer */
    if (!among && !cell_has_room(c, false))
        return;
    cell_find_longest(c);
    if (again_in_vain(c))
        return;
    if (loosen)
        loosen_limits(c, limit);
    if (among)
        search_among(c, among);
    else
        search_everywhere(c);
    if (loosen)
        restore_limits(c, limit);
}

void cell_solve_dive(struct mixed_cell *c)
{
    if (!enter_pp(c, c->dive.at))
        return;
    memcpy(c->stages, c->dive.stages, sizeof c->stages);
    memcpy(c->order, c->dive.order, sizeof c->order);
    cell_rent(c);
    cell_solve(c);
    c->behind = 0;
}

static void set_tables(struct mixed_cell *c, const struct option_list *states)
{
    static const struct layout any = {.stages = 2, .mtp_stage = 1, .loss_stage = 1};
    struct strategy s = c->s, *state;
    state = arena_array(&c->w->scratch, (size_t)states->count, sizeof *state);
    for (int i = 0; i < states->count; i++) {
        state[i] = c->s;
        option_take(states, i, &state[i]);
        c->kinds |= 1 << state_kind(&state[i]);
    }
    s.pp = 2;
    s.vpp = 1;
    s.p2p_overlap = 0; /* what it adds to a pass depends on all ranks: transfer_tax() */
    c->send = INFINITY;
    c->state = c->any_state = ANY_STATE;
    c->states = states->count;
    c->state_list = states;
    c->room = arena_array(&c->w->scratch, (size_t)states->count + 1 + STATE_KINDS, sizeof *c->room);
    for (int i = 0; i < c->pps; i++) {
        c->pp[i].behind = arena_array(&c->w->scratch, 2 * (size_t)states->count, sizeof(double));
        c->pp[i].ends = c->pp[i].behind + states->count;
        for (int k = 0; k < 2 * states->count; k++)
            c->pp[i].behind[k] = -1;
    }
    for (int g = 0; g < c->set->groups; g++) {
        struct stage_table *t = &c->w->table[g];
        partition_init(t->partition, &c->scene[g], &c->costs[g], &s, &any, NULL);
        /* of a node with no other stage */
        t->partition->mesh[0].host_ranks = host_ranks(c->set->group[g], c->block[g]);
        t->partition->strategy.vpp = t->partition->mesh[0].strategy.vpp = c->s.vpp;
        t->fixed_s = transfer_fixed_s(t->partition, &s);
        stage_table_structure(t, state, states->count, &c->w->scratch);
        c->send = fmin(c->send, (double)t->partition->send[0]);
    }
}

static void find_crossings(struct mixed_cell *c)
{
    int groups = c->set->groups;
    for (int a = 0; a < groups; a++)
        for (int b = 0; b < groups; b++)
            c->crossing[a][b] =
                crossing_ticks(c->w->query->cluster, &c->w->table[a].partition->mesh[0],
                               &c->w->table[b].partition->mesh[0]);
    for (int g = 0; g < groups; g++) {
        const struct partition_mesh *m = &c->w->table[g].partition->mesh[0];
        enum nearness nearest = pair_nearness(m, 0, 1);
        for (enum nearness near = OTHER_NODE; near < NEARNESSES; near++) {
            c->sends[g][near] = send_ticks(m, near);
            if (near <= nearest) /* NICs may be faster than what is inside a node */
                c->send = fmin(c->send, (double)c->sends[g][near]);
        }
    }
    c->cross = INFINITY;
    for (int a = 0; a < groups; a++)
        for (int b = 0; b < a; b++)
            c->cross = fmin(c->cross, (double)c->crossing[a][b]);
}

/* No pass times have a shorter pipeline than this one, unless passes wait for copies to the host that
 * recompute spares. */
static bool too_slow(struct mixed_cell *c)
{
    struct strategy kept = c->s;
    if (c->w->query->scene.switches.offload)
        return false;
    c->s.recompute = RECOMPUTE_NONE;
    c->s.tp_overlap = c->s.p2p_overlap = c->s.moe_overlap = c->s.delay_wgrad = 1;
    c->s.cuda_graph = GRAPH_STEP; /* no host to wait for */
    cell_new_pass_times(c);
    bool slow = !cell_has_room(c, false);
    c->s = kept;
    return slow;
}

/* As the first of the list. */
static bool same_recompute(const struct option_list *pass_times, int i)
{
    struct strategy first, s;
    option_take(pass_times, 0, &first);
    option_take(pass_times, i, &s);
    return s.recompute == first.recompute && s.recompute_method == first.recompute_method &&
           s.recompute_layers == first.recompute_layers &&
           s.recompute_modules == first.recompute_modules;
}

static void search_all_pass_times(struct mixed_cell *c, const struct option_list *pass_times)
{
    int least_layers = least_layers_again(c);
    if (least_layers < 0)
        return;
    for (int i = 0; i < pass_times->count; i++) {
        option_take(pass_times, i, &c->s);
        c->uniform |= c->s.recompute_method == METHOD_UNIFORM && c->s.recompute_layers == 1;
    }
    int count = 0;
    c->option = arena_array(&c->w->scratch, (size_t)pass_times->count, sizeof *c->option);
    for (int i = 0; i < pass_times->count; i++) {
        struct strategy *s = &c->option[count];
        *s = c->s;
        option_take(pass_times, i, s);
        if (c->st->per_type ? same_recompute(pass_times, i) /* each mesh says itself */
                            : !keeps_too_much(s, least_layers))
            count++;
    }
    cell_search_classes(c, count);
}

void structure_search(struct mixed_worker *w, struct structure *st)
{
    const struct option_list *pass_times, *states;
    struct mixed_cell c;
    cell_init(&c, w, st);
    cell_find_work(&c);
    cell_find_rates(&c);
    c.trouble = trouble_of(cell_cautioned(&c), false, 0);
    if (!st->searched)
        shortlist_init(&st->best, w->results->limits, w->query->top, &w->keep);
    st->searched = true;
    st->deferred = st->left = false;
    st->best.mem = &w->keep; /* another worker may have begun */
    w->counts.structures++;
    if (cell_within_reach(&c))
        cell_list_pps(&c);
    if (c.pps > 0)
        cell_list_options(&c, &pass_times, &states);
    if (c.pps > 0 && states->count > 0) {
        set_tables(&c, states);
        find_crossings(&c);
        if (!too_slow(&c))
            search_all_pass_times(&c, pass_times);
    }
    arena_clear(&w->scratch);
}
