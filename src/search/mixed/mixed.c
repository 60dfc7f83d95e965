/* The mixed search: the structures of every set of types, taken in rounds. */
#include "search/mixed/mixed.h"

#include "base/arena.h"
#include "search/mixed/mixed_per_type.h"
#include "search/mixed/mixed_sets.h"
#include "search/rounds.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool same_mesh(const struct mesh *a, const struct mesh *b, enum row_of row)
{
    return a->stages == b->stages && a->own == b->own &&
           (!a->own || (a->tp == b->tp && a->dp == b->dp &&
                        (row == ROW_LAYOUT || a->micro_batch == b->micro_batch)));
}

/* Where types differ, a strategy has what is first along the pipeline: the meshes say it all. */
static bool same_ways(const struct mixed_found *a, const struct mixed_found *b, enum row_of row)
{
    const struct strategy *x = &a->strategy, *y = &b->strategy;
    return a->meshes.mesh[0].own || (x->tp == y->tp && x->dp == y->dp &&
                                     (row == ROW_LAYOUT || x->micro_batch == y->micro_batch));
}

bool mixed_same_row(const struct mixed_found *a, const struct mixed_found *b, enum row_of row)
{
    const struct strategy *x = &a->strategy, *y = &b->strategy;
    if (!same_ways(a, b, row) || x->cp != y->cp || x->ep != y->ep || x->etp != y->etp ||
        (row == ROW_KIND && x->vpp != y->vpp) || a->meshes.count != b->meshes.count)
        return false;
    for (int i = 0; i < a->meshes.count; i++) {
        int j = 0;
        while (j < b->meshes.count && b->meshes.mesh[j].group != a->meshes.mesh[i].group)
            j++;
        if (j == b->meshes.count || !same_mesh(&a->meshes.mesh[i], &b->meshes.mesh[j], row))
            return false;
    }
    return true;
}

static void bound_structure(void *search, int worker, void *item)
{
    struct mixed *m = search;
    structure_bound(&m->worker[worker], item);
}

/* Seeds of few stages, then best bound first. */
static int compare_structures(const void *x, const void *y)
{
    const struct structure *a = *(struct structure *const *)x, *b = *(struct structure *const *)y;
    if (a->seed != b->seed)
        return a->seed > b->seed ? -1 : 1;
    if (a->bound != b->bound)
        return a->bound < b->bound ? -1 : 1;
    return a < b ? -1 : a > b;
}

static void search_structure(void *search, int worker, void *item)
{
    struct mixed *m = search;
    structure_search(&m->worker[worker], item);
}

static const struct rental FREE = {.usd_per_h = 0, .slowdown = 1};

/* No step longer than this has a place among the best, whatever its GPUs cost. */
static int64_t threshold(const struct mixed *m)
{
    return shortlist_limit(&m->results->best, &FREE, 0);
}

static bool none_has_a_place(const void *search, const void *item)
{
    const struct mixed *m = search;
    const struct structure *next = item;
    return !m->query->front && !next->seed && next->bound >= threshold(m);
}

static const struct found *checked(const struct structure *st, const struct found *x)
{
    assert(x->step >= st->bound && x->gpus == mesh_list_gpus(&x->mixed->meshes, &x->strategy));
    return x;
}

static void merge_structure(void *search, const void *item)
{
    struct mixed *m = search;
    const struct structure *st = item;
    for (int i = 0; i < st->best.count; i++)
        for (int k = 0; k < st->best.row[i].count; k++)
            shortlist_add(&m->results->best, checked(st, &st->best.row[i].variant[k]));
    for (int i = 0; i < st->fronts; i++)
        front_add(&m->results->front, checked(st, &st->front[i]));
}

static bool structure_left(const void *item)
{
    return ((const struct structure *)item)->left;
}

/* The fewest nodes that a job on these types has. */
static struct rental least_rental(const struct mixed *m, const struct mixed_set *set)
{
    struct rental least = {0};
    for (int g = 0; g < set->groups; g++) {
        const struct node_group *group = set->group[g];
        bool range = group->nodes_min < group->nodes_max;
        int64_t nodes = range ? group->nodes_min : 1;
        rental_add(&least, m->results->limits, m->query->scene.rent, group,
                   nodes * group->per_node);
    }
    rental_finish(&least, m->results->limits);
    return least;
}

