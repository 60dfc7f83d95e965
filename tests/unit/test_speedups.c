/* What would gain most: against brute force over the single changes, against the search, and word
 * for word as --set takes it. */
#include "probe/answer.h"
#include "probe/moves.h"

#include "asked.h"
#include "report/plan_words.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))

struct bench {
    struct asked query;
    struct estimate_query asked;
    struct plan plan;
    const struct fix *fix;
    struct arena mem;
};

struct job {
    const char *model, *cluster, *batch;
    const char *set; /* parameters, each followed by a blank */
};

static void set_option(struct asked *q, const char *name, const char *value)
{
    struct error err = {0};
    if (!asked_set(q, name, value, &err))
        fail_msg("%s", err.text);
}

static void ask(struct bench *b, const struct job *job)
{
    struct error err = {0};
    asked_init(&b->query);
    arena_init(&b->mem);
    set_option(&b->query, "model", job->model);
    set_option(&b->query, "cluster", job->cluster);
    set_option(&b->query, "global-batch", job->batch);
    for (const char *at = job->set, *end; *at; at = end + 1) {
        char word[64] = "";
        end = strchr(at, ' ');
        assert_true(end && (size_t)(end - at) < sizeof word);
        memcpy(word, at, (size_t)(end - at));
        set_option(&b->query, "set", word);
    }
    if (!asked_estimate(&b->query, &b->asked, &err))
        fail_msg("%s", err.text);
    plan_evaluate(&b->asked.scene, &b->asked.strategy, b->asked.layout, &b->mem, &b->plan);
    b->fix = fix_of(&b->query.query, &b->asked, &b->plan, &b->mem);
}

static void release(struct bench *b)
{
    asked_release(&b->query);
    arena_release(&b->mem);
}

/* The last does not fit without its fix. */
static const struct job JOBS[] = {
    {"gpt3-175b", "64x8:A100", "1536",
     "tp=8 pp=8 recompute=full recompute_method=uniform recompute_layers=1 "},
    {"mixtral-8x7b", "8x8:H100", "512",
     "ep=8 pp=2 cp=2 dispatcher=alltoall dist_opt=on vpp=2 p2p_overlap=on recompute=selective "
     "recompute_modules=moe+layernorm "},
    {"deepseek-v3", "64x8:H100", "4096",
     "tp=2 pp=8 ep=32 etp=2 seq_parallel=on dispatcher=alltoall grouped_gemm=on split=uneven "
     "fsdp=optim dist_opt=on recompute=full recompute_method=block recompute_layers=8 "},
    {"llama3-8b", "2x8:H100", "64",
     "tp=2 micro_batch=2 seq_parallel=on tp_overlap=on loss_fusion=on dist_opt=on "
     "precision_aware=on optimizer_offload=100 "},
    {"llama3-70b", "8x8:H100", "64", "tp=8 pp=4 "},
};
enum { DENSE, EXPERTS };

static const struct speedups *speedups_from(struct bench *b, const struct job *job)
{
    ask(b, job);
    const struct speedups *g = speedups_of(&b->query.query, &b->asked, &b->plan, b->fix, &b->mem);
    assert_non_null(g);
    assert_true(g->from->feasible);
    assert_ptr_equal(g->from, b->plan.feasible ? &b->plan : b->fix->change.plan);
    return g;
}

/* Of an estimate, and of a search where the plan that is changed follows them. */
static bool allowed(const struct bench *b, const struct rules *sense, const struct strategy *from,
                    const struct strategy *s)
{
    double before[SLOTS] = {0}, then[SLOTS] = {0};
    const struct scene *scene = &b->asked.scene;
    slots_set_fixed(before, scene->model, scene->group, b->asked.nodes, scene_stack(scene));
    memcpy(then, before, sizeof then);
    slots_set_strategy(before, from);
    slots_set_strategy(then, s);
    for (int i = 0; i < b->asked.rules.count; i++)
        if (!rule_allows(&b->asked.rules.rule[i], then))
            return false;
    for (int i = 0; i < sense->count; i++)
        if (rule_allows(&sense->rule[i], before) && !rule_allows(&sense->rule[i], then))
            return false;
    return true;
}

static bool changes_all_of(const struct strategy *from, const struct strategy *a,
                           const struct strategy *b)
{
    for (int i = 0; i < PARAMS; i++) {
        enum param p = (enum param)i;
        if (strategy_get(b, p) != strategy_get(from, p) && strategy_get(a, p) != strategy_get(b, p))
            return false;
    }
    return true;
}

static bool said_by_another(const struct speedups *g, const struct strategy *s)
{
    const struct strategy *from = &g->from->strategy;
    for (int i = 0; i < g->count; i++) {
        const struct strategy *listed = &g->speedup[i].change.plan->strategy;
        if (changes_all_of(from, s, listed) || changes_all_of(from, listed, s))
            return true;
    }
    return false;
}

