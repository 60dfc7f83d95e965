/* Which ranks of a plan run alone, with how few micro-batches, and what is predicted of them. */
#define _POSIX_C_SOURCE 200809L
#include "verify/verify.h"

#include "base/arena.h"
#include "verify/harness.h"

#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "random.h"
#include "scene.h"

/* As Megatron has it: groups of interleaved schedules must come out. */
static bool schedulable(void *context, const struct strategy *s, const char **why)
{
    int64_t m = strategy_micro_batches(s);
    (void)context;
    *why = "they do not come out";
    return s->vpp == 1 || (m >= s->pp && m % s->pp == 0);
}

static struct verify_case a_case(const struct strategy *s)
{
    return (struct verify_case){.scene = scene(), .strategy = *s, .allowed = schedulable};
}

static struct strategy four_stages(void)
{
    struct strategy s;
    strategy_init(&s);
    s.seq_len = 4096;
    s.tp = 2;
    s.pp = 4;
    s.seq_parallel = 1;
    s.global_batch = 32;
    return s;
}

static void evaluate(const struct verify_case *c, struct plan *p)
{
    plan_evaluate(&c->scene, &c->strategy, c->layout, &mem, p);
    assert_true(p->computed);
}

static void choose(const struct plan *p, const char *which, struct verify_report *r)
{
    struct error err = {0};
    *r = (struct verify_report){.run = p};
    must(verify_choose(p, which, r, &mem, &err), &err);
}

static void test_kinds_of_stage(void **unused)
{
    (void)unused;
    struct strategy s = four_stages();
    struct verify_report r;
    struct plan p;
    load("llama3-8b", "1x8:H100");
    struct verify_case c = a_case(&s);
    evaluate(&c, &p);
    choose(&p, "distinct", &r);
    assert_int_equal(r.stages, 3);
    const struct verify_stage *x = r.stage;
    assert_true(x[0].stage == 0 && x[1].stage == 1 && x[2].stage == 3);
    assert_true(x[0].alike == 1 && x[1].alike == 2 && x[2].alike == 1);
    assert_true(x[0].rank == 0 && x[1].rank == 2 && x[2].rank == 6);
    assert_string_equal(x[1].kind, "middle");
    assert_true(p.stage[1].peak_bytes > p.stage[2].peak_bytes); /* the fuller of the two is run */
    choose(&p, "all", &r);
    assert_int_equal(r.stages, 4);
    choose(&p, "3,1", &r);
    assert_true(r.stages == 2 && r.stage[0].stage == 1 && r.stage[1].stage == 3);
}

static void test_wrong_lists(void **unused)
{
    (void)unused;
    static const char *const wrong[] = {"4", "0,0", "0,", ",", "1,,2", "99999999999999999999", "x"};
    struct strategy s = four_stages();
    struct plan p;
    load("llama3-8b", "1x8:H100");
    struct verify_case c = a_case(&s);
    evaluate(&c, &p);
    for (size_t i = 0; i < COUNT(wrong); i++) {
        struct verify_report r = {0};
        struct error err = {0};
        assert_false(verify_choose(&p, wrong[i], &r, &mem, &err));
        assert_int_equal(err.kind, ERROR_INPUT);
        assert_non_null(strstr(err.text, "--stages has"));
    }
}

/* Dense layers first: stages of a model with experts differ by their kinds of layers. */
static void test_kinds_of_layers(void **unused)
{
    (void)unused;
    struct strategy s = four_stages();
    struct verify_report r;
    struct plan p;
    load("layers=16,hidden=2048,heads=16,ffn=8192,vocab=32000,experts=8,topk=2,expert_ffn=2048,"
         "dense_first=6,max_seq=4096",
         "1x8:H100");
    struct verify_case c = a_case(&s);
    evaluate(&c, &p);
    choose(&p, "distinct", &r);
    assert_int_equal(r.stages, 4); /* dense, mixed, experts, the last */
}

static struct strategy random_strategy(void)
{
    struct strategy s = four_stages();
    s.tp = 1 << pick(0, 2);
    s.seq_parallel = s.tp > 1;
    s.pp = 1 << pick(0, 3);
    s.vpp = s.pp > 1 ? 1 << pick(0, 2) : 1;
    s.dp = 1 << pick(0, 2);
    s.micro_batch = 1 << pick(0, 1);
    s.dist_opt = pick(0, 1);
    s.grad_bf16 = pick(0, 1);
    s.recompute = pick(0, 2);
    s.recompute_modules = s.recompute == RECOMPUTE_SELECTIVE ? pick(1, 7) : 0;
    s.recompute_method = s.recompute == RECOMPUTE_FULL ? pick(1, 2) : METHOD_NONE;
    s.recompute_layers = s.recompute == RECOMPUTE_FULL ? pick(1, 2) : 0;
    s.p2p_overlap = s.vpp > 1;
    s.global_batch = s.pp * pick(1, 12) * s.micro_batch * s.dp;
    return s;
}

