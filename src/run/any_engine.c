/* --engine any on one type of GPU: every engine is searched, and the one whose best plan is best gives the
 * answer. The others are said. */
#include "run/any_engine.h"

#include "base/arena.h"
#include "probe/probe.h"
#include "report/report.h"
#include "schedule/schedule.h"

#include <assert.h>
#include <math.h>

static const struct {
    int asked, engine;
} ENGINES[] = {{ASK_MEGATRON, ENGINE_MEGATRON},
               {ASK_FSDP2, ENGINE_FSDP2},
               {ASK_ZERO2, ENGINE_ZERO2},
               {ASK_ZERO3, ENGINE_ZERO3}};
enum { ENGINE_COUNT = sizeof ENGINES / sizeof *ENGINES };
static_assert((int)ENGINE_COUNT == (int)ENGINES_SAID, "a note for each");

static void say(struct answering *a, int engine, const struct probe_found *x,
                struct engines_said *out)
{
    const char *title = engine_title(engine);
    out->text[out->count++] =
        x->found ? arena_format(a->mem, "engine any: %s takes %.4g s a step on %lld GPUs", title,
                                (double)x->best.step / TICKS_PER_S, (long long)x->best.gpus)
                 : arena_format(a->mem, "engine any: %s has no plan that fits", title);
}

const struct query *any_engine(struct answering *a, struct engines_said *out)
{
    const struct query *q = a->query;
    struct query_terms terms = q->terms;
    double least = INFINITY;
    int best = ASK_MEGATRON;
    if (q->terms.engine != ASK_ANY || q->cluster.groups > 1)
        return q;
    for (int i = 0; i < ENGINE_COUNT; i++) {
        struct arena scratch = {0};
        struct probe_found x = {0};
        terms.engine = ENGINES[i].asked;
        probe_search(q, &terms, NULL, ANY_GROUP, &scratch, &x, NULL);
        if (x.found && x.best.key < least) {
            least = x.best.key;
            best = ENGINES[i].asked;
        }
        say(a, ENGINES[i].engine, &x, out);
        arena_release(&scratch);
    }
    terms.engine = best;
    const struct query *one = query_derive(q, &terms, NULL, a->mem, NULL);
    return one ? one : q;
}
