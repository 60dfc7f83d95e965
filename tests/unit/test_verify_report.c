/* What verify says: verdicts of made-up measurements, and JSON against its schema. */
#include "asked.h"
#include "astra.h"
#include "base/units.h"
#include "query/query_file.h"
#include "report/report.h"
#include "run/commands.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "schema.h"

struct bench {
    struct asked query;
    struct arena mem;
    struct verify_report report;
    struct str out;
};

/* A plan as if it had run on a GPU of its own type, all as predicted. */
static void start(struct bench *b, const char *plan)
{
    struct error err = {0};
    struct verifying v = {.options = &b->query.options,
                          .resources = &b->query.resources,
                          .mem = &b->mem,
                          .report = &b->report,
                          .err = &err};
    asked_init(&b->query);
    arena_init(&b->mem);
    str_init(&b->out);
    must(asked_set(&b->query, "dry-run", "on", &err) &&
             import_file(&b->query.options, plan, &err) && asked_lend(&b->query, &err) &&
             run_verify(&v),
         &err);
    b->report.dry_run = false;
    strcpy(b->report.check.gpu, "NVIDIA H100 80GB HBM3");
    strcpy(b->report.check.torch, "2.11.0");
    strcpy(b->report.check.megatron, "0.20.0");
    b->report.check.total_mib = 81559;
    for (int i = 0; i < b->report.stages; i++) {
        struct verify_stage *s = &b->report.stage[i];
        s->outcome = VERIFY_OK;
        s->status = "ok";
        s->measured = (struct rank_result){.status = "ok",
                                           .iterations = 6,
                                           .peak_mib = s->peak_bytes / MIB,
                                           .reserved_mib = s->peak_bytes / MIB,
                                           .total_mib = 81559,
                                           .compute_ms = 1e3 * s->compute_s,
                                           .fill_ms = 1,
                                           .spread = 0.01,
                                           .sm_mhz = 1755,
                                           .watts = 600,
                                           .watt_limit = 700};
    }
}

static void release(struct bench *b)
{
    asked_release(&b->query);
    arena_release(&b->mem);
    str_release(&b->out);
}

static void judge(struct bench *b)
{
    struct verify_case c = {.scene = plan_scene(b->report.plan),
                            .strategy = b->report.plan->strategy,
                            .layout = &b->report.plan->layout};
    for (int i = 0; i < b->report.stages; i++)
        b->report.stage[i].suspects = 0;
    b->report.notes = 0;
    verify_judge(&b->report, &c, &b->mem);
}

static void expect(struct bench *b, bool confirmed, const char *verdict)
{
    judge(b);
    assert_int_equal(b->report.confirmed, confirmed);
    if (!strstr(b->report.verdict, verdict))
        fail_msg("%s, expected %s", b->report.verdict, verdict);
}

/* Worse faults come first, whichever stage they are on. */
static void test_verdicts(void **unused)
{
    (void)unused;
    struct bench b;
    start(&b, "tests/golden/files/four_stages.json");
    struct verify_stage *s = b.report.stage;
    expect(&b, true, "confirmed: compute is 0.0 % off on average, memory 0.0 %");
    assert_true(b.report.step_s == b.report.plan->step_s);
    s[0].measured.compute_ms *= 1.05;
    expect(&b, true, "confirmed: compute is 1.6 % off");
    assert_true(b.report.step_s > b.report.plan->step_s);
    s[2].outcome = VERIFY_SKIPPED;
    s[2].status = "no room";
    expect(&b, false, "not confirmed: stage 3 was not run: no room");
    s[0].measured.compute_ms *= 1.21 / 1.05;
    expect(&b, false, "stage 0 computes 21.0 % longer than predicted,");
    s[0].measured.compute_ms /= 2;
    expect(&b, false, "stage 0 computes 39.5 % shorter than predicted");
    s[1].measured.peak_mib *= 1.03;
    expect(&b, false, "stage 1 needs 3.0 % more memory than predicted");
    s[0].outcome = VERIFY_FAILED;
    s[0].status = "ValueError: x";
    expect(&b, false, "stage 0 failed: ValueError: x");
    s[1].measured.peak_mib = 82000;
    expect(&b, false, "stage 1 does not fit on H100-SXM5-80GB");
    s[2].outcome = VERIFY_FULL;
    expect(&b, false, "stage 3 ran out of memory");
    release(&b);
}

static bool noted(const struct bench *b, const char *text)
{
    for (int i = 0; i < b->report.notes; i++)
        if (strstr(b->report.note[i], text))
            return true;
    return false;
}