static double structure_least_key(const void *search, const void *item)
{
    const struct mixed *m = search;
    const struct structure *st = item;
    struct rental least = least_rental(m, st->set);
    if (!(least.usd_per_h < INFINITY))
        least = FREE;
    struct score score = score_of(&least, st->bound);
    return score_key(m->results->limits, &score);
}

static double structure_limit(const void *search, const void *item)
{
    const struct mixed *m = search;
    const struct structure *st = item;
    struct rental least = least_rental(m, st->set);
    int64_t list = threshold(m), front = front_limit(&m->results->front, &least);
    if (!(least.usd_per_h < INFINITY))
        least = FREE;
    struct score most = score_of(&least, m->query->front && front > list ? front : list);
    return list == INT64_MAX ? INFINITY : score_key(m->results->limits, &most);
}

static const struct round_work STRUCTURES = {.size = sizeof(struct structure),
                                             .first = 4,
                                             .largest = 32,
                                             .steady = 1,
                                             .bound = bound_structure,
                                             .compare = compare_structures,
                                             .done = none_has_a_place,
                                             .search = search_structure,
                                             .merge = merge_structure,
                                             .left = structure_left,
                                             .least_key = structure_least_key,
                                             .limit = structure_limit};

/* No step longer than this has a place among the best or, on the fewest nodes that a job on these
 * types has, on the front. */
static int64_t threshold_of_set(const struct mixed *m, const struct mixed_set *set)
{
    const struct results *s = m->results;
    struct rental least = least_rental(m, set);
    int64_t best = threshold(m), front = front_limit(&s->front, &least);
    return m->query->front && front > best ? front : best;
}

/* Structures whose meshes run their own, of those that could be fast enough; replaces the list.
 * What the first type runs is bound by its own rules and GPUs alone. */
static void list_per_type(struct mixed *m)
{
    struct rounds bases = {.work = &STRUCTURES};
    struct per_type_list list = {.worker = &m->worker[0], .mem = m->mem, .to = &m->rounds};
    for (int i = 0; i < m->sets; i++) {
        struct walk *w = mixed_walk(&m->worker[0], &m->set[i]);
        int others = w->others;
        w->others = 0;
        mixed_list_structures(m, &m->set[i], w, 0, &bases);
        w->others = others;
    }
    m->rounds.listed = 0;
    for (long i = 0; i < bases.listed; i++) {
        const struct structure *base = rounds_at(&bases, i);
        list.cut = threshold_of_set(m, base->set);
        if (mixed_stopped(m))
            break;
        per_type_list_add(&list, base);
    }
    rounds_release(&bases);
}

static void start(struct mixed *m, const struct mixed_query *q, struct arena *mem)
{
    memset(m, 0, sizeof *m);
    m->query = q;
    m->mem = mem;
    m->open.key = INFINITY;
    m->results = results_join(q->results, &m->own, q->limits, q->top, mem);
    mixed_list_sets(m);
    m->workers = q->threads > 1 ? q->threads : 1;
    m->worker = arena_array(mem, (size_t)m->workers, sizeof *m->worker);
    for (int i = 0; i < m->workers; i++)
        mixed_worker_init(&m->worker[i], q, m->results, m->set, m->sets);
    m->worker[0].calling = true;
    m->rounds = (struct rounds){.work = &STRUCTURES,
                                .search = m,
                                .workers = m->workers,
                                .stop = q->stop,
                                .progress = q->progress,
                                .progress_context = q->progress_context};
}

/* What stays of it outlives the workers. */
static bool keep_one(struct mixed *m, struct found *x)
{
    if (!x->mixed)
        return false;
    struct mixed_found *kept = arena_alloc(m->mem, sizeof *kept);
    *kept = *x->mixed;
    x->mixed = kept;
    return true;
}

