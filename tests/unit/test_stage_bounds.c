/* The bounds of a stage that doc/mixed.md proves, on random pipelines of unlike stages: never above
 * the exact end. */
#include "random.h"
#include "schedule/schedule.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { PP_MAX = 9, PIPELINES = 4000 };

struct pipes {
    struct pipeline p;
    int64_t forward[PP_MAX], backward[PP_MAX], send[PP_MAX];
};

/* Passes and transfers of any proportion, some of them nothing. */
static void random_pipeline(struct pipes *x)
{
    int pp = pick(2, PP_MAX), longest = pick(1, 100), farthest = pick(0, 40);
    for (int i = 0; i < pp; i++) {
        x->forward[i] = pick(0, longest);
        x->backward[i] = pick(0, 2 * longest);
        x->send[i] = pick(0, farthest);
    }
    x->p = (struct pipeline){.pp = pp,
                             .vpp = 1,
                             .group = pp,
                             .micro_batches = pick(1, 3 * pp),
                             .blocking_send = true,
                             .forward = x->forward,
                             .backward = x->backward,
                             .send = x->send};
}

static int64_t forward_and_send(const struct pipes *x, int i)
{
    return x->forward[i] + (i < x->p.pp - 1 ? x->send[i] : 0);
}

static int64_t backward_and_send(const struct pipes *x, int i)
{
    return x->backward[i] + (i > 0 ? x->send[i - 1] : 0);
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void none_is_above_the_end(void **state)
{
    (void)state;
    for (int k = 0; k < PIPELINES; k++) {
        struct pipes x;
        int64_t ends[PP_MAX], all = 0;
        random_pipeline(&x);
        int64_t end = pipeline_run(&x.p, ends), m = x.p.micro_batches, pp = x.p.pp;
        for (int i = 0; i < pp; i++)
            all += forward_and_send(&x, i) + backward_and_send(&x, i);
        for (int i = 0; i < pp; i++) {
            int64_t f = forward_and_send(&x, i), b = backward_and_send(&x, i);
            int64_t both = f + b, longer = f > b ? f : b, behind = least(pp - 1 - i, m - 1);
            assert_true(end >= m * both);
            assert_true(end >= all + (m - 1) * longer);
            assert_true(2 * end >= 2 * all + (2 * (m - 1) - behind) * both);
            if (m - 1 > pp)
                assert_true(end >= 2 * all + (m - 1 - pp) * both);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(none_is_above_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
