/* Residual factors in predictions: exact where that can be said by hand, and what they do to the
 * expected error; profiles as files. */
#include "base/arena.h"
#include "base/json.h"
#include "base/str.h"
#include "cost/residual_file.h"
#include "simulate/vary.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "scene.h"

static struct residual factors(double compute, double intra, double inter, double memory)
{
    struct residual r;
    residual_init(&r);
    r.value[RESIDUAL_compute] = compute;
    r.value[RESIDUAL_intra] = intra;
    r.value[RESIDUAL_inter] = inter;
    r.value[RESIDUAL_memory] = memory;
    return r;
}

static struct plan evaluate(const struct residual *r, const struct strategy *s)
{
    struct plan p;
    struct scene sc = scene();
    const struct costing on = {.residual = r};
    sc.costing = &on;
    plan_evaluate(&sc, s, NULL, &mem, &p);
    assert_true(p.computed);
    return p;
}

static struct strategy job(int tp, int pp, int dp, int micro_batch)
{
    struct strategy s;
    strategy_init(&s);
    s.tp = tp;
    s.pp = pp;
    s.dp = dp;
    s.micro_batch = micro_batch;
    s.global_batch = 32;
    s.seq_len = 4096;
    return s;
}

static void near(double a, double b, double tolerance)
{
    if (!(fabs(a - b) <= tolerance * fabs(b)))
        fail_msg("%.12g is not %.12g", a, b);
}

/* Without communication and far above the host's seconds the step is all compute. */
static void compute_is_multiplied(void **state)
{
    (void)state;
    load("llama3-8b", "1x1:H100");
    const struct strategy s = job(1, 1, 1, 1);
    const struct residual r = factors(1.25, 9, 9, 1);
    struct plan plain = evaluate(NULL, &s), slower = evaluate(&r, &s);
    near(slower.step_s, 1.25 * plain.step_s, 1e-9);
    near(slower.stage[0].forward_s, 1.25 * plain.stage[0].forward_s, 1e-9);
    near(slower.stage[0].compute_step_s, 1.25 * plain.stage[0].compute_step_s, 1e-9);
}

static void communication_is_multiplied(void **state)
{
    (void)state;
    load("llama3-8b", "2x8:H100");
    struct strategy s = job(8, 1, 2, 8); /* far above the host's seconds */
    const struct residual links = factors(1, 2, 1, 1), network = factors(1, 1, 2, 1);
    struct plan plain = evaluate(NULL, &s), inside = evaluate(&links, &s),
                between = evaluate(&network, &s);
    /* what hid behind compute comes out */
    assert_true(inside.breakdown[BREAKDOWN_tp] > 1.999 * plain.breakdown[BREAKDOWN_tp]);
    near(inside.breakdown[BREAKDOWN_compute], plain.breakdown[BREAKDOWN_compute], 1e-9);
    near(inside.breakdown[BREAKDOWN_dp], plain.breakdown[BREAKDOWN_dp], 1e-6);
    near(between.breakdown[BREAKDOWN_dp], 2 * plain.breakdown[BREAKDOWN_dp], 1e-6);
    near(between.breakdown[BREAKDOWN_tp], plain.breakdown[BREAKDOWN_tp], 1e-9);
}

/* A rank by itself: what is left is compute and the optimizer. */
static void communication_can_be_free(void **state)
{
    (void)state;
    load("llama3-8b", "2x8:H100");
    struct strategy s = job(8, 1, 2, 1);
    const struct residual none = factors(1, 0, 0, 1);
    struct plan p = evaluate(&none, &s);
    near(p.step_s, p.stage[0].compute_step_s, 1e-9);
    s = job(4, 2, 2, 1);
    p = evaluate(&none, &s);
    assert_true(p.breakdown[BREAKDOWN_tp] == 0 && p.breakdown[BREAKDOWN_dp] < 1e-9);
}

static void memory_is_multiplied(void **state)
{
    (void)state;
    load("llama3-8b", "1x8:H100");
    const struct strategy s = job(8, 1, 1, 1);
    const struct residual r = factors(1, 1, 1, 1.3);
    struct plan plain = evaluate(NULL, &s), fuller = evaluate(&r, &s);
    near(fuller.stage[0].peak_bytes, 1.3 * plain.stage[0].peak_bytes, 1e-12);
    near(memory_peak(&fuller.stage[0].memory), fuller.stage[0].peak_bytes, 1e-12);
    near(memory_device(&fuller.stage[0].memory), fuller.stage[0].device_bytes, 1e-12);
    near(fuller.stage[0].memory.part[MEMORY_context], plain.stage[0].memory.part[MEMORY_context],
         1e-12);
}

/* Fits as long as what is said of the device is within its limit, and no longer. */
static void memory_fits_as_said(void **state)
{
    int fits = 0, full = 0;
    (void)state;
    load("llama3-8b", "1x8:H100");
    const struct strategy s = job(4, 1, 2, 1);
    for (int i = 0; i < 200; i++) {
        const struct residual r = factors(1, 1, 1, 0.5 + 0.02 * i);
        struct plan p = evaluate(&r, &s);
        assert_true(p.stage[0].fits == (p.stage[0].device_bytes <= p.stage[0].limit_bytes));
        fits += p.stage[0].fits;
        full += !p.stage[0].fits;
    }
    assert_true(fits > 0 && full > 0);
}

