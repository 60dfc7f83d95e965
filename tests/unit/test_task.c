/* What preference training adds to a plan, against plans without it. */
#include "dataset/task.h"

#include "asked.h"

#include "simulate/partition.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "asked_plan.h"

#define ESTIMATE(a, ...) asked_plan(a, (const char *const[]){LLAMA, __VA_ARGS__, NULL})
#define LLAMA                                                                                      \
    "model", "llama3-8b", "cluster", "1x8:H100", "seq-len", "4096", "global-batch", "32", "set",   \
        "tp=2", "set", "dist_opt=on"

static double weights(const struct plan *p)
{
    return p->stage[0].memory.part[MEMORY_weights];
}

/* Without a reference a pair is a micro-batch of two: bit for bit. */
static void pairs_are_two_sequences(void **state)
{
    struct asked a, b;
    (void)state;
    const struct plan two = ESTIMATE(&a, "global-batch", "64", "set", "micro_batch=2");
    const struct plan pair = ESTIMATE(&b, "task", "dpo", "reference", "none");
    assert_true(pair.step_s == two.step_s && pair.tokens_per_s == two.tokens_per_s);
    assert_true(pair.stage[0].device_bytes == two.stage[0].device_bytes);
    near(pair.samples_per_s, two.samples_per_s / 2, 1e-12);
    asked_release(&a);
    asked_release(&b);
}

static void a_reference_runs_forward_alone(void **state)
{
    struct asked a, b;
    (void)state;
    const struct plan none = ESTIMATE(&a, "task", "dpo", "reference", "none");
    const struct plan model = ESTIMATE(&b, "task", "dpo");
    near(weights(&model), 2 * weights(&none), 1e-9);
    for (int i = MEMORY_gradients; i <= MEMORY_activations; i++)
        assert_true(model.stage[0].memory.part[i] == none.stage[0].memory.part[i]);
    near(model.stage[0].forward_s, 2 * none.stage[0].forward_s, 1e-9);
    near(model.stage[0].backward_s, none.stage[0].backward_s, 1e-9);
    assert_true(model.mfu < none.mfu);
    asked_release(&a);
    asked_release(&b);
}

/* Adapters switched off are the reference: a pass, no memory. */
static void the_base_needs_no_memory(void **state)
{
    struct asked a, b;
    (void)state;
    const struct plan none = ESTIMATE(&a, "task", "dpo", "reference", "none", "train", "lora:r=16");
    const struct plan base = ESTIMATE(&b, "task", "dpo", "train", "lora:r=16");
    assert_string_equal(base.task->compared, "base");
    assert_true(base.stage[0].device_bytes == none.stage[0].device_bytes);
    near(base.stage[0].forward_s, 2 * none.stage[0].forward_s, 1e-9);
    asked_release(&a);
    asked_release(&b);
}

/* Of 128,256 outputs one is left, on each of two tensor-parallel ranks a half. */
static void a_reward_model_has_one_output(void **state)
{
    struct asked a, b;
    (void)state;
    const struct plan dpo = ESTIMATE(&a, "task", "dpo", "reference", "none");
    const struct plan reward = ESTIMATE(&b, "task", "reward");
    near(weights(&dpo) - weights(&reward), 2 * 4096.0 * (128256 - 1) / 2, 1e-4);
    assert_true(reward.step_s < dpo.step_s);
    assert_true(reward.stage[0].memory.part[MEMORY_activations] <
                dpo.stage[0].memory.part[MEMORY_activations]);
    asked_release(&a);
    asked_release(&b);
}

/* Hours and rates count what is generated, the step does not. */
static void generation_is_beside_the_step(void **state)
{
    struct asked a, b;
    (void)state;
    const struct plan p = ESTIMATE(&a, "task", "grpo", "samples", "3200");
    const struct plan q =
        ESTIMATE(&b, "task", "grpo", "samples", "3200", "generation-seconds", "40");
    assert_true(q.step_s == p.step_s);
    near(p.hours, 100 * p.step_s / 3600, 1e-12);
    near(q.hours, 100 * (p.step_s + 40) / 3600, 1e-12);
    near(q.samples_per_s, 32 / (p.step_s + 40), 1e-12);
    near(q.usd_total, q.hours * q.usd_per_hour, 1e-12);
    struct limits w = {.objective = OBJECTIVE_COST, .generation = 40 * TICKS_PER_S};
    struct rental h = {.usd_per_h = 2};
    rental_finish(&h, &w);
    struct score s = score_of(&h, (int64_t)(10 * TICKS_PER_S));
    near(s.time, 50 * TICKS_PER_S, 1e-12);
    near((double)step_within_score(&h, s.time, s.usd), 10 * TICKS_PER_S, 1e-9);
    asked_release(&a);
    asked_release(&b);
}

/* Two answers fill packs as two samples do. */
static void packs_hold_both_answers(void **state)
{
    struct asked a, b;
    (void)state;
    const struct plan sft = ESTIMATE(&a, "lengths", "1000", "packing", "on");
    const struct plan dpo =
        ESTIMATE(&b, "lengths", "1000", "packing", "on", "task", "dpo", "reference", "none");
    assert_true(sft.step_s == dpo.step_s && sft.tokens_per_s == dpo.tokens_per_s);
    near(dpo.samples_per_s, sft.samples_per_s / 2, 1e-12);
    near(sft.samples_per_s, 32 * 4 / sft.step_s, 1e-12);
    asked_release(&a);
    asked_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs_are_two_sequences),
        cmocka_unit_test(a_reference_runs_forward_alone),
        cmocka_unit_test(the_base_needs_no_memory),
        cmocka_unit_test(a_reward_model_has_one_output),
        cmocka_unit_test(generation_is_beside_the_step),
        cmocka_unit_test(packs_hold_both_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
