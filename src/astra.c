/* The library's face: a question, the stages in their order, an answer. */
#include "astra.h"

#include "advice.h"
#include "base/file.h"
#include "base/json.h"
#include "base/parallel.h"
#include "base/str.h"
#include "gains.h"
#include "learn/fit.h"
#include "mixture.h"
#include "question.h"
#include "remedy.h"
#include "report/plan_words.h"
#include "report/report.h"
#include "report/trace_out.h"
#include "search/mixed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum answer_kind {
    ANSWER_NONE,
    ANSWER_SEARCH,
    ANSWER_PLAN,
    ANSWER_EXPLAIN,
    ANSWER_GPUS,
    ANSWER_FIT,
    ANSWER_MODELS
};

struct astra {
    struct question question;
    struct error error;
    enum answer_kind kind;
    struct arena mem; /* of the answer */
    struct plan plan; /* of an estimate */
    struct search_report report;
    struct str text;
    struct str fit; /* report of a fit */
    void (*progress)(void *context, double done);
    void *progress_context;
};

struct astra *astra_new(void)
{
    struct astra *a = memory_grow(NULL, sizeof *a);
    memset(a, 0, sizeof *a);
    question_init(&a->question);
    arena_init(&a->mem);
    str_init(&a->text);
    str_init(&a->fit);
    return a;
}

void astra_free(struct astra *a)
{
    if (!a)
        return;
    question_release(&a->question);
    arena_release(&a->mem);
    str_release(&a->text);
    str_release(&a->fit);
    free(a);
}

static enum astra_status status_of(const struct astra *a, bool ok)
{
    if (ok)
        return ASTRA_OK;
    switch (a->error.kind) {
    case ERROR_INFEASIBLE:
        return ASTRA_NONE;
    case ERROR_SYSTEM:
        return ASTRA_SYSTEM;
    case ERROR_NONE:
    case ERROR_INPUT:
        break;
    }
    return ASTRA_INPUT;
}

static void begin(struct astra *a)
{
    a->error = (struct error){0};
    a->kind = ANSWER_NONE;
    arena_release(&a->mem);
}

enum astra_status astra_set(struct astra *a, const char *option, const char *value)
{
    a->error = (struct error){0};
    return status_of(a, question_set(&a->question, option, value, &a->error));
}

enum astra_status astra_flags(struct astra *a, size_t count, const char *const *words)
{
    a->error = (struct error){0};
    return status_of(a, question_flags(&a->question, count, words, &a->error));
}

void astra_on_progress(struct astra *a, void (*progress)(void *context, double done), void *context)
{
    a->progress = progress;
    a->progress_context = context;
}

/* The plan object of a file: the file itself, or the first of a search's best. */
static const struct json *plan_of(const struct json *root)
{
    const struct json *best = json_get(root, "best");
    return json_is_array(best) && json_count(best) > 0 ? json_at(best, 0) : root;
}

static bool take_words(struct astra *a, const struct json *flags)
{
    struct question *q = &a->question;
    size_t n = json_count(flags);
    const char **words = arena_array(&q->mem, n + 1, sizeof *words);
    for (size_t i = 0; i < n; i++) {
        if (!json_is_string(json_at(flags, i)))
            return fail(&a->error, ERROR_INPUT, "engine.flags[%zu] is no text", i);
        words[i] = json_text(json_at(flags, i));
    }
    return question_flags(q, n, words, &a->error);
}

/* A group of a plan without what the job makes of it, which the flags say as well. */
static struct json *group_alone(const struct json *group)
{
    static const char *const without[] = {"stages",
#define X(name) #name,
                                          MESH_TABLE(X)
#undef X
    };
    struct json *copy = json_new_copy(group, NULL);
    for (size_t i = 0; i < sizeof without / sizeof *without; i++) {
        struct json *less = json_new_copy(copy, without[i]);
        json_release(copy);
        copy = less;
    }
    return copy;
}

/* The node groups of a plan are those of a cluster file, but for the job: JSON is YAML. `name`
 * is their key. */
static bool take_groups(struct astra *a, const struct json *plan, const char *name)
{
    struct question *q = &a->question;
    const struct json *given = json_get(plan, name), *links = json_get(plan, "links");
    struct json *file = json_new_object(), *groups = json_new_array();
    struct str text;
    if (json_is_object(given))
        json_append(groups, json_new_copy(given, NULL));
    for (size_t i = 0; json_is_array(given) && i < json_count(given); i++)
        json_append(groups, group_alone(json_at(given, i)));
    json_set(file, "groups", groups);
    if (links)
        json_set(file, "links", json_new_copy(links, NULL));
    str_init(&text);
    json_dump(file, &text);
    json_release(file);
    q->has_cluster =
        cluster_from_yaml(&q->cluster, str_text(&text), text.length, name, &q->mem, &a->error);
    str_release(&text);
    return q->has_cluster;
}

