/* Records of single lines: real ones, with prefixes and colours, damaged and glued together. */
#include "base/arena.h"
#include "base/str.h"
#include "import/log/train_steps.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(table) (sizeof(table) / sizeof *(table))

#define TAIL                                                                                       \
    " | lm loss: 1.0E+00 | loss scale: 1.0 | number of skipped iterations:   0 | number of "       \
    "nan iterations:   0 |"

/* One letter and figures for each record: Step, Memory, broken as b and m. */
static const struct {
    const char *line, *records;
} LINES[] = {
    /* Real lines of several releases. */
    {" [2024-04-06 03:02:12] iteration       71/     100 | consumed samples:         9088 | "
     "elapsed "
     "time per iteration (ms): 5361.6 | throughput per GPU (TFLOP/s/GPU): 243.6 | learning rate: "
     "1.420000E-05 | global batch size:   128 | lm loss: 1.818812E+00 | load_balancing_loss: "
     "1.013377E+00 | loss scale: 1.0 | grad norm: 1.300 | num zeros: 0.0 | number of skipped "
     "iterations:   0 | number of nan iterations:   0 |",
     "S71 5.3616s 243.6T 0W b128 0+0"},
    {"[2026-07-10 05:46:31.627699] iteration       20/      20 | consumed samples:          320 | "
     "elapsed time per iteration (ms): 744.0 | learning rate: 0.000000E+00 | global batch size:    "
     "16 | lm loss: 1.020935E+00 | loss scale: 1.0 | grad norm: 2.939 | number of skipped "
     "iterations:   0 | number of nan iterations:   0 |",
     "S20 0.744s 0T 0W b16 0+0"},
    {"[default0]: [2026-09-11 12:06:52.987995] iteration        3/ 7629408 | consumed samples:     "
     " "
     "     96 | elapsed time per iteration (ms): 24379.9 | throughput per GPU (TFLOP/s/GPU): 26.8 "
     "| "
     "learning rate: 1.406250E-04 | global batch size:    32 | lm loss: 1.107468E+01 | loss scale: "
     "1.0 | grad norm: 30.066 | num zeros: 1299.0 | params norm: 496.206 | number of skipped "
     "iterations:   0 | number of nan iterations:   0 |",
     "S3 24.3799s 26.8T 0W b32 0+0"},
    {" iteration      182/  250000 | consumed samples:       186368 | elapsed time per iteration "
     "(ms): 126995.3 | learning rate: 1.365E-05 | global batch size:  1024 | lm loss: 2.382640E+00 "
     "| "
     "loss scale: 1.0 | grad norm: 0.227 | number of skipped iterations:   0 | number of nan "
     "iterations:   0 |",
     "S182 126.995s 0T 0W b1024 0+0"},
    {"[Rank 0] (after 20 iterations) memory (MB) | allocated: 3270.16 | max allocated: 5670.39 | "
     "reserved: 6406.00 | max reserved: 6406.00",
     "M0 after 20: 5670.39 6406"},
    {"6: [Rank 6] (after 2 iterations) memory (MB) | allocated: 53199.095703125 | max allocated: "
     "84019.3681640625 | reserved: 84732.0 | max reserved: 84732.0",
     "M6 after 2: 84019.4 84732"},
    {"[Rank 1] (after 3 iterations) memory (MB) | allocated: 1.00 | max allocated: 2.00 | "
     "reserved: "
     "5.00 | max reserved: 4.00 | total device memory used: 9.00",
     "M1 after 3: 2 5"},
    /* Optional fields, other writers. */
    {"iteration 5/9 | skipped samples: 0 | elapsed time per iteration (ms): 10.5 | energy per GPU "
     "(J/iter/GPU): 99.0 | power per GPU (W/GPU): 650.5 | global batch size: 8" TAIL,
     "S5 0.0105s 0T 650.5W b8 0+0"},
    {"iteration 5/9 | elapsed time per iteration (ms): 13100.0/13240.9 | throughput per GPU "
     "(TFLOP/s/GPU): 500.5/490.1 | hip mem usage/free/total/usage_ratio: 1.1GB/2.2GB/3.3GB/33% | "
     "global batch size: 8" TAIL,
     "S5 13.1s 500.5T 0W b8 0+0"},
    {"iteration 5/9 | elapsed time per iteration (s): 12.5 | global batch size: 8" TAIL,
     "S5 12.5s 0T 0W b8 0+0"},
    {"iteration 5/9 | elapsed time per iteration (ms): 10.5 | learning rate: 1E-4 |",
     "S5 0.0105s 0T 0W b0 0+0"},
    {"node-3: iteration 5/9 | elapsed time per iteration (ms): 1.0 | global batch size: 8 | number "
     "of "
     "skipped iterations: 1 | number of nan iterations: 2 |",
     "S5 0.001s 0T 0W b8 1+2"},
    /* Numbers that cannot be. */
    {"iteration 5/9 | elapsed time per iteration (ms): nan | global batch size: 8" TAIL, "b"},
    {"iteration 5/9 | elapsed time per iteration (ms): inf | global batch size: 8" TAIL, "b"},
    {"iteration 5/9 | elapsed time per iteration (ms): 0.0 | global batch size: 8" TAIL, "b"},
    {"iteration 5/9 | elapsed time per iteration (ms): -3.0 | global batch size: 8" TAIL, "b"},
    {"iteration 5/9 | elapsed time per iteration (ms): 1e300 | global batch size: 8" TAIL, "b"},
    {"iteration 5/9 | elapsed time per iteration (ms): 5.0 | global batch size: 0" TAIL, "b"},
    {"iteration 5/9 | elapsed time per iteration (ms): 5.0 | global batch size: 99999999999" TAIL,
     "b"},
    {"iteration 0/9 | elapsed time per iteration (ms): 5.0 | global batch size: 8" TAIL, "b"},
    {"iteration 99999999999999999999/9 | elapsed time per iteration (ms): 5.0 |", ""},
    {"iteration 5/9 | elapsed time per iteration (ms): 5.0 | throughput per GPU (TFLOP/s/GPU): nan "
     "| "
     "global batch size: 8" TAIL,
     "S5 0.005s 0T 0W b8 0+0"},
    {"[Rank 0] (after 2 iterations) memory (MB) | allocated: 1.0 | max allocated: nan | reserved: "
     "2",
     "m"},
    {"[Rank 99999999999] (after 2 iterations) memory (MB) | max allocated: 1 | reserved: 2", "m"},
    /* Cut, and written into by others. */
    {"iteration 5/9 | elapsed time per iteration (ms): 53", "b"},
    {"iteration 5/9 | elapsed time per iteration (ms): 53.1 | global batch size: 12", "b"},
    {"iteration 5/9 | elapsed time per iteration (ms): 53.1 | global batch size: 128 | lm lo",
     "S5 0.0531s 0T 0W b128 0+0"},
    {"iteration 5/9 | elapsed ti iteration 6/9 | elapsed time per iteration (ms): 7.0 | global "
     "batch "
     "size: 8" TAIL,
     "b S6 0.007s 0T 0W b8 0+0"},
    {"iteration 5/9 | elapsed time per iteration (ms): 6.0 | global batch size: 8 | lm iteration "
     "6/9 "
     "| elapsed time per iteration (ms): 7.0 | global batch size: 8" TAIL,
     "S5 0.006s 0T 0W b8 0+0 S6 0.007s 0T 0W b8 0+0"},
    {"iteration 5/9 | elapsed time per iteration (ms): 6[Rank 3] (after 2 iterations) memory (MB) "
     "| "
     "allocated: 1.00 | max allocated: 2.00 | reserved: 3.00 | max reserved: 3.00",
     "b M3 after 2: 2 3"},
    {"[Rank 2] (after 2 iterations) memory (MB) | allocated: 1.00 | max[Rank 3] (after 2 "
     "iterations) "
     "memory (MB) | allocated: 1.00 | max allocated: 2.00 | reserved: 3.00 | max reserved: 3.00",
     "m M3 after 2: 2 3"},
    /* Others with bars. */
    {"| 0  NVIDIA H200  On | 00000000:19:00.0 Off |  0 |", ""},
    {" validation loss at iteration 100 | lm loss value: 1.0E+00 | lm loss PPL: 2.7E+00 |", ""},
    {"|||||", ""},
    {"", ""},
};

