/* A trial stops at the first thing that rules it out: rules, layers, memory, and only then the
 * seconds of a step. */
#include "probe/probe.h"

#include "strategy/mesh_check.h"

#include <math.h>

/* On every group of nodes. */
static bool holds(const struct trials *t, const struct rule *rule)
{
    int groups = estimate_groups(t->asked);
    for (int g = 0; g < groups; g++)
        if (!rule_allows(rule, t->values[g]))
            return false;
    return true;
}

void trials_init(struct trials *t, const struct estimate_query *e, struct arena *mem)
{
    *t = (struct trials){.asked = e, .mem = mem, .fullness = INFINITY};
    arena_init(&t->partition_mem);
    arena_init(&t->scratch);
    rules_init(&t->sense);
    if (!rules_add_sense(&t->sense, mem, NULL))
        rules_init(&t->sense); /* cannot be: they are compiled in */
    int groups = estimate_groups(e);
    t->values = arena_array(mem, (size_t)groups, sizeof *t->values);
    for (int g = 0; g < groups; g++)
        estimate_slots(e, g, t->values[g]);
    t->relaxed = arena_array(mem, (size_t)t->sense.count, sizeof *t->relaxed);
    for (int i = 0; i < t->sense.count; i++)
        t->relaxed[i] = !holds(t, &t->sense.rule[i]);
}

void trials_release(struct trials *t)
{
    arena_release(&t->partition_mem);
    arena_release(&t->scratch);
}

/* What meshes have of their own a change of the strategy does not reach. */
static bool keeps_own(const struct strategy *asked, const struct strategy *s)
{
#define X(name) &&asked->name == s->name
    return true MESH_TABLE(X);
#undef X
}

/* A stage of a mixed job keeps its GPUs, however they are split inside it; meshes that differ stay
 * such that FlagScale runs them. */
static bool stays(const struct trials *t, const struct strategy *s)
{
    const struct strategy *asked = &t->asked->strategy;
    const struct mesh_list *meshes = t->asked->scene.meshes;
    if (!meshes)
        return true;
    if (!mesh_list_uniform(meshes))
        return s->pp == asked->pp && s->vpp == 1 && s->split == asked->split &&
               keeps_own(asked, s) && !meshes_refused(meshes, s, t->asked->scene.model, t->mem);
    return s->pp == asked->pp &&
           (int64_t)s->tp * s->cp * s->dp == (int64_t)asked->tp * asked->cp * asked->dp;
}

static bool allowed(struct trials *t, const struct strategy *s)
{
    const struct rules *r = &t->asked->rules;
    int groups = estimate_groups(t->asked);
    if (!stays(t, s))
        return false;
    for (int g = 0; g < groups; g++)
        estimate_set_strategy(t->asked, g, s, t->values[g]);
    for (int i = 0; i < r->count; i++)
        if (!holds(t, &r->rule[i]))
            return false;
    for (int i = 0; i < t->sense.count; i++)
        if (!t->relaxed[i] && !holds(t, &t->sense.rule[i]))
            return false;
    return true;
}

static bool same_structure(const struct strategy *a, const struct strategy *b)
{
    for (int p = 0; p < PARAM_FIRST_PASS_TIMES; p++)
        if (strategy_get(a, (enum param)p) != strategy_get(b, (enum param)p))
            return false;
    return true;
}

/* False when the layers cannot be split that way. */
static bool set_partition(struct trials *t, const struct strategy *s)
{
    const struct scene *scene = &t->asked->scene;
    if (t->has_partition && same_structure(&t->partitioned, s))
        return t->partition;
    arena_clear(&t->partition_mem);
    t->partitioned = *s;
    t->has_partition = true;
    t->partition = partition_new(scene, s, t->asked->layout, &t->partition_mem, NULL);
    return t->partition;
}

static void keep_nearest(struct trials *t, double fullness, const struct strategy *s)
{
    if (fullness >= t->fullness)
        return;
    t->fullness = fullness;
    t->nearest = *s;
}

bool trials_try(struct trials *t, const struct strategy *s, int64_t *step)
{
    struct pass_times pass_times;
    struct state state;
    if (!allowed(t, s) || !set_partition(t, s))
        return false;
    arena_clear(&t->scratch);
    pass_times_of(t->partition, s, &t->scratch, &pass_times);
    pass_times_memory(t->partition, s, &t->scratch, &pass_times);
    state_of(t->partition, s, &t->scratch, &state);
    double fullness = partition_fullness(t->partition, &pass_times, &state);
    keep_nearest(t, fullness, s);
    if (fullness > 1)
        return false;
    pass_times_stages(t->partition, s, &t->scratch, &pass_times);
    pass_times_run(t->partition, s, &t->scratch, &pass_times);
    state_times(t->partition, s, &t->scratch, &state);
    *step = partition_step(t->partition, s, &pass_times, &state);
    return true;
}

void trials_note(struct trials *t, const struct strategy *s)
{
    struct plan p;
    plan_evaluate(&t->asked->scene, s, NULL, &t->scratch, &p);
    if (!p.computed)
        return;
    keep_nearest(t, plan_fullest(&p)->fullness, s);
}

void trials_pick_known(struct trials *t, int64_t step, const struct strategy *s, struct pick *best)
{
    struct plan p;
    if (best->found && (step > best->step ||
                        (step == best->step && strategy_compare(s, &best->plan.strategy) >= 0)))
        return;
    plan_evaluate(&t->asked->scene, s, t->asked->layout, t->mem, &p);
    if (p.feasible) /* not full to the last bit */
        *best = (struct pick){true, step, p};
}

void trials_pick(struct trials *t, const struct strategy *s, struct pick *best)
{
    int64_t step;
    if (trials_try(t, s, &step))
        trials_pick_known(t, step, s, best);
}
