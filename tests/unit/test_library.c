/* The library as a program sees it: astra.h alone. */
#include "astra.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static bool has_word(const char *const *words, const char *word)
{
    while (*words && strcmp(*words, word) != 0)
        words++;
    return *words != NULL;
}

/* The flags of the best plan, estimated, give its figures to the last bit. */
static void best_plan_round_trips(void **state)
{
    struct astra *search = astra_new(), *estimate = astra_new();
    struct astra_plan found, again;
    (void)state;
    assert_int_equal(astra_set(search, "model", "llama3-8b"), ASTRA_OK);
    assert_int_equal(astra_set(search, "cluster", "1x8:H100"), ASTRA_OK);
    assert_int_equal(astra_search(search), ASTRA_OK);
    assert_true(astra_plan_count(search) > 0);
    assert_true(astra_plan_get(search, 0, &found));
    assert_false(astra_plan_get(search, astra_plan_count(search), &again));
    const char *const *flags = astra_plan_flags(search, 0);
    assert_non_null(flags);
    assert_true(has_word(flags, "--num-layers"));
    size_t count = 0;
    while (flags[count])
        count++;
    assert_int_equal(astra_set(estimate, "cluster", "1x8:H100"), ASTRA_OK);
    assert_int_equal(astra_flags(estimate, count, flags), ASTRA_OK);
    assert_int_equal(astra_estimate(estimate), ASTRA_OK);
    assert_true(astra_plan_get(estimate, 0, &again));
    assert_true(found.step_s == again.step_s && found.peak_bytes == again.peak_bytes);
    assert_null(astra_plan_flags(estimate, 1));
    astra_free(search);
    astra_free(estimate);
}

static void queries_fail_with_a_message(void **state)
{
    struct astra *a = astra_new();
    (void)state;
    assert_int_equal(astra_search(a), ASTRA_INPUT);
    assert_true(astra_message(a)[0] != 0);
    assert_string_equal(astra_print(a, ASTRA_JSON), "");
    assert_int_equal(astra_plan_count(a), 0);
    assert_int_equal(astra_set(a, "modell", "x"), ASTRA_INPUT);
    assert_non_null(strstr(astra_message(a), "did you mean model?"));
    astra_free(a);
    astra_free(NULL);
}

static const char SCRIPT[] =
    "source ./elsewhere.sh\n"
    "torchrun --nproc_per_node 8 --nnodes 1 pretrain_gpt.py --num-layers 32 --hidden-size 4096 \\\n"
    "  --ffn-hidden-size 14336 --num-attention-heads 32 --group-query-attention \\\n"
    "  --num-query-groups 8 --swiglu --vocab-size 128256 --seq-length 8192 \\\n"
    "  --max-position-embeddings 8192 --micro-batch-size 1 --global-batch-size 128 --bf16 \\\n"
    "  --tensor-model-parallel-size 4 --use-distributed-optimizer\n";

/* As files are: estimated, and improved; and a plan goes back in as it came out. */
static void texts_at_hand_are_read(void **state)
{
    struct astra *a = astra_new(), *b = astra_new();
    struct astra_plan first, again;
    (void)state;
    assert_int_equal(astra_set(a, "gpu", "H100"), ASTRA_OK);
    assert_int_equal(astra_load_text(a, "job", SCRIPT), ASTRA_OK);
    assert_int_equal(astra_estimate(a), ASTRA_OK);
    assert_true(astra_plan_get(a, 0, &first) && first.tp == 4);
    assert_int_equal(astra_load_text(b, "plan", astra_print(a, ASTRA_JSON)), ASTRA_OK);
    assert_int_equal(astra_estimate(b), ASTRA_OK);
    assert_true(astra_plan_get(b, 0, &again) && first.step_s == again.step_s);
    assert_int_equal(astra_improve(a), ASTRA_OK);
    assert_non_null(strstr(astra_print(a, ASTRA_TEXT), "+++ job\n"));
    assert_non_null(strstr(astra_script(a), "source ./elsewhere.sh\n"));
    assert_int_equal(astra_load_text(b, "none", "echo nothing\n"), ASTRA_INPUT);
    assert_true(strncmp(astra_message(b), "none:", 5) == 0);
    astra_free(a);
    astra_free(b);
}

static void models_and_clusters_may_be_json(void **state)
{
    struct astra *a = astra_new();
    struct astra_plan p;
    (void)state;
    assert_int_equal(astra_set(a, "model",
                               "{\"model_type\":\"llama\",\"num_hidden_layers\":16,"
                               "\"hidden_size\":2048,\"intermediate_size\":8192,"
                               "\"num_attention_heads\":32,\"num_key_value_heads\":8,"
                               "\"vocab_size\":128256,\"max_position_embeddings\":8192}"),
                     ASTRA_OK);
    assert_int_equal(astra_set(a, "cluster",
                               "{\"groups\":[{\"gpu\":\"H100\",\"nodes\":1,"
                               "\"gpus_per_node\":4}]}"),
                     ASTRA_OK);
    assert_int_equal(astra_estimate(a), ASTRA_OK);
    assert_true(astra_plan_get(a, 0, &p) && p.gpus == 4);
    assert_int_equal(astra_set(a, "model", "{\"model_type\":"), ASTRA_INPUT);
    assert_true(strncmp(astra_message(a), "model:1:", 8) == 0);
    assert_int_equal(astra_set(a, "cluster", "{\"groups\":3}"), ASTRA_INPUT);
    assert_true(strncmp(astra_message(a), "cluster:1:", 10) == 0);
    astra_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(best_plan_round_trips),
        cmocka_unit_test(queries_fail_with_a_message),
        cmocka_unit_test(texts_at_hand_are_read),
        cmocka_unit_test(models_and_clusters_may_be_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
