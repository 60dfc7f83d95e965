/* Whole logs: made ones, of which everything is known, a real one, and garbage. */
#include "base/arena.h"
#include "base/file.h"
#include "base/str.h"
#include "import/log/train_log.h"
#include "import/log/train_steps.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "must.h"
#include "random.h"

/* A log under test and what it says. */
struct log {
    struct arena mem;
    struct str text;
    struct train_steps t;
    struct step_summary s;
    struct error err;
    bool usable;
};

static void begin(struct log *g)
{
    *g = (struct log){0};
    arena_init(&g->mem);
    str_init(&g->text);
}

/* In pieces of the same length. */
static void read_in(struct log *g, size_t piece)
{
    train_steps_init(&g->t, &g->mem);
    for (size_t at = 0; at < g->text.length; at += piece)
        train_steps_feed(&g->t, g->text.data + at,
                         g->text.length - at < piece ? g->text.length - at : piece);
    g->usable = train_steps_end(&g->t, &g->s, &g->err);
    train_steps_release(&g->t);
}

static void end(struct log *g)
{
    str_release(&g->text);
    arena_release(&g->mem);
}

static void add_step(struct log *g, int iteration, double ms, int batch)
{
    str_addf(
        &g->text,
        " [2026-07-10 05:46:31] iteration %8d/ 1000 | consumed samples: %12d | elapsed time per "
        "iteration (ms): %.1f | throughput per GPU (TFLOP/s/GPU): %.1f | power per GPU (W/GPU): "
        "%.1f | global batch size: %5d | lm loss: 1.0E+00 | number of skipped iterations:   0 "
        "| number of nan iterations:   0 |\n",
        iteration, iteration, ms, 400e3 / ms, 600 + 0.01 * ms, batch);
}

static void add_memory(struct log *g, int rank, int after, double mb)
{
    str_addf(
        &g->text,
        "[Rank %d] (after %d iterations) memory (MB) | allocated: 1.00 | max allocated: %.2f | "
        "reserved: 2.00 | max reserved: %.2f\n",
        rank, after, mb, mb + 100);
}

static void add_block(struct log *g, int tp, const char *load)
{
    str_addf(&g->text,
             "------------------------ arguments ------------------------\n"
             "  global_batch_size ............................... 16\n"
             "  load ............................................ %s\n"
             "  tensor_model_parallel_size ...................... %d\n"
             "-------------------- end of arguments ---------------------\n",
             load, tp);
}

static bool has_note(const struct log *g, const char *part)
{
    for (int i = 0; i < g->s.notes; i++)
        if (strstr(g->s.note[i], part))
            return true;
    return false;
}

static void sums_up(const struct step_summary *s)
{
    assert_int_equal(s->lines, s->steps + s->warmup + s->outliers + s->other_batch + s->repeated);
}

static void close_to(double got, double expected, double relative)
{
    if (fabs(got - expected) > relative * fabs(expected))
        fail_msg("%g, expected %g", got, expected);
}

/* Slow first steps, then 1000 ms plus and minus, with a checkpoint every 50. */
static void test_made(void **state)
{
    struct log g;
    (void)state;
    begin(&g);
    for (int i = 1; i <= 200; i++) {
        double ms = 1000 + (i % 5 - 2) * 5; /* 990 995 1000 1005 1010 */
        add_step(&g, i, i <= 5 ? 9000 - 1000 * i : i % 50 == 0 ? 4000 : ms, 16);
        if (i <= 2)
            for (int r = 0; r < 16; r += 8)
                add_memory(&g, r, i, 1000.5 + r + 10 * i);
    }
    read_in(&g, 1 << 20);
    must(g.usable, &g.err);
    sums_up(&g.s);
    assert_int_equal(g.s.lines, 200);
    assert_int_equal(g.s.warmup, 5);
    assert_int_equal(g.s.outliers, 4);
    assert_int_equal(g.s.steps, 191);
    assert_int_equal(g.s.broken, 0);
    assert_int_equal(g.s.global_batch, 16);
    assert_int_equal(g.s.first_iteration, 6);
    assert_int_equal(g.s.last_iteration, 199);
    close_to(g.s.step_s, 1, 1e-12);
    close_to(g.s.spread, 1.4826 * 0.005, 1e-9);
    assert_true(fabs(g.s.trend) < 0.006);
    close_to(g.s.tflops_per_gpu, 400, 1e-6);
    close_to(g.s.watts_per_gpu, 610, 1e-6);
    assert_int_equal(g.s.ranks, 2);
    assert_int_equal(g.s.rank[1].rank, 8);
    close_to(g.s.rank[1].allocated_bytes, 1028.5 * 1048576, 1e-12);
    close_to(g.s.rank[1].reserved_bytes, 1128.5 * 1048576, 1e-12);
    assert_int_equal(g.s.notes, 0);
    end(&g);
}