static void add_record(struct str *out, const struct log_record *r)
{
    const double *v = r->value;
    if (out->length)
        str_add(out, " ");
    if (r->kind == RECORD_STEP)
        str_addf(out, "S%lld %gs %gT %gW b%g %g+%g", (long long)r->iteration, v[FIELD_STEP_S],
                 v[FIELD_TFLOPS], v[FIELD_WATTS], v[FIELD_BATCH], v[FIELD_SKIPPED], v[FIELD_NAN]);
    else if (r->kind == RECORD_MEMORY)
        str_addf(out, "M%lld after %lld: %g %g", (long long)r->rank, (long long)r->iteration,
                 v[FIELD_MAX_ALLOCATED_BYTES] / 1048576,
                 (v[FIELD_RESERVED_BYTES] > v[FIELD_MAX_RESERVED_BYTES]
                      ? v[FIELD_RESERVED_BYTES]
                      : v[FIELD_MAX_RESERVED_BYTES]) /
                     1048576);
    else
        str_add(out, r->kind == RECORD_BROKEN_STEP ? "b" : "m");
}

static void expect(const char *line, bool ended, const char *records)
{
    struct log_line l;
    struct log_record r;
    struct str got;
    str_init(&got);
    log_line_init(&l, line, strlen(line), ended);
    while (log_line_next(&l, &r))
        add_record(&got, &r);
    if (strcmp(str_text(&got), records) != 0)
        print_error("%s\n", line);
    assert_string_equal(str_text(&got), records);
    str_release(&got);
}

