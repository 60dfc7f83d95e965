/* Asking again: the search with other terms, or one prediction. */
#include "probe/probe.h"

#include "search/mixed/mixed.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The order of a search, so that what is found is what one would put first. */
static struct limits fastest_by_sense(const struct query *q)
{
    struct limits limits = SPEED_ALONE;
    limits.resolution = q->search.resolution;
    return limits;
}

static void search_group(const struct query *q, int g, struct arena *mem, struct search_query *sq,
                         struct probe_found *out)
{
    struct search_result result = {0};
    struct limits limits = fastest_by_sense(q);
    sq->top = 1;
    sq->exhaustive = false;
    sq->limits = &limits;
    search_run(sq, mem, &result);
    out->funnel = result.funnel;
    out->fullness = result.fullness;
    out->nearest = result.nearest;
    out->found = result.best > 0;
    if (!out->found)
        return;
    const struct node_group *group = &q->cluster.group[g];
    out->best = result.found[0];
    out->nodes = (out->best.gpus + group->per_node - 1) / group->per_node;
    snprintf(out->where, sizeof out->where, "%lld %s", (long long)out->best.gpus, group->gpu->name);
}

static void name_meshes(const struct mixed_found *x, struct probe_found *out)
{
    size_t used = 0;
    out->nodes = 0;
    for (int i = 0; i < x->meshes.count && used < sizeof out->where; i++) {
        const struct mesh *m = &x->meshes.mesh[i];
        int64_t gpus = m->stages * mesh_stage_gpus(m, &x->strategy);
        out->nodes += (gpus + m->group->per_node - 1) / m->group->per_node;
        used += (size_t)snprintf(out->where + used, sizeof out->where - used, "%s%lld %s",
                                 i ? " and " : "", (long long)gpus, m->group->gpu->name);
    }
}

static void search_several(const struct query *q, struct arena *mem, struct probe_found *out)
{
    struct mixed_query mq;
    struct mixed_result result;
    if (!query_mixed(q, mem, &mq, NULL))
        return;
    struct limits limits = fastest_by_sense(q);
    mq.top = 1;
    mq.limits = &limits;
    mixed_run(&mq, mem, &result);
    out->found = result.best > 0;
    if (!out->found)
        return;
    const struct mixed_found *x = &result.found[0];
    out->funnel = (struct funnel){0};
    out->best = (struct found){.step = x->step, .gpus = x->gpus, .strategy = x->strategy};
    name_meshes(x, out);
}

bool probe_fits(const struct query *from, const struct query_terms *terms,
                const struct cluster *cluster, int g)
{
    struct search_query sq;
    struct search_result result = {0};
    struct limits limits = SPEED_ALONE;
    struct arena scratch = {0};
    const struct query *q = query_derive(from, terms, cluster, &scratch, NULL);
    if (q && query_search(q, g, &scratch, &sq, NULL)) {
        sq.top = 1;
        sq.any = true;
        sq.limits = &limits;
        search_run(&sq, &scratch, &result);
    }
    arena_release(&scratch);
    return result.best > 0;
}

bool probe_search(const struct query *from, const struct query_terms *terms,
                  const struct cluster *cluster, int g, struct arena *scratch,
                  struct probe_found *out, struct error *err)
{
    struct search_query sq;
    *out = (struct probe_found){.fullness = INFINITY};
    const struct query *q = query_derive(from, terms, cluster, scratch, err);
    if (!q)
        return false;
    if (g != ANY_GROUP) {
        bool right = query_search(q, g, scratch, &sq, err);
        if (right)
            search_group(q, g, scratch, &sq, out);
        return right;
    }
    for (int i = 0; i < q->cluster.groups && !out->found; i++)
        if (query_search(q, i, scratch, &sq, NULL))
            search_group(q, i, scratch, &sq, out);
    if (!out->found)
        search_several(q, scratch, out);
    return true;
}

const struct plan *probe_best(const struct query *q, const struct query_terms *terms, int g,
                              const struct scene *scene, struct arena *mem)
{
    struct probe_found x;
    struct arena scratch = {0};
    struct plan *best = NULL;
    probe_search(q, terms, NULL, g, &scratch, &x, NULL);
    arena_release(&scratch);
    if (x.found) {
        best = arena_alloc(mem, sizeof *best);
        plan_evaluate(scene, &x.best.strategy, NULL, mem, best);
    }
    return best;
}

struct query_terms probe_terms(const struct query *asked, const struct strategy *s)
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

bool probe_init(struct probe *t, const struct query *q, const struct plan *p, bool sense,
                struct arena *mem, struct error *err)
{
    *t = (struct probe){.query = q, .plan = p, .mem = mem};
    return query_rules(q, false, mem, &t->rules, err) &&
           (!sense || rules_add_sense(&t->rules, mem, err));
}

static const struct rule *broken_on(const struct probe *t, const struct scene *sc,
                                    const struct node_group *g, const struct strategy *s)
{
    double values[SLOTS];
    slots_set_fixed(values, sc->model, g, g->nodes_max, scene_stack(sc));
    values[SLOT_release] = query_release(t->query);
    slots_set_strategy(values, s);
    for (int i = 0; i < t->rules.count; i++)
        if (!rule_allows(&t->rules.rule[i], values))
            return &t->rules.rule[i];
    return NULL;
}

static const struct rule *broken(const struct probe *t, const struct scene *sc,
                                 const struct strategy *s)
{
    const struct rule *r = NULL;
    if (!sc->meshes)
        return broken_on(t, sc, sc->group, s);
    for (int i = 0; i < sc->meshes->count && !r; i++) {
        const struct mesh *m = &sc->meshes->mesh[i];
        struct strategy room;
        r = broken_on(t, sc, m->group, mesh_strategy(m, s, &room));
    }
    return r;
}

struct plan *probe_plan(const struct probe *t, const struct scene *sc, const struct strategy *s,
                        const struct layout *l)
{
    struct plan *p = arena_alloc(t->mem, sizeof *p);
    const struct rule *r = broken(t, sc, s);
    plan_evaluate(sc, s, l, t->mem, p);
    if (!r)
        return p;
    plan_add_reason(p, t->mem, r->reason);
    for (int i = p->reasons - 1; i > 0; i--)
        p->reason[i] = p->reason[i - 1];
    p->reason[0] = r->reason;
    return p;
}