static void test_trend(void **state)
{
    struct log g;
    (void)state;
    begin(&g);
    for (int i = 1; i <= 402; i++)
        add_step(&g, i, 1000 + i, 16);
    read_in(&g, 4096);
    must(g.usable, &g.err);
    assert_int_equal(g.s.steps, 400);
    close_to(g.s.step_s, 1.2025, 1e-9);
    close_to(g.s.trend, 1352.5 / 1052.5 - 1, 1e-9);
    end(&g);
}

/* Larger and larger batches, each for fewer steps than the last one. */
static void test_ramp_up(void **state)
{
    struct log g;
    int other = 0;
    (void)state;
    begin(&g);
    for (int i = 1; i <= 1000; i++) {
        int batch = i <= 600 ? 16 * (1 + i / 50) : 512;
        add_step(&g, i, 10 * batch, batch);
        other += i > 2 && batch != 512;
    }
    read_in(&g, 1000);
    must(g.usable, &g.err);
    sums_up(&g.s);
    assert_int_equal(g.s.global_batch, 512);
    assert_int_equal(g.s.other_batch, other);
    assert_int_equal(g.s.steps, 400);
    assert_int_equal(g.s.first_iteration, 601);
    close_to(g.s.step_s, 5.12, 1e-9);
    end(&g);
}

/* Lines are about many steps: the batch of most steps is not that of most lines. */
static void test_intervals(void **state)
{
    struct log g;
    (void)state;
    begin(&g);
    for (int i = 1; i <= 20; i++)
        add_step(&g, i, 500, 8);
    for (int i = 100; i <= 1000; i += 100)
        add_step(&g, i, 900, 16);
    read_in(&g, 777);
    must(g.usable, &g.err);
    assert_int_equal(g.s.global_batch, 16);
    assert_int_equal(g.s.steps, 10);
    end(&g);
}

/* Which lines hold the first two steps of a start, by the iterations that are logged. */
static void test_first_lines(void **state)
{
    static const struct {
        int iteration[6], warmup;
    } cases[] = {
        {{1, 2, 3, 4, 5, 6}, 2},
        {{71, 72, 73, 74, 75, 76}, 2},
        {{10, 20, 30, 40, 50, 60}, 1},
        {{1, 10, 20, 30, 40, 50}, 2},
        {{1010, 1020, 1030, 1040, 1050, 1060}, 1},
        {{1001, 1010, 1020, 1030, 1040, 1050}, 2},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct log g;
        begin(&g);
        for (int k = 0; k < 6; k++)
            add_step(&g, cases[i].iteration[k], 500, 8);
        read_in(&g, 64);
        must(g.usable, &g.err);
        assert_int_equal(g.s.warmup, cases[i].warmup);
        assert_int_equal(g.s.steps, 6 - cases[i].warmup);
        end(&g);
    }
}

