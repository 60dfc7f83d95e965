/* Why not another value? For every value of a parameter, a search on the GPUs of plan 1 that has
 * this parameter fixed, so that what is shown is the best plan that has the value. Searches are
 * counted by the strategies that they judge; beyond a limit for each parameter, and for jobs on
 * several types, plan 1 with only this value changed is shown instead. */
#include "probe/alternatives.h"

#include "base/arena.h"
#include "base/str.h"
#include "base/units.h"
#include "probe/probe.h"

#include <assert.h>
#include <math.h>

enum { MOST_VALUES = 24 };             /* of one parameter */
static const double MOST_JUDGED = 3e5; /* strategies for one parameter: a third of a second */

struct asking {
    const struct probe *trial; /* its rules are those of a search */
    struct space space;
    double judged; /* so far, for the parameter */
    struct alternative *list;
    int count;
};

/* A value that is given goes behind the smaller ones; at most one of each. */
static void add_value(struct setting *values, int value)
{
    int at = values->count;
    for (int i = 0; i < values->count; i++)
        if (values->value[i] == value)
            return;
    if (values->count == SETTING_VALUES)
        return;
    for (values->count++; at > 0 && values->value[at - 1] > value; at--)
        values->value[at] = values->value[at - 1];
    values->value[at] = value;
}

/* Ways that do not divide the GPUs need no word. */
static bool comes_out(const struct asking *a, enum param p, int value)
{
    bool ways = p == PARAM_tp || p == PARAM_pp || p == PARAM_cp || p == PARAM_dp;
    return !ways || a->trial->plan->gpus % value == 0;
}

/* What a search would try, plan 1's own value first so that it is there in any case. */
static struct setting values_of(const struct asking *a, enum param p)
{
    struct setting values = {0};
    add_value(&values, strategy_get(&a->trial->plan->strategy, p));
    for (int i = 0; i < a->space.axes; i++) {
        const struct axis *axis = &a->space.axis[i];
        for (int k = 0; axis->param[0] == p && k < axis->options; k++)
            if (values.count < MOST_VALUES && comes_out(a, p, axis->value[k * axis->params]))
                add_value(&values, axis->value[k * axis->params]);
    }
    return values;
}

/* Full and selective recomputation come with what they recompute. */
static void complete(struct strategy *s)
{
    bool full = s->recompute == RECOMPUTE_FULL, selective = s->recompute == RECOMPUTE_SELECTIVE;
    s->recompute_method = full ? METHOD_UNIFORM : METHOD_NONE;
    s->recompute_layers = full ? 1 : 0;
    s->recompute_modules = selective ? MODULE_LAYERNORM : 0;
}

/* Data-parallel ways make up for it, where the division comes out. */
static bool keep_gpus(const struct strategy *before, struct strategy *s, int64_t gpus)
{
    int64_t ways = (int64_t)s->tp * s->cp * s->pp;
    if (s->dp != before->dp || gpus % ways != 0)
        return strategy_gpus(s) == gpus;
    s->dp = (int)(gpus / ways);
    return true;
}

/* Stages of several types lie where they lie, and what they have of their own is not plan 1's. */
static bool is_fixed(const struct plan *p, enum param param)
{
    static const enum param with_meshes[] = {PARAM_pp, PARAM_vpp, PARAM_split, PARAM_cp,
#define X(name) PARAM_##name,
                                             MESH_TABLE(X)
#undef X
    };
    size_t few = 3, all = sizeof with_meshes / sizeof *with_meshes;
    for (size_t i = 0; p->meshes && i < (plan_meshes_differ(p) ? all : few); i++)
        if (with_meshes[i] == param)
            return true;
    return false;
}

/* Every stage sees the whole batch. */
static bool keeps_tokens(const struct plan *p)
{
    const struct strategy *s = &p->strategy;
    int64_t micro_batches = strategy_micro_batches(s);
    if (!p->meshes)
        return micro_batches * s->micro_batch * s->dp == s->global_batch;
    for (int i = 0; i < p->meshes->count; i++) {
        struct strategy room;
        const struct strategy *own = mesh_strategy(&p->meshes->mesh[i], s, &room);
        if (micro_batches * own->micro_batch * own->dp != s->global_batch)
            return false;
    }
    return true;
}

static void fill_neighbour(struct asking *a, enum param p, int value, struct alternative *x)
{
    const struct plan *plan = a->trial->plan;
    struct scene sc = plan_scene(plan);
    struct strategy s = plan->strategy;
    strategy_set(&s, p, value);
    if (p == PARAM_recompute)
        complete(&s);
    if (!keep_gpus(&plan->strategy, &s, plan->gpus) && !plan_meshes_differ(plan)) {
        x->reason =
            arena_format(a->trial->mem, "with the other ways of plan 1 it would be %lld GPUs",
                         (long long)strategy_gpus(&s));
        return;
    }
    struct plan *then =
        probe_plan(a->trial, &sc, &s, s.split == SPLIT_LAYOUT ? &plan->layout : NULL);
    assert(!then->feasible || keeps_tokens(then));
    x->plan = then;
    x->reason = then->feasible ? NULL : then->reason[0];
}

