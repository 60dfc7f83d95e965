/* Queries that differ from the one that was asked in one input each. They are searched like any
 * other, one after the other. */
#include "run/commands.h"

#include "base/arena.h"
#include "query/query.h"
#include "report/report.h"

const struct query **what_if_queries(const struct query *q, struct arena *mem, struct error *err)
{
    const struct texts *change = &q->given->what_if;
    const struct query **changed = arena_array(mem, (size_t)change->count + 1, sizeof *changed);
    for (int i = 0; i < change->count; i++)
        if (!(changed[i] = query_change(q, change->text[i], mem, err)))
            return NULL;
    return changed;
}

static bool answer(const struct answering *a, const struct query *changed, int i,
                   struct what_if *out)
{
    struct search_report report = {0};
    struct error err = {0};
    struct answering again = *a;
    again.query = changed;
    again.report = &report;
    again.err = &err;
    again.done_before = (i + 1) * a->share;
    *out = (struct what_if){.change = a->query->given->what_if.text[i]};
    if (run_search(&again)) {
        out->plan = &report.plan[0];
        return true;
    }
    if (err.kind != ERROR_INFEASIBLE) {
        fail(a->err, err.kind, "--what-if '%.200s': %s", out->change, err.text);
        return error_show_as(a->err, &err);
    }
    out->message = arena_string(a->mem, err.text);
    return true;
}

bool run_what_ifs(struct answering *a, const struct query *const *changed)
{
    int count = a->query->given->what_if.count;
    struct what_if *list = arena_array(a->mem, (size_t)count, sizeof *list);
    for (int i = 0; i < count; i++)
        if (!answer(a, changed[i], i, &list[i]))
            return false;
    a->report->what_ifs = count;
    a->report->what_if = list;
    return true;
}
