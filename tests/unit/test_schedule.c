/* The recurrence against the event simulation, the bound against both, and the known closed
 * forms. */
#include "schedule/schedule.h"
#include "simulate/events.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 256, LISTED = 1024 };

static uint64_t seed = 88172645463325252ull;

static int64_t pick(int64_t lo, int64_t hi)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return lo + (int64_t)(seed % (uint64_t)(hi - lo + 1));
}

struct case_data {
    struct pipeline p;
    int64_t forward[MOST], backward[MOST], send[MOST];
};

static void random_case(struct case_data *c, bool uneven)
{
    struct pipeline *p = &c->p;
    p->pp = (int)pick(1, 9);
    p->vpp = p->pp == 1 || pick(0, 1) ? 1 : (int)pick(2, 5);
    p->group = p->pp;
    if (p->vpp == 1) {
        p->micro_batches = pick(1, 60);
    } else if (pick(0, 2)) {
        p->micro_batches = p->pp * pick(1, 12);
    } else {
        p->group = p->pp + (int)pick(0, 4);
        p->micro_batches = p->group * pick(1, 8) + (pick(0, 1) ? 0 : pick(p->pp, p->group));
    }
    p->blocking_send = pick(0, 1);
    int64_t f = pick(1, 1000), b = pick(1, 2000), s = pick(0, 2) ? pick(0, 50) : pick(0, 900);
    for (int i = 0; i < p->pp * p->vpp; i++) {
        c->forward[i] = uneven ? pick(1, 1000) : f;
        c->backward[i] = uneven ? pick(1, 2000) : b;
    }
    for (int i = 0; i < p->pp; i++)
        c->send[i] = uneven ? pick(0, 100) : s;
    p->forward = c->forward;
    p->backward = c->backward;
    p->send = c->send;
}

struct ends {
    int64_t end[MOST];
};

static void note_end(void *context, const struct event *e)
{
    struct ends *x = context;
    if (e->end > x->end[e->rank])
        x->end[e->rank] = e->end;
}

static void recurrence_equals_events(void **state)
{
    (void)state;
    for (int i = 0; i < 4000; i++) {
        struct case_data c;
        random_case(&c, i % 2);
        int64_t end[MOST], end_of_step = pipeline_run(&c.p, end);
        assert_int_equal(end_of_step, events_run(&c.p, NULL, NULL));
    }
}

static void long_runs_equal_events(void **state)
{
    (void)state;
    for (int i = 0; i < 60; i++) {
        struct case_data c;
        random_case(&c, i % 2);
        c.p.group = c.p.pp;
        c.p.micro_batches = c.p.pp * pick(100, 400);
        int64_t end[MOST], end_of_step = pipeline_run(&c.p, end);
        struct ends seen = {{0}};
        assert_int_equal(end_of_step, events_run(&c.p, note_end, &seen));
        for (int r = 0; r < c.p.pp; r++)
            assert_true(end[r] >= seen.end[r]); /* the clock may include a last blocking send */
    }
}

static void bound_is_never_above(void **state)
{
    (void)state;
    double worst = 1, sum = 0;
    int many = 0;
    for (int i = 0; i < 6000; i++) {
        struct case_data c;
        random_case(&c, i % 2);
        int64_t end[MOST], after[MOST], latest = 0;
        for (int r = 0; r < c.p.pp; r++)
            after[r] = pick(0, 1) ? pick(0, 5000) : 0;
        pipeline_run(&c.p, end);
        for (int r = 0; r < c.p.pp; r++)
            latest = end[r] + after[r] > latest ? end[r] + after[r] : latest;
        assert_true(pipeline_lower_bound(&c.p, after) <= latest);
        int64_t bound = pipeline_lower_bound(&c.p, NULL), exact = pipeline_run(&c.p, end);
        assert_true(bound <= exact);
        if (c.p.vpp == 1 && c.p.micro_batches >= 2 * c.p.pp) {
            double ratio = (double)bound / (double)exact;
            worst = ratio < worst ? ratio : worst;
            sum += ratio;
            many++;
        }
    }
    print_message("1F1B bound / exact where M >= 2 PP: mean %.4f, least %.4f of %d\n", sum / many,
                  worst, many);
    assert_true(sum / many > 0.98);
}

/* Equal stages without transfers: (M + (pp - 1) / vpp) (f + b), all chunks of a rank together. */
static void equal_stages_match_the_closed_form(void **state)
{
    (void)state;
    int64_t forward[MOST], backward[MOST], send[MOST] = {0}, end[MOST];
    for (int i = 0; i < MOST; i++) {
        forward[i] = 10;
        backward[i] = 20;
    }
    for (int pp = 1; pp <= 8; pp *= 2)
        for (int vpp = 1; vpp <= (pp > 1 ? 4 : 1); vpp++) {
            struct pipeline p = {pp, vpp, pp, 4 * pp, true, forward, backward, send};
            int64_t expected = 30 * (p.micro_batches * vpp + pp - 1);
            assert_int_equal(pipeline_run(&p, end), expected);
            assert_int_equal(pipeline_lower_bound(&p, NULL), expected);
        }
}

