/* A mixed plan as FlagScale's flags (da4935ec: flagscale/train/arguments.py, and its patch of
 * megatron/training/arguments.py). Sizes that stand in Megatron's flags are those of the first
 * mesh; each rank replaces them by its mesh's before Megatron validates them. The split of the
 * layers is a list of its own: with a layout string the ranks would count layers twice. */
#include "export/export.h"

#include "base/arena.h"
#include "cluster/cluster.h"
#include "export/writer.h"
#include "model/model.h"
#include "strategy/layout.h"
#include "strategy/mesh_check.h"

#include <limits.h>
#include <string.h>

/* The first alias, or the name where there is none. */
static const char *short_name(const struct gpu *gpu, struct arena *mem)
{
    size_t length = strcspn(gpu->aliases, " ");
    return length ? arena_copy(mem, gpu->aliases, length) : gpu->name;
}

static bool seen_before(const struct mesh_list *l, int mesh, const struct node_group *group)
{
    for (int i = 0; i < mesh; i++)
        if (l->mesh[i].group == group)
            return true;
    return false;
}

const char *export_device_type(const struct mesh_list *l, int mesh, struct arena *mem)
{
    const struct node_group *group = l->mesh[mesh].group;
    const char *name = short_name(group->gpu, mem);
    int number = 1;
    for (int i = 0; i < mesh && l->mesh[i].group != group; i++)
        number += l->mesh[i].group->gpu == group->gpu && !seen_before(l, i, l->mesh[i].group);
    return number > 1 ? arena_format(mem, "%s-%d", name, number) : name;
}

const char *export_type_name(const struct mesh_list *l, int mesh, const struct gpu *gpu,
                             struct arena *mem)
{
    return l ? export_device_type(l, mesh, mem) : short_name(gpu, mem);
}

static void add_number(struct writer *w, int value)
{
    writer_word(w, arena_format(w->mem, "%d", value));
}

static void add_types(struct writer *w, const struct mesh_list *l)
{
    writer_word(w, "--hetero-device-types");
    for (int i = 0; i < l->count; i++)
        writer_word(w, export_device_type(l, i, w->mem));
}

static void add_meshes(struct writer *w, const struct mesh_list *l, const struct strategy *s)
{
    writer_word(w, "--hetero-process-meshes");
    for (int i = 0; i < l->count; i++) {
        struct strategy room;
        const struct strategy *own = mesh_strategy(&l->mesh[i], s, &room);
        const int ways[] = {own->tp, own->cp, own->ep, own->dp, l->mesh[i].stages};
        for (size_t k = 0; k < sizeof ways / sizeof *ways; k++)
            add_number(w, ways[k]);
    }
}

static void add_expert_tp(struct writer *w, const struct mesh_list *l, const struct strategy *s)
{
    if (!w->model->experts)
        return;
    writer_word(w, "--expert-tensor-parallel-size-per-process-mesh");
    for (int i = 0; i < l->count; i++) {
        struct strategy room;
        add_number(w, mesh_strategy(&l->mesh[i], s, &room)->etp);
    }
}

static void add_layers(struct writer *w, const struct layout *layout)
{
    writer_word(w, "--hetero-pipeline-layer-split");
    for (int i = 0; i < layout->stages; i++)
        add_number(w, layout->layers[i]);
}

/* One row for each mesh: its stages, the micro-batches, and what holds for all of these. */
static void add_rows(struct writer *w, const char *flag, const struct mesh_list *l,
                     const struct strategy *s, int (*value)(const struct strategy *))
{
    long long micro_batches = (long long)strategy_micro_batches(s);
    writer_word(w, flag);
    for (int i = 0; i < l->count; i++) {
        struct strategy room;
        const struct strategy *own = mesh_strategy(&l->mesh[i], s, &room);
        writer_word(
            w, arena_format(w->mem, "[%d,%lld,%d]", l->mesh[i].stages, micro_batches, value(own)));
    }
}

static int is_full(const struct strategy *s)
{
    return s->recompute == RECOMPUTE_FULL;
}

static int is_block(const struct strategy *s)
{
    return is_full(s) && s->recompute_method == METHOD_BLOCK;
}

static int layers_again(const struct strategy *s)
{
    return is_full(s) ? s->recompute_layers : 1;
}

static void add_recompute(struct writer *w, const struct mesh_list *l, const struct strategy *s)
{
    if (!meshes_recompute_differs(l, s))
        return;
    add_rows(w, "--recompute-granularity-per-stage-micro-batch", l, s, is_full);
    add_rows(w, "--recompute-method-per-stage-micro-batch", l, s, is_block);
    add_rows(w, "--recompute-num-layers-per-stage-micro-batch", l, s, layers_again);
}

/* As Megatron's flags say it: the first mesh, layers split elsewhere, and full recompute where some
 * mesh has it, for the rows by stage to switch off. */
static struct strategy global_values(const struct mesh_list *l, const struct strategy *s)
{
    struct strategy room, g = *mesh_strategy(&l->mesh[0], s, &room);
    for (int i = 0; i < l->count; i++) {
        const struct strategy *own = mesh_strategy(&l->mesh[i], s, &room);
        g.seq_parallel |= own->seq_parallel;
        g.tp_overlap |= own->tp_overlap;
    }
    g.split = SPLIT_EVEN;
    g.first_layers = g.last_layers = 0;
    for (int i = 0; i < l->count && meshes_recompute_differs(l, s) && !is_full(&g); i++) {
        const struct strategy *own = mesh_strategy(&l->mesh[i], s, &room);
        g.recompute = own->recompute;
        g.recompute_method = own->recompute_method;
        g.recompute_layers = own->recompute_layers;
        g.recompute_modules = 0;
    }
    return g;
}

static bool layout_holds(const struct layout *layout, const struct model *m,
                         const struct strategy *s, struct error *err)
{
    int last = layout->stages - 1;
    if (layout->stages != s->pp)
        return fail(err, ERROR_INPUT, "the layers are split over %d stages, the pipeline has %d",
                    layout->stages, s->pp);
    if (layout->loss_stage != last || (m->mtp > 0 && layout->mtp_stage != last))
        return fail(err, ERROR_INPUT,
                    "FlagScale: output layer and MTP layers must be on the last stage, %d", last);
    return true;
}

bool export_flagscale_flags(const struct model *m, const struct strategy *s,
                            const struct layout *layout, const struct mesh_list *l,
                            const struct export_run *run, struct arena *mem, const char ***flags,
                            size_t *count, struct error *err)
{
    if (m->pattern[0] || m->gdn_heads || m->index_heads)
        return fail(err, ERROR_INFEASIBLE,
                    "FlagScale's meshes are of GPT models with attention in every layer: %s",
                    "plan one type of GPU, or the types with one tp and dp (--engine megatron)");
    if (!layout_holds(layout, m, s, err))
        return false;
    struct strategy first = global_values(l, s);
    struct writer w = {.model = m, .strategy = &first, .release = INT_MAX, .mem = mem, .err = err};
    if (run)
        w.run = *run;
    writer_megatron(&w);
    writer_word(&w, "--enable-hetero");
    add_types(&w, l);
    add_meshes(&w, l, s);
    add_layers(&w, layout);
    add_expert_tp(&w, l, s);
    if (meshes_share_shards(l, s, m))
        writer_word(&w, "--use-partial-reduce-for-shared-embedding");
    add_recompute(&w, l, s);
    *flags = w.word;
    *count = w.count;
    return !w.failed;
}
