#include "search/one_type/costs_table.h"

#include "base/arena.h"
#include "simulate/expert_overlap.h"

#include <assert.h>
#include <math.h>
#include <string.h>

void costs_table_init(struct costs_table *t, const struct scene *sc, const struct space *s,
                      struct arena *mem)
{
    t->scene = sc;
    t->count = 1;
    memset(t->kind_layers, 0, sizeof t->kind_layers);
    for (int i = 0; i < sc->model->layers; i++)
        t->kind_layers[sc->model->layer[i]]++;
    for (int i = 0; i < s->axes; i++) {
        bool counts = param_info(s->axis[i].param[0])->costs == COSTS_LAYER;
        t->stride[i] = counts ? t->count : 0;
        if (counts && s->axis[i].options > 0)
            t->count *= (size_t)s->axis[i].options;
    }
    t->slot = arena_array(mem, t->count * REACHES, sizeof *t->slot);
}

/* Seconds of the transfers of experts that block_least_s() leaves out: what of them is hidden costs a
 * tax. With all layers together no less is hidden than stage by stage. */
static void add_experts(const struct costs_table *t, const struct layer_costs *costs,
                        struct least *out)
{
    const struct model *m = t->scene->model;
    struct block_cost all = {0};
    for (int k = 0; k < m->kinds; k++) {
        struct block_cost one = costs->kind[k];
        block_cost_scale(&one, t->kind_layers[k]);
        block_cost_add(&all, &one);
    }
    double network = all.comm_s[AXIS_EP] + all.comm_back_s[AXIS_EP];
    double hidden = network > 0 ? fmin(network, fmax(0, experts_hidden_s(&all, true))) : 0;
    out->apart = out->layers + (1 - SENDING_TAX) * network;
    out->layers = out->apart - (1 - SENDING_TAX) * hidden;
}

static void find_least(const struct costs_table *t, const struct layer_costs *costs,
                       struct least *out)
{
    const struct model *m = t->scene->model;
    *out = (struct least){.one_layer = INFINITY, .again = INFINITY, .saved = INFINITY};
    for (int k = 0; k < m->kinds; k++) {
        const struct block_cost *b = &costs->kind[k];
        double seconds = block_least_s(b, true);
        out->layers += t->kind_layers[k] * seconds;
        out->one_layer = fmin(out->one_layer, seconds);
        out->again = fmin(out->again, b->forward_s + b->forward_comm_s);
        out->saved = fmin(out->saved, b->saved - block_dropped(b, (1 << MODULES) - 1));
    }
    add_experts(t, costs, out);
    out->head = block_least_s(&costs->head, true);
    out->ends = out->head + block_least_s(&costs->embedding, true) + m->mtp * block_least_s(&costs->mtp, true);
    out->boundary = costs->boundary_bytes;
}

static const struct known_costs *get(struct costs_table *t, const struct walk *w, int reach,
                                     int seat, struct arena *mem)
{
    size_t at = 0;
    for (int i = 0; i < w->space->first_pass_times; i++)
        at += t->stride[i] * (size_t)w->option[i];
    assert(at < t->count && seat < REACHES);
    _Atomic(const struct known_costs *) *slot = &t->slot[at * REACHES + (size_t)seat];
    const struct known_costs *have = atomic_load(slot);
    if (have)
        return have;
    struct known_costs *made = arena_alloc(mem, sizeof *made);
    layer_costs_at(t->scene, &w->strategy, reach, &made->costs);
    find_least(t, &made->costs, &made->least);
    if (!atomic_compare_exchange_strong(slot, &have, made))
        return have; /* another thread was first, with the same figures */
    return made;
}

const struct known_costs *costs_table_get(struct costs_table *t, const struct walk *w,
                                          struct arena *mem)
{
    int reach[REACHES], seat = layer_seat(t->scene, &w->strategy, reach);
    return get(t, w, reach[seat], seat, mem);
}

const struct known_costs *costs_table_any(struct costs_table *t, const struct walk *w, int seat,
                                          struct arena *mem)
{
    int reach[REACHES];
    return seat < reaches_of(t->scene->group, &w->strategy, reach)
               ? get(t, w, reach[seat], seat, mem)
               : NULL;
}
