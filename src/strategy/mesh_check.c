/* What FlagScale (da4935ec) asserts of meshes, and where its transfers between meshes go wrong in
 * silence. Places: flagscale/train/arguments.py (args), flagscale/train/hetero/parallel_context.py
 * (context), and its patches of Megatron's files of that name. */
#include "strategy/mesh_check.h"

#include "base/arena.h"
#include "model/model.h"

/* The meshes and what each of them runs. */
struct meshes {
    const struct mesh_list *list;
    const struct strategy *all;
    const struct model *model;
    struct arena *mem;
    int count;
    struct strategy runs[MESHES_MAX];
};

static void spread(struct meshes *m, const struct mesh_list *l, const struct strategy *s)
{
    struct strategy room;
    m->list = l;
    m->all = s;
    m->count = l->count;
    for (int i = 0; i < l->count; i++)
        m->runs[i] = *mesh_strategy(&l->mesh[i], s, &room);
}

/* What has no effect does not count: the method of no recompute, the modules of a full one. */
static bool same_recompute(const struct strategy *a, const struct strategy *b)
{
    if (a->recompute != b->recompute)
        return false;
    if (a->recompute == RECOMPUTE_SELECTIVE)
        return a->recompute_modules == b->recompute_modules;
    return a->recompute == RECOMPUTE_NONE || (a->recompute_method == b->recompute_method &&
                                              a->recompute_layers == b->recompute_layers);
}

static bool same_ways(const struct strategy *a, const struct strategy *b)
{
    return a->tp == b->tp && a->dp == b->dp && a->ep == b->ep && a->etp == b->etp &&
           a->micro_batch == b->micro_batch;
}

bool meshes_recompute_differs(const struct mesh_list *l, const struct strategy *s)
{
    struct meshes m;
    spread(&m, l, s);
    for (int i = 1; i < m.count; i++)
        if (!same_recompute(&m.runs[i], &m.runs[0]))
            return true;
    return false;
}

bool meshes_differ(const struct mesh_list *l, const struct strategy *s)
{
    struct meshes m;
    spread(&m, l, s);
    for (int i = 0; i < m.count; i++)
        if (!same_ways(&m.runs[i], s) || !same_recompute(&m.runs[i], s))
            return true;
    return false;
}

/* Ranks are sorted by the first place of their device type in the list (context, RankMapper): those
 * of one group stay together. */
static const char *check_types(const struct meshes *m)
{
    for (int i = 0; i < m->count; i++) {
        const struct node_group *group = m->list->mesh[i].group;
        if (m->list->mesh[i].stages < 1)
            return arena_format(m->mem, "mesh %d has no pipeline stage, each needs one", i + 1);
        for (int k = 0; k + 1 < i; k++)
            if (m->list->mesh[k].group == group && m->list->mesh[i - 1].group != group)
                return arena_format(m->mem,
                                    "meshes %d and %d are on the same nodes with another between "
                                    "them: ranks of one device type are consecutive",
                                    k + 1, i + 1);
    }
    return NULL;
}

/* args:104, 196: the first mesh loads the data, the others cut what it sends. */
static const char *check_batches(const struct meshes *m)
{
    const struct strategy *first = &m->runs[0];
    int64_t samples = (int64_t)first->dp * first->micro_batch;
    for (int i = 1; i < m->count; i++) {
        const struct strategy *s = &m->runs[i];
        if (samples % s->dp)
            return arena_format(m->mem,
                                "dp %d of mesh %d does not divide dp x micro-batch of the first "
                                "mesh, %d x %d",
                                s->dp, i + 1, first->dp, first->micro_batch);
        if (s->micro_batch != samples / s->dp)
            return arena_format(m->mem,
                                "the micro-batch of mesh %d is %d, but dp x micro-batch of the "
                                "first mesh by dp %d makes it %lld",
                                i + 1, s->micro_batch, s->dp, (long long)(samples / s->dp));
    }
    return NULL;
}

