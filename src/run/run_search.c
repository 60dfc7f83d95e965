/* The answer of a search: each type alone, then several at once, joined to one list and one
 * front. */
#include "run/totals.h"

#include "base/arena.h"
#include "probe/advice.h"
#include "query/defaults.h"
#include "report/report.h"
#include "run/any_engine.h"
#include "run/numerics_gain.h"
#include "run/scout.h"

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

/* The user's rules are the last of all. */
static void add_rule_counts(const struct query *q, const struct rules *rules,
                            const struct funnel *f, struct totals *all)
{
    int count = q->terms.rules.count;
    for (int i = 0; i < count; i++)
        all->by_rule[i] += f->by_rule[rules->count - count + i];
}

static bool pose_group(struct answering *a, int g, struct totals *all)
{
    const struct query *q = all->query;
    struct search_query *sq = arena_alloc(a->mem, sizeof *sq);
    if (!query_search(q, g, a->mem, sq, a->err))
        return a->err->kind == ERROR_INFEASIBLE; /* too small: another group may do */
    sq->limits = &all->limits;
    sq->results = &all->results;
    sq->stop = &all->stop;
    sq->progress = a->progress ? tell_progress : NULL;
    sq->progress_context = progress_part_of(a, g);
    all->of[g] = sq;
    all->open[g] = true;
    a->report->query = query_line(q, &sq->base, a->mem);
    return true;
}

/* Jobs on several types, where the pool is of that kind. */
static bool pose_mixed(struct answering *a, struct totals *all)
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
    mq->stop = &all->stop;
    mq->front = true;
    mq->progress = a->progress ? tell_progress : NULL;
    mq->progress_context = progress_part_of(a, a->query->cluster.groups);
    all->open[a->query->cluster.groups] = true;
    a->report->query = query_line(a->query, &mq->base, a->mem);
    return true;
}

static bool add_group(struct answering *a, int g, struct totals *all)
{
    const struct query *q = all->query;
    const struct search_query *sq = all->of[g];
    const struct search_result *r = &all->result[g];
    if (q->search.check && !check_all(sq, r, a->err))
        return false;
    add_funnel(&all->funnel, &r->funnel, a->mem);
    add_rule_counts(q, sq->rules, &r->funnel, all);
    all->result[all->searched++] = *r;
    return true;
}

static void add_mixed(struct totals *all)
{
    int count = all->query->terms.rules.count;
    for (int i = 0; i < count && all->mixed.refused; i++)
        all->by_rule[i] += all->mixed.refused[all->several.rules->count - count + i];
    all->funnel.generated += all->mixed.generated;
    all->funnel.judged += all->mixed.judged;
    all->funnel.simulated += all->mixed.simulated;
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

/* Of a job on several types. */
static struct scene mixed_scene(const struct totals *all, const struct found *x)
{
    struct scene sc = all->several.scene;
    sc.group = x->group;
    sc.meshes = &x->mixed->meshes;
    sc.cluster = all->several.cluster;
    return sc;
}

static bool evaluate(struct answering *a, const struct totals *all, const struct found *x,
                     struct plan *out)
{
    const struct query *q = all->query;
    if (!x->mixed) {
        const struct search_query *sq = all->of[x->group - q->cluster.group];
        plan_evaluate(&sq->scene, &x->strategy, NULL, a->mem, out);
        plan_mind(out, sq->cautions, a->mem);
        out->expert_room = expert_room_of(out);
        return true;
    }
    struct scene sc = mixed_scene(all, x);
    plan_evaluate(&sc, &x->strategy, &x->mixed->layout, a->mem, out);
    plan_mind(out, all->several.cautions, a->mem);
    out->expert_room = expert_room_of(out);
    out->flagscale = q->terms.engine == ASK_FLAGSCALE;
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
    if (count > 0)
        all->first = list[0];
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
                    "no run is expected to finish: with these outages a checkpoint is hardly ever "
                    "reached on any number of GPUs (--mtbf, --interruptions, --restart, "
                    "--checkpoint-every)");
    advice_write(calm, all->result, all->searched, a->err);
    return false;
}

/* Stopped before anything was found. */
static bool refuse_early(struct answering *a)
{
    return fail(a->err, ERROR_INFEASIBLE,
                "no plan was found before the search was stopped: allow more time (--time-limit), "
                "or narrow the search (--set, --gpus)");
}

