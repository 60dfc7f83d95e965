/* Outages of a run: the expected slowdown and the best checkpoint interval against cases by hand,
 * published ones, laws and a simulation; the options and cluster keys that set the rates. */
#include "asked.h"
#include "simulate/outage.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "must.h"
#include "random.h"

static void near(double got, double want, double tolerance)
{
    if (!(fabs(got - want) <= tolerance * fabs(want)))
        fail_msg("%.17g, expected %.17g", got, want);
}

static struct outage outage_of(double write_s, double restart_s, double interval_s)
{
    return (struct outage){write_s, restart_s, interval_s};
}

static double slowdown(double write_s, double restart_s, double interval_s, double per_s)
{
    struct outage o = outage_of(write_s, restart_s, interval_s);
    return outage_slowdown(&o, per_s);
}

static double interval(double write_s, double per_s)
{
    struct outage o = outage_of(write_s, 0, 0);
    return outage_interval(&o, per_s);
}

/* With tau + C = M ln 2 and R = M ln 3 an interval takes M * 3 * (2 - 1). */
static void cases_by_hand(void **state)
{
    double m = 1000, tau = 600, c = m * log(2) - tau, r = m * log(3);
    (void)state;
    near(slowdown(c, r, tau, 1 / m), 3 * m / tau, 1e-14);
    near(slowdown(c, 0, tau, 1 / m), m / tau, 1e-14);
    /* t = 1/2 is best where e^(1/2 + c) / 2 = 1: c = ln 2 - 1/2; then one second takes two. */
    near(interval(m * (log(2) - 0.5), 1 / m), m / 2, 1e-14);
    near(slowdown(m * (log(2) - 0.5), 0, 0, 1 / m), 2, 1e-14);
    near(slowdown(m * (log(2) - 0.5), r, 0, 1 / m), 6, 1e-14);
}

static void limits(void **state)
{
    (void)state;
    assert_true(slowdown(60, 600, 0, 0) == 1);
    assert_true(slowdown(60, 600, 1200, 0) == 1.05);
    near(slowdown(60, 600, 1200, 1e-15), 1.05, 1e-11);
    near(slowdown(60, 600, 0, 1e-15), 1, 1e-6);
    assert_true(isinf(interval(60, 0)) && isinf(interval(0, 0)));
    /* Checkpoints that cost nothing: as many as you like. */
    assert_true(interval(0, 1e-4) == 0);
    assert_true(slowdown(0, 600, 0, 1e-4) == exp(0.06));
    near(slowdown(0, 600, 1e-6, 1e-4), exp(0.06), 1e-9);
    /* Checkpoints that take far longer than nodes live: one per lifetime. */
    near(interval(1e6, 1e-3), 1000, 1e-15);
    assert_true(isinf(slowdown(1e6, 0, 0, 1e-3)) && isinf(slowdown(0, 1e6, 10, 1e-3)));
}

/* J. T. Daly, A higher order estimate of the optimum checkpoint interval for restart dumps, Future
 * Generation Computer Systems 22 (2006), figures 3 to 5: checkpoints of 5 minutes, the interval by
 * the first three terms of a series. */
static void intervals_are_those_that_daly_published(void **state)
{
    static const struct {
        double mtbf_min, tau_min;
    } cases[] = {{24 * 60, 117}, {6 * 60, 57}, {15, 9.1}};
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
        near(interval(5 * 60, 1 / (60 * cases[i].mtbf_min)), 60 * cases[i].tau_min, 0.01);
}

/* Solutions of e^(t + c) (t - 1) + 1 = 0 that were computed with 80 digits. */
static void intervals_are_exact_for_any_rate(void **state)
{
    static const double cases[][2] = {
        {1e-30, 1.4142135623730944411e-15}, {1e-16, 1.4142135557064283752e-8},
        {1e-12, 1.4142128957065069353e-6},  {1e-9, 4.4720692885813663444e-5},
        {1e-6, 1.4135469742886646058e-3},   {1e-3, 4.4057192259048082212e-2},
        {0.01, 1.3483475106683468720e-1},   {0.1, 3.8318316820829484369e-1},
        {0.5, 6.9829043731566398847e-1},    {1, 8.4140566043696063785e-1},
        {3, 9.8133937091131665754e-1},      {10, 9.9998329802025595652e-1},
        {30, 9.9999999999996557523e-1},     {100, 1.0000000000000000000e+0},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        near(interval(cases[i][0], 1), cases[i][1], 2 * DBL_EPSILON);
        near(interval(cases[i][0] * 4096, 1 / 4096.0), cases[i][1] * 4096, 2 * DBL_EPSILON);
    }
    /* The first terms of the series in p = sqrt(2 C M). */
    for (double c = 1e-300; c < 1e-11; c *= 10) {
        double p = sqrt(2 * c);
        near(interval(c, 1), p * (1 - p / 3), 1e-11);
        near(interval(c / 1e-5, 1e-5) * 1e-5, interval(c, 1), 1e-14);
    }
    near(interval(1e-200, 1e-200), sqrt(2), 1e-15);
}

