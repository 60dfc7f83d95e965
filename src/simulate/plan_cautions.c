/* Which cautions hold for a plan: nothing is computed of it, and nothing becomes infeasible. */
#include "simulate/plan.h"

#include "base/arena.h"
#include "rules/rules.h"

static void set_values(const struct plan *p, const struct plan_part *part, int i,
                       double values[SLOTS])
{
    struct strategy room;
    slots_set_fixed(values, p->model, part->group, (int)part->nodes, plan_stack_kind(p));
    slots_set_strategy(values, p->meshes ? mesh_strategy(&p->meshes->mesh[i], &p->strategy, &room)
                                         : &p->strategy);
}

void plan_mind(struct plan *p, const struct rules *cautions, struct arena *mem)
{
    struct plan_part part[MESHES_MAX];
    double values[MESHES_MAX][SLOTS];
    int parts = plan_parts(p, part);
    for (int i = 0; i < parts; i++)
        set_values(p, &part[i], i, values[i]);
    p->cautions = 0;
    p->caution = arena_array(mem, (size_t)cautions->count, sizeof *p->caution);
    for (int c = 0; c < cautions->count; c++) {
        bool holds = false;
        for (int i = 0; i < parts && !holds; i++)
            holds = rule_holds(&cautions->rule[c], values[i]);
        if (holds)
            p->caution[p->cautions++] = &cautions->rule[c];
    }
}