static void copy_found(struct mixed *m, struct mixed_result *out)
{
    struct shortlist *best = &m->results->best;
    struct front *front = &m->results->front;
    struct found *list = arena_array(m->mem, (size_t)best->top, sizeof *list);
    for (int i = 0; i < best->count; i++)
        for (int k = 0; k < best->row[i].count; k++)
            keep_one(m, &best->row[i].variant[k]);
    for (int i = 0; i < front->count; i++)
        out->pareto += keep_one(m, &front->entry[i]);
    int count = shortlist_rank(best, list);
    out->found = arena_array(m->mem, (size_t)best->top, sizeof *out->found);
    for (int i = 0; i < count; i++)
        if (list[i].mixed)
            out->found[out->best++] = *list[i].mixed;
}

static bool *refused_rules(struct mixed *m)
{
    int count = m->query->rules->count;
    bool *refused = arena_array(m->mem, (size_t)count + 1, sizeof *refused);
    for (int w = 0; w < m->workers; w++)
        for (int i = 0; i < count; i++)
            refused[i] |= m->worker[w].counts.refused[i];
    return refused;
}

static void fill_result(struct mixed *m, struct mixed_result *out)
{
    *out = (struct mixed_result){.open_key = m->open.key};
    for (int i = 0; i < m->workers; i++) {
        const struct mixed_result *x = &m->worker[i].counts;
        out->structures += x->structures;
        out->judged += x->judged;
        out->problems += x->problems;
        out->simulated += x->simulated;
        out->unproven += x->unproven;
        out->open_key = fmin(out->open_key, x->open_key);
    }
    out->left = (double)m->open.count;
    out->refused = refused_rules(m);
    for (int i = 0; i < m->sets; i++)
        out->generated += m->set[i].space.size_from[0];
    copy_found(m, out);
}

static void set_scouting(struct mixed *m, bool scouting)
{
    for (int i = 0; i < m->workers; i++)
        m->worker[i].scouting = scouting;
}

/* Once more, with all that is known by now. */
static void run_deferred(struct mixed *m)
{
    struct rounds *r = &m->rounds;
    r->count = 0;
    for (long i = 0; i < r->taken; i++)
        if (((const struct structure *)r->item[i])->deferred)
            r->item[r->count++] = r->item[i];
    r->taken = 0;
    rounds_run(r);
}

enum { DIVES = 128, DIVES_AMONG = 4096 };

/* Structures to dive into, and how they lay the job out. */
struct dives {
    long count;
    void *item[DIVES];
    struct strategy strategy[DIVES];
};

/* Adds a structure, unless another differs in little else: those are neighbours in the order of
 * bounds. */
static void add_dive(struct mixed *m, struct dives *d, struct structure *st)
{
    struct strategy s = structure_strategy(&m->worker[0], st);
    for (long i = d->count - 1; i >= 0; i--) {
        const struct structure *other = d->item[i];
        const struct strategy *k = &d->strategy[i];
        if (other->set == st->set && s.tp == k->tp && s.cp == k->cp && s.dp == k->dp &&
            s.ep == k->ep && s.vpp == k->vpp)
            return;
    }
    d->item[d->count] = st;
    d->strategy[d->count++] = s;
}

/* Of those from `first` on, seeds alone if asked for. */
static void choose_dives(struct mixed *m, long first, bool seeds, struct dives *d)
{
    const struct rounds *r = &m->rounds;
    d->count = 0;
    for (long i = first; i < r->listed && i < first + DIVES_AMONG && d->count < DIVES; i++) {
        struct structure *st = r->item[i];
        if (seeds && !st->seed)
            break;
        add_dive(m, d, st);
    }
}

static void dive_into_chosen(struct mixed *m, struct dives *d)
{
    struct rounds *r = &m->rounds;
    void **all = r->item;
    r->item = d->item;
    r->count = d->count;
    rounds_run(r);
    r->item = all;
    r->count = r->listed;
    r->taken = 0;
}

/* One plan of each of the first seeds, and of those with the least bounds: where these are good, the
 * search is cut by them. */
