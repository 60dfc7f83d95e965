/* The search: list the cells (tp, cp, pp, dp) that the rules allow, and take them in rounds. */
#include "search/search.h"

#include "base/arena.h"
#include "base/parallel.h"
#include "cluster/cluster.h"
#include "search/one_type/bounds.h"
#include "search/one_type/cell.h"
#include "search/results.h"
#include "search/rounds.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct search {
    const struct search_query *query; /* `learned` */
    struct search_query learned; /* the one that is asked, with rules that know what is fixed */
    struct arena *mem;
    struct space space;
    struct rules rules, cautions; /* of `learned` */
    struct rule_plan plan;
    struct costs_table costs;
    struct least_table least;
    bool fits; /* something was found */
    int workers;
    struct worker *worker;
    struct round_work work;
    struct rounds rounds;         /* of cells */
    struct results own, *results; /* the query's, or `own` where it has none */
    struct search_result *out;
};

static void add_cell(struct search *se)
{
    const struct walk *w = &se->worker[0].walk;
    struct cell *c = rounds_add(&se->rounds);
    for (int i = 0; i < se->space.first_part; i++)
        c->option[i] = (uint16_t)w->option[i];
    c->gpus = strategy_gpus(&w->strategy);
    c->rental =
        rental_of(se->results->limits, se->query->scene.rent, se->query->scene.group, c->gpus);
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

static void bound_cell(void *search, int worker, void *item)
{
    struct search *se = search;
    struct cell *c = item;
    cell_bound(&se->worker[worker], c);
    struct score least = score_of(&c->rental, c->bound);
    c->key = score_key(se->results->limits, &least);
}

static int compare_cells(const void *a, const void *b)
{
    const struct cell *x = *(const struct cell *const *)a, *y = *(const struct cell *const *)b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x < y ? -1 : x > y;
}

/* Whether nothing in it has a place in the list or on the front. */
static bool cell_is_cut(const void *search, const void *item)
{
    const struct search *se = search;
    const struct cell *c = item;
    return !se->query->exhaustive && c->bound < INT64_MAX &&
           c->bound > shortlist_limit(&se->results->best, &c->rental, 0) &&
           c->bound > front_limit(&se->results->front, &c->rental);
}

static void search_cell(void *search, int worker, void *item)
{
    struct search *se = search;
    struct cell *c = item;
    for (int cautioned = 0; cautioned < 2; cautioned++)
        c->cut_list[cautioned] =
            shortlist_limit(&se->results->best, &c->rental, trouble_of(cautioned, false, 0));
    c->fits = se->fits;
    c->fullness = se->out->fullness;
    c->cut_front = front_limit(&se->results->front, &c->rental);
    cell_search(&se->worker[worker], c);
}

static const struct found *of_group(const struct search *se, struct found *x)
{
    x->group = se->query->scene.group;
    return x;
}

static void merge_cell(void *search, const void *item)
{
    struct search *se = search;
    const struct cell *c = item;
    for (int i = 0; i < c->best.count; i++)
        for (int k = 0; k < c->best.row[i].count; k++)
            shortlist_add(&se->results->best, of_group(se, &c->best.row[i].variant[k]));
    se->fits |= c->fastest != NULL;
    if (c->fastest)
        front_add(&se->results->front, of_group(se, c->fastest));
    if (c->nearest && c->fullness < se->out->fullness) {
        se->out->fullness = c->fullness;
        se->out->nearest = *c->nearest;
    }
}

/* Where any plan is enough. */
static bool has_plan(const void *search, const void *item)
{
    const struct search *se = search;
    (void)item;
    return se->query->any && se->fits;
}

static bool cell_left(const void *item)
{
    return ((const struct cell *)item)->left;
}

static double cell_least_key(const void *search, const void *item)
{
    (void)search;
    return ((const struct cell *)item)->key;
}

static double cell_limit(const void *search, const void *item)
{
    const struct search *se = search;
    const struct cell *c = item;
    int64_t list = shortlist_limit(&se->results->best, &c->rental, 0);
    int64_t front = front_limit(&se->results->front, &c->rental);
    struct score most = score_of(&c->rental, list > front ? list : front);
    return list == INT64_MAX ? INFINITY : score_key(se->results->limits, &most);
}

static const struct round_work CELLS = {.size = sizeof(struct cell),
                                        .first = 8,
                                        .largest = 16,
                                        .steady = 8,
                                        .bound = bound_cell,
                                        .compare = compare_cells,
                                        .done = has_plan,
                                        .cut = cell_is_cut,
                                        .search = search_cell,
                                        .merge = merge_cell,
                                        .left = cell_left,
                                        .least_key = cell_least_key,
                                        .limit = cell_limit};

static const char *const FIXED_REASONS[DROP_FIXED] = {
    [DROP_SPLIT] = "layers cannot be split over the stages that way, or one step takes weeks",
    [DROP_MEMORY] = "does not fit in memory",
    [DROP_HOST] = "needs more host memory than a node has",
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
        assert(se->worker[w].kept <= se->worker[w].judged);
    }
    qsort(f->drop, (size_t)f->drops, sizeof *f->drop, compare_drops);
}