/* The verdict and the note on room never contradict each other. */
static void test_room(void **unused)
{
    (void)unused;
    struct bench b;
    start(&b, "tests/golden/files/one_stage.json");
    struct verify_stage *s = &b.report.stage[0];
    const struct plan_stage *planned = &b.report.plan->stage[0];
    double usable = planned->group->usable_bytes, limit = planned->limit_bytes;
    double beside =
        planned->memory.part[MEMORY_context] + planned->memory.part[MEMORY_communicators];
    char left[100];
    s->measured.reserved_mib = (limit - beside - MIB) / MIB;
    expect(&b, true, "confirmed");
    assert_true(noted(&b, ": it fits") && !noted(&b, "margin"));
    s->measured.reserved_mib = (usable - beside - 1.5 * GIB) / MIB;
    expect(&b, true, "confirmed");
    snprintf(left, sizeof left, ": it fits, but less than the margin is left: 1.5 GiB of %.1f GiB",
             (usable - limit) / GIB);
    assert_true(noted(&b, left));
    s->measured.reserved_mib = (usable - beside + MIB) / MIB;
    expect(&b, false, "not confirmed: stage 0 does not fit on");
    assert_true(noted(&b, ": it does not fit") && !noted(&b, "margin"));
    ((struct plan_stage *)planned)->fits = false; /* nor was it predicted to */
    expect(&b, false, "not confirmed: stage 0 does not fit on");
    release(&b);
}

static void test_suspects(void **unused)
{
    (void)unused;
    struct bench b;
    start(&b, "tests/golden/files/one_stage.json");
    struct rank_result *m = &b.report.stage[0].measured;
    judge(&b);
    assert_int_equal(b.report.stage[0].suspects, 0);
    m->loss_not_finite = true;
    m->sm_mhz = m->compute_ms = NAN;
    m->spread = 0.2;
    expect(&b, true, "memory confirmed: 0.0 % off on average; times were not compared");
    assert_int_equal(b.report.stage[0].suspects, 4);
    release(&b);
}

/* Times of another type say nothing of this plan's step. */
static void test_other_type(void **unused)
{
    (void)unused;
    struct bench b;
    start(&b, "tests/golden/files/four_stages.json");
    for (int i = 0; i < b.report.stages; i++)
        b.report.stage[i].predicted_for = gpu_find("H200", NULL);
    expect(&b, true, "confirmed");
    assert_true(isnan(b.report.step_s));
    release(&b);
}

static void test_schema(void **unused)
{
    (void)unused;
    static const char *const plans[] = {"one_stage", "four_stages", "moe", "mixed", "plan"};
    for (size_t i = 0; i < 2 * COUNT(plans); i++) {
        struct error err = {0};
        struct bench b;
        char path[64];
        snprintf(path, sizeof path, "tests/golden/files/%s.json", plans[i / 2]);
        start(&b, path);
        judge(&b);
        b.report.dry_run = i % 2;
        if (i == 2)
            b.report.stage[1].outcome = VERIFY_FULL;
        report_verify_json(&b.report, &b.out);
        struct json *v = json_parse(str_text(&b.out), b.out.length, path, &err);
        must(v != NULL, &err);
        must_be_by_schema(v, "data/schema/verify.schema.json", "verify");
        json_release(v);
        release(&b);
    }
}

/* Text of every outcome, narrow and wide, breaks nothing. */
static void test_text(void **unused)
{
    (void)unused;
    struct bench b;
    start(&b, "tests/golden/files/four_stages.json");
    b.report.stage[0].outcome = VERIFY_FAILED;
    b.report.stage[0].status = "it ended without a result (exit code 1)";
    b.report.stage[0].log = "one\ntwo\n";
    b.report.stage[1].outcome = VERIFY_FULL;
    b.report.stage[1].status = "out of memory";
    judge(&b);
    for (int columns = 0; columns <= 200; columns += 40) {
        struct report_style style = {columns, columns > 100};
        str_clear(&b.out);
        report_verify_text(&b.report, &style, &b.out);
        assert_non_null(strstr(str_text(&b.out), "      one\n      two\n"));
        assert_non_null(strstr(str_text(&b.out), columns == 40 ? "out of\n" : "out of memory"));
    }
    release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_verdicts),   cmocka_unit_test(test_suspects),
        cmocka_unit_test(test_other_type), cmocka_unit_test(test_schema),
        cmocka_unit_test(test_text),       cmocka_unit_test(test_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