/* Started again with the same arguments, without any, and with others. */
static void test_starts(void **state)
{
    struct log g;
    (void)state;
    begin(&g);
    add_block(&g, 2, "None");
    for (int i = 1; i <= 30; i++)
        add_step(&g, i, i <= 2 ? 5000 : 1000, 16);
    add_block(&g, 2, "/there");
    for (int i = 31; i <= 60; i++)
        add_step(&g, i, i <= 32 ? 5000 : 1000, 16);
    for (int i = 51; i <= 80; i++)
        add_step(&g, i, i <= 52 ? 5000 : 1000, 16);
    add_memory(&g, 0, 2, 100);
    add_block(&g, 4, "/there");
    for (int i = 81; i <= 500; i++)
        add_step(&g, i, 2000, 16);
    add_memory(&g, 0, 2, 900);
    read_in(&g, 5000);
    must(g.usable, &g.err);
    sums_up(&g.s);
    assert_int_equal(g.s.lines, 90);
    assert_int_equal(g.s.warmup, 6);
    assert_int_equal(g.s.steps, 84);
    close_to(g.s.step_s, 1, 1e-12);
    close_to(g.s.rank[0].allocated_bytes, 100 * 1048576.0, 1e-12);
    assert_true(has_note(&g, "started again 2 times, first at line 40"));
    assert_true(has_note(&g, "line 106 ends a block of other arguments (tensor_model_parallel_size "
                             "differs)"));
    end(&g);
}

/* Lines before the only arguments are of another run, unless there are no others. */
static void test_before_arguments(void **state)
{
    struct log g;
    (void)state;
    for (int after = 0; after < 2; after++) {
        begin(&g);
        for (int i = 1; i <= 30; i++)
            add_step(&g, i, 1000, 16);
        add_memory(&g, 5, 2, 900);
        add_block(&g, 2, "None");
        for (int i = 1; i <= 20 * after; i++)
            add_step(&g, i, 2000, 16);
        read_in(&g, 100);
        must(g.usable, &g.err);
        close_to(g.s.step_s, after ? 2 : 1, 1e-12);
        assert_int_equal(g.s.ranks, !after);
        assert_true(has_note(&g, after ? "30 training lines before" : "behind the training lines"));
        end(&g);
    }
}

/* Two processes write: whole lines, glued ones, halves, the same line again. */
static void test_interleaved(void **state)
{
    struct log g;
    (void)state;
    begin(&g);
    for (int i = 1; i <= 100; i++) {
        if (i % 10 == 5)
            str_addf(&g.text, " iteration %d/ 1000 | consumed samples: 5 | elapsed time per ite",
                     i);
        else
            add_step(&g, i, 1000, 16);
        if (i % 10 == 7)
            add_step(&g, i, 1001, 16);
        if (i % 10 == 3)
            g.text.length--; /* the line break is missing */
        add_memory(&g, i % 4, i, 50 + i);
    }
    read_in(&g, 333);
    must(g.usable, &g.err);
    sums_up(&g.s);
    assert_int_equal(g.s.lines, 100);
    assert_int_equal(g.s.broken, 10);
    assert_int_equal(g.s.repeated, 10);
    assert_int_equal(g.s.steps, 88);
    assert_int_equal(g.s.ranks, 4);
    close_to(g.s.rank[0].allocated_bytes, 150 * 1048576.0, 1e-12);
    assert_true(has_note(&g, "10 training lines could not be read"));
    end(&g);
}

static void test_skipped(void **state)
{
    struct log g;
    (void)state;
    begin(&g);
    for (int i = 1; i <= 10; i++)
        str_addf(&g.text,
                 "iteration %d/10 | elapsed time per iteration (ms): 5.0 | global batch size: 4 | "
                 "number of skipped iterations: %d | number of nan iterations: %d |\n",
                 i, i == 4, i == 5 || i == 6);
    read_in(&g, 50);
    must(g.usable, &g.err);
    assert_int_equal(g.s.other_batch, 3);
    assert_int_equal(g.s.steps, 5);
    end(&g);
}

/* Megatron-Bridge's own lines count where there are no others. */
static void test_bridge(void **state)
{
    struct log g;
    (void)state;
    for (int both = 0; both < 2; both++) {
        begin(&g);
        for (int i = 1; i <= 50; i++) {
            str_addf(&g.text, "Step Time : %.2fs GPU utilization: 400.0MODEL_TFLOP/s/GPU\n",
                     i <= 2 ? 9.0 : 1.25);
            if (both)
                add_step(&g, i, 1234, 16);
        }
        read_in(&g, 99);
        must(g.usable, &g.err);
        assert_int_equal(g.s.lines, 50);
        assert_int_equal(g.s.warmup, 2);
        close_to(g.s.step_s, both ? 1.234 : 1.25, 1e-12);
        assert_int_equal(g.s.global_batch, both ? 16 : 0);
        assert_int_equal(has_note(&g, "two decimals"), !both);
        end(&g);
    }
}