/* Stage times 2,1,1,1 (a third forward), 8 micro-batches: slow stage first 17, last 19. */
static void order_of_stages_matters(void **state)
{
    (void)state;
    int64_t slow_first_f[] = {2, 1, 1, 1}, slow_first_b[] = {4, 2, 2, 2};
    int64_t slow_last_f[] = {1, 1, 1, 2}, slow_last_b[] = {2, 2, 2, 4};
    int64_t send[4] = {0}, end[4];
    struct pipeline first = {4, 1, 4, 8, true, slow_first_f, slow_first_b, send};
    struct pipeline last = {4, 1, 4, 8, true, slow_last_f, slow_last_b, send};
    assert_int_equal(pipeline_run(&first, end), 3 * 17);
    assert_int_equal(pipeline_run(&last, end), 3 * 19);
}

struct alive {
    int rank;
    struct chunk_bytes chunk[8];
    double now, most;
};

static void count_alive(void *context, const struct event *e)
{
    struct alive *a = context;
    if (e->rank != a->rank)
        return;
    const struct chunk_bytes *b = &a->chunk[e->chunk];
    a->now -= e->backward ? b->saved : 0;
    a->most = fmax(a->most, a->now + (e->backward ? b->peak : b->forward));
    a->now += e->backward ? 0 : b->saved;
}

static void activations_alive_match_the_order(void **state)
{
    (void)state;
    for (int i = 0; i < 600; i++) {
        struct case_data c;
        random_case(&c, true);
        struct alive a = {.rank = (int)pick(0, c.p.pp - 1)};
        for (int v = 0; v < c.p.vpp; v++) {
            double saved = (double)pick(1, i % 3 ? 5 : 1);
            double forward = saved + (double)pick(0, i % 2 ? 4 : 0);
            a.chunk[v] = (struct chunk_bytes){saved, forward, forward + (double)pick(0, 9)};
        }
        events_run(&c.p, count_alive, &a);
        struct fullest f = pipeline_fullest(&c.p, a.rank, a.chunk);
        assert_true(a.most == f.bytes);
        assert_true(f.saved <= f.bytes && f.chunk < c.p.vpp);
    }
}

/* Passes of a rank in their order, as the events have them. */
struct listed {
    const struct pipeline *p;
    int64_t count[MOST][2];
    int64_t forward[MOST][LISTED], backward[MOST][LISTED]; /* starts, ends */
    int chunk[MOST][LISTED];                               /* of each forward */
};

static void list_pass(void *context, const struct event *e)
{
    struct listed *x = context;
    int64_t k = x->count[e->rank][e->backward]++;
    assert_true(k < LISTED);
    if (e->backward) {
        x->backward[e->rank][k] = x->p->blocking_send ? e->sent : e->end;
        return;
    }
    x->forward[e->rank][k] = e->start;
    x->chunk[e->rank][k] = e->chunk;
}

/* Chunk v of rank r: needed at its first forward, asked for r passes before the first one of chunk v - 1,
 * reduced r passes after its last backward, or at the end. */
static void marks_are_moments_of_events(void **state)
{
    (void)state;
    static struct listed x;
    for (int i = 0; i < 1000; i++) {
        struct case_data c;
        int64_t end[MOST], asked[MOST], needed[MOST], reduced[MOST];
        do
            random_case(&c, i % 2);
        while (c.p.vpp == 1);
        const struct pipeline *p = &c.p;
        int64_t total = p->micro_batches * p->vpp, rest = p->micro_batches % p->group;
        int64_t last = rest ? rest : p->group;
        memset(&x, 0, sizeof x);
        x.p = p;
        int64_t step =
            pipeline_run_marked(p, end, &(struct pipeline_marks){asked, needed, reduced});
        assert_int_equal(events_run(p, list_pass, &x), step);
        for (int r = 0; r < p->pp; r++)
            for (int v = 0; v < p->vpp; v++) {
                int64_t first = (int64_t)v * p->group, back = total - 1 - v * last + r;
                assert_int_equal(x.chunk[r][first], v);
                assert_int_equal(needed[v * p->pp + r], x.forward[r][first]);
                assert_int_equal(asked[v * p->pp + r],
                                 v < 2 ? 0 : x.forward[r][first - p->group - r]);
                assert_int_equal(reduced[v * p->pp + r], v == 0 ? end[r] : x.backward[r][back]);
            }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(marks_are_moments_of_events),
        cmocka_unit_test(recurrence_equals_events),
        cmocka_unit_test(long_runs_equal_events),
        cmocka_unit_test(bound_is_never_above),
        cmocka_unit_test(equal_stages_match_the_closed_form),
        cmocka_unit_test(order_of_stages_matters),
        cmocka_unit_test(activations_alive_match_the_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
