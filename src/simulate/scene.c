/* What a scene says of a strategy: its stack and costs, how unequal its experts are, the shape of a block. */
#include "simulate/partition.h"

#include "cluster/cluster.h"

#include <math.h>
#include <string.h>

enum stack scene_stack(const struct scene *sc)
{
    return stack_of(sc->te, sc->stock);
}

double scene_release(const struct scene *sc)
{
    return sc->release > 0 ? sc->release : RELEASE_HEAD;
}

struct costing scene_costing(const struct scene *sc, const struct node_group *g)
{
    struct costing on = {0};
    if (sc->costing)
        on = sc->costing[g->index];
    on.group = g;
    return on;
}

struct scene scene_on(const struct scene *sc, const struct node_group *g)
{
    struct scene one = *sc;
    one.group = g;
    one.meshes = NULL;
    one.part = scene_is_mixed(sc);
    return one;
}

bool scene_adds_wgrads(const struct scene *sc)
{
    return sc->te && !sc->switches.separate_wgrads;
}

bool scene_is_mixed(const struct scene *sc)
{
    return sc->part || sc->meshes;
}

/* How many GPUs a mixed job has on a type is not known here: it sits on consecutive nodes. */
struct costing placed_costing(const struct scene *sc, const struct node_group *g,
                              const struct strategy *s)
{
    struct costing on = scene_costing(sc, g);
    on.reach = reach_of(g, s, scene_is_mixed(sc) ? 0 : strategy_gpus(s));
    return on;
}

double most_imbalance(const struct model *m, const struct strategy *s)
{
    return m->experts > 0 ? s->ep * fmin(m->topk, (double)m->experts / s->ep) / m->topk : 1;
}

double scene_imbalance(const struct scene *sc, const struct strategy *s, double imbalance)
{
    return fmax(1, fmin(imbalance, most_imbalance(sc->model, s)));
}

struct scene scene_unreserved(const struct scene *sc)
{
    struct scene run = *sc;
    run.memory_imbalance = 0;
    return run;
}

bool scene_reserves(const struct scene *sc, const struct strategy *s)
{
    return sc->memory_imbalance > 0 &&
           scene_imbalance(sc, s, sc->memory_imbalance) != scene_imbalance(sc, s, sc->imbalance);
}

static int block_attention(const struct scene *sc, const struct strategy *s)
{
    enum stack stack = scene_stack(sc);
    const struct gpu *gpu = sc->group->gpu;
    bool flash = attention_is_flash(stack, s->attention, gpu, sc->attention_dropout > 0);
    if (attention_is_unfused(stack, s->attention, gpu))
        return ATTENTION_UNFUSED;
    return flash ? ATTENTION_FLASH : ATTENTION_AUTO;
}

/* Unfused attention does in every stack, and torch's kernel for old GPUs. */
static bool copies_groups(const struct scene *sc, const struct strategy *s)
{
    return block_attention(sc, s) == ATTENTION_UNFUSED ||
           (!sc->te && gpu_capability(sc->group->gpu) < FLASH_CAPABILITY);
}

/* Packs hold both sequences of a pair. */
int scene_sequences(const struct scene *sc, const struct strategy *s)
{
    bool packed = sc->dataset && sc->dataset->packing;
    return s->micro_batch * (packed ? 1 : task_sequences(sc->task));
}

struct block_shape block_shape_of(const struct scene *sc, const struct strategy *s,
                                  enum block_kind kind)
{
    return (struct block_shape){
        .model = sc->model,
        .kind = kind,
        .tp = s->tp,
        .cp = s->cp,
        .ep = s->ep,
        .etp = s->etp,
        .micro_batch = scene_sequences(sc, s),
        .seq_len = s->seq_len,
        .seq_parallel = s->seq_parallel,
        .tp_sync = s->tp_sync,
        .precision = s->precision,
        .cp_comm = s->cp_comm,
        .dispatcher = s->dispatcher,
        .grouped_gemm = s->grouped_gemm,
        .attention = block_attention(sc, s),
        .loss_fusion = s->loss_fusion,
        .loss_te = s->loss_te,
        .offload = sc->switches.offload,
        .expert_fusion = s->expert_fusion,
        .imbalance = scene_imbalance(sc, s, sc->imbalance),
        .dropout = sc->hidden_dropout > 0,
        .attention_dropout = sc->attention_dropout > 0,
        .softmax_fp32 = sc->switches.softmax_fp32,
        .softmax_fused = sc->switches.softmax_fused,
        .te = sc->te,
        .separate_wgrads = sc->switches.separate_wgrads,
        .stock = sc->stock,
        .eager = strategy_on_hf(s),
        .liger = s->liger,
        .copies_groups = copies_groups(sc, s),
    };
}

const struct sequence_work *scene_work(const struct scene *sc, const struct strategy *s,
                                       struct sequence_work *room)
{
    if (!sc->dataset)
        return NULL;
    *room = dataset_work(sc->dataset, scene_sequences(sc, s), s->cp);
    return room;
}
