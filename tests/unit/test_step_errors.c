/* What published steps say of a run's error: by hand, laws, broken tables, the table compiled in. */
#include "base/arena.h"
#include "cluster/cluster.h"
#include "cost/step_errors.h"
#include "strategy/precision.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define HEAD "source,gpu,kind,format,pace,runs,mean,mean_abs,deviation,kernels\n"

static struct arena mem;
static struct error err;

static struct step_errors table(const char *text)
{
    struct step_errors e = {0};
    if (!step_errors_parse(&e, text, strlen(text), "t.csv", &mem, &err))
        fail_msg("%s", err.text);
    return e;
}

static struct step_class of(const char *gpu, bool experts, int format, enum pace pace)
{
    return (struct step_class){gpu_find(gpu, NULL), experts, format, pace};
}

static struct step_evidence ask(const struct step_errors *e, const char *gpu)
{
    const struct step_class c = of(gpu, false, PRECISION_BF16, PACE_node);
    return step_error_of(e, &c, 0);
}

/* Five scopes each move a ninth of the way from 25 % to what one run says; the first one half. */
static void one_run_by_hand(void **state)
{
    (void)state;
    struct step_errors e = table(HEAD "a,H100,dense,16,node,1,-0.1,0.1,0,0\n");
    double mean = (0.25 + 0.1) / 2;
    for (int s = 1; s < SCOPES; s++)
        mean = (8 * mean + 0.1) / 9;
    double pace = (8 + 0.1 / mean) / 9;
    struct step_evidence x = ask(&e, "H100");
    assert_true(fabs(x.error - mean * 9 * (pow(0.2, -1.0 / 9) - 1) * pace) < 1e-12);
    assert_int_equal(x.runs, 1);
    assert_int_equal(x.sources, 1);
    assert_int_equal(x.scope, SCOPE_precision);
    assert_int_equal(ask(&e, "H200").scope, SCOPE_generation);
    assert_int_equal(ask(&e, "A100").scope, SCOPE_sort);
    assert_int_equal(ask(&e, "RTX4090").scope, SCOPE_kind);
    assert_int_equal(ask(&e, "MI300X").scope, SCOPE_kind);
}

/* The same errors from more sources are surer; from more runs of one source hardly. */
static void sources_count_more_than_runs(void **state)
{
    char many[4000] = HEAD;
    (void)state;
    for (int i = 0; i < 20; i++)
        snprintf(many + strlen(many), sizeof many - strlen(many),
                 "s%02d,H100,dense,16,node,4,-0.1,0.1,0.01,0\n", i);
    struct step_errors sources = table(many);
    struct step_errors runs = table(HEAD "a,H100,dense,16,node,80,-0.1,0.1,0.01,0\n"
                                         "b,L40S,dense,16,node,2,-0.4,0.4,0.01,0\n");
    assert_true(ask(&sources, "H100").error < 0.8 * ask(&runs, "H100").error);
    assert_true(ask(&sources, "H100").error > 0.16); /* 1.6 times the mean, and not less */
    assert_true(ask(&sources, "H100").error < 0.18);
    assert_true(runs.correlation > 0.9);
}

/* GPUs nobody measured steps of are less sure, more so where their kernels are not known. */
static void what_nobody_measured_is_wide(void **state)
{
    (void)state;
    struct step_errors e = table(HEAD "a,B200,dense,16,nodes,9,0.3,0.30,0.1,0.05\n"
                                      "b,H100,dense,16,nodes,9,0.05,0.06,0.03,0\n"
                                      "c,H100,dense,16,nodes,9,0.05,0.06,0.03,0\n"
                                      "d,H100,dense,16,nodes,9,0.05,0.06,0.03,0\n"
                                      "e,H100,experts,fp8,nodes,9,0.2,0.2,0.03,0\n");
    const struct step_class h200 = of("H200", false, PRECISION_BF16, PACE_nodes);
    const struct step_class h100 = of("H100", false, PRECISION_BF16, PACE_nodes);
    const struct step_class b200 = of("B200", false, PRECISION_BF16, PACE_nodes);
    const struct step_class moe = of("H100", true, PRECISION_BF16, PACE_nodes);
    assert_true(step_error_of(&e, &h200, 0).error > step_error_of(&e, &h100, 0).error);
    assert_true(step_error_of(&e, &h200, 0.3).error > 1.5 * step_error_of(&e, &h200, 0).error);
    assert_true(step_error_of(&e, &b200, 0).error > 1.2 * step_error_of(&e, &h100, 0).error);
    assert_true(step_error_of(&e, &moe, 0).error > step_error_of(&e, &h100, 0).error);
    assert_int_equal(step_error_of(&e, &moe, 0).scope, SCOPE_gpu); /* of fp8 only */
    /* What kernels added in the runs that are looked at is in their errors. */
    assert_float_equal(step_error_of(&e, &b200, 0.001).error, step_error_of(&e, &b200, 0).error,
                       1e-12);
}

