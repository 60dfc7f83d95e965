/* A plan as words for the engine that runs it. */
#include "export/export.h"

#include "cluster/cluster.h"
#include "export/hf_flags.h"
#include "model/trained.h"
#include "simulate/plan.h"

extern const char embedded_tools_rank_astra_sdpa_py[]; /* compiled in with what verify runs */

const char *export_module(void)
{
    return embedded_tools_rank_astra_sdpa_py;
}

/* What the flags of a plan say of its run. */
static struct export_run plan_run(const struct plan *p)
{
    return (struct export_run){plan_stack_kind(p), p->attention_dropout, p->hidden_dropout,
                               p->switches, p->group && p->group->domain > 8};
}

static int64_t plan_nodes(const struct plan *p)
{
    int per_node = p->group ? p->group->per_node : 1;
    return (p->gpus + per_node - 1) / per_node;
}

bool plan_flags_for(const struct plan *p, const char *version, struct arena *mem,
                    const char ***words, size_t *count, struct error *err)
{
    bool needs_layout = layout_is_string(p->strategy.split);
    struct export_run run = plan_run(p);
    if (strategy_on_hf(&p->strategy) && p->model->lora == 0 && !model_trains_all(p->model))
        return fail(err, ERROR_INFEASIBLE,
                    "TRL's script has no argument that freezes parts of a model: plan it with "
                    "engine megatron, or with adapters");
    if (strategy_on_hf(&p->strategy)) {
        export_hf_flags(p->model, &p->strategy, p->dataset, plan_nodes(p), mem, words, count);
        return true;
    }
    if (model_lacks(p->model))
        return fail(err, ERROR_INFEASIBLE,
                    "%s: no file launches this plan; its layout is in the answer (--format json), "
                    "to be set in "
                    "the code that trains the model",
                    model_lacks(p->model));
    if (plan_on_flagscale(p))
        return export_flagscale_flags(p->model, &p->strategy, &p->layout, p->meshes, &run, mem,
                                      words, count, err);
    if (needs_layout && p->layout.stages == 0)
        return fail(err, ERROR_INFEASIBLE,
                    "no flags describe the plan: its layers cannot be split");
    return export_megatron_flags(p->model, &p->strategy, &p->layout, version, &run, mem, words,
                                 count, err);
}

bool plan_flags(const struct plan *p, struct arena *mem, const char ***words, size_t *count)
{
    return plan_flags_for(p, NULL, mem, words, count, NULL);
}

void plan_environment(const struct plan *p, struct arena *mem, const char ***env, size_t *count)
{
    struct strategy s = p->strategy;
    for (int i = 0; p->meshes && i < p->meshes->count; i++) {
        struct strategy room;
        const struct strategy *own = mesh_strategy(&p->meshes->mesh[i], &p->strategy, &room);
        s.tp = own->tp > s.tp ? own->tp : s.tp; /* what one rank needs harms no other */
    }
    if (strategy_on_hf(&s)) {
        export_hf_env(mem, env, count);
        return;
    }
    export_megatron_env(&s, mem, env, count);
}
