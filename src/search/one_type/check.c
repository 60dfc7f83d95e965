/* A found plan recomputed from scratch, by the plainest way there is: rules one by one, layers
 * and GPUs counted, memory summed stage by stage, and the pipeline run event by event. */
#include "search/search.h"

#include "base/arena.h"
#include "simulate/events.h"

#include <math.h>

static bool check_rules(const struct search_query *q, const struct strategy *s, struct error *err)
{
    double values[SLOTS];
    search_fixed(q, values);
    slots_set_strategy(values, s);
    for (int i = 0; i < q->rules->count; i++)
        if (!rule_allows(&q->rules->rule[i], values))
            return fail(err, ERROR_SYSTEM, "check: the plan breaks %s:%d: %s",
                        q->rules->rule[i].file, q->rules->rule[i].line, q->rules->rule[i].reason);
    return true;
}

static bool check_layers(const struct plan *p, struct error *err)
{
    int next = 0;
    for (int i = 0; i < p->layout.stages; i++) {
        if (p->layout.first[i] != next && p->layout.layers[i] > 0)
            return fail(err, ERROR_SYSTEM, "check: virtual stage %d begins with layer %d, not %d",
                        i, p->layout.first[i], next);
        next += p->layout.layers[i];
    }
    if (next != p->model->layers)
        return fail(err, ERROR_SYSTEM, "check: the stages hold %d layers, the model has %d", next,
                    p->model->layers);
    return true;
}

static bool check_account(const struct plan *p, struct error *err)
{
    double sum = 0, gpus = 0;
    for (int i = 0; i < BREAKDOWN_PARTS; i++)
        sum += p->breakdown[i];
    for (int i = 0; i < p->stages; i++) {
        gpus += p->stage[i].gpus;
        if (!p->stage[i].fits)
            return fail(err, ERROR_SYSTEM, "check: stage %d does not fit", i);
    }
    if (gpus != (double)strategy_gpus(&p->strategy))
        return fail(err, ERROR_SYSTEM, "check: the stages have %.0f GPUs, the plan %lld", gpus,
                    (long long)strategy_gpus(&p->strategy));
    if (fabs(sum - p->step_s) > 1e-9 * p->step_s + 1e-9)
        return fail(err, ERROR_SYSTEM, "check: the breakdown adds up to %.9g s, the step is %.9g s",
                    sum, p->step_s);
    return true;
}

static bool check_events(const struct search_query *q, const struct strategy *s, struct arena *mem,
                         struct error *err)
{
    struct partition *f = partition_new(&q->scene, s, NULL, mem, err);
    struct pass_times t;
    if (!f)
        return false;
    pass_times_of(f, s, mem, &t);
    pass_times_stages(f, s, mem, &t);
    pass_times_run(f, s, mem, &t);
    struct pipeline p = pass_times_pipeline(f, s, &t);
    int64_t latest = 0, events = events_run(&p, NULL, NULL);
    for (int r = 0; r < s->pp; r++)
        latest = t.end[r] > latest ? t.end[r] : latest;
    if (latest != events)
        return fail(err, ERROR_SYSTEM, "check: the pipeline ends at %lld ps, its events at %lld ps",
                    (long long)latest, (long long)events);
    if (t.bound > latest)
        return fail(err, ERROR_SYSTEM, "check: the bound %lld ps is above the end %lld ps",
                    (long long)t.bound, (long long)latest);
    return true;
}

bool search_check(const struct search_query *q, const struct found *x, struct error *err)
{
    struct arena mem = {0};
    struct plan p;
    plan_evaluate(&q->scene, &x->strategy, NULL, &mem, &p);
    bool ok = check_rules(q, &x->strategy, err) && check_layers(&p, err) &&
              check_account(&p, err) && check_events(q, &x->strategy, &mem, err);
    if (ok && fabs(p.step_s * TICKS_PER_S - (double)x->step) > 1 + 1e-12 * (double)x->step)
        ok = fail(err, ERROR_SYSTEM,
                  "check: the search says %lld ps a step, from scratch it is %.0f ps",
                  (long long)x->step, p.step_s * TICKS_PER_S);
    arena_release(&mem);
    return ok;
}