/* context, ParallelContext.__init__; args:153 */
static const char *check_whole(const struct meshes *m)
{
    const struct strategy *s = m->all;
    if (s->cp > 1)
        return arena_format(m->mem, "cp is %d, meshes run without context parallelism", s->cp);
    if (s->optimizer_instances > 1)
        return arena_format(m->mem, "the distributed optimizer has %d instances, meshes run one",
                            s->optimizer_instances);
    if (s->vpp > 1)
        return arena_format(m->mem, "vpp is %d, meshes run without virtual stages", s->vpp);
    return NULL;
}

static bool shares_embedding(const struct model *m)
{
    return m->tied || m->mtp > 0;
}

static bool shares_shards(const struct meshes *m)
{
    return m->count > 1 && shares_embedding(m->model) && m->all->dist_opt &&
           m->runs[0].dp != m->runs[m->count - 1].dp;
}

bool meshes_share_shards(const struct mesh_list *l, const struct strategy *s, const struct model *m)
{
    struct meshes meshes = {.model = m};
    spread(&meshes, l, s);
    return shares_shards(&meshes);
}

/* args:129 to args:149; finalize_model_grads: every rank reduces its part of the rows. */
static const char *check_embedding(const struct meshes *m)
{
    const struct strategy *a = &m->runs[0], *z = &m->runs[m->count - 1];
    const char *why = m->model->tied ? "tied embeddings" : "multi-token prediction";
    int most = a->dp > z->dp ? a->dp : z->dp, least = a->dp > z->dp ? z->dp : a->dp;
    if (!shares_embedding(m->model))
        return NULL;
    if (a->tp != z->tp)
        return arena_format(m->mem,
                            "%s: the first and the last mesh need one tp, they have %d and %d", why,
                            a->tp, z->tp);
    if (!shares_shards(m))
        return NULL;
    long long rows = (long long)(model_padded_vocab(m->model, a->tp) / a->tp);
    if (most % least)
        return arena_format(m->mem,
                            "%s with the distributed optimizer: dp of the first and the last mesh "
                            "must divide each other, they are %d and %d",
                            why, a->dp, z->dp);
    if (rows % most)
        return arena_format(m->mem,
                            "%s with the distributed optimizer: dp %d does not divide the %lld "
                            "rows of the embedding on a GPU",
                            why, most, rows);
    return NULL;
}

/* context, get_inter_mesh_tensor_slices: what crosses is taken to be cut along the sequence by tp,
 * whether or not it is. arguments.py of Megatron: overlap needs sequence parallelism, which tp 1
 * switches off. */
static const char *check_sequence(const struct meshes *m)
{
    for (int i = 1; i < m->count; i++)
        if (m->runs[i].tp != m->runs[i - 1].tp && !m->all->seq_parallel)
            return arena_format(m->mem,
                                "meshes %d and %d have tp %d and %d: transfers between them need "
                                "sequence parallelism",
                                i, i + 1, m->runs[i - 1].tp, m->runs[i].tp);
    for (int i = 0; i < m->count; i++)
        if (m->all->tp_overlap && m->runs[i].tp == 1)
            return arena_format(m->mem,
                                "overlap of tensor-parallel communication needs sequence "
                                "parallelism, which mesh %d with tp 1 has not",
                                i + 1);
    return NULL;
}

/* args:275: what differs by stage is full recompute or none of it. */
static const char *check_recompute(const struct meshes *m)
{
    for (int i = 1; i < m->count; i++) {
        const struct strategy *a = &m->runs[0], *b = &m->runs[i];
        bool selective = a->recompute == RECOMPUTE_SELECTIVE || b->recompute == RECOMPUTE_SELECTIVE;
        if (selective && !same_recompute(a, b))
            return arena_format(m->mem,
                                "mesh 1 and mesh %d recompute differently and one selectively: "
                                "only full recompute and none can differ",
                                i + 1);
    }
    return NULL;
}

const char *meshes_refused(const struct mesh_list *l, const struct strategy *s,
                           const struct model *model, struct arena *mem)
{
    static const char *(*const checks[])(const struct meshes *) = {
        check_types, check_whole, check_batches, check_embedding, check_sequence, check_recompute,
    };
    struct meshes m = {.model = model, .mem = mem};
    spread(&m, l, s);
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        const char *why = m.count > 0 ? checks[i](&m) : "there is no mesh";
        if (why)
            return arena_format(mem, "FlagScale: %s", why);
    }
    return NULL;
}