/* The fastest of one kind, or false; every strategy evaluated whole, one by one. */
static bool best_of_kind(struct bench *b, const struct rules *sense, const struct plan *from,
                         const struct move *move, struct plan *best)
{
    bool found = false;
    struct arena mem;
    arena_init(&mem);
    for (int k = 0; k < move->options; k++) {
        struct strategy s = from->strategy;
        struct plan p;
        if (move->numerics || !move_apply(move, b->asked.scene.model, &s, k) ||
            !allowed(b, sense, &from->strategy, &s))
            continue;
        arena_clear(&mem);
        plan_evaluate(&b->asked.scene, &s, b->asked.layout, &mem, &p);
        if (p.feasible && (!found || p.step_s < best->step_s)) {
            found = true;
            *best = p;
        }
    }
    arena_release(&mem);
    return found;
}

/* The first is the fastest of all single changes; what is worth 1 % and not there is slower than
 * those that are, or part of one of them. */
static void no_single_change_gains_more(void **state)
{
    size_t count;
    const struct move *move = moves(&count);
    (void)state;
    for (size_t n = 0; n < COUNT(JOBS); n++) {
        struct bench b;
        struct rules sense;
        const struct speedups *g = speedups_from(&b, &JOBS[n]);
        double fastest = 0.99 * g->from->step_s;
        int kinds = 0;
        rules_init(&sense);
        assert_true(rules_add_sense(&sense, &b.mem, NULL));
        assert_true(g->count > 0);
        for (size_t i = 0; i < count; i++) {
            struct plan best;
            if (!best_of_kind(&b, &sense, g->from, &move[i], &best) ||
                best.step_s > 0.99 * g->from->step_s)
                continue;
            kinds++;
            fastest = best.step_s < fastest ? best.step_s : fastest;
            bool slower = g->count == SPEEDUPS_MAX &&
                          best.step_s >= g->speedup[g->count - 1].change.plan->step_s;
            if (!slower && !said_by_another(g, &best.strategy))
                fail_msg("job %zu: move %zu gains more", n, i);
        }
        assert_true(kinds >= g->count);
        assert_true(fastest == g->speedup[0].change.plan->step_s);
        release(&b);
    }
}

/* As a user would do it: the settings of the query with those of the change in their place. */
static void settings_give_the_step(const struct bench *b, const struct change *c)
{
    struct setting settings[PARAMS] = {0};
    struct error err = {0};
    struct strategy s = b->asked.strategy;
    struct arena mem;
    struct plan p;
    arena_init(&mem);
    for (size_t i = 0; i < c->sets; i++)
        if (!setting_parse(settings, c->set[i], &err))
            fail_msg("%s", err.text);
    for (int i = 0; i < PARAMS; i++)
        if (settings[i].count)
            strategy_set(&s, (enum param)i, settings[i].value[0]);
    plan_evaluate(&b->asked.scene, &s, NULL, &mem, &p);
    assert_true(p.feasible);
    assert_true(p.step_s == c->plan->step_s);
    arena_release(&mem);
}

static void changes_keep_the_job(const struct bench *b, const struct change *c)
{
    const struct strategy *s = &c->plan->strategy;
    assert_int_equal(strategy_gpus(s), strategy_gpus(&b->asked.strategy));
    for (int i = 0; i < PARAMS; i++) {
        enum param p = (enum param)i;
        enum param_differs differs = param_info(p)->differs;
        if (differs == DIFFERS_JOB || differs == DIFFERS_NUMERICS)
            assert_int_equal(strategy_get(s, p), strategy_get(&b->asked.strategy, p));
    }
}

static void changes_keep_their_word(void **state)
{
    (void)state;
    for (size_t n = 0; n < COUNT(JOBS); n++) {
        struct bench b;
        const struct speedups *g = speedups_from(&b, &JOBS[n]);
        double before = 0;
        for (int i = 0; i < g->count; i++) {
            const struct speedup *x = &g->speedup[i];
            const struct plan *then = x->change.plan;
            assert_true(then->step_s <= 0.99 * g->from->step_s && then->step_s >= before);
            assert_true(then->breakdown[x->part] < g->from->breakdown[x->part]);
            changes_keep_the_job(&b, &x->change);
            settings_give_the_step(&b, &x->change);
            before = then->step_s;
        }
        assert_true(g->found);
        changes_keep_the_job(&b, &g->searched);
        settings_give_the_step(&b, &g->searched);
        release(&b);
    }
}

