/* The order of plans: complexity by hand, lists of made-up plans chosen by the definition, and rules
 * that know what a search has fixed. */
#include "order_reference.h"

#include "random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <stdio.h>

#include <cmocka.h>

static void complexity_is_a_sum(void **state)
{
    struct strategy s;
    (void)state;
    strategy_init(&s);
    assert_int_equal(strategy_complexity(&s), 0);
    s.dp = 64;
    s.micro_batch = 4;
    s.dist_opt = s.overlap_grad_reduce = s.overlap_param_gather = s.seq_parallel = 1;
    assert_int_equal(strategy_complexity(&s), 0); /* what everybody has */
    s.tp = 8;
    s.pp = 6;
    s.vpp = 3;
    assert_int_equal(strategy_complexity(&s), 3 + 3 + 2); /* doublings that reach them */
    s.split = SPLIT_UNEVEN;
    s.recompute = RECOMPUTE_SELECTIVE;
    s.recompute_modules = MODULE_LAYERNORM | MODULE_MLP;
    assert_int_equal(strategy_complexity(&s), 8 + 1 + 1 + 2);
    s.precision_aware = 1;
    s.optimizer_offload = 50;
    s.tp_overlap = 1;
    assert_int_equal(strategy_complexity(&s), 12 + 1 + 3 + 2);
    s.ep = 8;
    s.dispatcher = DISPATCH_FLEX;
    s.cuda_graph = GRAPH_LOCAL;
    s.fsdp = FSDP_FULL;
    assert_int_equal(strategy_complexity(&s), 18 + 3 + 2 + 1 + 2);
}

static void trouble_has_an_order(void **state)
{
    (void)state;
    assert_true(trouble_of(0, false, 500) < trouble_of(0, true, 0));
    assert_true(trouble_of(0, true, 500) < trouble_of(1, false, 0));
    assert_true(trouble_of(1, false, 3) < trouble_of(1, false, 4));
    assert_int_equal(trouble_cautions(trouble_of(7, true, 500)), 7);
}

static struct found made_up(int64_t step, int tp, int micro_batch, unsigned trouble,
                            const struct limits *w)
{
    static const struct rental free = {.usd_per_h = 1, .slowdown = 1};
    struct found x = {.step = step, .trouble = trouble};
    strategy_init(&x.strategy);
    x.strategy.tp = tp;
    x.strategy.micro_batch = micro_batch;
    found_judge(&x, w, &free);
    return x;
}

static struct limits within(double resolution, enum row_of row)
{
    struct limits w = SPEED_ALONE;
    w.resolution = resolution;
    w.row = row;
    return w;
}

/* Steps of the list of some plans, one after the other. */
static void lists(const struct limits *w, const struct found *x, int count, const int64_t *steps)
{
    struct arena mem = {0};
    struct shortlist l;
    struct found out[8];
    shortlist_init(&l, w, 3, &mem);
    for (int i = 0; i < count; i++)
        shortlist_add(&l, &x[i]);
    int n = shortlist_rank(&l, out);
    for (int i = 0; i < n; i++)
        assert_int_equal(out[i].step, steps[i]);
    assert_int_equal(steps[n], 0);
    arena_release(&mem);
}

static void sense_decides_within_the_resolution(void **state)
{
    struct limits w = within(0.01, ROW_LAYOUT), exact = within(0, ROW_LAYOUT),
                  kinds = within(0.01, ROW_KIND);
    unsigned plain = trouble_of(0, false, 3), simple = trouble_of(0, false, 2),
             full = trouble_of(0, true, 0), caution = trouble_of(1, false, 0);
    (void)state;
    struct found x[] = {made_up(1000, 1, 1, full, &w),   made_up(1009, 1, 2, simple, &w),
                        made_up(1005, 2, 1, plain, &w),  made_up(1011, 2, 2, simple, &w),
                        made_up(927, 4, 1, caution, &w), /* 1019.7 in the order */
                        made_up(1035, 8, 1, simple, &w)};
    lists(&w, x, 6, (int64_t[]){1009, 1011, 927, 0});
    lists(&kinds, x, 6, (int64_t[]){1009, 1005, 1000, 0});
    for (int i = 0; i < 6; i++)
        x[i] = made_up(x[i].step, x[i].strategy.tp, x[i].strategy.micro_batch, 0, &exact);
    lists(&exact, x, 6, (int64_t[]){927, 1000, 1005, 0});
}