static bool take_cluster(struct astra *a, const struct json *plan)
{
    if (json_is_object(json_get(plan, "node_group")))
        return take_groups(a, plan, "node_group");
    if (json_is_array(json_get(plan, "node_groups")))
        return take_groups(a, plan, "node_groups");
    return question_set(&a->question, "cluster", json_text(json_get(plan, "cluster")), &a->error);
}

/* The cluster and the number of GPUs are the plan's, unless the user named a cluster. */
static bool take_pool(struct astra *a, const struct json *plan)
{
    struct question *q = &a->question;
    if (q->has_cluster)
        return true;
    if (!take_cluster(a, plan))
        return false;
    int64_t gpus = json_integer_of(json_get(plan, "gpus"));
    if (!q->gpus && q->cluster.groups == 1 && gpus > 0 && gpus < cluster_max_gpus(&q->cluster))
        q->gpus = gpus;
    return true;
}

static bool take_plan(struct astra *a, const struct json *root)
{
    const struct json *plan = plan_of(root), *flags = json_get(json_get(plan, "engine"), "flags");
    if (!json_is_array(flags) || !json_is_string(json_get(plan, "cluster")))
        return fail(
            &a->error, ERROR_INPUT,
            "no plan of Astra: engine.flags or cluster is missing (write one with --format json)");
    return take_pool(a, plan) && take_words(a, flags);
}

/* What is wrong with the plan in a file names the file. */
static void name_file(struct error *err, const char *path)
{
    struct error inner = *err;
    fail(err, inner.kind, "%s: %s", path, inner.text);
}

enum astra_status astra_load_plan(struct astra *a, const char *path)
{
    struct text text;
    a->error = (struct error){0};
    if (!*path)
        return status_of(
            a, fail(&a->error, ERROR_INPUT, "the name of the plan is empty, expected a file"));
    if (!file_read(path, &a->question.mem, &text, &a->error))
        return status_of(a, false);
    struct json *root = json_parse(text.data, text.length, path, &a->error);
    bool ok = root && take_plan(a, root);
    if (root && !ok)
        name_file(&a->error, path);
    if (root)
        json_release(root);
    return status_of(a, ok);
}