/* What is on this group. */
static int of_this_group(const struct search *se, const struct found *list, int count,
                         struct found *out)
{
    int n = 0;
    for (int i = 0; i < count; i++)
        if (list[i].group == se->query->scene.group && !list[i].mixed)
            out[n++] = list[i];
    return n;
}

static void copy_found(struct search *se, struct search_result *out)
{
    const struct shortlist *best = &se->results->best;
    const struct front *front = &se->results->front;
    struct found *list = arena_array(se->mem, (size_t)best->top, sizeof *list);
    out->found = arena_array(se->mem, (size_t)best->top, sizeof *out->found);
    out->best = of_this_group(se, list, shortlist_rank(best, list), out->found);
    out->pareto = arena_array(se->mem, (size_t)front->count, sizeof *out->pareto);
    out->front = of_this_group(se, front->entry, front->count, out->pareto);
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
                    scene_stack(&q->scene));
    values[SLOT_release] = scene_release(&q->scene);
    values[SLOT_cluster_max_gpus] = (double)q->gpus_max;
    values[SLOT_cluster_min_gpus] = (double)q->gpus_min;
    values[SLOT_cluster_granule] = q->any_gpus ? 1 : g->per_node;
}

/* What never changes in this search: all but parameters, and parameters without a choice. */
static void learn_rules(struct search *se, const double fixed[SLOTS])
{
    bool known[SLOTS];
    double values[SLOTS];
    memcpy(values, fixed, sizeof values);
    for (int i = 0; i < SLOTS; i++)
        known[i] = slot_info(i)->depends == 0;
    for (int axis = 0; axis < se->space.axes; axis++) {
        const struct axis *a = &se->space.axis[axis];
        for (int j = 0; j < a->params && a->options == 1; j++) {
            known[SLOT_PARAM + a->param[j]] = true;
            values[SLOT_PARAM + a->param[j]] = a->value[j];
        }
    }
    rules_init(&se->cautions);
    rules_known(se->query->rules, known, values, se->mem, &se->rules);
    if (se->query->cautions)
        rules_known(se->query->cautions, known, values, se->mem, &se->cautions);
    rules_drop_idle(&se->cautions);
    se->learned.rules = &se->rules;
    se->learned.cautions = &se->cautions;
}

void search_space(const struct search_query *q, struct arena *mem, struct space *out)
{
    struct space_terms terms = {scene_stack(&q->scene), scene_release(&q->scene), q->production,
                                q->scene.switches.newton_steps > 0};
    space_init(out, q->scene.model, q->scene.group, &q->base, q->settings, q->gpus_max, terms, mem);
    if (q->usual)
        space_narrow(out, q->usual);
}

static void start(struct search *se, const struct search_query *q, struct arena *mem,
                  struct search_result *out)
{
    double fixed[SLOTS];
    memset(se, 0, sizeof *se);
    se->learned = *q;
    se->query = &se->learned;
    se->mem = mem;
    se->out = out;
    memset(out, 0, sizeof *out);
    out->fullness = INFINITY;
    search_fixed(q, fixed);
    search_space(q, mem, &se->space);
    learn_rules(se, fixed);
    rule_plan_init(&se->plan, &se->space, &se->rules, mem);
    costs_table_init(&se->costs, &q->scene, &se->space, mem);
    least_table_init(&se->least, &se->space, &se->costs, mem);
    se->results = results_join(q->results, &se->own, q->limits, q->top, mem);
    se->workers = q->threads > 1 ? q->threads : 1;
    se->worker = arena_array(mem, (size_t)se->workers, sizeof *se->worker);
    for (int i = 0; i < se->workers; i++)
        worker_init(&se->worker[i], se->query, se->results->limits, &se->costs, &se->least,
                    &se->space, &se->plan, fixed);
    se->worker[0].calling = true;
    se->work = CELLS;
    se->work.first = q->top > CELLS.first ? q->top : CELLS.first; /* then the list has a last row */
    se->work.largest = se->work.first > CELLS.largest ? se->work.first : CELLS.largest;
    se->rounds = (struct rounds){.work = &se->work,
                                 .search = se,
                                 .workers = se->workers,
                                 .stop = q->stop,
                                 .progress = q->progress,
                                 .progress_context = q->progress_context};
}

static void finish(struct search *se)
{
    for (int i = 0; i < se->workers; i++)
        worker_release(&se->worker[i]);
    results_release(&se->own);
    rounds_release(&se->rounds);
}

void search_run(const struct search_query *q, struct arena *mem, struct search_result *out)
{
    struct search se;
    start(&se, q, mem, out);
    list_cells(&se, 0);
    parallel_for(se.workers,
                 (long)se.space.axis[se.least.tp_axis].options *
                     se.space.axis[se.least.cp_axis].options,
                 fill_one, &se);
    rounds_order(&se.rounds);
    rounds_run(&se.rounds);
    struct rounds_open open = rounds_open(&se.rounds);
    out->left = (double)open.count;
    out->open_key = open.key;
    copy_found(&se, out);
    fill_funnel(&se, &out->funnel);
    finish(&se);
}
