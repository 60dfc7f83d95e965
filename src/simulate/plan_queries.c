/* What can be asked of a plan without computing anything: its nodes, its fullest stage, what runs
 * it. */
#include "simulate/plan.h"

#include "cluster/cluster.h"
#include "strategy/mesh_check.h"

#include <assert.h>

enum stack plan_stack_kind(const struct plan *p)
{
    return stack_of(p->te, p->stock);
}

const char *plan_stack(const struct plan *p)
{
    return strategy_on_hf(&p->strategy) ? "transformers" : stack_name(plan_stack_kind(p));
}

static struct plan_part part_of(const struct node_group *g, int stages, int64_t gpus)
{
    int per_node = gpus < g->per_node ? (int)gpus : g->per_node;
    return (struct plan_part){g, stages, gpus, (gpus + per_node - 1) / per_node, per_node};
}

int plan_parts(const struct plan *p, struct plan_part part[MESHES_MAX])
{
    const struct mesh_list *l = p->meshes;
    if (!l) {
        part[0] = part_of(p->group, p->strategy.pp, p->gpus);
        return 1;
    }
    for (int i = 0; i < l->count; i++) {
        const struct mesh *m = &l->mesh[i];
        int64_t gpus = m->stages > 0 ? m->stages * mesh_stage_gpus(m, &p->strategy)
                                     : (int64_t)m->group->nodes_max * m->group->per_node;
        part[i] = part_of(m->group, m->stages, gpus);
    }
    return l->count;
}

const struct plan_stage *plan_fullest(const struct plan *p)
{
    const struct plan_stage *fullest = &p->stage[0];
    assert(p->computed && p->stages > 0);
    for (int i = 1; i < p->stages; i++)
        if (p->stage[i].device_bytes * fullest->limit_bytes >
            fullest->device_bytes * p->stage[i].limit_bytes)
            fullest = &p->stage[i];
    return fullest;
}

bool plan_fits(const struct plan *p)
{
    for (int i = 0; i < p->stages; i++)
        if (!p->stage[i].fits)
            return false;
    return true;
}

const struct plan_stage *plan_fullest_host(const struct plan *p)
{
    const struct plan_stage *most = &p->stage[0];
    assert(p->computed && p->stages > 0);
    for (int i = 1; i < p->stages; i++) {
        const struct plan_stage *s = &p->stage[i];
        if (s->host_fullness > most->host_fullness ||
            (s->host_fullness == most->host_fullness && s->host_bytes > most->host_bytes))
            most = s;
    }
    return most;
}

int plan_shortages(const struct plan *p)
{
    if (!p->computed)
        return 0;
    return (plan_fullest(p)->fullness > 1) + (plan_fullest_host(p)->host_fullness > 1);
}

bool plan_meshes_differ(const struct plan *p)
{
    return p->meshes && meshes_differ(p->meshes, &p->strategy);
}

bool plan_on_flagscale(const struct plan *p)
{
    return p->meshes && (p->flagscale || plan_meshes_differ(p));
}

const char *plan_engine(const struct plan *p)
{
    static const char *const HF[] = {"megatron", "fsdp2", "zero2", "zero3"};
    if (strategy_on_hf(&p->strategy))
        return HF[p->strategy.engine];
    return plan_on_flagscale(p) ? "flagscale" : "megatron";
}
