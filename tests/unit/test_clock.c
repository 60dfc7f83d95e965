/* What the power limit makes of the clock (cost/clock.h). */
#include "cluster/cluster.h"
#include "cost/clock.h"
#include "cost/cost.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct block_cost layer(double flops, double seconds)
{
    return (struct block_cost){.forward_s = seconds / 3,
                               .backward_s = 2 * seconds / 3,
                               .weight_s = seconds / 3,
                               .matrix_s = seconds,
                               .product_flops = flops};
}

static double slowed(const char *gpu, bool fp8, double flops, double seconds)
{
    struct block_cost b = layer(flops, seconds);
    clock_block(gpu_find(gpu, NULL), fp8, 1, &b);
    return (b.forward_s + b.backward_s) / seconds;
}

static void test_more_load_is_slower(void **state)
{
    (void)state;
    assert_true(slowed("H200", false, 600e12, 1) > 1);
    assert_true(slowed("H200", false, 400e12, 1) < 1);
    assert_true(slowed("H200", false, 600e12, 1) > slowed("H200", false, 500e12, 1));
}

/* The same work in less time is never slower for it. */
static void test_faster_kernels_stay_faster(void **state)
{
    (void)state;
    for (double s = 0.5; s < 4; s *= 1.1)
        assert_true(s * slowed("H200", false, 500e12, s) <
                    1.1 * s * slowed("H200", false, 500e12, 1.1 * s));
}

static void test_full_clock_is_the_limit(void **state)
{
    (void)state;
    assert_float_equal(slowed("H200", false, 1e12, 1), 1620.0 / 1980, 1e-6);
    assert_float_equal(slowed("A100", false, 300e12, 1), 1, 1e-6); /* has watts enough */
}

static void test_eight_bits_take_less_energy(void **state)
{
    (void)state;
    assert_float_equal(slowed("H200", true, 600e12 / 0.55, 1), slowed("H200", false, 600e12, 1),
                       1e-6);
}

static void test_fewer_watts_are_slower(void **state)
{
    (void)state;
    struct gpu g = *gpu_find("H200", NULL);
    double before = throttle(&g, DTYPE_BF16, false);
    g.tdp_w = 600;
    assert_true(throttle(&g, DTYPE_BF16, false) > before);
    assert_float_equal(throttle(&g, DTYPE_BF16, true), 1, 1e-6); /* not in a short loop */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_more_load_is_slower),
        cmocka_unit_test(test_faster_kernels_stay_faster),
        cmocka_unit_test(test_full_clock_is_the_limit),
        cmocka_unit_test(test_eight_bits_take_less_energy),
        cmocka_unit_test(test_fewer_watts_are_slower),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
