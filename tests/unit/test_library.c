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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(best_plan_round_trips),
        cmocka_unit_test(queries_fail_with_a_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
