/* What bounds a part of the space from below, before any partition of it is built. Seconds and bytes
 * are the least over every option that is still open; doc/search.md has the arguments why none
 * of the bounds is above a step under it. */
#include "search/one_type/bounds.h"

#include "search/one_type/cell.h"
#include "search/stop.h"

#include <assert.h>
#include <math.h>
#include <string.h>

void enter_cell(struct worker *w, struct cell *c)
{
    w->cell = c;
    for (int axis = 0; axis < w->walk.space->first_part; axis++)
        walk_set(&w->walk, axis, c->option[axis]);
}

static const struct least NOTHING_YET = {INFINITY, INFINITY, INFINITY, INFINITY,
                                         INFINITY, INFINITY, INFINITY, INFINITY};

static void note_least(const struct least *l, struct least *out)
{
    out->layers = fmin(out->layers, l->layers);
    out->apart = fmin(out->apart, l->apart);
    out->one_layer = fmin(out->one_layer, l->one_layer);
    out->ends = fmin(out->ends, l->ends);
    out->head = fmin(out->head, l->head);
    out->again = fmin(out->again, l->again);
    out->saved = fmin(out->saved, l->saved);
    out->boundary = fmin(out->boundary, l->boundary);
}

/* Whether a rule that looks at known parameters alone drops this option. */
static bool surely_dropped(const struct worker *w, int axis)
{
    const struct rule_plan *plan = w->walk.plan;
    for (int i = plan->first[axis]; i < plan->first[axis + 1]; i++)
        if (!(plan->order[i]->depends & ~w->table->known) &&
            !rule_allows(plan->order[i], w->walk.values))
            return true;
    return false;
}

/* Of the part that is bound: the same for any pp and dp, like all that is looked at here. */
static struct least *part_least(const struct worker *w)
{
    size_t at = 0;
    for (int axis = 0; axis < w->walk.space->first_partition; axis++)
        at += w->costs->stride[axis] * (size_t)w->walk.option[axis];
    return &w->table->part[at];
}

static void find_least_of_part(struct worker *w, int axis, struct least *out)
{
    const struct space *s = w->walk.space;
    if (axis == s->first_pass_times) {
        const struct known_costs *costs;
        for (int i = 0; (costs = costs_table_any(w->costs, &w->walk, i, &w->keep)); i++)
            note_least(&costs->least, out);
        return;
    }
    int options = w->costs->stride[axis] ? s->axis[axis].options : 1;
    for (int i = 0; i < options; i++) {
        walk_set(&w->walk, axis, i);
        if (!surely_dropped(w, axis))
            find_least_of_part(w, axis + 1, out);
    }
}

/* Least over the options, from `axis` on, that change costs; `out` is by micro-batch option. Fills
 * the table of parts. */
static void find_least(struct worker *w, int axis, struct least *out)
{
    const struct space *s = w->walk.space;
    if (axis == s->first_partition) {
        struct least *part = part_least(w);
        *part = NOTHING_YET;
        find_least_of_part(w, axis, part);
        note_least(part, out);
        return;
    }
    int options = w->costs->stride[axis] ? s->axis[axis].options : 1;
    for (int i = 0; i < options; i++) {
        walk_set(&w->walk, axis, i);
        if (!surely_dropped(w, axis))
            find_least(w, axis + 1, axis == w->table->batch_axis ? out + i : out);
    }
}

void least_table_init(struct least_table *t, const struct space *s, const struct costs_table *costs,
                      struct arena *mem)
{
    memset(t, 0, sizeof *t);
    for (int axis = 0; axis < s->first_pass_times; axis++) {
        enum param p = s->axis[axis].param[0];
        if (p == PARAM_tp)
            t->tp_axis = axis;
        if (p == PARAM_cp)
            t->cp_axis = axis;
        if (p == PARAM_micro_batch)
            t->batch_axis = axis;
        if (s->axis[axis].options == 1 || costs->stride[axis])
            t->known |= 1ull << p;
    }
    assert(s->axis[t->tp_axis].param[0] == PARAM_tp && s->axis[t->cp_axis].param[0] == PARAM_cp &&
           s->axis[t->batch_axis].param[0] == PARAM_micro_batch);
    size_t count = (size_t)s->axis[t->tp_axis].options * (size_t)s->axis[t->cp_axis].options *
                   (size_t)s->axis[t->batch_axis].options;
    t->entry = arena_array(mem, count, sizeof *t->entry);
    size_t parts = 1;
    for (int axis = 0; axis < s->first_partition; axis++)
        parts *= costs->stride[axis] ? (size_t)s->axis[axis].options : 1;
    t->part = arena_array(mem, parts, sizeof *t->part);
}

