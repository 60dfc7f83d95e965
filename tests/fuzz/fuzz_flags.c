/* Megatron's flags, one word per line. What is taken is exported and taken again: after the first
 * such trip, in which nonsense is straightened, nothing may change any more. */
#include "base/arena.h"
#include "base/str.h"
#include "cluster/cluster.h"
#include "export/export.h"
#include "import/megatron/flags.h"
#include "model/model.h"
#include "strategy/layout.h"
#include "strategy/strategy.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char **split_lines(const uint8_t *data, size_t size, int *count, struct arena *mem)
{
    char *text = arena_copy(mem, (const char *)data, size);
    const char **word = arena_array(mem, size + 1, sizeof *word);
    int n = 0;
    for (char *line = text, *end; line; line = end ? end + 1 : NULL) {
        end = strchr(line, '\n');
        if (end)
            *end = 0;
        word[n++] = line;
    }
    *count = n;
    return word;
}

/* The flags alone, or beside a small model where they describe none. */
static bool take(struct flags_result *r, int argc, const char *const *argv, int64_t world,
                 struct arena *mem)
{
    struct model small;
    struct error err;
    if (!flags_import(argc, argv, r, mem, argc % 8 ? NULL : &err)) /* messages cost the most time */
        return false;
    if (!model_from_pairs(&small, "layers=8,hidden=64,ffn=128,heads=4,vocab=256", &err))
        abort();
    const struct model *given = r->has_model && !r->vocab_missing ? NULL : &small;
    return flags_model(r, given, &err) && flags_finish(r, world, &err);
}

/* As FlagScale's where they are, every mesh on one group of nodes: types have no effect. */
static bool export(const struct flags_result *r, const struct layout *l, struct arena *mem,
                   const char ***flags, size_t *count)
{
    const struct export_run run = {.stack = r->stack,
                                   .attention_dropout = r->attention_dropout,
                                   .hidden_dropout = r->hidden_dropout,
                                   .switches = r->switches};
    struct mesh_list meshes = r->meshes;
    size_t gpus;
    struct node_group group = {.gpu = gpu_table(&gpus)};
    for (int i = 0; i < meshes.count; i++)
        meshes.mesh[i].group = &group;
    return r->hetero ? export_flagscale_flags(&r->model, &r->strategy, l, &meshes, &run, mem, flags,
                                              count, NULL)
                     : export_megatron_flags(&r->model, &r->strategy, l, NULL, &run, mem, flags,
                                             count, NULL);
}

static bool again(struct flags_result *r, struct arena *mem)
{
    struct layout l = r->layout;
    const char **flags;
    size_t count;
    bool string = layout_is_string(r->strategy.split);
    if ((string || r->hetero) && !r->has_layout && !layout_of(&l, &r->model, &r->strategy, NULL))
        return false;
    if (!export(r, &l, mem, &flags, &count))
        abort();
    if (!take(r, (int)count, flags,
              r->hetero ? mesh_list_gpus(&r->meshes, &r->strategy) : strategy_gpus(&r->strategy),
              mem))
        abort();
    return true;
}

static bool same_meshes(const struct flags_result *a, const struct flags_result *b)
{
    bool same = a->meshes.count == b->meshes.count;
    for (int i = 0; i < a->meshes.count && same; i++) {
        struct strategy one, two;
        same = a->meshes.mesh[i].stages == b->meshes.mesh[i].stages &&
               strategy_compare(mesh_strategy(&a->meshes.mesh[i], &a->strategy, &one),
                                mesh_strategy(&b->meshes.mesh[i], &b->strategy, &two)) == 0;
    }
    return same;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena mem;
    struct flags_result r;
    int argc;
    arena_init(&mem);
    const char **argv = split_lines(data, size, &argc, &mem);
    if (take(&r, argc, argv, 64, &mem) && again(&r, &mem)) {
        struct flags_result before = r;
        char difference[160];
        if (!again(&r, &mem) || strategy_compare(&before.strategy, &r.strategy) != 0 ||
            !same_meshes(&before, &r) ||
            !model_same(&before.model, &r.model, difference, sizeof difference))
            abort();
    }
    arena_release(&mem);
    return 0;
}