static void test_memory(void **state)
{
    struct log g;
    (void)state;
    begin(&g);
    for (int i = 1; i <= 3; i++)
        add_step(&g, i, 1000, 16);
    add_memory(&g, 3, 1, 70);
    read_in(&g, 10);
    must(g.usable, &g.err);
    assert_int_equal(g.s.rank[0].rank, 3);
    assert_true(has_note(&g, "after the first step only"));
    for (int r = 2 * STEP_RANKS_MAX - 1; r >= 0; r--)
        add_memory(&g, r, 2, 100 + r);
    read_in(&g, 4096);
    assert_int_equal(g.s.ranks, STEP_RANKS_MAX);
    assert_true(has_note(&g, "more than 4096 ranks"));
    for (int i = 0; i < g.s.ranks; i++)
        close_to(g.s.rank[i].allocated_bytes, (100 + g.s.rank[i].rank) * 1048576.0, 1e-12);
    end(&g);
}

static void test_nothing(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "no training line, expected some such as \"iteration 20/"},
        {"hello\n", "no training line"},
        {"iteration 1/9 | elapsed time per iteration (ms): nan |\n",
         "none of 1 training line can be read"},
        {"iteration 7/9 | elapsed time per iteration (ms): 7.0 |\n",
         "no usable step: 1 training line, of the first steps"},
        {"iteration 1/9 | elapsed time per iteration (ms): 7.0 |\n"
         "iteration 2/9 | elapsed time per iteration (ms): 7.0 |\n"
         "iteration 3/9 | elapsed time per iteration (ms): 7.0 | number of nan iterations: 1 |\n",
         "no usable step: 1 of 3 training lines has skipped or nan"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct log g;
        begin(&g);
        str_add(&g.text, cases[i].text);
        read_in(&g, 1000);
        assert_false(g.usable);
        assert_int_equal(g.err.kind, ERROR_INPUT);
        if (!strstr(g.err.text, cases[i].message))
            fail_msg("%s", g.err.text);
        end(&g);
    }
}

/* More lines than are kept: the median within what the header promises, counts that add up. */
static void test_many(void **state)
{
    enum { LINES = 3 * STORE_STEPS };
    struct log g;
    (void)state;
    begin(&g);
    train_steps_init(&g.t, &g.mem);
    for (int i = 1; i <= LINES; i++) {
        str_clear(&g.text);
        add_step(&g, i, i % 100 == 0 ? 9000 : 1000 + pick(-100, 100), 16);
        train_steps_feed(&g.t, g.text.data, g.text.length);
    }
    assert_true(g.t.store.capacity <= STORE_STEPS);
    must(train_steps_end(&g.t, &g.s, &g.err), &g.err);
    train_steps_release(&g.t);
    sums_up(&g.s);
    assert_int_equal(g.s.lines, LINES);
    close_to(g.s.step_s, 1, 5e-4);
    close_to((double)g.s.outliers, LINES / 100, 0.1);
    assert_true(has_note(&g, "one in 4 of the training lines"));
    end(&g);
}

static void same_counts(const struct step_summary *x, const struct step_summary *y)
{
    assert_int_equal(x->lines, y->lines);
    assert_int_equal(x->steps, y->steps);
    assert_int_equal(x->warmup, y->warmup);
    assert_int_equal(x->outliers, y->outliers);
    assert_int_equal(x->other_batch, y->other_batch);
    assert_int_equal(x->repeated, y->repeated);
    assert_int_equal(x->broken, y->broken);
    assert_int_equal(x->global_batch, y->global_batch);
    assert_int_equal(x->first_iteration, y->first_iteration);
    assert_int_equal(x->last_iteration, y->last_iteration);
    assert_int_equal(x->ranks, y->ranks);
    assert_int_equal(x->notes, y->notes);
}

