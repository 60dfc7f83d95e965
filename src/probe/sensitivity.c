/* How much plan 1 depends on what was put in. It stays as it is, so that each change is one
 * evaluation; another plan may be better then, which --what-if searches for. */
#include "probe/alternatives.h"

#include "base/arena.h"
#include "probe/probe.h"
#include "query/query_parts.h"

#include <math.h>
#include <string.h>

struct changed {
    struct cluster cluster; /* a copy */
    struct rent *rent;      /* of its groups */
    int longest;            /* sequence of the model */
    struct strategy strategy;
    struct mesh_list *meshes; /* NULL unless mixed */
};

static bool scale_groups(struct changed *c, size_t offset, double factor)
{
    for (int g = 0; g < c->cluster.groups; g++)
        *(double *)((char *)&c->cluster.group[g] + offset) *= factor;
    return true;
}

static bool scale_network(struct changed *c, double factor)
{
    return scale_groups(c, offsetof(struct node_group, nic_bs), factor);
}

static bool scale_link(struct changed *c, double factor)
{
    return scale_groups(c, offsetof(struct node_group, link_bs), factor);
}

static bool scale_memory(struct changed *c, double factor)
{
    return scale_groups(c, offsetof(struct node_group, usable_bytes), factor);
}

static bool scale_price(struct changed *c, double factor)
{
    for (int g = 0; g < c->cluster.groups; g++)
        if (c->rent[g].usd_per_hour <= 0)
            return false;
    for (int g = 0; g < c->cluster.groups; g++)
        c->rent[g].usd_per_hour *= factor;
    return true;
}

/* False where it does not come out, or is more than can be. */
static bool scale_whole(int *value, double factor, int most)
{
    double then = *value * factor;
    if (then != floor(then) || then < 1 || then > most)
        return false;
    *value = (int)then;
    return true;
}

static bool scale_batch(struct changed *c, double factor)
{
    return scale_whole(&c->strategy.global_batch, factor, MAX_GLOBAL_BATCH);
}

static bool scale_sequence(struct changed *c, double factor)
{
    return scale_whole(&c->strategy.seq_len, factor, c->longest);
}

/* More of the same nodes, as data parallelism takes them. */
static bool scale_gpus(struct changed *c, double factor)
{
    bool ok = scale_whole(&c->strategy.dp, factor, 1 << 24);
    for (int i = 0; c->meshes && i < c->meshes->count; i++)
        ok =
            ok && (!c->meshes->mesh[i].own || scale_whole(&c->meshes->mesh[i].dp, factor, 1 << 24));
    for (int g = 0; g < c->cluster.groups; g++) {
        int *nodes = &c->cluster.group[g].nodes_max;
        *nodes = (int)ceil(*nodes * factor);
    }
    return ok;
}

static const struct {
    const char *input, *change;
    double factor;
    bool (*apply)(struct changed *, double factor); /* false: there is no such thing */
} CHANGES[] = {
    {"network between nodes", "half as fast", 0.5, scale_network},
    {"network between nodes", "twice as fast", 2, scale_network},
    {"link between GPUs of a node", "half as fast", 0.5, scale_link},
    {"link between GPUs of a node", "twice as fast", 2, scale_link},
    {"memory of a GPU", "10 % less", 0.9, scale_memory},
    {"memory of a GPU", "10 % more", 1.1, scale_memory},
    {"global batch", "half", 0.5, scale_batch},
    {"global batch", "twice", 2, scale_batch},
    {"sequence", "half", 0.5, scale_sequence},
    {"sequence", "twice", 2, scale_sequence},
    {"GPUs (data-parallel ways)", "half", 0.5, scale_gpus},
    {"GPUs (data-parallel ways)", "twice", 2, scale_gpus},
    {"price of a GPU-hour", "20 % lower", 0.8, scale_price},
    {"price of a GPU-hour", "20 % higher", 1.2, scale_price},
};
enum { CHANGE_COUNT = sizeof CHANGES / sizeof *CHANGES };

static void copy_asked(const struct probe *t, struct changed *c)
{
    *c = (struct changed){.cluster = t->query->cluster,
                          .longest = t->query->model.max_seq,
                          .strategy = t->plan->strategy};
    c->rent = arena_alloc(t->mem, sizeof t->query->rent);
    memcpy(c->rent, t->query->rent, sizeof t->query->rent);
    if (!t->plan->meshes)
        return;
    c->meshes = arena_alloc(t->mem, sizeof *c->meshes);
    *c->meshes = *t->plan->meshes;
}

static const struct plan *evaluate(const struct probe *t, const struct changed *c,
                                   struct error *err)
{
    const struct query *q = query_derive(t->query, &t->query->terms, &c->cluster, t->mem, err);
    const struct layout *l = t->plan->strategy.split == SPLIT_LAYOUT ? &t->plan->layout : NULL;
    struct scene sc = plan_scene(t->plan);
    if (!q)
        return NULL;
    sc.meshes = c->meshes;
    sc = query_rebase(t->query, q, &sc, t->mem);
    sc.rent = c->rent;
    return probe_plan(t, &sc, &c->strategy, l);
}

bool sensitivity_of(const struct query *q, const struct plan *p, struct arena *mem,
                    const struct sensitivity **out, int *count, struct error *err)
{
    struct sensitivity *list = arena_array(mem, CHANGE_COUNT, sizeof *list);
    struct probe t;
    *out = list;
    *count = 0;
    if (!probe_init(&t, q, p, false, mem, err))
        return false;
    for (size_t i = 0; i < CHANGE_COUNT; i++) {
        struct changed c;
        copy_asked(&t, &c);
        if (!CHANGES[i].apply(&c, CHANGES[i].factor))
            continue;
        const struct plan *then = evaluate(&t, &c, err);
        if (!then)
            return false;
        list[(*count)++] = (struct sensitivity){CHANGES[i].input, CHANGES[i].change, then};
    }
    return true;
}