/* No interval around the best is better, and the best is as long as it says. */
static void best_is_the_shortest(void **state)
{
    static const double writes[] = {1e-6, 0.1, 60, 1e3, 1e4}, rates[] = {1e-9, 1e-6, 1e-4, 1e-3};
    (void)state;
    for (size_t w = 0; w < COUNT(writes); w++)
        for (size_t r = 0; r < COUNT(rates); r++) {
            double tau = interval(writes[w], rates[r]),
                   best = slowdown(writes[w], 300, 0, rates[r]);
            near(slowdown(writes[w], 300, tau, rates[r]), best, 1e-13);
            for (double f = 0.01; f < 100; f *= 1.1)
                if (slowdown(writes[w], 300, f * tau, rates[r]) < best * (1 - 1e-13))
                    fail_msg("write %g, rate %g: %g of the interval is better", writes[w], rates[r],
                             f);
            assert_true(slowdown(writes[w], 300, 0.5 * tau, rates[r]) > best);
            assert_true(slowdown(writes[w], 300, 2 * tau, rates[r]) > best);
        }
}

/* More outages, longer checkpoints or longer restarts never make a run shorter. */
static void nothing_bad_helps(void **state)
{
    (void)state;
    for (int i = 0; i < 20000; i++) {
        double x[3], y[3]; /* write, restart, rate; the last from 1e-12 to 10 a second */
        double tau = pick(0, 1) ? pow(10, pick(0, 600) / 100.0) : 0;
        for (int k = 0; k < 3; k++) {
            x[k] = pow(10, pick(-300, 500) / 100.0) * (k == 2 ? 1e-6 : 1);
            y[k] = x[k] * (1 + pick(0, 300) / 100.0);
        }
        double less = slowdown(x[0], x[1], tau, x[2]), more = slowdown(y[0], y[1], tau, y[2]);
        if (!(less >= 1) || more < less * (1 - 1e-13))
            fail_msg("write %g, restart %g, rate %g, every %g: %.17g, later %.17g", x[0], x[1],
                     x[2], tau, less, more);
    }
}

static void extremes_are_numbers(void **state)
{
    static const double x[] = {0, DBL_TRUE_MIN, DBL_MIN, 1e-160, 1e-20,
                               1, 709,          1e20,    1e200,  DBL_MAX};
    (void)state;
    for (size_t i = 0; i < COUNT(x) * COUNT(x) * COUNT(x) * COUNT(x); i++) {
        double rate = x[i % 10];
        struct outage o = outage_of(x[i / 10 % 10], x[i / 100 % 10], x[i / 1000]);
        if (!(outage_slowdown(&o, rate) >= 1) || !(outage_interval(&o, rate) >= 0))
            fail_msg("write %g, restart %g, every %g, rate %g: %g, %g", o.write_s, o.restart_s,
                     o.interval_s, rate, outage_slowdown(&o, rate), outage_interval(&o, rate));
    }
}

/* Seconds to the next outage. */
static double gap(double mean_s)
{
    return -mean_s * log((pick(0, (1 << 30) - 1) + 0.5) / (1 << 30));
}

/* Seconds of a restart: an outage begins it again. */
static double simulated_restart(double restart_s, double mean_s)
{
    double clock = 0, good;
    while ((good = gap(mean_s)) < restart_s)
        clock += good;
    return clock + restart_s;
}

/* Seconds of one interval as it happens: an outage loses what was done of it. */
static double simulated(const struct outage *o, double mean_s)
{
    double clock = 0, good, work = o->interval_s + o->write_s;
    while ((good = gap(mean_s)) < work)
        clock += good + simulated_restart(o->restart_s, mean_s);
    return clock + work;
}

static void a_simulation_agrees(void **state)
{
    enum { RUNS = 40000 };
    static const struct {
        double mean_s;
        struct outage o;
    } cases[] = {
        {10000, {60, 600, 1000}}, {3600, {300, 600, 1500}}, {900, {300, 600, 540}},
        {100, {0, 50, 100}},      {1e6, {60, 600, 5000}},   {500, {30, 0, 1000}},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        double sum = 0, squares = 0;
        for (int k = 0; k < RUNS; k++) {
            double s = simulated(&cases[i].o, cases[i].mean_s) / cases[i].o.interval_s;
            sum += s;
            squares += s * s;
        }
        double mean = sum / RUNS, error = sqrt((squares / RUNS - mean * mean) / (RUNS - 1));
        double want = outage_slowdown(&cases[i].o, 1 / cases[i].mean_s);
        if (fabs(mean - want) > 4 * error)
            fail_msg("case %zu: %g, simulated are %g +- %g", i, want, mean, error);
    }
}

