/* A trial stops at the first thing that rules it out: rules, layers, memory, and only then the
 * seconds of a step. */
#include "probe/trials.h"

#include "cost/residual.h"
#include "strategy/mesh_check.h"

#include <math.h>
#include <string.h>

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
    if (t->has_frame && same_structure(&t->framed, s))
        return t->partition;
    arena_clear(&t->partition_mem);
    t->framed = *s;
    t->has_frame = true;
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
    double limit =
        framework_limit(&t->asked->scene, s) * residual_of(t->asked->scene.group, RESIDUAL_memory);
    keep_nearest(t, limit > 0 ? plan_fullest(&p)->peak_bytes / limit : HOPELESS, s);
}

struct query_terms query_repeat(const struct query *asked, const struct strategy *s)
{
    struct query_terms t = asked->terms;
    memset(t.settings, 0, sizeof t.settings);
    for (int p = 0; p < PARAMS; p++) {
        const struct param_info *info = param_info((enum param)p);
        int value = strategy_get(s, (enum param)p);
        bool kept = info->differs == DIFFERS_NUMERICS || info->differs == DIFFERS_ENGINE;
        if (kept && value != info->init)
            t.settings[p] = (struct setting){1, {value}};
    }
    t.global_batch = s->global_batch;
    t.seq_len = s->seq_len;
    t.precision = s->precision;
    t.gpus = strategy_gpus(s);
    return t;
}

bool repeat_search(const struct query *asked, const struct query_terms *terms,
                   const struct cluster *cluster, int g, struct found *out,
                   struct strategy *nearest)
{
    struct search_query sq;
    struct search_result result = {0};
    struct arena mem;
    arena_init(&mem);
    const struct query *q = query_derive(asked, terms, cluster, &mem, NULL);
    bool found = q && query_search(q, g, &mem, &sq, NULL);
    if (found) {
        sq.top = 1;
        sq.exhaustive = false;
        search_run(&sq, &mem, &result);
        found = result.best > 0;
        if (found)
            *out = result.found[0];
        else if (nearest && isfinite(result.fullness))
            *nearest = result.nearest;
    }
    arena_release(&mem);
    return found;
}
