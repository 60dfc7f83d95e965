/* The answer of a search: each type alone, then several at once, joined to one list and one front. */
#include "search_answer.h"

#include "advice.h"
#include "base/arena.h"
#include "question.h"
#include "report/report.h"
#include "search/mixed.h"

#include <math.h>
#include <string.h>
#include <time.h>

static double now_s(void)
{
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void evaluate(struct answering *a, const struct scene *sc, const struct found *x,
                     struct plan *out)
{
    plan_evaluate(sc, &x->strategy, NULL, a->mem, out);
}

static bool faster(const struct plan *a, const struct plan *b)
{
    if (a->step_s != b->step_s)
        return a->step_s < b->step_s;
    return strategy_compare(&a->strategy, &b->strategy) < 0;
}

/* Insertion into a list that is sorted, fastest first, and never longer than `limit`. */
static void insert_plan(struct plan *list, int *count, int limit, const struct plan *p)
{
    int at = *count;
    while (at > 0 && faster(p, &list[at - 1]))
        at--;
    if (at == limit)
        return;
    if (*count < limit)
        ++*count;
    for (int i = *count - 1; i > at; i--)
        list[i] = list[i - 1];
    list[at] = *p;
}

static bool dearer_and_slower(const struct plan *p, const struct plan *than)
{
    return than->step_s <= p->step_s && than->usd_per_mtoken <= p->usd_per_mtoken &&
           (than->step_s < p->step_s || than->usd_per_mtoken < p->usd_per_mtoken);
}

/* One type has its front already; several are joined by price. Those without a price stay out. */
static int join_fronts(struct plan *p, int count, bool several)
{
    int kept = 0;
    if (!several)
        return count;
    for (int i = 0; i < count; i++) {
        bool out = p[i].usd_per_mtoken <= 0;
        for (int j = 0; j < count && !out; j++)
            out = j != i && p[j].usd_per_mtoken > 0 && dearer_and_slower(&p[i], &p[j]);
        if (!out)
            p[kept++] = p[i];
    }
    return kept;
}

static bool check_all(const struct search_question *sq, const struct search_result *r,
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

struct gathering {
    struct search_result result[CLUSTER_MAX_GROUPS];
    int searched;
    struct plan *best, *front;
    int bests, fronts;
    struct funnel funnel;
    double *by_rule; /* [user rules] dropped in all groups */
    struct mixed_result mixed;
};

/* The user's rules are the last of all. */
static void add_rule_counts(const struct question *q, const struct rules *rules,
                            const struct funnel *f, struct gathering *all)
{
    for (int i = 0; i < q->rules.count; i++)
        all->by_rule[i] += f->by_rule[rules->count - q->rules.count + i];
}

static void note_rules(struct answering *a, const struct gathering *all)
{
    const struct rules *r = &a->question->rules;
    for (int i = 0; i < r->count; i++) {
        const struct rule *rule = &r->rule[i];
        const char *what = rule_constant(rule) == 1 ? "allows every strategy there is"
                                                    : "dropped nothing that was not dropped before";
        if (all->by_rule[i] == 0)
            a->report->note[a->report->notes++] = arena_format(
                a->mem, "%s:%d: this rule %s: %s", rule->file, rule->line, what, rule->text);
    }
}

/* What a mixed pool leaves to say: GPUs without a use, arrangements that were given up. */
static void note_pool(struct answering *a, const struct gathering *all)
{
    const struct question *q = a->question;
    int64_t pool = cluster_max_gpus(&q->cluster), used = all->best[0].gpus;
    if (all->mixed.found && q->gpus == 0 && used < pool)
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

static bool search_group(struct answering *a, int g, struct gathering *all)
{
    struct question *q = a->question;
    struct rules *rules = arena_alloc(a->mem, sizeof *rules);
    struct search_question *sq = arena_alloc(a->mem, sizeof *sq);
    struct search_result *r = &all->result[all->searched];
    if (!question_search(q, g, rules, sq, a->err))
        return a->err->kind == ERROR_INFEASIBLE; /* too small: another group may do */
    sq->progress = a->progress;
    sq->progress_context = a->progress_context;
    search_run(sq, a->mem, r);
    all->searched++;
    if (q->check && !check_all(sq, r, a->err))
        return false;
    struct plan p, *front = arena_array(a->mem, (size_t)(all->fronts + r->front), sizeof *front);
    for (int i = 0; i < r->best; i++) {
        evaluate(a, &sq->scene, &r->found[i], &p);
        insert_plan(all->best, &all->bests, q->top, &p);
    }
    if (all->fronts > 0)
        memcpy(front, all->front, (size_t)all->fronts * sizeof *front);
    all->front = front;
    for (int i = 0; i < r->front; i++)
        evaluate(a, &sq->scene, &r->pareto[i], &all->front[all->fronts++]);
    add_funnel(&all->funnel, &r->funnel, a->mem);
    add_rule_counts(q, rules, &r->funnel, all);
    a->report->question = question_line(q, &sq->base, a->mem);
    return true;
}

static void evaluate_mixed(struct answering *a, const struct mixed_question *mq,
                           const struct mixed_found *x, struct plan *out)
{
    struct mixed_found *kept = arena_alloc(a->mem, sizeof *kept);
    struct scene sc = mq->scene;
    *kept = *x;
    sc.group = kept->meshes.mesh[0].group;
    sc.meshes = &kept->meshes;
    sc.cluster = mq->cluster;
    plan_evaluate(&sc, &kept->strategy, &kept->layout, a->mem, out);
    out->flagscale = a->question->engine == ENGINE_FLAGSCALE;
}

/* From scratch it is as fast as the search says, and fits. */
static bool check_mixed(const struct mixed_found *x, const struct plan *p, struct error *err)
{
    double ticks = p->computed ? p->step_s * TICKS_PER_S : 0;
    if (p->feasible && fabs(ticks - (double)x->step) <= 1 + 1e-12 * (double)x->step)
        return true;
    return fail(
        err, ERROR_SYSTEM,
        "check: the search says %lld ps a step on several types, from scratch it is %.0f ps%s",
        (long long)x->step, ticks, p->feasible ? "" : " and does not fit");
}

/* Jobs on several types, where the pool is of that kind. */
static bool search_mixed(struct answering *a, struct gathering *all)
{
    struct question *q = a->question;
    struct rules *rules = arena_alloc(a->mem, sizeof *rules);
    struct mixed_question mq;
    struct mixed_result r;
    struct error err = {0};
    if (!question_mixed(q, rules, &mq, &err)) {
        if (err.kind != ERROR_NONE)
            *a->err = err;
        return err.kind == ERROR_NONE;
    }
    struct found *known = arena_array(a->mem, (size_t)all->bests, sizeof *known);
    for (int i = 0; i < all->bests; i++)
        known[i] = (struct found){llround(all->best[i].step_s * TICKS_PER_S), all->best[i].gpus,
                                  all->best[i].strategy};
    mq.known = all->bests;
    mq.known_plan = known;
    mq.progress = a->progress;
    mq.progress_context = a->progress_context;
    mixed_run(&mq, a->mem, &r);
    struct plan p, *front = arena_array(a->mem, (size_t)(all->fronts + r.best), sizeof *front);
    if (all->fronts > 0)
        memcpy(front, all->front, (size_t)all->fronts * sizeof *front);
    all->front = front;
    for (int i = 0; i < r.best; i++) {
        evaluate_mixed(a, &mq, &r.found[i], &p);
        if (q->check && !check_mixed(&r.found[i], &p, a->err))
            return false;
        insert_plan(all->best, &all->bests, q->top, &p);
        all->front[all->fronts++] = p;
    }
    all->mixed = r;
    all->funnel.generated += r.generated;
    all->funnel.judged += r.judged;
    all->funnel.simulated += r.simulated;
    a->report->question = question_line(q, &mq.base, a->mem);
    return true;
}

bool search_answer(struct answering *a)
{
    struct question *q = a->question;
    double start = now_s();
    if (q->has_flags)
        return fail(a->err, ERROR_INPUT, "search takes no Megatron flags: estimate does");
    if (!question_ready(q, a->err))
        return false;
    cluster_join_alike(&q->cluster);
    struct gathering *all = arena_alloc(a->mem, sizeof *all);
    all->best = arena_array(a->mem, (size_t)q->top, sizeof *all->best);
    all->by_rule = arena_array(a->mem, (size_t)q->rules.count, sizeof *all->by_rule);
    for (int g = 0; g < q->cluster.groups; g++)
        if (!search_group(a, g, all))
            return false;
    if (!search_mixed(a, all) || !question_costs_hold(q, a->err))
        return false;
    if (all->bests == 0) {
        advice_write(q, all->result, all->searched, a->err);
        return false;
    }
    *a->err = (struct error){0};
    const char *line = a->report->question;
    all->fronts = join_fronts(all->front, all->fronts, all->searched + all->mixed.best > 1);
    *a->report = (struct search_report){.model = &q->model,
                                        .cluster = &q->cluster,
                                        .question = line,
                                        .best = all->bests,
                                        .plan = all->best,
                                        .front = all->fronts,
                                        .pareto = all->front,
                                        .funnel = &all->funnel,
                                        .mixed = all->mixed.found ? &all->mixed : NULL,
                                        .elapsed_s = now_s() - start,
                                        .stats = q->stats};
    a->report->note = arena_array(a->mem, (size_t)q->rules.count + 2, sizeof *a->report->note);
    note_rules(a, all);
    note_pool(a, all);
    return true;
}