static struct least *least_at(const struct least_table *t, const struct space *s, int tp, int cp)
{
    return &t->entry[(tp * s->axis[t->cp_axis].options + cp) * s->axis[t->batch_axis].options];
}

void least_table_fill(struct least_table *t, struct worker *w, int tp, int cp)
{
    const struct space *s = w->walk.space;
    struct least *entry = least_at(t, s, tp, cp);
    bool stopped = stop_now(w->query->stop, w->calling);
    for (int i = 0; i < s->axis[t->batch_axis].options; i++)
        entry[i] = stopped ? (struct least){0} : NOTHING_YET;
    if (stopped)
        return;
    walk_set(&w->walk, t->tp_axis, tp);
    walk_set(&w->walk, t->cp_axis, cp);
    find_least(w, s->first_part, entry);
}

/* Sums of rounded ticks may be a hair less than rounded sums. */
static int64_t bound_ticks(double seconds)
{
    return (int64_t)fmin(seconds * TICKS_PER_S * (1 - 1e-9), 9e18);
}

static double micro_batches(const struct strategy *s)
{
    return (double)s->global_batch / ((double)s->micro_batch * s->dp);
}

/* Most of a rank's passes that have another to hide transfers of experts behind: those of warm-up and
 * cool-down have none (simulate/expert_overlap.c), whatever vpp is. */
static double most_paired(int pp, double rounds)
{
    return fmax(0, 1 - pp / rounds);
}

/* The busiest rank does at least the average, and at least the layers of the fullest one. Of costs that
 * are still open the least falls with `paired` and is concave: it lies above its chord. */
static double busy_bound(const struct worker *w, const struct least *l, double rounds,
                         double paired)
{
    int layers = w->query->scene.model->layers, pp = w->walk.strategy.pp;
    double all = (1 - paired) * l->apart + paired * l->layers + l->ends;
    return rounds * fmax(all / pp, ceil((double)layers / pp) * l->one_layer);
}

/* Least over the micro-batches. */
void cell_bound(struct worker *w, struct cell *c)
{
    const struct least_table *t = w->table;
    const struct space *s = w->walk.space;
    const struct axis *batch = &s->axis[t->batch_axis];
    const struct least *entry = least_at(t, s, c->option[t->tp_axis], c->option[t->cp_axis]);
    double least = INFINITY;
    enter_cell(w, c);
    for (int i = 0; i < batch->options; i++) {
        double rounds =
            (double)w->walk.strategy.global_batch / ((double)batch->value[i] * w->walk.strategy.dp);
        if (rounds >= 1 && isfinite(entry[i].layers))
            least = fmin(
                least, busy_bound(w, &entry[i], rounds, most_paired(w->walk.strategy.pp, rounds)));
    }
    c->bound = isfinite(least) ? bound_ticks(least) : INT64_MAX;
    assert(c->bound >= 0 && strategy_gpus(&w->walk.strategy) == c->gpus);
}

/* The first rank holds at least `layers` layers and the activations of `alive` micro-batches:
 * how many layers it must recompute to fit, and the seconds it is busy then. INFINITY when
 * nothing fits. */
static double memory_bound(const struct worker *w, const struct least *l, double layers,
                           double alive)
{
    if (layers <= 0)
        return 0;
    double room = w->framework_limit - layers * w->layer_states;
    if (room < 0)
        return INFINITY;
    double excess = alive * layers * l->saved - room,
           saved_bytes = alive * (l->saved - l->boundary);
    double again = excess <= 0 ? 0 : saved_bytes > 0 ? excess / saved_bytes : INFINITY;
    /* uniform recompute may keep one input for several layers: all of them again then */
    if (again > layers)
        again = alive * l->boundary > room ? INFINITY : layers;
    return micro_batches(&w->walk.strategy) * (layers * l->one_layer + again * l->again);
}

/* Fewest layers of a chunk, of the first and of the last rank under a split; -1 when only a
 * layout or the user's numbers tell. */
struct fewest {
    double chunk, first, last;
};

static struct fewest fewest_layers(const struct worker *w)
{
    const struct strategy *s = &w->walk.strategy;
    int layers = w->query->scene.model->layers;
    bool embedding = s->split == SPLIT_BOTH || s->split == SPLIT_EMBEDDING;
    bool loss = s->split == SPLIT_BOTH || s->split == SPLIT_LOSS;
    int stages = s->pp * s->vpp, chunk = (layers + embedding + loss) / stages;
    int most =
        (layers + stages - 1) / stages; /* of split rest: the last chunk takes what is left */
    if (s->split >= SPLIT_ENDS)
        return (struct fewest){-1, -1, -1};
    /* the first chunk, a layer short for the embedding, is the one most often in flight: as if
     * all were */
    int last = s->split == SPLIT_REST ? most * (s->vpp - stages) + layers : chunk * s->vpp - loss;
    return (struct fewest){chunk, (chunk - embedding) * s->vpp, last};
}

