/* Moves single layers and deals all of them out again, each time with everything else as it is, and
 * asks the search for the best plan on each group of nodes alone. O(stages) plans are evaluated. */
#include "probe/answer.h"

#include "probe/probe.h"
#include "query/query.h"

#include <math.h>

static void evaluate(const struct plan *p, const struct layout *l, struct arena *mem,
                     struct plan *out)
{
    const struct scene scene = plan_scene(p);
    struct strategy s = p->strategy;
    s.split = SPLIT_LAYOUT;
    s.first_layers = s.last_layers = 0;
    plan_evaluate(&scene, &s, l, mem, out);
}

static void number_layers(struct layout *l)
{
    for (int i = 1; i < l->stages; i++)
        l->first[i] = (uint16_t)(l->first[i - 1] + l->layers[i - 1]);
}

/* The virtual stage of a rank that has most layers, or fewest. */
static int chunk_of(const struct plan *p, int rank, bool most)
{
    const struct layout *l = &p->layout;
    int found = rank;
    for (int i = rank; i < l->stages; i += p->strategy.pp)
        if (most ? l->layers[i] > l->layers[found] : l->layers[i] < l->layers[found])
            found = i;
    return found;
}

static bool better(const struct plan *a, const struct plan *b)
{
    return a->feasible != b->feasible ? a->feasible : a->step_s < b->step_s;
}

/* One layer of rank `from` goes to rank `to`, and those between pass one on. */
static void try_move(const struct plan *p, int from, int to, struct arena *mem,
                     struct more_layer *best)
{
    struct plan then;
    if (from < 0 || from >= p->stages || from == to)
        return;
    int giver = chunk_of(p, from, true), taker = chunk_of(p, to, false);
    if (p->layout.layers[giver] < 2)
        return;
    struct layout l = p->layout;
    l.layers[giver]--;
    l.layers[taker]++;
    number_layers(&l);
    evaluate(p, &l, mem, &then);
    if (!then.computed || (best->plan && !better(&then, best->plan)))
        return;
    best->plan = best->plan ? best->plan : arena_alloc(mem, sizeof then);
    *best->plan = then;
    best->from = from;
    best->seconds = then.stage[to].forward_s + then.stage[to].backward_s - p->stage[to].forward_s -
                    p->stage[to].backward_s;
}

/* From a neighbour or from the bottleneck, whichever leaves the shorter step. */
static struct more_layer more_layer_of(const struct plan *p, int stage, struct arena *mem)
{
    struct more_layer best = {.from = -1};
    try_move(p, stage - 1, stage, mem, &best);
    try_move(p, stage + 1, stage, mem, &best);
    if (p->busiest != stage - 1 && p->busiest != stage + 1)
        try_move(p, p->busiest, stage, mem, &best);
    return best;
}

/* Layers per second of the quickest stage on the same nodes: the others have embedding or loss
 * as well. */
static double speed_of(const struct plan *p, int rank)
{
    double speed = 0;
    for (int r = 0; r < p->stages; r++) {
        const struct plan_stage *s = &p->stage[r];
        double seconds = s->forward_s + s->backward_s;
        if (s->group == p->stage[rank].group && s->layers > 0 && seconds > 0)
            speed = fmax(speed, s->layers / seconds);
    }
    return speed > 0 ? speed : 1;
}

/* The stage that lies furthest below its share, or above it. */
static int furthest(const double *share, const struct layout *l, bool below)
{
    int found = -1;
    double most = 0;
    for (int i = 0; i < l->stages; i++) {
        double off = below ? share[i] - l->layers[i] : l->layers[i] - share[i];
        if ((below || l->layers[i] > 1) && (found < 0 || off > most)) {
            found = i;
            most = off;
        }
    }
    return found;
}

/* Whole layers in proportion to the weights, at least one on each stage. */
static void deal_out(struct layout *l, double *share, int layers)
{
    double sum = 0;
    int left = layers;
    for (int i = 0; i < l->stages; i++)
        sum += share[i];
    for (int i = 0; i < l->stages; i++) {
        share[i] *= layers / sum;
        l->layers[i] = (uint16_t)fmax(1, floor(share[i]));
        left -= l->layers[i];
    }
    for (; left > 0; left--)
        l->layers[furthest(share, l, true)]++;
    for (; left < 0; left++)
        l->layers[furthest(share, l, false)]--;
    number_layers(l);
}

static const struct plan *split_by(const struct plan *p, bool speed, struct arena *mem)
{
    struct layout l = p->layout;
    double *share = arena_array(mem, (size_t)l.stages, sizeof *share);
    if (p->model->layers < l.stages)
        return NULL;
    for (int i = 0; i < l.stages; i++)
        share[i] = speed ? speed_of(p, i % p->strategy.pp) : 1;
    deal_out(&l, share, p->model->layers);
    struct plan *then = arena_alloc(mem, sizeof *then);
    evaluate(p, &l, mem, then);
    return then->computed ? then : NULL;
}

static const struct plan *best_alone(const struct query *q, const struct estimate_query *e, int g,
                                     struct arena *mem)
{
    struct query_terms terms = probe_terms(q, &e->strategy);
    struct scene scene = scene_on(&e->scene, estimate_group(e, g));
    scene.part = false;
    terms.gpus = 0; /* as many of the group as are best */
    return probe_best(q, &terms, g, &scene, mem);
}

const struct comparison *comparison_of(const struct query *q, const struct estimate_query *e,
                                       const struct plan *p, struct arena *mem)
{
    if (!p->meshes || !p->computed)
        return NULL;
    struct comparison *m = arena_alloc(mem, sizeof *m);
    m->more = arena_array(mem, (size_t)p->stages, sizeof *m->more);
    for (int r = 0; r < p->stages; r++)
        m->more[r] = more_layer_of(p, r, mem);
    m->split[0] = (struct comparison_split){"even", "even split", split_by(p, false, mem)};
    m->split[1] = (struct comparison_split){"speed", "split by speed", split_by(p, true, mem)};
    m->groups = estimate_groups(e);
    m->alone = arena_array(mem, (size_t)m->groups, sizeof *m->alone);
    for (int g = 0; g < m->groups; g++)
        m->alone[g] = (struct comparison_alone){estimate_group(e, g), best_alone(q, e, g, mem)};
    return m;
}