static void test_lines(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(LINES); i++)
        expect(LINES[i].line, true, LINES[i].records);
}

/* Without a line break the last number of a memory line may be cut. */
static void test_unfinished(void **state)
{
    const char *line =
        "[Rank 0] (after 2 iterations) memory (MB) | allocated: 1.00 | max allocated: "
        "5.00 | reserved: 6.00 | max reserved: 70.0";
    (void)state;
    expect(line, true, "M0 after 2: 5 70");
    expect(line, false, "M0 after 2: 5 6");
}

/* Cut anywhere, a line gives what the whole one gives, or is broken, or nothing. */
static void test_cuts(void **state)
{
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        char text[1024];
        for (size_t n = 0; n < strlen(LINES[i].line); n++) {
            struct log_line l;
            struct log_record r;
            struct str got;
            memcpy(text, LINES[i].line, n);
            str_init(&got);
            log_line_init(&l, text, n, false);
            while (log_line_next(&l, &r))
                add_record(&got, &r);
            const char *g = str_text(&got);
            assert_true(!*g || strcmp(g, "b") == 0 || strcmp(g, LINES[i].records) == 0);
            str_release(&got);
        }
    }
}

static const struct {
    const char *line;
    double step_s, tflops; /* 0 = no such line */
} BRIDGE[] = {
    {"Step Time : 1.23s GPU utilization: 423.4MODEL_TFLOP/s/GPU", 1.23, 423.4},
    {"[0]: INFO Step Time : 21.00s GPU utilization: 9.0MODEL_TFLOP/s/GPU", 21, 9},
    {"Step Time : nans GPU utilization: 423.4MODEL_TFLOP/s/GPU", 0, 0},
    {"Step Time : 1.23s GPU utilization: 42", 0, 0},
    {"Step Time", 0, 0},
};

static void test_bridge(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(BRIDGE); i++) {
        struct log_record r = {0};
        bool found =
            log_line_bridge(BRIDGE[i].line, strlen(BRIDGE[i].line), &r) && r.kind == RECORD_STEP;
        assert_int_equal(found, BRIDGE[i].step_s > 0);
        assert_true(!found || r.value[FIELD_STEP_S] == BRIDGE[i].step_s);
        assert_true(!found || r.value[FIELD_TFLOPS] == BRIDGE[i].tflops);
    }
}

/* The same lines through the reader of whole logs, behind all that may stand around them. */
static void test_surroundings(void **state)
{
    static const char *const before[] = {"",
                                         "12: ",
                                         "[default0]:",
                                         "node-3: ",
                                         "\x1b[32m",
                                         "\x1b[1;32;40m[rank7] ",
                                         "50%|#####     | 5/10\r",
                                         "[20260509 12:00:00][rank-7/8][INFO ] [a.py:12] : "};
    static const char *const behind[] = {"\n", "\r\n", " \n", "\x1b[0m\n", "\x1b[0m\r\n", ""};
    (void)state;
    for (size_t i = 0; i < 7 * COUNT(before) * COUNT(behind); i++) {
        struct arena mem;
        struct train_steps t;
        struct step_summary s;
        struct error err = {0};
        size_t line = i % 7, rest = i / 7;
        arena_init(&mem);
        train_steps_init(&t, &mem);
        const char *text = arena_format(&mem, "%s%s%s", before[rest % COUNT(before)],
                                        LINES[line].line, behind[rest / COUNT(before)]);
        train_steps_feed(&t, text, strlen(text));
        train_steps_end(&t, &s, &err);
        assert_int_equal(s.lines, line < 4);
        assert_int_equal(s.ranks, line >= 4);
        assert_int_equal(s.broken, 0);
        train_steps_release(&t);
        arena_release(&mem);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),        cmocka_unit_test(test_unfinished),
        cmocka_unit_test(test_cuts),         cmocka_unit_test(test_bridge),
        cmocka_unit_test(test_surroundings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