/* With vpp and split known: the last rank waits for one chunk of each rank before it, forward
 * and backward (one of them a layer short for the embedding), and does its own layers and the
 * head; the first rank must fit. */
static double split_seconds(const struct worker *w, const struct least *l, bool memory)
{
    const struct strategy *s = &w->walk.strategy;
    struct fewest n = fewest_layers(w);
    double m = micro_batches(s), alive = fmin(m, s->pp);
    if (n.chunk < 0)
        return 0;
    if (s->vpp > 1) /* chunks in flight on the first rank, as micro-batches */
        alive = fmin(m, (2.0 * (s->pp - 1) + (double)(s->vpp - 1) * s->pp + 1) / s->vpp);
    double before = fmax(0, (s->pp - 1) * n.chunk - 1) * l->one_layer;
    double last = before + m * (n.last * l->one_layer + l->head);
    return memory ? fmax(last, memory_bound(w, l, n.first, alive)) : last;
}

int64_t split_bound(const struct worker *w)
{
    double bound = split_seconds(w, &w->least, true);
    return isinf(bound) ? INT64_MAX : bound_ticks(bound);
}

/* All before pass times is bound: these very costs. While nothing is found, what does not fit is
 * asked how near it comes. */
int64_t costs_bound(const struct worker *w, const struct least *l)
{
    const struct strategy *s = &w->walk.strategy;
    double rounds = micro_batches(s);
    bool combined = s->pp == 1 || s->vpp > 1;
    double busy = busy_bound(w, l, rounds, combined ? most_paired(s->pp, rounds) : 0);
    double bound = fmax(busy, split_seconds(w, l, w->cell->fits));
    return isinf(bound) ? INT64_MAX : bound_ticks(bound);
}

/* The same for all splits: the first rank has at least the even share less one layer. */
int64_t any_split_bound(const struct worker *w)
{
    const struct space *sp = w->walk.space;
    const struct strategy *s = &w->walk.strategy;
    const struct axis *split = &sp->axis[sp->first_partition + 1];
    assert(split->param[0] == PARAM_split);
    for (int i = 0; i < split->options; i++)
        if (split->value[i] >= SPLIT_ENDS)
            return 0;
    int layers = w->query->scene.model->layers;
    double first = s->pp == 1 ? layers : layers / s->pp - 1;
    double bound = memory_bound(w, &w->least, first, fmin(micro_batches(s), s->pp));
    return isinf(bound) ? INT64_MAX : bound_ticks(bound);
}

/* Least bytes of the states of one layer, over kinds of layer and states, and of all layers, over
 * states; both grow with the layers. 0 when a rule makes the list of states depend on more than
 * the cell. */
static void find_least_states(struct worker *w)
{
    const struct model *m = w->query->scene.model;
    struct walk here = w->walk;
    w->layer_states = w->all_states = 0;
    for (int i = 0; i < w->states.keys; i++)
        if (w->states.key[i] >= PARAM_FIRST_PARTITION)
            return;
    const struct option_list *l = options_get(&w->states, &w->walk);
    w->walk = here;
    struct rank_params p[MODEL_MAX_KINDS] = {{0}};
    for (int k = 0; k < m->kinds; k++)
        rank_params_add_layer(&p[k], m, k, &here.strategy, w->query->scene.te);
    for (int i = 0; i < l->count; i++) {
        struct strategy s = here.strategy;
        double all = 0;
        option_take(l, i, &s);
        for (int k = 0; k < m->kinds; k++) {
            struct memory_use use = {{0}};
            memory_of_states(&p[k], &s, &use);
            double bytes = memory_peak(&use);
            w->layer_states = i + k == 0 ? bytes : fmin(w->layer_states, bytes);
            all += w->costs->kind_layers[k] * bytes;
        }
        w->all_states = i == 0 ? all : fmin(w->all_states, all);
    }
}

int64_t part_bound(struct worker *w)
{
    w->least = *part_least(w);
    double rounds = micro_batches(&w->walk.strategy);
    double busy = busy_bound(w, &w->least, rounds, most_paired(w->walk.strategy.pp, rounds));
    return isfinite(busy) ? bound_ticks(busy) : 0;
}

void part_memory(struct worker *w)
{
    w->framework_limit = framework_limit(&w->query->scene, &w->walk.strategy);
    find_least_states(w);
}

/* Some rank has at least the average of the states. What does not fit is of use only where it comes
 * nearer than all before; once a plan is found nothing does. */
bool states_too_large(const struct worker *w)
{
    double limit = w->framework_limit * w->walk.strategy.pp;
    double fullness = limit > 0 ? w->all_states * (1 - 1e-9) / limit : 0;
    return fullness > 1 && fullness >= w->cell->fullness;
}
