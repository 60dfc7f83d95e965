/* Plans that train on samples of many lengths, against plans of full sequences and by hand. */
#include "dataset/dataset.h"

#include "asked.h"

#include "simulate/partition.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "asked_plan.h"

#define ESTIMATE(a, ...) asked_plan(a, (const char *const[]){__VA_ARGS__, NULL})
#define LLAMA "model", "llama3-8b", "cluster", "2x8:H100", "seq-len", "8192", "global-batch", "64"
#define MIXTRAL                                                                                    \
    "model", "mixtral-8x7b", "cluster", "4x8:H100", "seq-len", "8192", "global-batch", "64",       \
        "set", "ep=8", "set", "pp=2", "set", "dist_opt=on"
#define TP "set", "tp=2", "set", "dist_opt=on"

/* Bit for bit what it is without: samples as long as the sequence change nothing. */
static void full_samples_change_nothing(void **state)
{
    struct asked a, b;
    (void)state;
    const struct plan plain[] = {ESTIMATE(&a, LLAMA, TP, "set", "cp=2")};
    const struct plan padded = ESTIMATE(&b, LLAMA, TP, "set", "cp=2", "lengths", "8192");
    assert_true(padded.step_s == plain->step_s && padded.mfu == plain->mfu);
    assert_true(padded.tokens_per_s == plain->tokens_per_s && padded.late_s == 0);
    assert_memory_equal(&padded.stage[0].memory, &plain->stage[0].memory,
                        sizeof plain->stage[0].memory);
    asked_release(&b);
    const struct plan packed =
        ESTIMATE(&b, LLAMA, TP, "set", "cp=2", "lengths", "8192", "packing", "on");
    assert_true(packed.step_s == plain->step_s && packed.samples_per_s == plain->samples_per_s);
    asked_release(&a);
    asked_release(&b);
}

/* Attention alone: 2 samples of 4096 tokens in each sequence of 8192. */
static void packed_attention_is_block_diagonal(void **state)
{
    struct asked a;
    struct op full[OPS_MAX], packed[OPS_MAX];
    struct dataset d;
    struct lengths l;
    struct error err = {0};
    (void)state;
    const struct plan p = ESTIMATE(&a, LLAMA, TP, "set", "cp=2", "set", "micro_batch=2");
    struct scene sc = plan_scene(&p);
    struct block_shape shape = block_shape_of(&sc, &p.strategy, BLOCK_ATTENTION);
    must(lengths_parse("4096", &a.mem, &l, &err), &err);
    dataset_make(&l, true, PADDING_LONGEST, 8192, &a.mem, &d);
    struct sequence_work work = dataset_work(&d, 2, 2);
    int count = block_ops(&shape, full);
    shape.work = &work;
    assert_int_equal(block_ops(&shape, packed), count);
    for (int i = 0; i < count; i++) {
        const struct op *x = &full[i], *y = &packed[i];
        bool attention = x->kind == OP_ATTENTION;
        assert_true(y->saved == x->saved && y->temporary == x->temporary);
        assert_true(y->m == x->m / (attention ? 2 : 1));
        assert_true(y->keys == x->keys / 2 && y->n == x->n / (attention ? 2 : 1));
        assert_true(y->count == x->count * (attention ? 2 : 1));
    }
    asked_release(&a);
}

/* Rows of a padded micro-batch; what must fit is the longest sample. */
static void padded_plans_need_their_longest_sample(void **state)
{
    struct asked a, b;
    (void)state;
    const struct plan full = ESTIMATE(&a, LLAMA, TP);
    const struct plan p = ESTIMATE(&b, LLAMA, TP, "lengths", "uniform:512..8192");
    assert_memory_equal(&p.stage[0].memory, &full.stage[0].memory, sizeof full.stage[0].memory);
    assert_true(p.step_s > full.step_s * 4352 / 8192 * 0.9 && p.step_s < full.step_s * 0.75);
    near(p.tokens_per_s, 64 * 4352 / p.step_s, 1e-9);
    near(p.samples_per_s, 64 / p.step_s, 1e-12);
    assert_true(p.late_s > 0.02 * p.step_s && p.late_s < 0.3 * p.step_s);
    asked_release(&a);
    asked_release(&b);
}

static void packing_is_never_slower(void **state)
{
    static const char *const lengths[] = {"uniform:512..4096", "lognormal:800,0.9", "1000",
                                          "uniform:6000..8192"};
    struct asked a;
    (void)state;
    for (size_t i = 0; i < COUNT(lengths); i++)
        for (int moe = 0; moe < 2; moe++) {
            double speed[3];
            for (int way = 0; way < 3; way++) {
                const char *option = way < 2 ? "padding" : "packing";
                const char *value = way == 0 ? "seq-len" : way == 1 ? "longest" : "on";
                const struct plan p =
                    moe ? ESTIMATE(&a, MIXTRAL, "lengths", lengths[i], option, value)
                        : ESTIMATE(&a, LLAMA, TP, "set", "micro_batch=2", "lengths", lengths[i],
                                   option, value);
                speed[way] = p.samples_per_s;
                asked_release(&a);
            }
            if (!(speed[0] <= speed[1] && speed[1] <= 1.001 * speed[2]))
                fail_msg("%s: %g to the sequence, %g to the longest, %g packed", lengths[i],
                         speed[0], speed[1], speed[2]);
        }
}

/* 50,000 samples three times, 64 packs of 8192 / 3000 samples a step. */
static void runs_are_counted_in_samples(void **state)
{
    struct asked a, b;
    (void)state;
    const struct plan p = ESTIMATE(&a, LLAMA, TP, "lengths", "3000", "packing", "on", "samples",
                                   "50K", "epochs", "3");
    double steps = ceil(150000 / 128.0);
    near(p.hours, steps * p.step_s / 3600, 1e-12);
    near(p.hours_per_epoch, 50000 / 128.0 * p.step_s / 3600, 1e-12);
    near(p.usd_total, p.hours * p.usd_per_hour, 1e-12);
    near(a.query.run.tokens, 150000 * 3000.0, 1e-12);
    near(p.tokens_per_s, 128 * 3000 / p.step_s, 1e-12);
    const struct plan q = ESTIMATE(&b, LLAMA, TP, "samples", "50K"); /* full sequences, once */
    near(q.hours, ceil(50000 / 64.0) * q.step_s / 3600, 1e-12);
    near(p.spare_bytes, p.stage[0].limit_bytes - p.stage[0].device_bytes, 1e-9);
    asked_release(&a);
    asked_release(&b);
}

/* Padding to 2 cp makes a pack of short samples longer. */
static void context_parallel_packs_are_padded(void **state)
{
    struct asked a, b;
    (void)state;
    const struct plan even =
        ESTIMATE(&a, LLAMA, "set", "cp=8", "set", "dist_opt=on", "lengths", "64", "packing", "on");
    const struct plan odd =
        ESTIMATE(&b, LLAMA, "set", "cp=8", "set", "dist_opt=on", "lengths", "65", "packing", "on");
    near(odd.step_s / even.step_s, 80.0 / 65, 0.1);
    asked_release(&a);
    asked_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(full_samples_change_nothing),
        cmocka_unit_test(packed_attention_is_block_diagonal),
        cmocka_unit_test(padded_plans_need_their_longest_sample),
        cmocka_unit_test(packing_is_never_slower),
        cmocka_unit_test(runs_are_counted_in_samples),
        cmocka_unit_test(context_parallel_packs_are_padded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
