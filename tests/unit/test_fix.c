/* What makes a plan fit: the changes, and the operator at which memory is fullest. */
#include "probe/answer.h"
#include "probe/moves.h"

#include "asked.h"
#include "cost/cost.h"
#include "model/model.h"
#include "report/plan_words.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

struct bench {
    struct asked query;
    struct estimate_query asked;
    struct plan plan;
    struct arena mem;
};

/* Options in pairs of name and value, NULL ends them. */
static void ask(struct bench *b, const char *const *options)
{
    struct error err = {0};
    asked_init(&b->query);
    arena_init(&b->mem);
    for (; options[0]; options += 2)
        if (!asked_set(&b->query, options[0], options[1], &err))
            fail_msg("%s", err.text);
    if (!asked_estimate(&b->query, &b->asked, &err))
        fail_msg("%s", err.text);
    plan_evaluate(&b->asked.scene, &b->asked.strategy, b->asked.layout, &b->mem, &b->plan);
}

static void release(struct bench *b)
{
    asked_release(&b->query);
    arena_release(&b->mem);
}

static const char *const FULL[] = {"model", "llama3-70b", "cluster",      "8x8:H100", "set", "tp=8",
                                   "set",   "pp=4",       "global-batch", "64",       NULL};
static const char *const ROOMY[] = {"model",
                                    "llama3-70b",
                                    "cluster",
                                    "8x8:H100",
                                    "set",
                                    "tp=8",
                                    "set",
                                    "pp=4",
                                    "set",
                                    "dist_opt=1",
                                    "set",
                                    "seq_parallel=1",
                                    "set",
                                    "recompute=full",
                                    "set",
                                    "recompute_method=uniform",
                                    "set",
                                    "recompute_layers=1",
                                    "global-batch",
                                    "64",
                                    NULL};

/* By brute force over the single changes, on their own: none that fits is faster. */
static void no_single_change_is_cheaper(void **state)
{
    struct bench b;
    size_t count;
    int fitting = 0;
    const struct move *move = moves(&count);
    (void)state;
    ask(&b, FULL);
    const struct fix *r = fix_of(&b.query.query, &b.asked, &b.plan, &b.mem);
    assert_non_null(r);
    assert_true(r->fits && !r->searched && !r->numerics && r->change.plan->feasible);
    assert_int_equal(strategy_gpus(&r->change.plan->strategy), strategy_gpus(&b.plan.strategy));
    assert_int_equal(r->change.plan->strategy.global_batch, 64);
    for (size_t i = 0; i < count; i++)
        for (int k = 0; k < move[i].options; k++) {
            struct strategy s = b.asked.strategy;
            double values[SLOTS] = {0};
            struct plan p;
            bool allowed = move[i].saves && !move[i].numerics &&
                           move_apply(&move[i], b.asked.scene.model, &s, k);
            slots_set_fixed(values, b.asked.scene.model, b.asked.scene.group, b.asked.nodes,
                            STACK_TE);
            slots_set_strategy(values, &s);
            for (int n = 0; n < b.asked.rules.count; n++)
                allowed = allowed && rule_allows(&b.asked.rules.rule[n], values);
            if (!allowed)
                continue;
            plan_evaluate(&b.asked.scene, &s, NULL, &b.mem, &p);
            fitting += p.feasible;
            if (p.feasible && p.step_s < r->change.plan->step_s)
                fail_msg("option %d of move %zu is faster", k, i);
        }
    assert_true(fitting > 1);
    release(&b);
}

static void plans_that_fit_or_break_a_rule_get_none(void **state)
{
    struct bench b;
    (void)state;
    ask(&b, ROOMY);
    assert_true(plan_fits(&b.plan));
    assert_null(fix_of(&b.query.query, &b.asked, &b.plan, &b.mem));
    release(&b);
    ask(&b, FULL);
    plan_add_reason(&b.plan, &b.mem, "a rule");
    assert_null(fix_of(&b.query.query, &b.asked, &b.plan, &b.mem));
    release(&b);
}

/* A change keeps the GPUs, and is one. */
static void moves_keep_the_gpus(void **state)
{
    size_t count;
    const struct move *move = moves(&count);
    struct bench b;
    (void)state;
    ask(&b, FULL);
    for (size_t i = 0; i < count; i++)
        for (int k = 0; k < move[i].options; k++) {
            struct strategy s = b.asked.strategy;
            if (!move_apply(&move[i], b.asked.scene.model, &s, k))
                continue;
            assert_int_equal(strategy_gpus(&s), strategy_gpus(&b.asked.strategy));
            assert_int_not_equal(strategy_compare(&s, &b.asked.strategy), 0);
            for (int p = 0; p < PARAMS; p++) {
                int value = strategy_get(&s, (enum param)p);
                assert_in_range(value, param_info((enum param)p)->lo,
                                param_info((enum param)p)->hi);
            }
        }
    release(&b);
}

/* Where nothing fits: more GPUs of this kind, on which there is a plan. */
static void too_few_gpus_are_told(void **state)
{
    static const char *const options[] = {"model", "llama3-405b", "cluster", "1x8:H100",
                                          "set",   "tp=8",        NULL};
    struct bench b;
    (void)state;
    ask(&b, options);
    const struct fix *r = fix_of(&b.query.query, &b.asked, &b.plan, &b.mem);
    assert_non_null(r);
    assert_false(r->fits);
    assert_int_equal(r->gpus, 64); /* as `search` of 1x8:H100 advises */
    assert_false(plan_fits(r->change.plan));
    assert_true(plan_fullest(r->change.plan)->device_bytes < plan_fullest(&b.plan)->device_bytes);
    release(&b);
}

/* The operator named is the one whose bytes are the block's peak. */
static void operator_at_the_peak_has_the_peak(void **state)
{
    static const char *const options[] = {"model", "deepseek-v3", "cluster", "8x8:H100",
                                          "set",   "ep=8",        NULL};
    struct bench b;
    (void)state;
    ask(&b, options);
    for (int kind = BLOCK_ATTENTION; kind <= BLOCK_MTP; kind++) {
        if (kind > BLOCK_ATTENTION && kind < BLOCK_MLP) /* mixers which the model has not */
            continue;
        struct block_shape shape =
            block_shape_of(&b.asked.scene, &b.asked.strategy, (enum block_kind)kind);
        struct op ops[OPS_MAX];
        struct op_time none[OPS_MAX] = {{0}};
        struct block_cost sum;
        size_t n = (size_t)block_ops(&shape, ops);
        block_cost_sum(ops, none, n, &sum);
        struct block_peak at = block_peak_of(ops, n, 0);
        assert_true(at.before + at.own == sum.peak);
        at = block_peak_of(ops, n, 1e15); /* forward then, whatever backward has */
        assert_true(!at.backward && at.before + at.own == sum.forward);
    }
    release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_single_change_is_cheaper),
        cmocka_unit_test(plans_that_fit_or_break_a_rule_get_none),
        cmocka_unit_test(moves_keep_the_gpus),
        cmocka_unit_test(too_few_gpus_are_told),
        cmocka_unit_test(operator_at_the_peak_has_the_peak),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
