/* Residual factors: what was put into measurements comes out of the fit, as surely as it says; what
 * they cannot tell is refused. */
#include "calibrate/calibrate.h"
#include "calibrate/calibrate.h"
#include "calibrate/calibrate_input.h"
#include "random.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "must.h"

/* Jobs in which compute, links and network weigh differently. */
static const struct {
    const char *model, *cluster, *settings[8];
} JOBS[] = {
    {"llama3-8b", "1x8:H100", {"tp=1", "micro_batch=1", "dist_opt=on", "recompute=full"}},
    {"llama3-8b", "1x8:H100", {"tp=8", "micro_batch=1", "seq_parallel=on"}},
    {"llama3-8b", "4x8:H100@50", {"tp=4", "micro_batch=1", "dist_opt=on"}},
    {"llama3-8b", "8x8:H100@25", {"tp=1", "micro_batch=1", "dist_opt=on", "recompute=full"}},
    {"llama2-13b", "2x8:H100", {"tp=8", "pp=2", "seq_parallel=on"}},
    {"llama2-13b", "8x8:H100", {"tp=2", "pp=4", "micro_batch=1", "dist_opt=on"}},
    {"llama2-13b", "4x8:H100@100", {"tp=4", "pp=1", "dist_opt=on", "micro_batch=2"}},
    {"llama3-70b", "8x8:H100", {"tp=8", "pp=8", "seq_parallel=on", "micro_batch=1"}},
    {"llama3-70b", "16x8:H100@50", {"tp=8", "pp=4", "seq_parallel=on", "dist_opt=on"}},
    {"llama3-8b", "2x8:H100", {"tp=2", "micro_batch=2", "seq_parallel=on", "dist_opt=on"}},
};
enum { ALL = COUNT(JOBS), ON_ONE_NODE = 2 };

static struct arena mem;
static struct calibrate_input inputs[ALL];
static struct observation seen[ALL][2];
static struct resources resources;