static double now_s(void)
{
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void evaluate(struct astra *a, const struct scene *sc, const struct found *x,
                     struct plan *out)
{
    plan_evaluate(sc, &x->strategy, NULL, &a->mem, out);
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

static void note_rules(struct astra *a, const struct gathering *all)
{
    const struct rules *r = &a->question.rules;
    for (int i = 0; i < r->count; i++) {
        const struct rule *rule = &r->rule[i];
        const char *what = rule_constant(rule) == 1 ? "allows every strategy there is"
                                                    : "dropped nothing that was not dropped before";
        if (all->by_rule[i] == 0)
            a->report.note[a->report.notes++] = arena_format(
                &a->mem, "%s:%d: this rule %s: %s", rule->file, rule->line, what, rule->text);
    }
}

/* What a mixed pool leaves to say: GPUs without a use, arrangements that were given up. */
static void note_pool(struct astra *a, const struct gathering *all)
{
    const struct question *q = &a->question;
    int64_t pool = cluster_max_gpus(&q->cluster), used = all->best[0].gpus;
    if (all->mixed.found && q->gpus == 0 && used < pool)
        a->report.note[a->report.notes++] = arena_format(
            &a->mem,
            "the fastest plan uses %lld of the pool's %lld GPUs: with more it is slower, or "
            "not possible",
            (long long)used, (long long)pool);
    if (all->mixed.unproven > 0)
        a->report.note[a->report.notes++] =
            arena_format(&a->mem,
                         "of %.0f arrangements of stages %.0f were given up at the limit of their "
                         "search: their best split of layers is not proven",
                         all->mixed.problems, all->mixed.unproven);
}

static bool search_group(struct astra *a, int g, struct gathering *all)
{
    struct question *q = &a->question;
    struct rules *rules = arena_alloc(&a->mem, sizeof *rules);
    struct search_question *sq = arena_alloc(&a->mem, sizeof *sq);
    struct search_result *r = &all->result[all->searched];
    if (!question_search(q, g, rules, sq, &a->error))
        return a->error.kind == ERROR_INFEASIBLE; /* too small: another group may do */
    sq->progress = a->progress;
    sq->progress_context = a->progress_context;
    search_run(sq, &a->mem, r);
    all->searched++;
    if (q->check && !check_all(sq, r, &a->error))
        return false;
    struct plan p, *front = arena_array(&a->mem, (size_t)(all->fronts + r->front), sizeof *front);
    for (int i = 0; i < r->best; i++) {
        evaluate(a, &sq->scene, &r->found[i], &p);
        insert_plan(all->best, &all->bests, q->top, &p);
    }
    if (all->fronts > 0)
        memcpy(front, all->front, (size_t)all->fronts * sizeof *front);
    all->front = front;
    for (int i = 0; i < r->front; i++)
        evaluate(a, &sq->scene, &r->pareto[i], &all->front[all->fronts++]);
    add_funnel(&all->funnel, &r->funnel, &a->mem);
    add_rule_counts(q, rules, &r->funnel, all);
    a->report.question = question_line(q, &sq->base, &a->mem);
    return true;
}

static void evaluate_mixed(struct astra *a, const struct mixed_question *mq,
                           const struct mixed_found *x, struct plan *out)
{
    struct mixed_found *kept = arena_alloc(&a->mem, sizeof *kept);
    struct scene sc = mq->scene;
    *kept = *x;
    sc.group = kept->meshes.mesh[0].group;
    sc.meshes = &kept->meshes;
    sc.cluster = mq->cluster;
    plan_evaluate(&sc, &kept->strategy, &kept->layout, &a->mem, out);
    out->flagscale = a->question.engine == ENGINE_FLAGSCALE;
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
static bool search_mixed(struct astra *a, struct gathering *all)
{
    struct question *q = &a->question;
    struct rules *rules = arena_alloc(&a->mem, sizeof *rules);
    struct mixed_question mq;
    struct mixed_result r;
    struct error err = {0};
    if (!question_mixed(q, rules, &mq, &err)) {
        if (err.kind != ERROR_NONE)
            a->error = err;
        return err.kind == ERROR_NONE;
    }
    struct found *known = arena_array(&a->mem, (size_t)all->bests, sizeof *known);
    for (int i = 0; i < all->bests; i++)
        known[i] = (struct found){llround(all->best[i].step_s * TICKS_PER_S), all->best[i].gpus,
                                  all->best[i].strategy};
    mq.known = all->bests;
    mq.known_plan = known;
    mq.progress = a->progress;
    mq.progress_context = a->progress_context;
    mixed_run(&mq, &a->mem, &r);
    struct plan p, *front = arena_array(&a->mem, (size_t)(all->fronts + r.best), sizeof *front);
    if (all->fronts > 0)
        memcpy(front, all->front, (size_t)all->fronts * sizeof *front);
    all->front = front;
    for (int i = 0; i < r.best; i++) {
        evaluate_mixed(a, &mq, &r.found[i], &p);
        if (q->check && !check_mixed(&r.found[i], &p, &a->error))
            return false;
        insert_plan(all->best, &all->bests, q->top, &p);
        all->front[all->fronts++] = p;
    }
    all->mixed = r;
    all->funnel.generated += r.generated;
    all->funnel.judged += r.judged;
    all->funnel.simulated += r.simulated;
    a->report.question = question_line(q, &mq.base, &a->mem);
    return true;
}

enum astra_status astra_search(struct astra *a)
{
    struct question *q = &a->question;
    double start = now_s();
    begin(a);
    if (q->has_flags)
        return status_of(
            a, fail(&a->error, ERROR_INPUT, "search takes no Megatron flags: estimate does"));
    if (!question_ready(q, &a->error))
        return status_of(a, false);
    cluster_join_alike(&q->cluster);
    struct gathering *all = arena_alloc(&a->mem, sizeof *all);
    all->best = arena_array(&a->mem, (size_t)q->top, sizeof *all->best);
    all->by_rule = arena_array(&a->mem, (size_t)q->rules.count, sizeof *all->by_rule);
    for (int g = 0; g < q->cluster.groups; g++)
        if (!search_group(a, g, all))
            return status_of(a, false);
    if (!search_mixed(a, all))
        return status_of(a, false);
    if (!question_costs_hold(q, &a->error))
        return status_of(a, false);
    if (all->bests == 0) {
        advice_write(q, all->result, all->searched, &a->error);
        return status_of(a, false);
    }
    a->error = (struct error){0};
    const char *line = a->report.question;
    all->fronts = join_fronts(all->front, all->fronts, all->searched + all->mixed.best > 1);
    a->report = (struct search_report){.model = &q->model,
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
    a->report.note = arena_array(&a->mem, (size_t)q->rules.count + 2, sizeof *a->report.note);
    note_rules(a, all);
    note_pool(a, all);
    a->kind = ANSWER_SEARCH;
    return ASTRA_OK;
}

/* Where a rule does not hold, to stand before its reason: "" for every group, otherwise the types of
 * those where it does not; NULL when it holds everywhere. */
static const char *where_broken(struct astra *a, const struct estimate_question *e,
                                const struct rule *rule, double (*values)[SLOTS])
{
    int groups = estimate_groups(e), broken = 0;
    const char *where = "";
    for (int g = 0; g < groups; g++) {
        const struct gpu *gpu = estimate_group(e, g)->gpu;
        bool said = false;
        if (rule_allows(rule, values[g]))
            continue;
        for (int h = 0; h < g; h++)
            said = said || (estimate_group(e, h)->gpu == gpu && !rule_allows(rule, values[h]));
        if (!said)
            where = arena_format(&a->mem, "%s%s%s", where, *where ? ", " : "on ", gpu->name);
        broken++;
    }
    return broken == 0 ? NULL : broken == groups ? "" : where;
}

static void judge_rules(struct astra *a, const struct estimate_question *e)
{
    int groups = estimate_groups(e);
    double(*values)[SLOTS] = arena_array(&a->mem, (size_t)groups, sizeof *values);
    for (int g = 0; g < groups; g++)
        estimate_slots(e, g, values[g]);
    for (int i = 0; i < e->reasons.count; i++)
        plan_add_reason(&a->plan, &a->mem, e->reasons.text[i]);
    for (int i = 0; i < e->rules.count; i++) {
        const struct rule *rule = &e->rules.rule[i];
        const char *where = where_broken(a, e, rule, values);
        if (where)
            plan_add_reason(&a->plan, &a->mem,
                            arena_format(&a->mem, "%s%s%s (%s:%d)", where, *where ? ": " : "",
                                         rule->reason, rule->file, rule->line));
    }
}

/* Why stages cannot be placed is among the question's reasons: the simulation only sees that they
 * are not. */
static void evaluate_asked(struct astra *a, const struct estimate_question *e)
{
    plan_evaluate(&e->scene, &e->strategy, e->layout, &a->mem, &a->plan);
    if (!e->placed) {
        a->plan.gpus = e->gpus;
        a->plan.reasons = 0;
    }
    judge_rules(a, e);
}

static enum astra_status estimate(struct astra *a, enum answer_kind kind)
{
    struct estimate_question e;
    begin(a);
    if (!question_ready(&a->question, &a->error) || !question_estimate(&a->question, &e, &a->error))
        return status_of(a, false);
    evaluate_asked(a, &e);
    a->plan.remedy = remedy_of(&a->question, &e, &a->plan, &a->mem);
    if (kind == ANSWER_EXPLAIN && !a->question.stage) {
        a->plan.gains = gains_of(&a->question, &e, &a->plan, &a->mem);
        a->plan.mixture = mixture_of(&a->question, &e, &a->plan, &a->mem);
    }
    if (!question_costs_hold(&a->question, &a->error))
        return status_of(a, false);
    if (a->question.trace && !trace_write(&a->plan, a->question.trace, &a->error))
        return status_of(a, false);
    a->kind = kind;
    if (!a->plan.feasible)
        fail(&a->error, ERROR_INFEASIBLE, "not feasible: %s", a->plan.reason[0]);
    return status_of(a, a->plan.feasible);
}

enum astra_status astra_estimate(struct astra *a)
{
    return estimate(a, ANSWER_PLAN);
}

enum astra_status astra_explain(struct astra *a)
{
    return estimate(a, ANSWER_EXPLAIN);
}

enum astra_status astra_list_gpus(struct astra *a)
{
    begin(a);
    if (!question_models(&a->question, &a->error))
        return status_of(a, false);
    a->kind = ANSWER_GPUS;
    return ASTRA_OK;
}

enum astra_status astra_fit(struct astra *a)
{
    struct question *q = &a->question;
    struct fit_question f = {.profile = q->measured_file,
                             .profiles = q->measured,
                             .sources = q->sources,
                             .models = q->efficiency,
                             .output = q->into,
                             .plots = q->plots,
                             .alone = q->alone,
                             .threads = q->threads ? q->threads : parallel_cores()};
    begin(a);
    str_clear(&a->fit);
    if (!question_fit(q, &a->error) || !fit_run(&f, &a->fit, &a->error))
        return status_of(a, false);
    a->kind = ANSWER_FIT;
    return ASTRA_OK;
}

enum astra_status astra_list_models(struct astra *a)
{
    begin(a);
    a->kind = ANSWER_MODELS;
    return ASTRA_OK;
}

static void print_search(struct astra *a, enum astra_format format,
                         const struct report_style *style)
{
    if (format == ASTRA_JSON)
        report_search_json(&a->report, &a->text);
    else if (format == ASTRA_CSV)
        report_search_csv(&a->report, &a->text);
    else
        report_search_text(&a->report, style, &a->text);
}

static void print_plan(struct astra *a, enum astra_format format, const struct report_style *style)
{
    if (format == ASTRA_JSON)
        report_plan_json(&a->plan, &a->text);
    else if (format == ASTRA_CSV)
        report_plan_csv(&a->plan, &a->text);
    else if (a->kind == ANSWER_EXPLAIN)
        report_explain_text(&a->plan, a->question.stage, style, &a->text);
    else
        report_plan_text(&a->plan, style, &a->text);
}

static const char *print(struct astra *a, enum astra_format format,
                         const struct report_style *style)
{
    str_clear(&a->text);
    if (a->kind == ANSWER_SEARCH)
        print_search(a, format, style);
    else if (a->kind == ANSWER_PLAN || a->kind == ANSWER_EXPLAIN)
        print_plan(a, format, style);
    else if (a->kind == ANSWER_GPUS)
        report_gpus(format, a->question.learned, &a->text);
    else if (a->kind == ANSWER_FIT)
        str_add(&a->text, str_text(&a->fit));
    else if (a->kind == ANSWER_MODELS)
        report_models(format, &a->text);
    return str_text(&a->text);
}

const char *astra_print(struct astra *a, enum astra_format format)
{
    struct report_style style = {0, false};
    return print(a, format, &style);
}

const char *astra_print_terminal(struct astra *a, int columns, bool colour)
{
    struct report_style style = {columns, colour};
    return print(a, ASTRA_TEXT, &style);
}

const char *astra_message(const struct astra *a)
{
    return a->error.text;
}

size_t astra_plan_count(const struct astra *a)
{
    if (a->kind == ANSWER_SEARCH)
        return (size_t)a->report.best;
    return a->kind == ANSWER_PLAN || a->kind == ANSWER_EXPLAIN;
}

static const struct plan *plan_at(const struct astra *a, size_t i)
{
    if (i >= astra_plan_count(a))
        return NULL;
    return a->kind == ANSWER_SEARCH ? &a->report.plan[i] : &a->plan;
}

bool astra_plan_get(const struct astra *a, size_t index, struct astra_plan *out)
{
    const struct plan *p = plan_at(a, index);
    if (!p)
        return false;
    const struct strategy *s = &p->strategy;
    *out = (struct astra_plan){
        .tp = s->tp,
        .cp = s->cp,
        .pp = s->pp,
        .vpp = s->vpp,
        .dp = s->dp,
        .ep = s->ep,
        .etp = s->etp,
        .micro_batch = s->micro_batch,
        .global_batch = s->global_batch,
        .seq_len = s->seq_len,
        .gpus = (long)p->gpus,
        .feasible = p->feasible,
        .step_s = p->step_s,
        .tokens_per_s = p->tokens_per_s,
        .tokens_per_s_per_gpu = p->tokens_per_s_per_gpu,
        .tflops_per_gpu = p->tflops_per_gpu,
        .mfu = p->mfu,
        .expected_error = p->expected_error,
        .usd_per_mtoken = p->usd_per_mtoken,
    };
    for (int i = 0; i < p->stages; i++)
        if (p->stage[i].device_bytes > out->device_bytes) {
            out->device_bytes = p->stage[i].device_bytes;
            out->peak_bytes = p->stage[i].peak_bytes;
        }
    return true;
}

const char *const *astra_plan_flags(struct astra *a, size_t index)
{
    const struct plan *p = plan_at(a, index);
    const char **flags = NULL;
    size_t count = 0;
    if (!p)
        return NULL;
    if (!plan_flags(p, &a->mem, &flags, &count)) {
        fail(&a->error, ERROR_INFEASIBLE, "no flags describe the plan: its layers cannot be split");
        return NULL;
    }
    const char **list = arena_array(&a->mem, count + 1, sizeof *list);
    if (count > 0)
        memcpy(list, flags, count * sizeof *list);
    return list;
}

const struct astra_option *astra_options(void)
{
    static const struct astra_option table[] = {
#define OPTION(id, name, argument, commands, help) {name, argument, commands, help},
#include "options.def"
#undef OPTION
        {0},
    };
    return table;
}

const char *astra_nearest(const char *word, const char *const *names, size_t count)
{
    return nearest_name(word, names, count);
}

const char *astra_version(void)
{
    return ASTRA_VERSION;
}