/* What came nearest to fitting, a rule that plan 1 would break with it, or what dropped most. */
static const char *why_none(struct asking *a, enum param p, int value, const struct probe_found *r)
{
    struct alternative beside = {0};
    if (!r->found && isfinite(r->fullness) && r->fullness > 0) {
        const struct scene sc = plan_scene(a->trial->plan);
        struct plan near;
        plan_evaluate(&sc, &r->nearest, NULL, a->trial->mem, &near);
        if (near.computed)
            return arena_format(
                a->trial->mem, "does not fit: the plan that needs least takes %.1f of %.1f GiB",
                plan_fullest(&near)->device_bytes / GIB, plan_fullest(&near)->limit_bytes / GIB);
    }
    fill_neighbour(a, p, value, &beside);
    if (beside.plan && beside.reason)
        return beside.reason;
    return r->funnel.drops > 0 ? arena_string(a->trial->mem, r->funnel.drop[0].reason)
                               : "no strategy has it";
}

static bool fill_best(struct asking *a, enum param p, int value, struct alternative *x,
                      struct error *err)
{
    const struct probe *t = a->trial;
    const struct scene sc = plan_scene(t->plan);
    struct query_terms terms = t->query->terms;
    struct probe_found r;
    struct arena scratch = {0};
    terms.gpus = t->plan->gpus;
    terms.settings[p] = (struct setting){1, {value}};
    int g = (int)(t->plan->group - t->query->cluster.group);
    bool ok = probe_search(t->query, &terms, NULL, g, &scratch, &r, err);
    if (ok) {
        a->judged += r.funnel.judged;
        x->best = true;
        if (r.found)
            x->plan = probe_plan(t, &sc, &r.best.strategy, NULL);
        else
            x->reason = why_none(a, p, value, &r);
    }
    arena_release(&scratch);
    return ok;
}

static const char *word_of(enum param p, int value, struct arena *mem)
{
    struct str word = {0};
    param_print(p, value, &word);
    return str_keep(&word, mem);
}

static bool ask(struct asking *a, enum param p, int value, struct alternative *x, struct error *err)
{
    const struct plan *plan = a->trial->plan;
    bool ok = true;
    *x = (struct alternative){.param = p, .value = word_of(p, value, a->trial->mem)};
    x->chosen = strategy_get(&plan->strategy, p) == value;
    if (x->chosen)
        x->plan = plan;
    else if (!plan->meshes && a->judged < MOST_JUDGED)
        ok = fill_best(a, p, value, x, err);
    else
        fill_neighbour(a, p, value, x);
    return ok;
}

/* From plan 1's value outwards, so that values far from it are those that are not searched. */
static bool ask_all(struct asking *a, enum param p, struct error *err)
{
    struct setting values = values_of(a, p);
    struct alternative *list = a->list + a->count;
    int own = 0;
    bool ok = true;
    if (values.count < 2 || is_fixed(a->trial->plan, p))
        return true;
    while (values.value[own] != strategy_get(&a->trial->plan->strategy, p))
        own++;
    a->judged = 0;
    a->count += values.count;
    for (int away = 0; away < values.count && ok; away++) {
        if (own + away < values.count)
            ok = ask(a, p, values.value[own + away], &list[own + away], err);
        if (ok && away > 0 && own >= away)
            ok = ask(a, p, values.value[own - away], &list[own - away], err);
    }
    return ok;
}

/* The parameter at this place on the page, PARAMS behind the last. */
static enum param param_at(int place)
{
    int p = 0;
    while (p < PARAMS && param_info((enum param)p)->alternatives != place)
        p++;
    return (enum param)p;
}

/* Rules are those of a search: what it does not look at is no answer to why it is not there. */
bool alternatives_of(const struct query *q, const struct plan *plan, struct arena *mem,
                     const struct alternative **out, int *count, struct error *err)
{
    struct asking *a = arena_alloc(mem, sizeof *a);
    struct probe *trial = arena_alloc(mem, sizeof *trial);
    bool ok = probe_init(trial, q, plan, true, mem, err);
    enum param p;
    a->trial = trial;
    a->list = arena_array(mem, PARAMS * MOST_VALUES, sizeof *a->list);
    space_init(&a->space, plan->model, plan->group, &plan->strategy, q->terms.settings, plan->gpus,
               (struct space_terms){plan_stack_kind(plan), query_release(q),
                                    q->terms.numerics == NUMERICS_PRODUCTION,
                                    plan->switches.newton_steps > 0},
               mem);
    for (int place = 1; ok && (p = param_at(place)) < PARAMS; place++)
        ok = ask_all(a, p, err);
    *out = a->list;
    *count = a->count;
    return ok;
}