static int set_up(void **state)
{
    struct error err = {0};
    (void)state;
    arena_init(&mem);
    resources_init(&resources);
    for (int i = 0; i < ALL; i++) {
        struct calibrate_input *in = &inputs[i];
        in->path = arena_format(&mem, "run%d.log", i);
        options_init(&in->options, &mem);
        must(options_set(&in->options, "model", JOBS[i].model, &err) &&
                 options_set(&in->options, "cluster", JOBS[i].cluster, &err) &&
                 options_set(&in->options, "global-batch", "256", &err) &&
                 options_set(&in->options, "seq-len", "4096", &err),
             &err);
        for (int k = 0; k < 8 && JOBS[i].settings[k]; k++)
            must(options_set(&in->options, "set", JOBS[i].settings[k], &err), &err);
        must(calibrate_ask(in, &resources, &mem, &err), &err);
        assert_int_equal(in->refusals, 0);
        in->observation = seen[i];
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    resources_release(&resources);
    arena_release(&mem);
    return 0;
}

/* About normal: of deviation 1. */
static double normal(void)
{
    double sum = 0;
    for (int i = 0; i < 12; i++)
        sum += pick(0, 1000000) / 1e6;
    return sum - 6;
}

static double predicted(int i, const struct observation *o, const double log_factor[FIT_FACTORS])
{
    return calibrate_predict(&inputs[i], o, log_factor);
}

/* Steps with these factors, each off by its own `noise`. */
static void measure(int count, const double log_factor[FIT_FACTORS], double noise)
{
    for (int i = 0; i < count; i++) {
        struct observation o = {.stage = -1};
        o.measured = predicted(i, &o, log_factor) * exp(noise * normal());
        seen[i][0] = o;
        inputs[i].observations = 1;
    }
}

static const struct profile_entry *fit(int count, struct calibrate_report *out)
{
    struct error err = {0};
    *out = (struct calibrate_report){0};
    must(calibrate_fit(inputs, count, &mem, out, &err), &err);
    assert_int_equal(out->profile->entries, 1);
    return &out->profile->entry[0];
}

static void forget(void)
{
    for (int i = 0; i < ALL; i++)
        inputs[i].observations = 0;
}

static void bars_hold(void **state)
{
    enum { PROBLEMS = 100 };
    int within[FIT_FACTORS] = {0}, fitted[FIT_FACTORS] = {0};
    double squares = 0;
    (void)state;
    for (int n = 0; n < PROBLEMS; n++) {
        double truth[FIT_FACTORS], noise = 0.01 * pick(1, 6);
        struct calibrate_report report;
        for (int f = 0; f < FIT_FACTORS; f++)
            truth[f] = TIME_PRIOR.deviation[f] * normal();
        measure(pick(4, ALL), truth, noise);
        const struct profile_entry *e = fit(ALL, &report);
        for (int f = 0; f < FIT_FACTORS; f++) {
            const struct residual *r = &e->residual;
            double off = log(r->value[f]) - truth[f];
            fitted[f] += r->fitted[f];
            within[f] += r->fitted[f] && fabs(off) <= r->error[f];
            squares += r->fitted[f] && f == 0 ? off * off / (r->error[f] * r->error[f]) : 0;
        }
        forget();
    }
    for (int f = 0; f < FIT_FACTORS; f++)
        print_message("%s: fitted in %d of %d problems, within its error in %d\n",
                      residual_name((enum residual_factor)f), fitted[f], PROBLEMS, within[f]);
    print_message("mean square of compute's deviation over its error: %.2f\n", squares / fitted[0]);
    assert_true(fitted[0] > PROBLEMS / 2);
    for (int f = 0; f < FIT_FACTORS; f++) /* a host fast enough is as fast as it likes */
        assert_true(within[f] >= (f == RESIDUAL_host ? 0.8 : 0.9) * fitted[f]);
    assert_true(squares / fitted[0] > 0.05); /* nor far too wide: 0.25 would be exact */
}

/* Of jobs on one node alone. */
static void network_is_refused_on_one_node(void **state)
{
    static const double truth[FIT_FACTORS] = {0.1, 0.2, 0.3};
    struct calibrate_report report;
    (void)state;
    measure(ON_ONE_NODE, truth, 0);
    const struct profile_entry *e = fit(ALL, &report);
    assert_false(e->residual.fitted[RESIDUAL_inter]);
    assert_true(e->residual.value[RESIDUAL_inter] == 1);
    assert_int_equal(e->observations[RESIDUAL_inter], 0);
    assert_string_equal(e->why[RESIDUAL_inter], "no input has exposed communication between nodes");
    assert_true(e->residual.fitted[RESIDUAL_compute]);
    assert_false(e->residual.fitted[RESIDUAL_memory]);
    assert_string_equal(e->why[RESIDUAL_memory], "no input has the memory of a rank");
    forget();
}

/* Of eight one is far off: the factor moves by no more than its error, but for rare cases in which
 * the good ones hardly tell what the bad one says. */
static void one_bad_log_does_not_rule(void **state)
{
    enum { PROBLEMS = 200 };
    int beyond = 0;
    (void)state;
    for (int n = 0; n < PROBLEMS; n++) {
        double truth[FIT_FACTORS];
        struct calibrate_report report;
        int bad = pick(0, 7);
        for (int f = 0; f < FIT_FACTORS; f++)
            truth[f] = TIME_PRIOR.deviation[f] * normal();
        measure(8, truth, 0.01);
        const struct residual good = fit(ALL, &report)->residual;
        seen[bad][0].measured *= pick(0, 1) ? 1.6 : 0.6;
        const struct residual *r = &fit(ALL, &report)->residual;
        assert_true(good.fitted[RESIDUAL_compute]);
        double moved = log(r->value[RESIDUAL_compute] / good.value[RESIDUAL_compute]);
        beyond += fabs(moved) > r->error[RESIDUAL_compute];
        assert_true(fabs(moved) <= 2 * r->error[RESIDUAL_compute]);
        forget();
    }
    print_message("moved by more than its error in %d of %d problems\n", beyond, PROBLEMS);
    assert_true(beyond <= PROBLEMS / 20);
}

/* Ten runs of one configuration say no more than it can say. */
static void same_runs_count_once(void **state)
{
    static const double truth[FIT_FACTORS] = {0.15, 0, 0};
    struct calibrate_report report;
    struct calibrate_input copies[10];
    (void)state;
    measure(1, truth, 0);
    const struct residual once = fit(ALL, &report)->residual;
    for (int i = 0; i < 10; i++)
        copies[i] = inputs[0];
    struct error err = {0};
    report = (struct calibrate_report){0};
    must(calibrate_fit(copies, 10, &mem, &report, &err), &err);
    const struct profile_entry *e = &report.profile->entry[0];
    assert_int_equal(e->observations[RESIDUAL_compute], 1);
    assert_true(fabs(e->residual.value[0] - once.value[0]) < 1e-5);
    assert_true(fabs(e->residual.error[0] - once.error[0]) < 1e-5);
    assert_true(report.row[0].without == 0); /* there is no other */
    forget();
}

static void left_out_inputs_are_predicted(void **state)
{
    static const double truth[FIT_FACTORS] = {0.2, -0.1, 0.3};
    struct calibrate_report report;
    double before = 0;
    (void)state;
    measure(ALL, truth, 0);
    fit(ALL, &report);
    for (int i = 0; i < report.rows; i++) {
        const struct calibrated_row *r = &report.row[i];
        before += fabs(r->before / r->measured - 1);
        assert_true(fabs(r->after / r->measured - 1) < 0.02);
        assert_true(fabs(r->without / r->measured - 1) < 0.05);
    }
    assert_true(before / report.rows > 0.1);
    forget();
}

/* Four that contradict each other: nobody may think them sure, whichever are called odd. */
static void runs_that_disagree_scatter(void **state)
{
    static const int job[] = {0, 2, 4, 7};
    static const double ratio[][4] = {
        {1.30, 0.75, 1.00, 1.00}, {1.20, 0.80, 1.15, 0.85}, {1.4, 1.4, 0.8, 0.8}};
    struct calibrate_report report;
    (void)state;
    for (size_t k = 0; k < COUNT(ratio); k++) {
        double squares = 0;
        for (int i = 0; i < 4; i++) {
            struct observation o = {.stage = -1};
            o.measured = ratio[k][i] * predicted(job[i], &o, (double[FIT_FACTORS]){0});
            seen[job[i]][0] = o;
            inputs[job[i]].observations = 1;
            squares += pow(log(ratio[k][i]), 2);
        }
        const struct residual *r = &fit(ALL, &report)->residual;
        assert_true(r->time_scatter > 0.5 * sqrt(squares / 4));
        forget();
    }
}

static void one_log_far_off_is_not_believed(void **state)
{
    struct calibrate_report report;
    (void)state;
    measure(1, (double[FIT_FACTORS]){log(6)}, 0);
    const struct profile_entry *e = fit(ALL, &report);
    assert_false(e->residual.fitted[RESIDUAL_compute]);
    const char *why = e->why[RESIDUAL_compute]; /* with what is likely between them */
    assert_non_null(strstr(why, "run0.log is 5.95 x its prediction, "));
    assert_non_null(strstr(why, " is likely: too far off to be believed"));
    forget();
}

/* The kinds of runs behind the factors of seconds. */
static void runs_are_told(void **state)
{
    struct calibrate_report report;
    (void)state;
    measure(3, (double[FIT_FACTORS]){0.1, 0, 0}, 0);
    struct residual_runs runs = fit(ALL, &report)->residual.runs;
    assert_int_equal(runs.configurations, 3);
    assert_int_equal(runs.models, 1);
    assert_int_equal(runs.precisions, 1 << PRECISION_BF16);
    inputs[1].asked.strategy.precision = PRECISION_FP8;
    runs = fit(ALL, &report)->residual.runs;
    assert_int_equal(runs.precisions, 1 << PRECISION_BF16 | 1 << PRECISION_FP8);
    inputs[1].asked.strategy.precision = PRECISION_BF16;
    seen[1][0].memory = true; /* no seconds */
    seen[1][0].stage = 0;
    assert_int_equal(fit(ALL, &report)->residual.runs.configurations, 2);
    forget();
    for (int stage = 0; stage < 2; stage++) { /* of one plan */
        seen[5][stage] = (struct observation){.stage = stage, .alone = true};
        seen[5][stage].measured = predicted(5, &seen[5][stage], (double[FIT_FACTORS]){0.1});
    }
    inputs[5].observations = 2;
    const struct profile_entry *e = fit(ALL, &report);
    assert_int_equal(e->residual.runs.configurations, 1);
    assert_int_equal(e->observations[RESIDUAL_compute], 2);
    forget();
}

static void measure_peaks(int count, const int *job, const double *ratio)
{
    for (int i = 0; i < count; i++) {
        struct observation o = {.stage = 0, .memory = true};
        o.measured = ratio[i] * predicted(job[i], &o, (double[FIT_FACTORS]){0});
        seen[job[i]][0] = o;
        inputs[job[i]].observations = 1;
    }
}

/* Of few ranks the fullest has to fit, also where they differ much; and none may need more than
 * predicted where the factor is below 1. */
static void the_fullest_of_few_ranks_fits(void **state)
{
    static const int job[] = {0, 2, 4, 7};
    static const double ratio[][4] = {
        {1.25, 0.95, 0.89, 1.14}, {1.30}, {0.96, 0.90, 0.84, 1.01}, {0.90, 0.91, 0.90, 0.92}};
    static const int count[] = {4, 1, 4, 4};
    static const double least[] = {1.25, 1.30, 1.00, 0.92};
    struct calibrate_report report;
    (void)state;
    for (size_t k = 0; k < COUNT(count); k++) {
        measure_peaks(count[k], job, ratio[k]);
        const struct residual *r = &fit(ALL, &report)->residual;
        assert_true(r->value[RESIDUAL_memory] > least[k] - 1e-6);
        assert_true(r->value[RESIDUAL_memory] < least[k] + 0.06);
        forget();
    }
}

static void what_cannot_be_is_refused(void **state)
{
    static const struct {
        struct observation o;
        double ratio; /* to the prediction; 0: bytes as they are */
        const char *why;
    } cases[] = {
        {{.stage = -1}, 21, "its step is "},
        {{.stage = -1}, 1 / 21.0, "beyond a factor of 20 no figure is believed"},
        {{.stage = 0, .alone = true}, 21, "stage 0: its compute is "},
        {{.stage = 0, .memory = true, .measured = 1e11},
         0,
         "stage 0: its memory is 93.1 GiB, and H100-SXM5-80GB has 79.1 GiB"},
        {{.stage = 0, .memory = true}, 1 / 21.0, "stage 0: its memory is "},
        {{.stage = 99, .memory = true, .measured = 1e9}, 0, "cannot be predicted"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct calibrate_input in = inputs[0];
        struct observation o[2] = {cases[i].o, {.stage = -1}};
        static const double none[FIT_FACTORS] = {0};
        o[0].measured =
            cases[i].ratio > 0 ? cases[i].ratio * predicted(0, &o[0], none) : cases[i].o.measured;
        o[1].measured = 19 * predicted(0, &o[1], none);
        in.observations = 2;
        in.observation = o;
        calibrate_sift(&in, &mem);
        assert_int_equal(in.observations, 1);
        assert_true(o[0].stage == -1 && o[0].measured == o[1].measured);
        assert_int_equal(in.refusals, 1);
        if (!strstr(in.refusal[0], cases[i].why))
            fail_msg("%s", in.refusal[0]);
    }
}

/* Peaks 6 % above the prediction, give or take: the factor covers most of them. */
static void memory_is_careful(void **state)
{
    struct calibrate_report report;
    int covered = 0;
    (void)state;
    for (int i = 0; i < ALL; i++) {
        struct observation o = {.stage = 0, .memory = true};
        o.measured = predicted(i, &o, (double[FIT_FACTORS]){0}) * (i % 2 ? 1.08 : 1.04);
        seen[i][0] = o;
        inputs[i].observations = 1;
    }
    const struct profile_entry *e = fit(ALL, &report);
    assert_true(e->residual.fitted[RESIDUAL_memory]);
    assert_true(e->residual.value[RESIDUAL_memory] > 1.06);
    assert_true(e->residual.value[RESIDUAL_memory] < 1.10);
    for (int i = 0; i < report.rows; i++)
        covered += report.row[i].after >= report.row[i].measured * 0.999;
    assert_true(covered >= ALL / 2);
    assert_false(e->residual.fitted[RESIDUAL_compute]);
    forget();
}

/* One rank that needs less than predicted makes no room for others. */
static void less_memory_takes_several(void **state)
{
    struct calibrate_report report;
    (void)state;
    for (int count = 1; count <= 3; count += 2) {
        for (int i = 0; i < count; i++) {
            struct observation o = {.stage = 0, .memory = true};
            int job = 3 * i; /* peaks that differ */
            o.measured = 0.9 * predicted(job, &o, (double[FIT_FACTORS]){0});
            seen[job][0] = o;
            inputs[job].observations = 1;
        }
        const struct profile_entry *e = fit(ALL, &report);
        assert_int_equal(e->observations[RESIDUAL_memory], count);
        assert_true(e->residual.fitted[RESIDUAL_memory] == (count == 3));
        assert_true((e->residual.value[RESIDUAL_memory] < 1) == (count == 3));
        forget();
    }
}

/* A lone rank says nothing of communication. */
static void lone_ranks_tell_compute(void **state)
{
    static const double truth[FIT_FACTORS] = {0.1, 0.5, 0.5};
    struct calibrate_report report;
    (void)state;
    for (int i = 0; i < ALL; i++) {
        struct observation o = {.stage = 0, .alone = true};
        o.measured = predicted(i, &o, truth);
        seen[i][0] = o;
        inputs[i].observations = 1;
    }
    const struct profile_entry *e = fit(ALL, &report);
    assert_true(fabs(log(e->residual.value[RESIDUAL_compute]) - 0.1) < 0.02);
    assert_false(e->residual.fitted[RESIDUAL_intra] || e->residual.fitted[RESIDUAL_inter]);
    assert_int_equal(e->observations[RESIDUAL_intra], 0);
    forget();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bars_hold),
        cmocka_unit_test(network_is_refused_on_one_node),
        cmocka_unit_test(one_bad_log_does_not_rule),
        cmocka_unit_test(same_runs_count_once),
        cmocka_unit_test(left_out_inputs_are_predicted),
        cmocka_unit_test(memory_is_careful),
        cmocka_unit_test(less_memory_takes_several),
        cmocka_unit_test(lone_ranks_tell_compute),
        cmocka_unit_test(runs_that_disagree_scatter),
        cmocka_unit_test(one_log_far_off_is_not_believed),
        cmocka_unit_test(runs_are_told),
        cmocka_unit_test(the_fullest_of_few_ranks_fits),
        cmocka_unit_test(what_cannot_be_is_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