static struct residual fitted(double error, double scatter)
{
    struct residual r = factors(1, 1, 1, 1);
    for (int f = 0; f < RESIDUAL_TIMES; f++) {
        r.fitted[f] = true;
        r.error[f] = error;
    }
    r.time_scatter = scatter;
    r.runs = (struct residual_runs){.configurations = 4, .models = 1, .precisions = 1};
    return r;
}

static void expected_error_is_tightened(void **state)
{
    (void)state;
    load("llama3-8b", "2x8:H100");
    const struct strategy s = job(4, 1, 4, 1);
    struct plan plain = evaluate(NULL, &s);
    struct residual r = fitted(0.02, 0.03);
    struct plan p = evaluate(&r, &s);
    assert_string_equal(p.provenance, "calibrated");
    assert_true(p.expected_error < plain.expected_error);
    assert_true(p.expected_error >= 1.28 * 0.03); /* no surer than steps scatter */
    r.fitted[RESIDUAL_inter] = false;             /* what is not known is as unsure as before */
    struct plan less = evaluate(&r, &s);
    assert_true(less.expected_error > p.expected_error);
    assert_true(less.expected_error < plain.expected_error);
    r = fitted(3, 0.01);
    assert_true(evaluate(&r, &s).expected_error <= plain.expected_error);
    r = fitted(0.01, 0.5); /* own runs that scatter say more than other people's */
    near(evaluate(&r, &s).expected_error, 1.28 * 0.5, 1e-9);
    r = factors(1.1, 1, 1, 1); /* nothing is fitted */
    p = evaluate(&r, &s);
    assert_true(p.expected_error == plain.expected_error);
    assert_string_equal(p.provenance, plain.provenance);
}

/* By hand: all of the step is compute. */
static void expected_error_by_hand(void **state)
{
    (void)state;
    load("llama3-8b", "1x1:H100");
    const struct strategy s = job(1, 1, 1, 1);
    const struct residual r = fitted(0.06, 0.04);
    near(evaluate(&r, &s).expected_error, 1.28 * hypot(0.04, 0.06 / 2), 1e-3);
}

/* Plans unlike the runs keep the error that they have without a profile. */
static void runs_unlike_the_plan_tell_nothing(void **state)
{
    (void)state;
    load("llama3-8b", "2x8:H100");
    struct strategy s = job(4, 1, 4, 1);
    const struct residual r = fitted(0.02, 0.03);
    assert_true(evaluate(&r, &s).expected_error < 0.8 * evaluate(NULL, &s).expected_error);
    s.precision = PRECISION_FP8;
    assert_true(evaluate(&r, &s).expected_error == evaluate(NULL, &s).expected_error);
    load("mixtral-8x7b", "2x8:H100");
    s = job(4, 1, 4, 1);
    struct residual both = r;
    assert_true(evaluate(&r, &s).expected_error == evaluate(NULL, &s).expected_error);
    both.runs.models = 3;
    assert_true(evaluate(&both, &s).expected_error < evaluate(NULL, &s).expected_error);
}

static void few_runs_tell_part_of_it(void **state)
{
    (void)state;
    load("llama3-8b", "1x1:H100");
    const struct strategy s = job(1, 1, 1, 1);
    struct residual r = fitted(0.001, 0.001);
    double before = evaluate(NULL, &s).expected_error;
    assert_true(evaluate(&r, &s).expected_error < 0.1 * before);
    r.runs.configurations = 2;
    near(evaluate(&r, &s).expected_error, before * 2 / 3, 1e-9);
}

/* One type in two groups has one factor: its error is that of one group with all stages. */
static void groups_of_one_type_share_their_error(void **state)
{
    struct mesh_list meshes = {.count = 2};
    struct plan one, two;
    (void)state;
    load("llama3-8b", "1x8:H100,1x8:H100");
    const struct strategy s = job(8, 2, 1, 8);
    const struct residual r = fitted(0.10, 0), same = r;
    struct scene sc = scene();
    for (int i = 0; i < 2; i++)
        meshes.mesh[i] = (struct mesh){.group = &cluster.group[i], .stages = 1};
    sc.meshes = &meshes;
    sc.cluster = &cluster;
    struct costing on[2] = {{.residual = &r}, {.residual = &r}};
    sc.costing = on;
    plan_evaluate(&sc, &s, NULL, &mem, &two);
    on[1].residual = &same; /* as if the types were two: errors that are independent */
    plan_evaluate(&sc, &s, NULL, &mem, &one);
    assert_true(two.expected_error > 1.05 * one.expected_error);
    near(two.step_s, one.step_s, 1e-12);
}