/* One search answers whether there is anything left to gain. */
static void best_plans_have_nothing_to_gain(void **state)
{
    static const struct job jobs[] = {{"llama3-8b", "2x8:H100", "512", ""},
                                      {"llama3-70b", "8x8:H100", "512", ""},
                                      {"gpt3-175b", "64x8:A100", "512", ""},
                                      {"mixtral-8x7b", "4x8:H100", "512", ""},
                                      {"deepseek-v3", "64x8:H100", "512", ""}};
    (void)state;
    for (size_t n = 0; n < COUNT(jobs); n++) {
        struct bench b;
        struct search_query sq;
        struct search_result result;
        ask(&b, &jobs[n]);
        b.query.query.terms.gpus = cluster_max_gpus(&b.query.query.cluster);
        assert_true(query_search(&b.query.query, 0, &b.mem, &sq, NULL));
        search_run(&sq, &b.mem, &result);
        assert_true(result.best > 0);
        b.asked.strategy = result.found[0].strategy;
        plan_evaluate(&sq.scene, &b.asked.strategy, NULL, &b.mem, &b.plan);
        const struct speedups *g = speedups_of(&b.query.query, &b.asked, &b.plan, NULL, &b.mem);
        assert_non_null(g);
        assert_int_equal(g->count, 0);
        assert_true(g->found && g->searched.plan->step_s == b.plan.step_s);
        assert_int_equal(g->searched.sets, 0);
        release(&b);
    }
}

static void threads_do_not_matter(void **state)
{
    struct bench one, many;
    (void)state;
    ask(&one, &JOBS[EXPERTS]);
    ask(&many, &JOBS[EXPERTS]);
    one.query.query.search.threads = 1;
    many.query.query.search.threads = 5;
    const struct speedups *a =
        speedups_of(&one.query.query, &one.asked, &one.plan, one.fix, &one.mem);
    const struct speedups *b =
        speedups_of(&many.query.query, &many.asked, &many.plan, many.fix, &many.mem);
    assert_int_equal(a->count, b->count);
    for (int i = 0; i < a->count; i++)
        assert_int_equal(strategy_compare(&a->speedup[i].change.plan->strategy,
                                          &b->speedup[i].change.plan->strategy),
                         0);
    assert_int_equal(strategy_compare(&a->searched.plan->strategy, &b->searched.plan->strategy), 0);
    release(&one);
    release(&many);
}

static void plans_that_cannot_run_have_no_gains(void **state)
{
    static const struct job never = {"llama3-405b", "1x8:H100", "8", "tp=8 "};
    struct bench b;
    (void)state;
    ask(&b, &never); /* no fix fits */
    assert_null(speedups_of(&b.query.query, &b.asked, &b.plan, b.fix, &b.mem));
    release(&b);
    ask(&b, &JOBS[DENSE]);
    plan_add_reason(&b.plan, &b.mem, "a rule");
    assert_null(speedups_of(&b.query.query, &b.asked, &b.plan, b.fix, &b.mem));
    release(&b);
}

/* Whatever the plan: a change keeps the GPUs, changes something, and stays in range. Every kind
 * applies to one of the jobs at least. */
static void moves_are_changes(void **state)
{
    size_t count;
    const struct move *move = moves(&count);
    int applied[64] = {0};
    (void)state;
    assert_true(count <= COUNT(applied));
    for (size_t n = 0; n < COUNT(JOBS); n++) {
        struct bench b;
        ask(&b, &JOBS[n]);
        for (size_t i = 0; i < count; i++)
            for (int k = 0; k < move[i].options; k++) {
                struct strategy s = b.asked.strategy;
                if (!move_apply(&move[i], b.asked.scene.model, &s, k))
                    continue;
                applied[i]++;
                assert_int_equal(strategy_gpus(&s), strategy_gpus(&b.asked.strategy));
                assert_int_not_equal(strategy_compare(&s, &b.asked.strategy), 0);
                for (int p = 0; p < PARAMS; p++)
                    assert_in_range(strategy_get(&s, (enum param)p), param_info((enum param)p)->lo,
                                    param_info((enum param)p)->hi);
            }
        release(&b);
    }
    for (size_t i = 0; i < count; i++)
        if (!applied[i])
            fail_msg("move %zu never applies", i);
}

/* The way of context parallelism goes with it. */
static void one_rank_has_no_way_of_context(void **state)
{
    size_t count;
    const struct move *move = moves(&count);
    struct bench b;
    int ended = 0;
    (void)state;
    ask(&b, &JOBS[DENSE]);
    for (int way = CP_P2P; way <= CP_ALLGATHER; way++)
        for (size_t i = 0; i < count; i++)
            for (int k = 0; k < move[i].options; k++) {
                struct strategy s = b.asked.strategy;
                s.cp = 2;
                s.cp_comm = way;
                if (!move_apply(&move[i], b.asked.scene.model, &s, k) || s.cp > 1)
                    continue;
                assert_int_equal(s.cp_comm, CP_P2P);
                ended++;
            }
    assert_true(ended >= 3);
    release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_single_change_gains_more),
        cmocka_unit_test(changes_keep_their_word),
        cmocka_unit_test(best_plans_have_nothing_to_gain),
        cmocka_unit_test(threads_do_not_matter),
        cmocka_unit_test(plans_that_cannot_run_have_no_gains),
        cmocka_unit_test(moves_are_changes),
        cmocka_unit_test(one_rank_has_no_way_of_context),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
