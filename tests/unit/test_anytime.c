/* Searches that are stopped: what they found stands, and the answer says how far it is from the best
 * possible at most. */
#include "astra.h"
#include "base/json.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static struct astra *query(const char *pool)
{
    struct astra *a = astra_new();
    assert_int_equal(astra_set(a, "model", "llama3-8b"), ASTRA_OK);
    assert_int_equal(astra_set(a, "cluster", pool), ASTRA_OK);
    assert_int_equal(astra_set(a, "threads", "2"), ASTRA_OK);
    return a;
}

struct answer {
    bool proven;
    double gap, step_s;
};

static struct answer answer_of(struct astra *a)
{
    struct error err = {0};
    struct astra_plan best;
    const char *text = astra_print(a, ASTRA_JSON);
    struct json *root = json_parse(text, strlen(text), "answer", &err);
    assert_non_null(root);
    assert_true(astra_plan_get(a, 0, &best));
    struct answer x = {strstr(text, "\"proven\": true") != NULL,
                       json_number_of(json_get(root, "gap")), best.step_s};
    json_release(root);
    return x;
}

struct patience {
    long asked, most;
};

static bool had_enough(void *context)
{
    struct patience *p = context;
    return ++p->asked > p->most;
}

/* Whenever it is stopped, the best possible is not further off than the answer says. */
static void gaps_hold(void **state)
{
    (void)state;
    static const char *const pools[] = {"4x8:H100", "2x8:A100,2x8:H100"};
    for (int i = 0; i < 2; i++) {
        struct astra *a = query(pools[i]);
        assert_int_equal(astra_search(a), ASTRA_OK);
        struct answer whole = answer_of(a);
        int plans = 0;
        assert_true(whole.proven && whole.gap == 0);
        for (long most = 1; most < 10000000; most *= 4) {
            struct patience p = {0, most};
            astra_on_cancel(a, had_enough, &p);
            if (astra_search(a) != ASTRA_OK) {
                assert_non_null(strstr(astra_message(a), "stopped"));
                continue;
            }
            struct answer x = answer_of(a);
            plans++;
            assert_true(x.proven || p.asked > most);
            if (x.gap > 0) /* the order may put a plan first that is 1 % slower, or has a caution */
                assert_true(whole.step_s * 1.05 >= x.step_s / (1 + x.gap) / 1.05);
            if (x.proven)
                assert_true(x.gap == 0 && x.step_s == whole.step_s);
        }
        assert_true(plans > 0);
        astra_free(a);
    }
}

/* From another thread, or before the search: the next one is whole again. */
static void *cancel_now(void *a)
{
    astra_cancel(a);
    return NULL;
}

static void cancel_ends_one_search(void **state)
{
    (void)state;
    struct astra *a = query("4x8:H100");
    pthread_t other;
    assert_int_equal(pthread_create(&other, NULL, cancel_now, a), 0);
    pthread_join(other, NULL);
    assert_int_equal(astra_search(a), ASTRA_NONE);
    assert_non_null(strstr(astra_message(a), "stopped"));
    assert_int_equal(astra_search(a), ASTRA_OK);
    assert_true(answer_of(a).proven);
    astra_free(a);
}

/* Enough time is as good as no limit. */
/* A first look is one at ways that the search has anyway: DeepEP is none of A100. */
static void first_look_stays_inside(void **state)
{
    double step_s[2];
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct astra *a = query("4x8:A100");
        assert_int_equal(astra_set(a, "model", "qwen3-30b-a3b"), ASTRA_OK);
        assert_int_equal(astra_set(a, "set", "tp=1"), ASTRA_OK);
        if (i > 0)
            assert_int_equal(astra_set(a, "time-limit", "10m"), ASTRA_OK);
        assert_int_equal(astra_search(a), ASTRA_OK);
        struct answer x = answer_of(a);
        assert_true(x.proven);
        step_s[i] = x.step_s;
        astra_free(a);
    }
    assert_true(step_s[0] == step_s[1]);
}

static void limit_that_is_not_reached(void **state)
{
    (void)state;
    struct astra *a = query("1x8:H100"), *b = query("1x8:H100");
    assert_int_equal(astra_set(b, "time-limit", "10m"), ASTRA_OK);
    assert_int_equal(astra_search(a), ASTRA_OK);
    assert_int_equal(astra_search(b), ASTRA_OK);
    struct answer x = answer_of(a), y = answer_of(b);
    assert_true(x.proven && y.proven && x.step_s == y.step_s);
    assert_int_equal(astra_plan_count(a), astra_plan_count(b));
    astra_free(a);
    astra_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gaps_hold), cmocka_unit_test(cancel_ends_one_search),
        cmocka_unit_test(first_look_stays_inside), cmocka_unit_test(limit_that_is_not_reached)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
