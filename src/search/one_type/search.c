/* The search: list the cells (tp, cp, pp, dp) that the rules allow, bound each, and take them
 * best bound first in rounds. Within a round every cell is cut by what was known when the round
 * began, so that the result and every counter are the same whatever the number of threads. */
#include "search/search.h"

#include "base/arena.h"
#include "base/parallel.h"
#include "cluster/cluster.h"
#include "search/one_type/bounds.h"
#include "search/one_type/cell.h"
#include "search/results.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_ROUND = 8, LARGEST_ROUND = 1024 };

struct search {
    const struct search_query *query;
    struct arena *mem;
    struct space space;
    struct rule_plan plan;
    struct costs_table costs;
    struct least_table least;
    int workers;
    struct worker *worker;
    long cells, capacity;
    struct cell *cell;         /* owned */
    const struct cell **order; /* owned: by bound */
    long round_first;
    struct results own, *results; /* the query's, or `own` where it has none */
};

static void add_cell(struct search *se)
{
    const struct walk *w = &se->worker[0].walk;
    if (se->cells == se->capacity) {
        se->capacity = se->capacity ? 2 * se->capacity : 1024;
        se->cell = memory_grow(se->cell, (size_t)se->capacity * sizeof *se->cell);
    }
    struct cell *c = &se->cell[se->cells++];
    memset(c, 0, sizeof *c);
    for (int i = 0; i < se->space.first_part; i++)
        c->option[i] = (uint16_t)w->option[i];
    c->gpus = strategy_gpus(&w->strategy);
    c->rental = rental_of(se->results->limits, se->query->scene.group, c->gpus);
}

static void list_cells(struct search *se, int axis)
{
    struct worker *w = &se->worker[0];
    if (axis == se->space.first_part) {
        add_cell(se);
        return;
    }
    for (int i = 0; i < se->space.axis[axis].options; i++) {
        const struct rule *rule = walk_bind(&w->walk, axis, i);
        if (rule)
            count_dropped(w, rule, axis);
        else
            list_cells(se, axis + 1);
    }
}

static void fill_one(void *context, int worker, long item)
{
    struct search *se = context;
    int cps = se->space.axis[se->least.cp_axis].options;
    least_table_fill(&se->least, &se->worker[worker], (int)item / cps, (int)item % cps);
}

static void bound_one(void *context, int worker, long item)
{
    struct search *se = context;
    struct cell *c = &se->cell[item];
    cell_bound(&se->worker[worker], c);
    struct score least = score_of(&c->rental, c->bound);
    c->key = score_key(se->results->limits, &least);
}

/* Best bound first; the order of listing decides ties. */
static int compare_cells(const void *a, const void *b)
{
    const struct cell *x = *(const struct cell *const *)a, *y = *(const struct cell *const *)b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x < y ? -1 : x > y;
}

static void sort_cells(struct search *se)
{
    se->order = memory_grow(NULL, (size_t)(se->cells + 1) * sizeof *se->order);
    for (long i = 0; i < se->cells; i++)
        se->order[i] = &se->cell[i];
    qsort(se->order, (size_t)se->cells, sizeof *se->order, compare_cells);
}

static struct cell *cell_at(struct search *se, long i)
{
    return &se->cell[se->order[i] - se->cell];
}

static void search_one(void *context, int worker, long item)
{
    struct search *se = context;
    cell_search(&se->worker[worker], cell_at(se, se->round_first + item));
}

static void merge(struct search *se, const struct cell *c, struct search_result *out)
{
    for (int i = 0; i < c->kinds; i++) {
        struct found *x = &c->kind[i];
        x->score = score_of(&c->rental, x->step);
        x->group = se->query->scene.group;
        results_add(se->results, x);
    }
    if (c->fullness < out->fullness) {
        out->fullness = c->fullness;
        out->nearest = *c->nearest;
    }
}

static void run_round(struct search *se, long count, struct search_result *out)
{
    const struct results *s = se->results;
    for (long i = 0; i < count; i++) {
        struct cell *c = cell_at(se, se->round_first + i);
        c->cut_kind = shortlist_limit(&s->best, s->limits, &c->rental);
        c->cut_front = front_limit(&s->front, &c->rental);
    }
    parallel_for(se->workers, count, search_one, se);
    for (long i = 0; i < count; i++)
        merge(se, cell_at(se, se->round_first + i), out);
    se->round_first += count;
}

static void run_rounds(struct search *se, struct search_result *out)
{
    const struct search_query *q = se->query;
    for (long size = FIRST_ROUND; se->round_first < se->cells; size *= 2) {
        long left = se->cells - se->round_first;
        if (size > LARGEST_ROUND)
            size = LARGEST_ROUND;
        run_round(se, size < left ? size : left, out);
        if (q->progress)
            q->progress(q->progress_context, (double)se->round_first / (double)se->cells);
    }
}

static const char *const FIXED_REASONS[DROP_FIXED] = {
    [DROP_SPLIT] = "layers cannot be split over the stages that way, or one step takes weeks",
    [DROP_MEMORY] = "does not fit in memory",
    [DROP_SLOWER] = "slower than the plans kept",
};

