/* The page of a search also has plan 1 under other inputs, and beside other values. */
#include "run/commands.h"

#include "base/arena.h"
#include "probe/alternatives.h"
#include "probe/answer.h"
#include "query/query_file.h"
#include "query/query_parts.h"
#include "report/page/page.h"
#include "report/report.h"

#include <string.h>

static bool done(const struct answering *a, double share)
{
    if (a->progress)
        a->progress(a->progress_context, PAGE_FROM + share * (1 - PAGE_FROM));
    return true;
}

bool page_of_search(const struct answering *a, struct error *err)
{
    const struct query *q = a->query;
    const struct search_report *r = a->report;
    struct page page = {.report = r};
    return sensitivity_of(q, &r->plan[0], a->mem, &page.change, &page.changes, err) &&
           done(a, 0.1) &&
           alternatives_of(q, &r->plan[0], a->mem, &page.other, &page.others, err) &&
           done(a, 0.95) && page_write(&page, q->given->output.report, err);
}

bool page_of_plan(const struct query *q, const struct plan_answer *a, struct arena *mem,
                  struct error *err)
{
    const struct plan *p = a->plan;
    struct search_report r = {.model = p->model,
                              .cluster = &q->cluster,
                              .rent = q->rent,
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