static void same_summary(const struct log *a, const struct log *b)
{
    const struct step_summary *x = &a->s, *y = &b->s;
    assert_int_equal(a->usable, b->usable);
    assert_string_equal(a->err.text, b->err.text);
    same_counts(x, y);
    assert_true(x->step_s == y->step_s && x->spread == y->spread && x->trend == y->trend);
    assert_true(x->tflops_per_gpu == y->tflops_per_gpu && x->watts_per_gpu == y->watts_per_gpu);
    for (int i = 0; i < x->notes; i++)
        assert_string_equal(x->note[i], y->note[i]);
    for (int i = 0; i < x->ranks; i++) {
        assert_int_equal(x->rank[i].rank, y->rank[i].rank);
        assert_true(x->rank[i].allocated_bytes == y->rank[i].allocated_bytes);
        assert_true(x->rank[i].reserved_bytes == y->rank[i].reserved_bytes);
    }
}

/* Random parts of logs, damaged. */
static void add_garbage(struct log *g)
{
    for (int i = 0; i < 40; i++) {
        int kind = pick(0, 9);
        if (kind < 6)
            add_step(g, i + 1, pick(900, 1100), pick(0, 3) ? 16 : 8);
        else if (kind == 6)
            add_memory(g, pick(0, 9), pick(0, 3), pick(1, 1000));
        else if (kind == 7)
            add_block(g, pick(0, 9) ? 2 : 4, "None");
        else if (kind == 8)
            str_add(&g->text, "Step Time : 1.00s GPU utilization: 4.0MODEL_TFLOP/s/GPU\n");
        else
            for (int k = pick(0, 70000) * (pick(0, 19) == 0); k >= 0; k--)
                str_add(&g->text, "|");
    }
    for (int i = pick(0, 20); i > 0; i--)
        g->text.data[pick(0, (int)g->text.length - 1)] = (char)pick(0, 255);
}

/* Where a log is cut does not matter, whatever is in it. */
static void test_pieces(void **state)
{
    (void)state;
    for (int i = 0; i < 200; i++) {
        struct log whole, pieces;
        begin(&whole);
        begin(&pieces);
        add_garbage(&whole);
        str_add_bytes(&pieces.text, whole.text.data, whole.text.length);
        read_in(&whole, whole.text.length);
        read_in(&pieces, (size_t)pick(1, i % 2 ? 9 : 3000));
        same_summary(&whole, &pieces);
        sums_up(&whole.s);
        end(&whole);
        end(&pieces);
    }
}

/* A real log, by both of its readers at once. */
static void test_real(void **state)
{
    struct log g;
    struct text text;
    struct train_log args;
    struct launch launch;
    (void)state;
    begin(&g);
    must(file_read("tests/golden/files/h200_log.txt", &g.mem, &text, &g.err), &g.err);
    train_log_init(&args, &g.mem);
    train_steps_init(&g.t, &g.mem);
    for (size_t at = 0; at < text.length; at += 1000) {
        size_t n = text.length - at < 1000 ? text.length - at : 1000;
        train_log_feed(&args, text.data + at, n);
        train_steps_feed(&g.t, text.data + at, n);
    }
    assert_true(train_log_launch(&args, "h200_log.txt", &launch));
    assert_true(launch.count > 100);
    must(train_steps_end(&g.t, &g.s, &g.err), &g.err);
    train_log_release(&args);
    train_steps_release(&g.t);
    assert_int_equal(g.s.lines, 12);
    assert_int_equal(g.s.steps, 10);
    assert_int_equal(g.s.global_batch, 16);
    close_to(g.s.step_s, (1.5384 + 1.5546) / 2, 1e-9);
    assert_int_equal(g.s.ranks, 1);
    close_to(g.s.rank[0].allocated_bytes, 10657.56 * 1048576, 1e-9);
    close_to(g.s.rank[0].reserved_bytes, 10728.0 * 1048576, 1e-9);
    end(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_made),
        cmocka_unit_test(test_trend),
        cmocka_unit_test(test_ramp_up),
        cmocka_unit_test(test_intervals),
        cmocka_unit_test(test_first_lines),
        cmocka_unit_test(test_starts),
        cmocka_unit_test(test_before_arguments),
        cmocka_unit_test(test_interleaved),
        cmocka_unit_test(test_skipped),
        cmocka_unit_test(test_bridge),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_real),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