static bool search_all(struct answering *a, struct totals *all)
{
    const struct query *q = a->query;
    int groups = q->cluster.groups;
    for (int g = 0; g < groups; g++)
        if (!pose_group(a, g, all))
            return false;
    if (!pose_mixed(a, all))
        return false;
    totals_search(a, all);
    for (int g = 0; g < groups; g++)
        if (all->of[g] && !add_group(a, g, all))
            return false;
    add_mixed(all);
    if (!evaluate_all(a, all))
        return false;
    return all->bests > 0 || (totals_open(all, 0) > 0 ? refuse_early(a) : refuse(a, all));
}

/* Seconds of a step of plan 1's layout with production numerics; 0 where they were asked for. */
static double production_step(struct answering *a, const struct totals *all)
{
    const struct found *x = &all->first;
    if (a->query->terms.numerics == NUMERICS_PRODUCTION || all->bests == 0 ||
        strategy_on_hf(&x->strategy))
        return 0;
    struct scene sc = x->mixed ? mixed_scene(all, x) : (struct scene){0};
    return numerics_gain(a->query, x, &sc, a->mem);
}

/* The least objective of what was found, whatever its cautions. */
static double best_key(const struct totals *all)
{
    const struct shortlist *best = &all->results.best;
    double least = INFINITY;
    for (int i = 0; i < best->count; i++)
        for (int k = 0; k < best->row[i].count; k++)
            least = fmin(least, score_key(&all->limits, &best->row[i].variant[k].score));
    return least;
}

/* How far that is, at most, above the least of what was not looked at. */
static void fill_gap(const struct totals *all, struct search_report *out)
{
    double open = all->mixed.found ? all->mixed.open_key : INFINITY, best = best_key(all);
    out->left = all->mixed.left;
    for (int i = 0; i < all->searched; i++) {
        open = fmin(open, all->result[i].open_key);
        out->left += all->result[i].left;
    }
    out->open = out->left > 0 || all->mixed.unproven > 0;
    out->gap = open <= 0 ? INFINITY : fmax(0, best / open - 1);
}

static void fill_report(struct answering *a, const struct totals *all, double elapsed_s)
{
    const struct query *q = a->query;
    const char *line = a->report->query;
    *a->report = (struct search_report){.model = &q->model,
                                        .cluster = &q->cluster,
                                        .rent = q->rent,
                                        .query = line,
                                        .defaults = defaults_used(q->given, a->mem),
                                        .best = all->bests,
                                        .plan = all->best,
                                        .front = all->fronts,
                                        .pareto = all->front,
                                        .funnel = &all->funnel,
                                        .mixed = all->mixed.found ? &all->mixed : NULL,
                                        .elapsed_s = elapsed_s,
                                        .stats = q->search.stats};
    a->report->money = money_answer(q, all->best, all->front, all->fronts, a->mem);
    totals_note(a, all);
}

/* Not where time is short: the table would take as long again. */
static void add_offers(struct answering *a)
{
    const struct query *q = a->query;
    if (!asks_offers(q) || a->report->open || q->search.limit_s > 0 || !a->report->money)
        return;
    if (a->progress)
        a->progress(a->progress_context, a->done_before + a->share * (1 - OFFERS_SHARE));
    a->report->offers =
        offers_of(q, &a->report->plan[0], a->report->money->binds != LIMIT_NONE, a->mem);
}

bool run_search(struct answering *a)
{
    double start = a->start_s > 0 ? a->start_s : search_clock_s();
    struct engines_said said = {0};
    const struct query *q = a->query = any_engine(a, &said);
    struct totals *all = arena_alloc(a->mem, sizeof *all);
    all->query = q;
    all->by_rule = arena_array(a->mem, (size_t)q->terms.rules.count, sizeof *all->by_rule);
    if (!query_limits(q, &all->limits, a->err))
        return false;
    results_init(&all->results, &all->limits, q->search.top, a->mem);
    all->until_s = q->search.limit_s > 0 ? stop_clock_s() + q->search.limit_s : INFINITY;
    all->stop = (struct stop){
        .asked = a->cancel, .wish = a->cancelled, .wish_context = a->cancelled_context};
    bool ok = search_all(a, all);
    double production_s = ok ? production_step(a, all) : 0;
    struct search_report gap = {0};
    fill_gap(all, &gap);
    results_release(&all->results);
    if (!ok)
        return false;
    *a->err = (struct error){0};
    fill_report(a, all, search_clock_s() - start);
    for (int i = 0; i < said.count; i++)
        a->report->note[a->report->notes++] = said.text[i];
    a->report->production_s = production_s;
    a->report->open = gap.open;
    a->report->left = gap.left;
    a->report->gap = gap.gap;
    add_offers(a);
    return true;
}
