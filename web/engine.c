/* What the page asks the library for beside astra.h: a query that tells how far it is, and the page
 * of its answer. Everything else of the engine is the library as it is. */
#include "astra.h"

#include "probe/alternatives.h"
#include "probe/answer.h"
#include "report/page/page.h"
#include "run/commands.h"

#include <emscripten.h>

struct astra *web_new(void);
const char *web_page(struct astra *, bool alternatives);

/* A worker may send messages while it is busy, it only cannot read any. */
EM_JS(void, tell_progress, (double done), {
    if (Module["progress"])
        Module["progress"](done);
})

static void progress(void *context, double done)
{
    (void)context;
    tell_progress(done);
}

struct astra *web_new(void)
{
    struct astra *a = astra_new();
    astra_on_progress(a, progress, NULL);
    return a;
}

/* The report of a search as --report writes it, into the text of the query. Alternatives take several
 * times as long as the search: without them the page is the first that is shown. NULL: a message. */
const char *web_page(struct astra *a, bool alternatives)
{
    const struct search_report *r = &a->report;
    struct page page = {.report = r};
    if (a->kind != ANSWER_SEARCH ||
        !sensitivity_of(&a->query, &r->plan[0], &a->mem, &page.change, &page.changes, &a->error) ||
        (alternatives &&
         !alternatives_of(&a->query, &r->plan[0], &a->mem, &page.other, &page.others, &a->error)))
        return NULL;
    str_clear(&a->text);
    page_print(&page, &a->text);
    return str_text(&a->text);
}