static int compare_drops(const void *a, const void *b)
{
    const struct drop *x = a, *y = b;
    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    return strcmp(x->reason, y->reason);
}

static void add_drop(struct funnel *f, const char *reason, int64_t count)
{
    int i = 0;
    while (i < f->drops && strcmp(f->drop[i].reason, reason) != 0)
        i++;
    if (i == f->drops)
        f->drop[f->drops++] = (struct drop){reason, 0};
    f->drop[i].count += (double)count;
}

static void fill_funnel(struct search *se, struct funnel *f)
{
    const struct rules *r = se->query->rules;
    int reasons = r->count + DROP_FIXED;
    f->generated = se->space.size_from[0];
    f->drop = arena_array(se->mem, (size_t)reasons, sizeof *f->drop);
    f->by_rule = arena_array(se->mem, (size_t)r->count, sizeof *f->by_rule);
    for (int i = 0; i < reasons; i++) {
        int64_t sum = 0;
        for (int w = 0; w < se->workers; w++)
            sum += se->worker[w].dropped[i];
        if (i < r->count)
            f->by_rule[i] = (double)sum;
        if (sum > 0)
            add_drop(f, i < r->count ? r->rule[i].reason : FIXED_REASONS[i - r->count], sum);
    }
    for (int w = 0; w < se->workers; w++) {
        f->judged += (double)se->worker[w].judged;
        f->simulated += (double)se->worker[w].simulated;
        f->kept += (double)se->worker[w].kept;
    }
    qsort(f->drop, (size_t)f->drops, sizeof *f->drop, compare_drops);
}

/* What is on this group. */
static int own_of(const struct search *se, const struct found *list, int count, struct found *out)
{
    int own = 0;
    for (int i = 0; i < count; i++)
        if (list[i].group == se->query->scene.group && !list[i].mixed)
            out[own++] = list[i];
    return own;
}

static void copy_found(struct search *se, struct search_result *out)
{
    const struct shortlist *best = &se->results->best;
    const struct front *front = &se->results->front;
    out->found = arena_array(se->mem, (size_t)best->count, sizeof *out->found);
    out->best = own_of(se, best->entry, best->count, out->found);
    out->pareto = arena_array(se->mem, (size_t)front->count, sizeof *out->pareto);
    out->front = own_of(se, front->entry, front->count, out->pareto);
    for (int i = 0; i < out->front / 2; i++) {
        struct found x = out->pareto[i];
        out->pareto[i] = out->pareto[out->front - 1 - i];
        out->pareto[out->front - 1 - i] = x;
    }
}

void search_fixed(const struct search_query *q, double values[SLOTS])
{
    const struct node_group *g = q->scene.group;
    memset(values, 0, SLOTS * sizeof *values);
    slots_set_fixed(values, q->scene.model, g, (int)((q->gpus_max + g->per_node - 1) / g->per_node),
                    q->scene.te);
    values[SLOT_cluster_max_gpus] = (double)q->gpus_max;
    values[SLOT_cluster_min_gpus] = (double)q->gpus_min;
    values[SLOT_cluster_granule] = q->any_gpus ? 1 : g->per_node;
}

static void start(struct search *se, const struct search_query *q, struct arena *mem)
{
    double fixed[SLOTS];
    memset(se, 0, sizeof *se);
    se->query = q;
    se->mem = mem;
    search_fixed(q, fixed);
    space_init(&se->space, q->scene.model, q->scene.group, &q->base, q->settings, q->gpus_max,
               q->scene.te, mem);
    rule_plan_init(&se->plan, &se->space, q->rules, mem);
    costs_table_init(&se->costs, &q->scene, &se->space, mem);
    least_table_init(&se->least, &se->space, &se->costs, mem);
    se->workers = q->threads > 1 ? q->threads : 1;
    se->worker = arena_array(mem, (size_t)se->workers, sizeof *se->worker);
    for (int i = 0; i < se->workers; i++)
        worker_init(&se->worker[i], q, &se->costs, &se->least, &se->space, &se->plan, fixed);
    se->results = q->results;
    if (!q->results) {
        se->results = &se->own;
        results_init(&se->own, q->limits ? q->limits : &SPEED_ALONE, q->top, mem);
    }
}

static void finish(struct search *se)
{
    for (int i = 0; i < se->workers; i++)
        worker_release(&se->worker[i]);
    results_release(&se->own);
    free(se->cell);
    free(se->order);
}

void search_run(const struct search_query *q, struct arena *mem, struct search_result *out)
{
    struct search se;
    memset(out, 0, sizeof *out);
    out->fullness = INFINITY;
    start(&se, q, mem);
    list_cells(&se, 0);
    parallel_for(se.workers,
                 (long)se.space.axis[se.least.tp_axis].options *
                     se.space.axis[se.least.cp_axis].options,
                 fill_one, &se);
    parallel_for(se.workers, se.cells, bound_one, &se);
    sort_cells(&se);
    run_rounds(&se, out);
    copy_found(&se, out);
    fill_funnel(&se, &out->funnel);
    finish(&se);
}