/* In any order of adding, and a list that is cut while it grows. */
static void any_list_is_that_of_the_definition(void **state)
{
    (void)state;
    for (int problem = 0; problem < 3000; problem++) {
        static const double resolutions[] = {0, 0.01, 0.05};
        struct limits w = within(resolutions[pick(0, 2)], pick(0, 1) ? ROW_LAYOUT : ROW_KIND);
        int top = pick(1, 6), count = pick(1, 60);
        struct arena mem = {0};
        struct shortlist l;
        struct choices all = {0};
        const struct found *want[6];
        struct found have[6];
        shortlist_init(&l, &w, top, &mem);
        for (int i = 0; i < count; i++) {
            unsigned trouble = trouble_of(pick(0, 5) == 0, pick(0, 1), pick(0, 4));
            struct found x = made_up(64 * pick(1000, 1200) + i, pick(1, 9), pick(1, 3),
                                     w.resolution > 0 ? trouble : 0, &w);
            if (!shortlist_refuses(&l, &x))
                shortlist_add(&l, &x);
            choices_add(&all, &x, w.row);
        }
        int wanted = choices_rank(&all, &w, top, want);
        assert_int_equal(shortlist_rank(&l, have), wanted);
        for (int i = 0; i < wanted; i++) {
            assert_int_equal(have[i].step, want[i]->step);
            assert_int_equal(have[i].trouble, want[i]->trouble);
        }
        choices_release(&all);
        arena_release(&mem);
    }
}

/* Where some values are known a rule says the same, and looks at nothing of them. */
static void known_values_change_nothing(void **state)
{
    struct arena mem = {0};
    struct rules all, less;
    struct error err = {0};
    int shorter = 0, idle = 0;
    (void)state;
    rules_init(&all);
    assert_true(rules_add_megatron(&all, &mem, &err) && rules_add_sense(&all, &mem, &err) &&
                rules_add_engine(&all, &mem, &err) && rules_add_cautions(&all, &mem, &err));
    for (int round = 0; round < 400; round++) {
        bool known[SLOTS];
        double values[SLOTS];
        for (int i = 0; i < SLOTS; i++) {
            known[i] = pick(0, 3) > 0;
            values[i] = pick(0, 3) ? pick(0, 3) : 1 << pick(0, 12);
            if (pick(0, 39) == 0)
                values[i] = NAN;
        }
        rules_known(&all, known, values, &mem, &less);
        assert_int_equal(less.count, all.count);
        for (int i = 0; i < all.count; i++) {
            double a = rule_value(&all.rule[i], values), b = rule_value(&less.rule[i], values);
            assert_true(a == b || (isnan(a) && isnan(b)));
            assert_true((less.rule[i].depends & ~all.rule[i].depends) == 0);
            for (int p = 0; p < PARAMS; p++)
                if (known[p] && less.rule[i].depends >> p & 1)
                    assert_true(all.rule[i].depends >> p & 1); /* through a derived value */
            shorter += less.rule[i].depends != all.rule[i].depends;
        }
        rules_drop_idle(&less);
        idle += all.count - less.count;
    }
    assert_true(shorter > 10000 && idle > 10000);
    arena_release(&mem);
}

/* Two sets of known values that leave the same of a rule: it says the same of all others. */
static void equal_residues_judge_alike(void **state)
{
    static char left[2][RULE_RESIDUE_MAX];
    struct arena mem = {0};
    struct rules all;
    struct error err = {0};
    int alike = 0, unlike = 0;
    (void)state;
    rules_init(&all);
    assert_true(rules_add_megatron(&all, &mem, &err) && rules_add_sense(&all, &mem, &err));
    for (int round = 0; round < 200; round++) {
        bool known[SLOTS];
        double values[2][SLOTS];
        for (int i = 0; i < SLOTS; i++) {
            known[i] = pick(0, 1);
            values[0][i] = pick(0, 8);
            values[1][i] = known[i] ? pick(0, 8) : values[0][i];
        }
        for (int i = 0; i < all.count; i++) {
            size_t bytes = rule_residue(&all.rule[i], known, values[0], left[0]);
            double a = rule_value(&all.rule[i], values[0]), b = rule_value(&all.rule[i], values[1]);
            bool same = rule_residue(&all.rule[i], known, values[1], left[1]) == bytes &&
                        memcmp(left[0], left[1], bytes) == 0;
            assert_true(!same || a == b || (isnan(a) && isnan(b)));
            *(same ? &alike : &unlike) += all.rule[i].depends != 0;
        }
    }
    assert_true(alike > 1000 && unlike > 1000);
    arena_release(&mem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(complexity_is_a_sum),
                                       cmocka_unit_test(trouble_has_an_order),
                                       cmocka_unit_test(sense_decides_within_the_resolution),
                                       cmocka_unit_test(any_list_is_that_of_the_definition),
                                       cmocka_unit_test(known_values_change_nothing),
                                       cmocka_unit_test(equal_residues_judge_alike)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