static bool are_as_full(const struct plan *a, const struct plan *b, const struct verify_report *r)
{
    for (int i = 0; i < r->stages; i++) {
        int stage = r->stage[i].stage;
        if (fabs(a->stage[stage].peak_bytes / b->stage[stage].peak_bytes - 1) > 1e-9)
            return false;
    }
    return true;
}

/* With as few as found every chosen stage is as full, and with any fewer one is not. */
static void test_shrinking(void **unused)
{
    (void)unused;
    int shrunk = 0;
    load("llama3-8b", "16x8:H100");
    for (int i = 0; i < 1000; i++) {
        struct strategy s = random_strategy();
        struct verify_case c = a_case(&s);
        struct verify_report r;
        struct plan whole, fewer;
        const char *why;
        evaluate(&c, &whole);
        choose(&whole, i % 2 ? "all" : "distinct", &r);
        int64_t all = strategy_micro_batches(&s), least = verify_shrink(&c, &r);
        assert_true(least >= 1 && least <= all && (least >= 2 || all == 1));
        for (int64_t m = 2; m <= least; m++) {
            struct verify_case less = c;
            less.strategy.global_batch = (int)(m * s.micro_batch * s.dp);
            bool allowed = schedulable(NULL, &less.strategy, &why);
            if (allowed)
                evaluate(&less, &fewer);
            assert_int_equal(allowed && are_as_full(&fewer, &whole, &r), m == least);
        }
        shrunk += least < all;
    }
    assert_true(shrunk > 300);
}

/* Without others nothing is waited for; memory is the same. */
static void test_alone(void **unused)
{
    (void)unused;
    struct strategy s = four_stages();
    struct plan p, lone;
    load("llama3-8b", "1x8:H100");
    s.recompute = RECOMPUTE_FULL;
    s.recompute_method = METHOD_UNIFORM;
    s.recompute_layers = 1;
    struct verify_case c = a_case(&s);
    evaluate(&c, &p);
    verify_alone(&c, &mem, &lone);
    for (int r = 0; r < p.stages; r++) {
        assert_true(lone.stage[r].compute_step_s < p.stage[r].compute_step_s);
        assert_true(lone.stage[r].compute_step_s > 0.7 * p.stage[r].compute_step_s);
        assert_true(lone.stage[r].peak_bytes == p.stage[r].peak_bytes);
    }
    assert_true(lone.breakdown[BREAKDOWN_tp] == 0 && p.breakdown[BREAKDOWN_tp] > 0);
    c.strategy.tp = 1; /* nothing is sent inside a pass: nothing changes */
    c.strategy.seq_parallel = 0;
    evaluate(&c, &p);
    verify_alone(&c, &mem, &lone);
    for (int r = 0; r < p.stages; r++)
        assert_true(lone.stage[r].compute_step_s == p.stage[r].compute_step_s);
}

static void test_scaled_step(void **unused)
{
    (void)unused;
    double same[] = {1, 1, 1, 1}, slower[] = {1, 2, 1, 1}, weeks[] = {1, 1, 1e9, 1};
    struct strategy s = four_stages();
    struct plan p;
    load("llama3-8b", "1x8:H100");
    struct verify_case c = a_case(&s);
    evaluate(&c, &p);
    assert_true(verify_scaled_step(&c, same) == p.step_s);
    double m = (double)strategy_micro_batches(&s);
    double more = m * (p.stage[1].forward_s + p.stage[1].backward_s);
    assert_true(verify_scaled_step(&c, slower) > p.step_s + 0.5 * more);
    assert_true(verify_scaled_step(&c, slower) < p.step_s + 1.5 * more);
    assert_true(isnan(verify_scaled_step(&c, weeks)));
}

static void test_switched_off(void **unused)
{
    (void)unused;
    struct strategy s = four_stages();
    struct verify_report r = {0};
    const char *why;
    load("mixtral-8x7b", "1x8:H100");
    s.tp_overlap = s.grouped_gemm = 1;
    s.dispatcher = DISPATCH_FLEX;
    s.cuda_graph = GRAPH_STEP;
    s.attention = ATTENTION_FUSED;
    struct strategy te = s, torch = s;
    assert_true(verify_as_run(&model, STACK_TE, &te, &r, &mem, &why));
    assert_true(r.notes == 2 && !te.tp_overlap && te.dispatcher == DISPATCH_ALLTOALL);
    assert_true(te.grouped_gemm && te.cuda_graph == GRAPH_STEP && te.attention == ATTENTION_FUSED);
    r.notes = 0;
    assert_true(verify_as_run(&model, STACK_TORCH, &torch, &r, &mem, &why));
    assert_true(r.notes == 5 && !torch.grouped_gemm && torch.cuda_graph == GRAPH_NONE);
    assert_int_equal(torch.attention, ATTENTION_AUTO);
    s.attention = ATTENTION_UNFUSED;
    assert_false(verify_as_run(&model, STACK_TORCH, &s, &r, &mem, &why));
    assert_non_null(strstr(why, "attention is unfused"));
    load("gpt-oss-120b", "1x8:H100");
    s.attention = ATTENTION_AUTO;
    assert_false(verify_as_run(&model, STACK_TORCH, &s, &r, &mem, &why));
    assert_non_null(strstr(why, "sliding windows"));
}

