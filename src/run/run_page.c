/* Plan 1 of a search is tried with other inputs and other values; rules are judged as those of an
 * estimate are. */
#include "run/run_page.h"

#include "base/arena.h"
#include "probe/answer.h"
#include "probe/page_trial.h"
#include "query/query_file.h"
#include "query/query_parts.h"
#include "report/report.h"

#include <string.h>

bool page_trial_init(struct page_trial *t, const struct query *q, const struct plan *p,
                     struct arena *mem, struct error *err)
{
    *t = (struct page_trial){.query = q, .plan = p, .mem = mem};
    return query_rules(q, false, mem, &t->rules, err);
}

static const struct rule *broken_on(const struct page_trial *t, const struct scene *sc,
                                    const struct node_group *g, const struct strategy *s)
{
    double values[SLOTS];
    slots_set_fixed(values, sc->model, g, g->nodes_max, sc->te);
    slots_set_strategy(values, s);
    for (int i = 0; i < t->rules.count; i++)
        if (!rule_allows(&t->rules.rule[i], values))
            return &t->rules.rule[i];
    return NULL;
}

static const struct rule *broken(const struct page_trial *t, const struct scene *sc,
                                 const struct strategy *s)
{
    if (!sc->meshes)
        return broken_on(t, sc, sc->group, s);
    for (int i = 0; i < sc->meshes->count; i++) {
        const struct mesh *m = &sc->meshes->mesh[i];
        struct strategy room;
        const struct rule *r = broken_on(t, sc, m->group, mesh_strategy(m, s, &room));
        if (r)
            return r;
    }
    return NULL;
}

struct plan *page_trial_plan(const struct page_trial *t, const struct scene *sc,
                             const struct strategy *s, const struct layout *l)
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

bool page_of_search(const struct query *q, const struct search_report *r, struct arena *mem,
                    struct error *err)
{
    struct page_trial t;
    struct page page = {.report = r};
    return page_trial_init(&t, q, &r->plan[0], mem, err) && sensitivity_of(&t, &page, err) &&
           alternatives_of(&t, &page, err) && query_costs_hold(q, err) &&
           page_write(&page, q->given->output.report, err);
}

bool page_of_plan(const struct query *q, const struct plan_answer *a, struct arena *mem,
                  struct error *err)
{
    const struct plan *p = a->plan;
    struct search_report r = {.model = p->model,
                              .cluster = &q->cluster,
                              .query = query_line(q, &p->strategy, mem),
                              .best = 1,
                              .plan = p};
    if (a->source) {
        r.notes = a->source->notes;
        r.note = a->source->note;
    }
    const struct page page = {.report = &r, .answer = a};
    return page_write(&page, q->given->output.report, err);
}