static void pace_is_a_factor(void **state)
{
    (void)state;
    struct step_errors e = table(HEAD "a,H100,dense,16,host,9,-0.3,0.30,0.1,0\n"
                                      "a,H100,dense,16,nodes,9,-0.3,0.05,0.01,0\n"
                                      "b,H100,dense,16,nodes,9,0.05,0.05,0.01,0\n");
    const struct step_class host = of("L40S", true, PRECISION_FP8, PACE_host);
    const struct step_class nodes = of("L40S", true, PRECISION_FP8, PACE_nodes);
    double ratio = step_error_of(&e, &host, 0).error / step_error_of(&e, &nodes, 0).error;
    assert_true(fabs(ratio - e.paces[PACE_host] / e.paces[PACE_nodes]) < 1e-12);
    assert_true(ratio > 1.05);
    assert_float_equal(e.paces[PACE_fsdp], 1, 1e-12); /* nobody knows */
}

static void a_source_can_be_left_out(void **state)
{
    struct step_errors without;
    (void)state;
    struct step_errors all = table(HEAD "a,H100,dense,16,node,9,-0.3,0.30,0.1,0\n"
                                        "b,A100,dense,16,node,9,-0.1,0.10,0.1,0\n"
                                        "b,H100,dense,fp8,nodes,9,-0.1,0.10,0.1,0\n");
    struct step_errors rest = table(HEAD "a,H100,dense,16,node,9,-0.3,0.30,0.1,0\n");
    step_errors_without(&without, &all, "b", &mem);
    assert_int_equal(without.lines, 1);
    assert_float_equal(ask(&without, "H100").error, ask(&rest, "H100").error, 1e-12);
    step_errors_without(&without, &all, "c", &mem);
    assert_float_equal(ask(&without, "H100").error, ask(&all, "H100").error, 1e-12);
}

static void no_table_at_all(void **state)
{
    (void)state;
    struct step_errors e = table(HEAD);
    struct step_evidence x = ask(&e, "H100");
    assert_int_equal(x.runs, 0);
    assert_true(x.error > 0.4 && x.error < 0.5); /* 1.8 times a quarter */
}

static void broken_lines_are_named(void **state)
{
    static const char *const LINES[] = {
        "a,H9000,dense,16,node,1,0,0,0,0\n", "a,H100,sparse,16,node,1,0,0,0,0\n",
        "a,H100,dense,4,node,1,0,0,0,0\n",   "a,H100,dense,16,walk,1,0,0,0,0\n",
        "a,H100,dense,16,node,0,0,0,0,0\n",  "a,H100,dense,16,node,1,0,-1,0,0\n",
        "a,H100,dense,16,node,1,0,x,0,0\n"};
    struct step_errors e;
    (void)state;
    for (size_t i = 0; i < sizeof LINES / sizeof *LINES; i++) {
        char text[300];
        snprintf(text, sizeof text, HEAD "%s", LINES[i]);
        assert_false(step_errors_parse(&e, text, strlen(text), "t.csv", &mem, &err));
        assert_non_null(strstr(err.text, "t.csv:2: not a line"));
    }
    const char *unsorted = HEAD "b,H100,dense,16,node,1,0,0,0,0\na,H100,dense,16,node,1,0,0,0,0\n";
    assert_false(step_errors_parse(&e, unsorted, strlen(unsorted), "t.csv", &mem, &err));
    assert_non_null(strstr(err.text, "t.csv:3:"));
}

/* Every class that may be asked has an answer that makes sense. */
static void compiled_in(void **state)
{
    struct step_errors e;
    size_t gpus;
    const struct gpu *g = gpu_table(&gpus);
    (void)state;
    assert_true(step_errors_load(&e, &mem, &err));
    assert_true(e.lines > 50 && e.correlation > 0 && e.correlation < 1);
    for (size_t i = 0; i < gpus; i++)
        for (int k = 0; k < 4 * PACES; k++) {
            const struct step_class c = {&g[i], k & 1, k & 2, (enum pace)(k / 4)};
            struct step_evidence x = step_error_of(&e, &c, 0.1);
            assert_true(x.error > 0.02 && x.error < 1 && x.runs > 0 && x.sources > 0);
        }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_run_by_hand),
        cmocka_unit_test(sources_count_more_than_runs),
        cmocka_unit_test(what_nobody_measured_is_wide),
        cmocka_unit_test(pace_is_a_factor),
        cmocka_unit_test(a_source_can_be_left_out),
        cmocka_unit_test(no_table_at_all),
        cmocka_unit_test(broken_lines_are_named),
        cmocka_unit_test(compiled_in),
    };
    arena_init(&mem);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    arena_release(&mem);
    return failed;
}