/* Rates of the groups */

static const char FILE_TEXT[] = "groups:\n"
                                "  - {gpu: H100, nodes: 2, mtbf_h: 40000}\n"
                                "  - {gpu: A100, nodes: 2, interruptions_per_h: 0.05}\n"
                                "  - {gpu: H100, nodes: 1, gpus_per_node: 4}\n";

static void rates_go_to_the_groups(void **state)
{
    static const struct {
        const char *option[3], *value[3];
        double per_h[3];
    } cases[] = {
        {{NULL}, {NULL}, {8 / 40000.0, 0.05, 0}},
        {{"mtbf"}, {"50000h"}, {8 / 50000.0, 8 / 50000.0 + 0.05, 4 / 50000.0}},
        {{"mtbf"}, {"a100=1000d"}, {8 / 40000.0, 8 / 24000.0 + 0.05, 0}},
        {{"mtbf", "mtbf"}, {"H100=100h", "200h"}, {8 / 100.0, 8 / 200.0 + 0.05, 4 / 100.0}},
        {{"interruptions"}, {"2%"}, {8 / 40000.0 + 0.02, 0.02, 0.02}},
        {{"interruptions"}, {"A100=0"}, {8 / 40000.0, 0, 0}},
        {{"interruptions", "mtbf", "interruptions"},
         {"H100=0.5", "1000h", "0.25"},
         {0.508, 0.258, 0.504}},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct asked q;
        struct error err = {0};
        asked_init(&q);
        must(cluster_from_yaml(&q.options.cluster, FILE_TEXT, strlen(FILE_TEXT), "f", &q.mem,
                               &err) &&
                 asked_set(&q, "model", "llama3-8b", &err),
             &err);
        q.options.has_cluster = true;
        for (int k = 0; k < 3 && cases[i].option[k]; k++)
            must(asked_set(&q, cases[i].option[k], cases[i].value[k], &err), &err);
        for (int again = 0; again < 2; again++) { /* a query may be asked twice */
            must(asked_resolve(&q, QUERY_ESTIMATE, &err), &err);
            for (int g = 0; g < 3; g++)
                near(q.query.rent[g].outages_per_h, cases[i].per_h[g], 1e-14);
        }
        asked_release(&q);
    }
}

static void durations_are_taken(void **state)
{
    struct asked q;
    struct error err = {0};
    (void)state;
    asked_init(&q);
    assert_true(q.options.run.outage.write_s == 60 && q.options.run.outage.restart_s == 600 &&
                q.options.run.outage.interval_s == 0);
    must(asked_set(&q, "checkpoint-every", "30m", &err) &&
             asked_set(&q, "checkpoint-write", "0s", &err) &&
             asked_set(&q, "restart", "0.25h", &err),
         &err);
    assert_true(q.options.run.outage.write_s == 0 && q.options.run.outage.restart_s == 900);
    assert_true(q.options.run.outage.interval_s == 1800);
    asked_release(&q);
}

static void groups_with_other_rates_stay_apart(void **state)
{
    struct rent rent[CLUSTER_MAX_GROUPS];
    struct cluster c;
    (void)state;
    assert_true(cluster_from_pool(&c, "1x8:H100,2x8:H100,4x8:H100,1x8:A100", NULL));
    rents_init(rent, &c, "cluster file");
    rent[1].interruptions_per_h = 0.02;
    rents_join_alike(rent, &c);
    assert_int_equal(c.groups, 3);
    assert_int_equal(c.group[0].nodes_max, 5);
    assert_true(rent[1].interruptions_per_h == 0.02);
    for (int g = 0; g < c.groups; g++) /* where the arrays of later stages have it */
        assert_int_equal(c.group[g].index, g);
}

static void rates_have_room_for_64_each(void **state)
{
    struct asked q;
    struct error err = {0};
    (void)state;
    asked_init(&q);
    for (int i = 0; i < 2 * RATES_MAX; i++)
        must(asked_set(&q, i % 2 ? "mtbf" : "interruptions", i % 2 ? "1h" : "1", &err), &err);
    assert_false(asked_set(&q, "mtbf", "1h", &err));
    assert_string_equal(err.text, "--mtbf is given more than 64 times");
    asked_release(&q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cases_by_hand),
        cmocka_unit_test(limits),
        cmocka_unit_test(intervals_are_those_that_daly_published),
        cmocka_unit_test(intervals_are_exact_for_any_rate),
        cmocka_unit_test(best_is_the_shortest),
        cmocka_unit_test(nothing_bad_helps),
        cmocka_unit_test(extremes_are_numbers),
        cmocka_unit_test(a_simulation_agrees),
        cmocka_unit_test(rates_go_to_the_groups),
        cmocka_unit_test(durations_are_taken),
        cmocka_unit_test(groups_with_other_rates_stay_apart),
        cmocka_unit_test(rates_have_room_for_64_each),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