static void dive(struct mixed *m)
{
    const struct rounds *r = &m->rounds;
    struct dives *chosen = arena_alloc(m->mem, sizeof *chosen);
    long seeds = 0;
    while (seeds < r->listed && ((const struct structure *)r->item[seeds])->seed)
        seeds++;
    for (int i = 0; i < m->workers; i++)
        m->worker[i].diving = true;
    choose_dives(m, 0, true, chosen);
    dive_into_chosen(m, chosen);
    choose_dives(m, seeds, false, chosen);
    dive_into_chosen(m, chosen);
    for (int i = 0; i < m->workers; i++)
        m->worker[i].diving = false;
}

static void set_ceiling(struct mixed *m, int64_t ceiling)
{
    for (int i = 0; i < m->workers; i++)
        m->worker[i].ceiling = ceiling;
}

/* Structures below the ceiling, with what is below it. */
static void run_below(struct mixed *m, int64_t ceiling)
{
    struct rounds *r = &m->rounds;
    for (r->count = 0; r->count < r->listed; r->count++)
        if (((const struct structure *)r->item[r->count])->bound >= ceiling)
            break;
    r->taken = 0;
    set_ceiling(m, ceiling);
    rounds_run(r);
    set_ceiling(m, INT64_MAX);
    r->count = r->listed;
    r->taken = 0;
}

/* Where no plan is known nothing is cut. So the list is filled first with what is below a ceiling
 * that rises: what it finds are plans like others, by which the search proper is cut. */
static void fill_list(struct mixed *m)
{
    enum { RISES = 24 }; /* then the least bound is far from the truth, or little fits */
    static const double rise = 1.05;
    const struct shortlist *best = &m->results->best;
    if (best->count >= best->top || m->rounds.listed == 0)
        return;
    double ceiling = (double)((const struct structure *)m->rounds.item[0])->bound;
    for (int i = 0; i < RISES && best->count < best->top && ceiling < 1e18; i++)
        run_below(m, (int64_t)(ceiling *= rise));
}

/* Where the last row of the list is far behind the first, what is near the first comes first: it
 * fills the list with better ones. */
static void near_first(struct mixed *m)
{
    static const double near = 1.05, far = 0.9;
    const struct shortlist *best = &m->results->best;
    if (best->count == 0 || best->limits->objective != OBJECTIVE_SPEED)
        return;
    double ceiling = near * (double)best->row[0].variant[0].step;
    if (ceiling < far * (double)threshold(m))
        run_below(m, (int64_t)ceiling);
}

static void note_open(struct mixed *m)
{
    struct rounds_open open = rounds_open(&m->rounds);
    m->open.count += open.count;
    m->open.key = fmin(m->open.key, open.key);
}

static void bound_and_run(struct mixed *m)
{
    if (mixed_stopped(m)) { /* while it was listed */
        m->open = (struct rounds_open){m->open.count + 1, 0};
        m->rounds.count = m->rounds.taken = 0;
        return;
    }
    static const double main_share = 0.85; /* of the time: what is put off takes the rest */
    struct rounds *r = &m->rounds;
    rounds_order(r);
    set_scouting(m, true);
    r->progress = NULL; /* how far the list is from full nobody knows */
    dive(m);
    fill_list(m);
    near_first(m);
    r->progress = m->query->progress;
    r->done_before = 0;
    r->share = main_share;
    rounds_run(r);
    note_open(m);
    set_scouting(m, false);
    r->done_before = main_share;
    r->share = 1 - main_share;
    run_deferred(m);
    note_open(m);
}

void mixed_run(const struct mixed_query *q, struct arena *mem, struct mixed_result *out)
{
    struct mixed m;
    start(&m, q, mem);
    for (int i = 0; i < m.sets; i++)
        mixed_list_structures(&m, &m.set[i], mixed_walk(&m.worker[0], &m.set[i]), 0, &m.rounds);
    bound_and_run(&m);
    if (q->per_type_meshes) {
        list_per_type(&m);
        bound_and_run(&m);
    }
    fill_result(&m, out);
    for (int i = 0; i < m.workers; i++)
        mixed_worker_release(&m.worker[i]);
    results_release(&m.own);
    rounds_release(&m.rounds);
}