/* Every group of a mixed job has its own, and scenes can be varied one by one. */
static void groups_have_their_own(void **state)
{
    (void)state;
    load("llama3-8b", "1x8:H100,1x8:A100");
    struct strategy s = job(8, 2, 1, 8); /* far above the host's seconds */
    struct mesh_list meshes = {.count = 2};
    struct scene sc = scene();
    struct plan plain, p;
    for (int i = 0; i < 2; i++)
        meshes.mesh[i] = (struct mesh){.group = &cluster.group[i], .stages = 1};
    sc.meshes = &meshes;
    sc.cluster = &cluster;
    plan_evaluate(&sc, &s, NULL, &mem, &plain);
    const struct residual r = factors(1.5, 1, 1, 1.1);
    const struct costing on[2] = {[1] = {.residual = &r}};
    sc.costing = on;
    plan_evaluate(&sc, &s, NULL, &mem, &p);
    near(p.stage[0].forward_s, plain.stage[0].forward_s, 1e-12);
    near(p.stage[1].forward_s, 1.5 * plain.stage[1].forward_s, 1e-9);
    near(p.stage[1].peak_bytes, 1.1 * plain.stage[1].peak_bytes, 1e-9);
    struct varied v;
    scene_vary(&v, &sc, 0, (double[RESIDUALS]){2, 1, 1, 1});
    plan_evaluate(&v.scene, &s, NULL, &mem, &p);
    near(p.stage[0].forward_s, 2 * plain.stage[0].forward_s, 1e-9);
    near(p.stage[1].forward_s, 1.5 * plain.stage[1].forward_s, 1e-9);
}

static void profiles_read_back(void **state)
{
    (void)state;
    struct profile p = {.entries = 2}, again = {0};
    struct error err = {0};
    struct str text;
    static const char *const from[] = {"a.log", "b.json"};
    for (int i = 0; i < 2; i++) {
        struct profile_entry *e = &p.entry[i];
        e->gpu = gpu_find("H200", NULL);
        e->stack = i == 1 ? STACK_TE : STACK_LOCAL;
        e->residual = fitted(profile_rounded(0.0123456789), profile_rounded(1.0 / 30));
        e->residual.value[RESIDUAL_inter] = profile_rounded(1 / 0.7);
        e->residual.memory_scatter = 0.01;
        e->residual.runs = (struct residual_runs){
            .configurations = i + 1, .models = i ? 3 : 2, .precisions = i ? 7 : 1 << PRECISION_FP8};
        for (int f = 0; f < RESIDUALS; f++) {
            e->observations[f] = f;
            e->why[f] = e->residual.fitted[f] ? "" : "no \"input\" has it";
        }
    }
    str_init(&text);
    struct json *root = json_of_profile(&p, from, 2);
    json_dump(root, &text);
    json_release(root);
    must(profile_read(&again, str_text(&text), text.length, "p.json", &mem, &err), &err);
    assert_int_equal(again.entries, 2);
    for (int i = 0; i < 2; i++) {
        const struct profile_entry *a = &p.entry[i], *b = &again.entry[i];
        assert_true(a->gpu == b->gpu && a->stack == b->stack);
        for (int f = 0; f < RESIDUALS; f++) {
            assert_true(a->residual.value[f] == b->residual.value[f]);
            assert_true(a->residual.error[f] == b->residual.error[f]);
            assert_true(a->residual.fitted[f] == b->residual.fitted[f]);
            assert_int_equal(a->observations[f], b->observations[f]);
            assert_string_equal(a->why[f], b->why[f]);
        }
        assert_true(a->residual.time_scatter == b->residual.time_scatter);
        assert_true(a->residual.memory_scatter == b->residual.memory_scatter);
        assert_int_equal(a->residual.runs.configurations, b->residual.runs.configurations);
        assert_int_equal(a->residual.runs.models, b->residual.runs.models);
        assert_int_equal(a->residual.runs.precisions, b->residual.runs.precisions);
    }
    const char *words =
        "\"precisions\": [\n          \"bf16\",\n          \"fp16\",\n          \"fp8\"";
    assert_non_null(strstr(str_text(&text), words));        /* those of params.def */
    for (size_t cut = 0; cut + 1 < text.length; cut += 7) { /* no part of it is a profile */
        err = (struct error){0};
        assert_false(profile_read(&again, str_text(&text), cut, "p.json", &mem, &err));
        assert_true(err.kind == ERROR_INPUT && strncmp(err.text, "p.json:", 7) == 0);
    }
    str_release(&text);
}

static int tear_down(void **state)
{
    (void)state;
    arena_release(&mem);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compute_is_multiplied),
        cmocka_unit_test(communication_is_multiplied),
        cmocka_unit_test(communication_can_be_free),
        cmocka_unit_test(memory_is_multiplied),
        cmocka_unit_test(memory_fits_as_said),
        cmocka_unit_test(expected_error_is_tightened),
        cmocka_unit_test(expected_error_by_hand),
        cmocka_unit_test(groups_have_their_own),
        cmocka_unit_test(profiles_read_back),
        cmocka_unit_test(runs_unlike_the_plan_tell_nothing),
        cmocka_unit_test(few_runs_tell_part_of_it),
        cmocka_unit_test(groups_of_one_type_share_their_error),
    };
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
