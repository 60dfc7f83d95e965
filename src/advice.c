/* When a search comes back empty it is asked again with one thing changed at a time, the least intrusive
 * first, until something is found. Searches take milliseconds. */
#include "advice.h"

#include "base/str.h"
#include "base/units.h"

#include <math.h>
#include <string.h>

/* Searches the first group, in memory of its own; fills `best` when something is found. */
static bool finds(const struct question *changed, struct found *best)
{
    struct question q = *changed;
    struct rules rules;
    struct search_question sq;
    struct search_result result;
    bool found = false;
    arena_init(&q.mem);
    if (question_search(&q, 0, &rules, &sq, NULL)) {
        sq.top = 1;
        sq.exhaustive = false;
        search_run(&sq, &q.mem, &result);
        found = result.best > 0;
        if (found)
            *best = result.found[0];
    }
    arena_release(&q.mem);
    return found;
}

static bool try_without_setting(const struct question *q, int p, struct found *best)
{
    struct question copy = *q;
    copy.settings[p].count = 0;
    return finds(&copy, best);
}

static bool advise_settings(const struct question *q, struct str *out)
{
    struct found best;
    for (int p = PARAM_precision + 1; p < PARAMS; p++) {
        if (q->settings[p].count == 0 || !try_without_setting(q, p, &best))
            continue;
        str_addf(out, "without --set %s=", param_info((enum param)p)->name);
        param_print((enum param)p, q->settings[p].value[0], out);
        str_addf(out, " there is a plan with %s=", param_info((enum param)p)->name);
        param_print((enum param)p, strategy_get(&best.strategy, (enum param)p), out);
        return true;
    }
    return false;
}

static bool advise_rules(const struct question *q, struct str *out)
{
    struct question copy = *q;
    struct found best;
    if (q->rules.count == 0)
        return false;
    rules_init(&copy.rules);
    if (!finds(&copy, &best))
        return false;
    str_addf(out, "without the rules of %s there is a plan", q->rules.rule[0].file);
    return true;
}

static bool advise_fewer_gpus(const struct question *q, struct str *out)
{
    struct question copy = *q;
    struct found best;
    copy.gpus = 0;
    if (q->gpus == 0 || !finds(&copy, &best))
        return false;
    str_addf(out, "without --gpus there is a plan on %lld GPUs", (long long)best.gpus);
    return true;
}

static bool advise_margin(const struct question *q, struct str *out)
{
    struct question copy = *q;
    struct found best;
    copy.memory_margin = 0;
    if (q->memory_margin == 0 || !finds(&copy, &best))
        return false;
    str_add(out, "with --memory-margin 0 there is a plan, with no memory to spare");
    return true;
}

static bool advise_more_nodes(const struct question *q, struct str *out)
{
    struct question copy = *q;
    struct node_group *g = &copy.cluster.group[0];
    struct found best;
    copy.gpus = 0;
    for (int factor = 2; factor <= 64 && g->nodes_max < CLUSTER_MAX_NODES / 2; factor *= 2) {
        g->nodes_max *= 2;
        if (!finds(&copy, &best))
            continue;
        str_addf(out, "%lld GPUs (%lld nodes) would do", (long long)best.gpus,
                 (long long)((best.gpus + g->per_node - 1) / g->per_node));
        return true;
    }
    return false;
}

static bool advise_batch(const struct question *q, struct str *out)
{
    struct question copy = *q;
    struct found best;
    int asked = question_global_batch(q);
    for (int factor = 2; factor <= 64 && asked < 1 << 24; factor *= 2) {
        copy.global_batch = asked * factor;
        if (!finds(&copy, &best))
            continue;
        str_addf(out, "with --global-batch %d there is a plan", copy.global_batch);
        return true;
    }
    return false;
}

static void add_cause(const struct search_result *r, struct str *out)
{
    const struct funnel *f = &r->funnel;
    str_add(out, "no strategy is feasible");
    if (f->drops > 0) {
        str_add(out, "; of ");
        add_count(out, f->generated);
        str_add(out, " most (");
        add_count(out, f->drop[0].count);
        str_addf(out, ") were dropped: %s", f->drop[0].reason);
    }
    if (isfinite(r->fullness)) {
        str_addf(out, "; what came nearest needs %.2f times the usable memory: ", r->fullness);
        strategy_print(&r->nearest, out);
    }
}

void advice_write(struct question *q, const struct search_result *results, int count, struct error *err)
{
    static bool (*const advisers[])(const struct question *, struct str *) = {
        advise_settings, advise_rules, advise_fewer_gpus, advise_margin, advise_more_nodes, advise_batch};
    struct str s;
    str_init(&s);
    if (count > 0)
        add_cause(&results[0], &s);
    str_add(&s, "; ");
    size_t before = s.length;
    for (size_t i = 0; i < sizeof advisers / sizeof *advisers && s.length == before; i++)
        advisers[i](q, &s);
    if (s.length == before)
        str_add(&s, "no single change of the options helps");
    fail(err, ERROR_INFEASIBLE, "%s", str_text(&s));
    str_release(&s);
}