static bool read_result(const char *text, struct rank_result *r)
{
    struct error err = {0};
    return rank_result_parse(text, strlen(text), r, &err);
}

static void test_line(void **unused)
{
    (void)unused;
    struct rank_result r;
    assert_true(
        read_result("{\"status\": \"ok\", \"iterations\": 5, \"peak_mib\": 100.5, "
                    "\"iteration_ms\": [90, 80, 30, 31.5, 30], \"fill_ms\": [1, 2, 10, 10, 9], "
                    "\"compute_ms\": 21.25, \"loss\": [1, 2], \"sm_mhz\": null}",
                    &r));
    assert_string_equal(r.status, "ok");
    assert_true(r.iterations == 5 && r.peak_mib == 100.5 && r.compute_ms == 21.25);
    assert_true(r.fill_ms == 9 && isnan(r.sm_mhz) && isnan(r.watts) && !r.loss_not_finite);
    assert_true(fabs(r.spread - (21.5 / 20 - 1)) < 1e-12);
    assert_true(read_result("{\"status\": \"a NaN, \\\"Infinity\\\"\", \"loss\": [1, NaN], "
                            "\"peak_mib\": Infinity, \"watts\": -3, \"iterations\": 1e300}",
                            &r));
    assert_string_equal(r.status, "a NaN, \"Infinity\"");
    assert_true(r.loss_not_finite && isnan(r.peak_mib) && isnan(r.watts) && r.iterations == 0);
    assert_true(read_result("{\"status\": \"a\\u001b[31mred\\n\"}", &r));
    assert_string_equal(r.status, "a?[31mred?");
}

static void test_wrong_lines(void **unused)
{
    (void)unused;
    static const char *const wrong[] = {"",
                                        "{",
                                        "[]",
                                        "{}",
                                        "{\"status\": 1}",
                                        "NaN",
                                        "{\"status",
                                        "{\"status\": \"ok\"} x",
                                        "{\"status\": \"\"}"};
    struct rank_result r;
    struct rank_check c;
    for (size_t i = 0; i < COUNT(wrong); i++) {
        struct error err = {0};
        assert_false(rank_result_parse(wrong[i], strlen(wrong[i]), &r, &err));
        assert_false(rank_check_parse(wrong[i], strlen(wrong[i]), &c, &err));
        assert_true(*err.text);
    }
}

/* Figures that no GPU measures make a wrong result; 0 and less are as good as nothing. */
static void test_unbelievable(void **unused)
{
    (void)unused;
    static const char *const keys[] = {"compute_ms", "peak_mib", "reserved_mib"};
    static const struct {
        const char *value;
        bool good;
    } figures[] = {{"1e12", false}, {"100000001", false}, {"1e-300", false}, {"1e8", true},
                   {"0.001", true}, {"0", true},          {"-1e12", true}};
    for (size_t k = 0; k < COUNT(keys); k++)
        for (size_t i = 0; i < COUNT(figures); i++) {
            struct error err = {0};
            struct rank_result r;
            char text[128];
            snprintf(text, sizeof text, "{\"status\": \"ok\", \"%s\": %s}", keys[k],
                     figures[i].value);
            assert_int_equal(rank_result_parse(text, strlen(text), &r, &err), figures[i].good);
            assert_true(figures[i].good || strstr(err.text, keys[k]));
        }
}

/* Of another process: `number` is only noted while signals are held, and ends it then. */
static void held_until_let_go(int number)
{
    struct held_signals h;
    signal(number, SIG_DFL);
    signals_hold(&h);
    raise(number);
    if (!signals_came())
        _exit(1);
    signals_let_go(&h);
    _exit(2);
}

static void test_signals(void **unused)
{
    (void)unused;
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGALRM};
    for (size_t i = 0; i < COUNT(numbers); i++) {
        struct rlimit none = {0};
        int status;
        pid_t pid = fork();
        if (pid == 0) {
            setrlimit(RLIMIT_CORE, &none);
            held_until_let_go(numbers[i]);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == numbers[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds_of_stage),  cmocka_unit_test(test_wrong_lists),
        cmocka_unit_test(test_kinds_of_layers), cmocka_unit_test(test_shrinking),
        cmocka_unit_test(test_alone),           cmocka_unit_test(test_scaled_step),
        cmocka_unit_test(test_switched_off),    cmocka_unit_test(test_line),
        cmocka_unit_test(test_wrong_lines),     cmocka_unit_test(test_unbelievable),
        cmocka_unit_test(test_signals),
    };
    arena_init(&mem);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    arena_release(&mem);
    return failed;
}
