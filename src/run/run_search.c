/* The answer of a search: each type alone, then several at once, joined to one list and one
 * front. */
#include "run/commands.h"

#include "base/arena.h"
#include "probe/advice.h"
#include "query/query.h"
#include "report/report.h"
#include "search/mixed/mixed.h"
#include "search/results.h"

#include <math.h>
#include <string.h>
#include <time.h>

double search_clock_s(void)
{
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool check_all(const struct search_query *sq, const struct search_result *r,
                      struct error *err)
{
    for (int i = 0; i < r->best; i++)
        if (!search_check(sq, &r->found[i], err))
            return false;
    for (int i = 0; i < r->front; i++)
        if (!search_check(sq, &r->pareto[i], err))
            return false;
    return true;
}

/* Funnels of several groups add up. */
static void add_funnel(struct funnel *sum, const struct funnel *f, struct arena *mem)
{
    struct drop *drop = arena_array(mem, (size_t)(sum->drops + f->drops), sizeof *drop);
    if (sum->drops > 0)
        memcpy(drop, sum->drop, (size_t)sum->drops * sizeof *drop);
    sum->drop = drop;
    for (int i = 0; i < f->drops; i++) {
        int at = 0;
        while (at < sum->drops && strcmp(sum->drop[at].reason, f->drop[i].reason) != 0)
            at++;
        if (at == sum->drops)
            sum->drop[sum->drops++] = (struct drop){f->drop[i].reason, 0};
        sum->drop[at].count += f->drop[i].count;
    }
    sum->generated += f->generated;
    sum->judged += f->judged;
    sum->simulated += f->simulated;
    sum->kept += f->kept;
}

struct totals {
    const struct query *query;
    struct search_result result[CLUSTER_MAX_GROUPS];
    int searched;
    struct limits limits;
    struct results results;
    struct search_query *of[CLUSTER_MAX_GROUPS]; /* the query on each group; NULL: not asked */
    struct mixed_query several;
    struct funnel funnel;
    double *by_rule; /* [user rules] dropped in all groups */
    struct mixed_result mixed;
    int bests, fronts;
    struct plan *best, *front;
};

/* The user's rules are the last of all. */
static void add_rule_counts(const struct query *q, const struct rules *rules,
                            const struct funnel *f, struct totals *all)
{
    int count = q->terms.rules.count;
    for (int i = 0; i < count; i++)
        all->by_rule[i] += f->by_rule[rules->count - count + i];
}

static void note_rules(struct answering *a, const struct totals *all)
{
    enum { MOST = 20 };
    const struct rules *r = &a->query->terms.rules;
    int idle = 0;
    for (int i = 0; i < r->count; i++) {
        const struct rule *rule = &r->rule[i];
        const char *what = rule_constant(rule) == 1 ? "allows every strategy there is"
                                                    : "dropped nothing that was not dropped before";
        if (all->by_rule[i] == 0 && idle++ < MOST)
            a->report->note[a->report->notes++] = arena_format(
                a->mem, "%s:%d: this rule %s: %s", rule->file, rule->line, what, rule->text);
    }
    if (idle > MOST)
        a->report->note[a->report->notes++] =
            arena_format(a->mem, "%d more rules dropped nothing either", idle - MOST);
}

/* What a mixed pool leaves to say: GPUs without a use, arrangements that were given up. */
static void note_pool(struct answering *a, const struct totals *all)
{
    const struct query *q = a->query;
    int64_t pool = cluster_max_gpus(&q->cluster), used = all->best[0].gpus;
    bool fastest = all->limits.objective == OBJECTIVE_SPEED && q->budget_usd <= 0;
    if (all->mixed.found && q->terms.gpus == 0 && used < pool && fastest)
        a->report->note[a->report->notes++] = arena_format(
            a->mem,
            "the fastest plan uses %lld of the pool's %lld GPUs: with more it is slower, or "
            "not possible",
            (long long)used, (long long)pool);
    if (all->mixed.unproven > 0)
        a->report->note[a->report->notes++] =
            arena_format(a->mem,
                         "of %.0f arrangements of stages %.0f were given up at the limit of their "
                         "search: their best split of layers is not proven",
                         all->mixed.problems, all->mixed.unproven);
}

/* Prices of nodes that may be taken away, and no word on how often. */
static void note_spot(struct answering *a)
{
    const struct query *q = a->query;
    bool said = false;
    for (int i = 0; i < q->given->outages.rates; i++)
        said |= !q->given->outages.rate[i].failures;
    for (int g = 0; g < q->cluster.groups; g++)
        said |= q->rent[g].interruptions_per_h > 0;
    if (q->given->money.ask.market == MARKET_SPOT && !said)
        a->report->note[a->report->notes++] =
            "spot nodes are interrupted, which is not counted: --interruptions says how often";
}

/* Times of checkpoints and restarts, and nothing that makes them matter. */
static void note_outages(struct answering *a, const struct plan *best)
{
    const int *times = a->query->given->times;
    if (best->slowdown == 1 && (times[OPTION_checkpoint_write] || times[OPTION_restart]))
        a->report->note[a->report->notes++] =
            "no outages are counted, so that checkpoints and restarts take no time: --mtbf, "
            "--interruptions or --checkpoint-every says otherwise";
}

/* Types of one job are in one place; a price is the best of each alone. */
static void note_places(struct answering *a, const struct plan *best)
{
    if (best->meshes && a->report->money)
        a->report->note[a->report->notes++] =
            "a job on several types needs them in one place: prices are those of each type alone "
            "(--provider, --region)";
}

/* One of the searches of an answer tells how far the whole is: each type alone, and several at
 * once, which takes most of the time where there is any to speak of. */
struct progress_part {
    const struct answering *answering;
    double before, share;
};

static void tell_progress(void *context, double done)
{
    const struct progress_part *p = context;
    p->answering->progress(p->answering->progress_context, p->before + p->share * done);
}

static const double SEVERAL_SHARE = 0.9;

/* Of group g alone, or of several at once behind the last. */
static struct progress_part *part_of(const struct answering *a, int g)
{
    int groups = a->query->cluster.groups;
    double alone = a->share * (query_mixes(a->query) ? 1 - SEVERAL_SHARE : 1);
    struct progress_part *p = arena_alloc(a->mem, sizeof *p);
    *p = (struct progress_part){a, a->done_before + alone * g / groups,
                                g < groups ? alone / groups : a->share - alone};
    return p;
}

static bool search_group(struct answering *a, int g, struct totals *all)
{
    const struct query *q = all->query;
    struct search_query *sq = arena_alloc(a->mem, sizeof *sq);
    struct search_result *r = &all->result[all->searched];
    if (!query_search(q, g, a->mem, sq, a->err))
        return a->err->kind == ERROR_INFEASIBLE; /* too small: another group may do */
    sq->limits = &all->limits;
    sq->results = &all->results;
    sq->progress = a->progress ? tell_progress : NULL;
    sq->progress_context = part_of(a, g);
    all->of[g] = sq;
    search_run(sq, a->mem, r);
    all->searched++;
    if (q->search.check && !check_all(sq, r, a->err))
        return false;
    add_funnel(&all->funnel, &r->funnel, a->mem);
    add_rule_counts(q, sq->rules, &r->funnel, all);
    a->report->query = query_line(q, &sq->base, a->mem);
    return true;
}

/* Jobs on several types, where the pool is of that kind. */
static bool search_mixed(struct answering *a, struct totals *all)
{
    struct mixed_query *mq = &all->several;
    struct error err = {0};
    if (!query_mixed(a->query, a->mem, mq, &err)) {
        if (err.kind != ERROR_NONE)
            *a->err = err;
        return err.kind == ERROR_NONE;
    }
    mq->limits = &all->limits;
    mq->results = &all->results;
    mq->front = true;
    mq->progress = a->progress ? tell_progress : NULL;
    mq->progress_context = part_of(a, a->query->cluster.groups);
    mixed_run(mq, a->mem, &all->mixed);
    all->funnel.generated += all->mixed.generated;
    all->funnel.judged += all->mixed.judged;
    all->funnel.simulated += all->mixed.simulated;
    a->report->query = query_line(a->query, &mq->base, a->mem);
    return true;
}

/* From scratch it is as fast as the search says, and fits. */
static bool check_mixed(const struct found *x, const struct plan *p, struct error *err)
{
    double ticks = p->computed ? p->step_s * TICKS_PER_S : 0;
    if (p->feasible && fabs(ticks - (double)x->step) <= 1 + 1e-12 * (double)x->step)
        return true;
    return fail(
        err, ERROR_SYSTEM,
        "check: the search says %lld ps a step on several types, from scratch it is %.0f ps%s",
        (long long)x->step, ticks, p->feasible ? "" : " and does not fit");
}

static bool evaluate(struct answering *a, const struct totals *all, const struct found *x,
                     struct plan *out)
{
    const struct query *q = all->query;
    if (!x->mixed) {
        const struct search_query *sq = all->of[x->group - q->cluster.group];
        plan_evaluate(&sq->scene, &x->strategy, NULL, a->mem, out);
        plan_mind(out, sq->cautions, a->mem);
        return true;
    }
    struct scene sc = all->several.scene;
    sc.group = x->group;
    sc.meshes = &x->mixed->meshes;
    sc.cluster = all->several.cluster;
    plan_evaluate(&sc, &x->strategy, &x->mixed->layout, a->mem, out);
    plan_mind(out, all->several.cautions, a->mem);
    out->flagscale = q->terms.engine == ENGINE_FLAGSCALE;
    return !q->search.check || check_mixed(x, out, a->err);
}

struct plan *front_without_ties(struct plan *front, int *count)
{
    static const double alike = 1 - 1e-9;
    struct plan *end = front + *count, *kept = end;
    for (struct plan *p = end; p-- > front && p->usd_per_mtoken > 0;) {
        if (kept < end && p->usd_per_mtoken >= kept->usd_per_mtoken * alike)
            continue;
        bool as_fast = kept < end && p->net_tokens_per_s >= kept->net_tokens_per_s * alike;
        kept -= !as_fast;
        *kept = *p;
    }
    if (kept == end)
        return front;
    *count = (int)(end - kept);
    return kept;
}

/* Best first, and the front with the cheapest first. */
static bool evaluate_all(struct answering *a, struct totals *all)
{
    const struct shortlist *best = &all->results.best;
    const struct front *front = &all->results.front;
    struct found *list = arena_array(a->mem, (size_t)best->top, sizeof *list);
    int count = shortlist_rank(best, list);
    all->best = arena_array(a->mem, (size_t)count, sizeof *all->best);
    all->front = arena_array(a->mem, (size_t)front->count, sizeof *all->front);
    for (; all->bests < count; all->bests++)
        if (!evaluate(a, all, &list[all->bests], &all->best[all->bests]))
            return false;
    for (; all->fronts < front->count; all->fronts++)
        if (!evaluate(a, all, &front->entry[front->count - 1 - all->fronts],
                      &all->front[all->fronts]))
            return false;
    all->front = front_without_ties(all->front, &all->fronts);
    return true;
}

/* What there is where nothing limits a run: the searches of `all` again, on the nodes of `q`. */
static void search_freely(struct answering *a, const struct query *q, const struct totals *all,
                          struct totals *free)
{
    free->query = q;
    free->limits = (struct limits){.objective = OBJECTIVE_SPEED,
                                   .most_time = INFINITY,
                                   .most_usd = INFINITY,
                                   .by_gpus = all->limits.by_gpus,
                                   .outage = all->limits.outage};
    results_init(&free->results, &free->limits, 1, a->mem);
    for (int g = 0; g < q->cluster.groups; g++) {
        struct search_query *sq = arena_alloc(a->mem, sizeof *sq);
        if (!all->of[g] || !query_search(q, g, a->mem, sq, NULL))
            continue;
        free->of[g] = sq;
        sq->limits = &free->limits;
        sq->results = &free->results;
        sq->progress = all->of[g]->progress;
        sq->progress_context = all->of[g]->progress_context;
        search_run(sq, a->mem, &free->result[free->searched++]);
    }
    if (all->several.cluster && query_mixed(q, a->mem, &free->several, NULL)) {
        free->several.limits = &free->limits;
        free->several.results = &free->results;
        free->several.progress = all->several.progress;
        free->several.progress_context = all->several.progress_context;
        mixed_run(&free->several, a->mem, &free->mixed);
    }
    evaluate_all(a, free);
    results_release(&free->results);
}

/* The same query on nodes that are always there; itself where they are. */
static const struct query *without_outages(const struct answering *a)
{
    struct query *calm = arena_alloc(a->mem, sizeof *calm);
    bool any = false;
    *calm = *a->query;
    for (int g = 0; g < calm->cluster.groups; g++) {
        any |= calm->rent[g].outages_per_h > 0;
        calm->rent[g].outages_per_h = 0;
    }
    return any ? calm : a->query;
}

/* Plans without a price are not on a front of several types. */
static bool lacks_price(const struct query *q)
{
    for (int g = 0; g < q->cluster.groups && q->cluster.groups > 1; g++)
        if (q->rent[g].usd_per_hour <= 0)
            return true;
    return false;
}

/* Limits that no plan keeps, outages that let no run come to its end, or nothing that fits. */
static bool refuse(struct answering *a, const struct totals *all)
{
    const struct query *q = a->query, *calm = without_outages(a);
    if (all->fronts > 0 && !lacks_price(q))
        return money_refuse(q, all->front, all->fronts, a->err);
    struct totals *free = arena_alloc(a->mem, sizeof *free);
    if (q->budget_usd > 0 || q->deadline_s > 0)
        search_freely(a, q, all, free);
    if (free->bests > 0)
        return money_refuse(q, free->best, 1, a->err);
    free = arena_alloc(a->mem, sizeof *free);
    if (calm != q)
        search_freely(a, calm, all, free);
    if (free->bests > 0)
        return fail(a->err, ERROR_INFEASIBLE,
                    "no run is expected to end: with these outages a checkpoint is hardly ever "
                    "reached on any number of GPUs (--mtbf, --interruptions, --restart, "
                    "--checkpoint-every)");
    advice_write(calm, all->result, all->searched, a->err);
    return false;
}

static bool search_all(struct answering *a, struct totals *all)
{
    const struct query *q = a->query;
    for (int g = 0; g < q->cluster.groups; g++)
        if (!search_group(a, g, all))
            return false;
    if (!search_mixed(a, all) || !query_costs_hold(q, a->err) || !evaluate_all(a, all))
        return false;
    return all->bests > 0 || refuse(a, all);
}

static void fill_report(struct answering *a, const struct totals *all, double elapsed_s)
{
    const struct query *q = a->query;
    const char *line = a->report->query;
    *a->report = (struct search_report){.model = &q->model,
                                        .cluster = &q->cluster,
                                        .rent = q->rent,
                                        .query = line,
                                        .best = all->bests,
                                        .plan = all->best,
                                        .front = all->fronts,
                                        .pareto = all->front,
                                        .funnel = &all->funnel,
                                        .mixed = all->mixed.found ? &all->mixed : NULL,
                                        .elapsed_s = elapsed_s,
                                        .stats = q->search.stats};
    a->report->note = arena_array(a->mem, (size_t)q->terms.rules.count + 6 + CLUSTER_MAX_GROUPS,
                                  sizeof *a->report->note);
    note_rules(a, all);
    note_pool(a, all);
    note_spot(a);
    note_outages(a, all->best);
    a->report->notes += query_profile_notes(q, a->report->note + a->report->notes, a->mem);
    a->report->money = money_answer(q, all->best, all->front, all->fronts, a->mem);
    note_places(a, all->best);
}

bool run_search(struct answering *a)
{
    const struct query *q = a->query;
    double start = a->start_s > 0 ? a->start_s : search_clock_s();
    struct totals *all = arena_alloc(a->mem, sizeof *all);
    all->query = q;
    all->by_rule = arena_array(a->mem, (size_t)q->terms.rules.count, sizeof *all->by_rule);
    if (!query_limits(q, &all->limits, a->err))
        return false;
    results_init(&all->results, &all->limits, q->search.top, a->mem);
    bool ok = search_all(a, all);
    results_release(&all->results);
    if (!ok)
        return false;
    *a->err = (struct error){0};
    fill_report(a, all, search_clock_s() - start);
    return true;
}
