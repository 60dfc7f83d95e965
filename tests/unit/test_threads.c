/* --threads 1 runs one thread: none is started, by us or by a library. */
#define _GNU_SOURCE
#include "astra.h"

#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static atomic_int started;

/* Stands before that of the C library, for libraries too. */
int pthread_create(pthread_t *id, const pthread_attr_t *attributes, void *(*run)(void *),
                   void *argument)
{
    int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) = NULL;
    *(void **)&create = dlsym(RTLD_NEXT, "pthread_create");
    atomic_fetch_add(&started, 1);
    return create(id, attributes, run, argument);
}

static int threads_of(const char *threads, const char *pool)
{
    struct astra *a = astra_new();
    atomic_store(&started, 0);
    assert_int_equal(astra_set(a, "model", "llama3-8b"), ASTRA_OK);
    assert_int_equal(astra_set(a, "cluster", pool), ASTRA_OK);
    assert_int_equal(astra_set(a, "global-batch", "64"), ASTRA_OK);
    assert_int_equal(astra_set(a, "threads", threads), ASTRA_OK);
    assert_int_equal(astra_search(a), ASTRA_OK);
    astra_free(a);
    return atomic_load(&started);
}

static void one_is_one(void **state)
{
    (void)state;
    assert_int_equal(threads_of("1", "2x8:H100"), 0);
    assert_int_equal(threads_of("1", "1x8:H100,1x8:A100"), 0);
}

/* And the count sees what there is to see. */
static void two_are_more(void **state)
{
    (void)state;
    assert_true(threads_of("2", "2x8:H100") > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_is_one),
        cmocka_unit_test(two_are_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
