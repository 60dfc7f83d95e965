/* Queries that differ from the one that was asked in one input each. They are searched like any
 * other, one after the other, and live as long as the query they were made of: their plans, in
 * its report, look at their models and pools. */
#include "probe/what_if.h"

#include "base/arena.h"
#include "probe/what_if_change.h"
#include "query/query_parts.h"
#include "report/report.h"
#include "run/run_search.h"

#include <stdlib.h>

void query_drop_changed(struct query *q)
{
    for (int i = 0; i < QUERY_WHAT_IFS; i++) {
        if (q->changed[i])
            query_release(q->changed[i]);
        free(q->changed[i]);
        q->changed[i] = NULL;
    }
}

static bool wrong(const char *change, const struct error *cause, struct error *err)
{
    fail(err, cause->kind, "--what-if '%.200s': %s", change, cause->text);
    return error_show_as(err, cause);
}

static bool build(struct query *q, int i, struct error *err)
{
    struct input_change c;
    struct query *changed = memory_grow(NULL, sizeof *changed);
    query_init(changed);
    q->changed[i] = changed;
    return input_change_parse(&c, q->what_if[i], err) && input_change_apply(&c, q, changed, err) &&
           query_ready(changed, err);
}

bool what_if_prepare(struct query *q, struct error *err)
{
    query_drop_changed(q);
    if (q->what_ifs == 0 || q->has_flags) /* a search refuses flags */
        return true;
    if (!query_ready(q, err))
        return false;
    for (int i = 0; i < q->what_ifs; i++) {
        struct error cause = {0};
        if (!build(q, i, &cause))
            return wrong(q->what_if[i], &cause, err);
    }
    return true;
}

/* The models of operators are those of `from`, unless the change is about them. Times that were
 * predicted with them go before they are given back. */
static bool search_with(struct answering *a, const struct query *from)
{
    struct query *q = a->query;
    bool lent = !q->learned;
    if (lent)
        q->learned = from->learned;
    bool ok = search_answer(a);
    query_drop_costs(q);
    if (lent)
        q->learned = NULL;
    return ok;
}

static bool answer(const struct answering *a, int i, struct what_if *out)
{
    struct query *q = a->query;
    struct search_report report = {0};
    struct error err = {0};
    struct answering again = *a;
    again.query = q->changed[i];
    again.report = &report;
    again.err = &err;
    again.done_before = (i + 1) * a->share;
    *out = (struct what_if){.change = q->what_if[i]};
    if (search_with(&again, q)) {
        out->plan = &report.plan[0];
        return true;
    }
    if (err.kind != ERROR_INFEASIBLE)
        return wrong(out->change, &err, a->err);
    out->message = arena_string(a->mem, err.text);
    return true;
}

bool what_if_answer(struct answering *a)
{
    int count = a->query->what_ifs;
    struct what_if *list = arena_array(a->mem, (size_t)count, sizeof *list);
    for (int i = 0; i < count; i++)
        if (!answer(a, i, &list[i]))
            return false;
    a->report->what_ifs = count;
    a->report->what_if = list;
    return true;
}
