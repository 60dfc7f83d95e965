/* Samples of many lengths: read, padded, packed, and how unequal their work is. */
#include "dataset/dataset.h"

#include "base/arena.h"
#include "dataset/lengths.h"
#include "dataset/packing.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "must.h"

static void near(double got, double want, double tolerance)
{
    if (!(fabs(got - want) <= tolerance * fabs(want)))
        fail_msg("%.17g, expected %.17g", got, want);
}

static struct lengths parse(const char *text, struct arena *mem)
{
    struct lengths l;
    struct error err = {0};
    must(lengths_parse(text, mem, &l, &err), &err);
    return l;
}

static struct dataset make(const char *lengths, bool packing, enum padding padding, int seq_len,
                           struct arena *mem)
{
    struct lengths l = parse(lengths, mem);
    struct dataset d;
    dataset_make(&l, packing, padding, seq_len, mem, &d);
    return d;
}

static double mean_of(const struct lengths *l)
{
    double sum = 0;
    for (int i = 0; i < l->count; i++)
        sum += l->of[i];
    return sum / l->count;
}

static void distributions_have_their_mean(void **state)
{
    struct arena mem = {0};
    (void)state;
    struct lengths one = parse("800", &mem), even = parse("uniform:512..4096", &mem);
    struct lengths wide = parse("uniform:1..100001", &mem), log = parse("lognormal:800,0.9", &mem);
    assert_true(one.count == 1 && one.of[0] == 800 && one.longest == 800);
    assert_true(even.count == 3585 && even.of[0] == 512 && even.of[3584] == 4096);
    assert_true(wide.count == LENGTHS_MOST && wide.longest == 100001);
    assert_int_equal(log.longest, 0);
    near(mean_of(&even), 2304, 0);
    near(mean_of(&wide), 50001, 1e-3);
    near(mean_of(&log), 800, 5e-3);
    double median = (log.of[2047] + log.of[2048]) / 2.0;
    near(median, 800 * exp(-0.9 * 0.9 / 2), 2e-3);
    near((double)log.of[(int)(0.841345 * LENGTHS_MOST)], median * exp(0.9), 5e-3);
    arena_release(&mem);
}

static void files_are_read_line_by_line(void **state)
{
    static const char text[] = "7\n\n {\"length\": 3}\r\n{\"tokens\": 5, \"id\": \"a\"}\n4";
    struct arena mem = {0};
    struct error err = {0};
    struct lengths l;
    (void)state;
    must(lengths_read(text, strlen(text), "x.jsonl", &mem, &l, &err), &err);
    assert_int_equal(l.count, 4);
    for (int i = 0; i < 3; i++)
        assert_int_equal(l.of[i], 3 + i);
    assert_true(l.of[3] == 7 && l.longest == 7 && l.samples == 4);
    arena_release(&mem);
}

static void bad_lines_are_named(void **state)
{
    static const struct {
        const char *text, *says;
    } cases[] = {{"7\n0\n", "x:2: '0' is no length"},
                 {"7\n\n-3", "x:3: '-3' is no length"},
                 {"1e3", "x:1: '1e3' is no length"},
                 {"{\"length\": 2.5}", "x:1: '{\"length\": 2.5}' is no length"},
                 {"{\"words\": 2}", "x:1: '{\"words\": 2}' is no length"},
                 {"{\"length\": 2", "x:1: '{\"length\": 2' is no length"},
                 {"67108865", "from 1 to 67108864"},
                 {"99999999999999999999999", "x:1: '9999"},
                 {"\n \n", "x: no line has a length"},
                 {"", "x: no line has a length"}};
    struct arena mem = {0};
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct error err = {0};
        struct lengths l;
        assert_false(lengths_read(cases[i].text, strlen(cases[i].text), "x", &mem, &l, &err));
        if (!strstr(err.text, cases[i].says))
            fail_msg("%s: %s", cases[i].text, err.text);
    }
    arena_release(&mem);
}

/* Nothing but 1: any figure times it is what it was. */
static void full_sequences_change_nothing(void **state)
{
    static const int lengths[] = {1, 3, 1000, 4096, 131071};
    struct arena mem = {0};
    (void)state;
    for (size_t i = 0; i < COUNT(lengths); i++)
        for (int way = 0; way < 3; way++) {
            char text[16];
            snprintf(text, sizeof text, "%d", lengths[i]);
            struct dataset d = make(text, way == 2, way == 1 ? PADDING_SEQ_LEN : PADDING_LONGEST,
                                    lengths[i], &mem);
            struct sequence_work w = dataset_work(&d, 3, 1);
            struct lateness late = dataset_late(&d, 3, 64, 8);
            assert_true(w.rows == 1 && w.segment == 1);
            assert_true(d.samples == 1 && d.tokens == 1 && d.segment == 1 && d.cut == 0);
            assert_true(late.rows == 0 && late.pairs == 0);
        }
    arena_release(&mem);
}

static void samples_are_padded_to_the_longest(void **state)
{
    struct arena mem = {0};
    (void)state;
    struct dataset d = make("uniform:1..2", false, PADDING_LONGEST, 4, &mem);
    struct sequence_work one = dataset_work(&d, 1, 1), two = dataset_work(&d, 2, 1);
    near(one.rows, 1.5 / 4, 1e-12);
    near(one.segment, (1 + 4) / 2.0 / 1.5 / 4, 1e-12);
    near(two.rows, (0.25 * 1 + 0.75 * 2) / 4, 1e-12); /* both short: 1 of 4 */
    near(two.segment, (0.25 * 1 + 0.75 * 4) / 1.75 / 4, 1e-12);
    assert_true(dataset_work(&d, 16, 1).rows < dataset_work(&d, 20, 1).rows);
    assert_true(dataset_work(&d, 20, 1).rows < dataset_work(&d, 32, 1).rows);
    near(dataset_work(&d, 1 << 30, 1).rows, 0.5, 1e-6);
    near(d.tokens, 1.5 / 4, 1e-12);
    near(dataset_work(&d, 1, 2).rows, 3.0 / 4, 1e-12); /* 1.5 of the 3 that a multiple of 4 adds */
    d = make("uniform:1..2", false, PADDING_SEQ_LEN, 4, &mem);
    assert_true(dataset_work(&d, 2, 1).rows == 1);
    near(d.tokens, 1.5 / 4, 1e-12);
    arena_release(&mem);
}

static void samples_are_cut(void **state)
{
    struct arena mem = {0};
    (void)state;
    struct dataset d = make("uniform:1..4", false, PADDING_LONGEST, 2, &mem);
    near(d.cut, 3 / 10.0, 1e-12); /* 1 + 2 + 2 + 2 of 10 */
    near(d.tokens, 7 / 4.0 / 2, 1e-12);
    arena_release(&mem);
}

static void packs_are_filled(void **state)
{
    struct arena mem = {0};
    (void)state;
    struct dataset d = make("3000", true, PADDING_LONGEST, 8192, &mem);
    struct sequence_work w = dataset_work(&d, 1, 1), parts = dataset_work(&d, 1, 8);
    near(d.samples, 2, 1e-12);
    near(w.rows, 6000 / 8192.0, 1e-12);
    near(w.segment, 3000 / 8192.0, 1e-12);
    near(parts.rows, 6016 / 8192.0, 1e-12); /* a multiple of 16 */
    near(parts.segment, 3008 / 8192.0, 1e-12);
    d = make("uniform:512..4096", true, PADDING_LONGEST, 8192, &mem);
    assert_true(d.tokens > 0.93 && d.tokens < 1 && d.samples > 3.3 && d.samples < 8192 / 2304.0);
    near(d.samples * 2304 / 8192, d.tokens, 1e-9);
    near(dataset_work(&d, 1, 1).segment * 8192, (2304.0 * 2304 + 3585.0 * 3585 / 12) / 2304, 1e-4);
    d = make("lognormal:500,1", true, PADDING_LONGEST, 131072, &mem);
    assert_true(d.tokens > 0.97 && d.tokens < 1);
    arena_release(&mem);
}

/* Against a search through all packs, on random lengths. */
static void packing_is_first_fit(void **state)
{
    struct arena mem = {0};
    (void)state;
    srand(1);
    for (int round = 0; round < 20; round++) {
        int32_t of[3];
        int room = 10 + rand() % 50;
        for (int i = 0; i < 3; i++)
            of[i] = 1 + rand() % room;
        struct lengths l = {.count = 3, .of = of};
        struct packs p;
        packs_make(&l, room, &mem, &p);
        int smallest = of[0] < of[1] ? of[0] : of[1];
        smallest = smallest < of[2] ? smallest : of[2];
        double tokens = 0, samples = p.samples;
        for (int i = 0; i < p.count; i++) {
            assert_true(p.tokens[i] > 0 && p.tokens[i] <= 1 + 1e-12);
            tokens += p.tokens[i];
        }
        near(tokens, samples / 3 * (of[0] + of[1] + of[2]) / room, 1e-9);
        for (int i = 0; i + 1 < p.count; i++) /* the next one began with what did not fit here */
            assert_true((1 - p.tokens[i]) * room < room - smallest + 0.5);
        assert_true(p.count <= samples);
    }
    arena_release(&mem);
}

/* The largest of `ranks` sums of `draws` samples, drawn 4,000 times. */
static double drawn_late(const struct lengths *l, int batch, int ranks, int draws, bool squares)
{
    double sum = 0, total = 0;
    for (int round = 0; round < 4000; round++) {
        double most = 0;
        for (int r = 0; r < ranks; r++) {
            double work = 0;
            for (int i = 0; i < draws; i++) {
                double longest = 0;
                for (int k = 0; k < batch; k++)
                    longest = fmax(longest, l->of[rand() % l->count]);
                work += squares ? longest * longest : longest;
            }
            most = fmax(most, work);
            total += work;
        }
        sum += most;
    }
    return sum / (total / ranks) - 1;
}

static void ranks_wait_for_the_longest(void **state)
{
    static const struct {
        const char *lengths;
        int batch, ranks, draws;
    } cases[] = {{"uniform:512..4096", 1, 2, 1},
                 {"uniform:512..4096", 1, 8, 4},
                 {"uniform:512..4096", 4, 16, 2},
                 {"lognormal:800,0.9", 1, 8, 16},
                 {"lognormal:800,0.9", 2, 64, 4}};
    struct arena mem = {0};
    (void)state;
    srand(2);
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct lengths l = parse(cases[i].lengths, &mem);
        struct dataset d = make(cases[i].lengths, false, PADDING_LONGEST, 65536, &mem);
        struct lateness late = dataset_late(&d, cases[i].batch, cases[i].ranks, cases[i].draws);
        for (int squares = 0; squares < 2; squares++) {
            double drawn = drawn_late(&l, cases[i].batch, cases[i].ranks, cases[i].draws, squares);
            double found = squares ? late.pairs : late.rows;
            if (fabs(found - drawn) > 0.15 * drawn + 0.01)
                fail_msg("case %zu, squares %d: %.4f, drawn %.4f", i, squares, found, drawn);
        }
        assert_true(dataset_late(&d, 1, 1, 1).rows == 0);
    }
    arena_release(&mem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(distributions_have_their_mean),
        cmocka_unit_test(files_are_read_line_by_line),
        cmocka_unit_test(bad_lines_are_named),
        cmocka_unit_test(full_sequences_change_nothing),
        cmocka_unit_test(samples_are_padded_to_the_longest),
        cmocka_unit_test(samples_are_cut),
        cmocka_unit_test(packs_are_filled),
        cmocka_unit_test(packing_is_first_fit),
        cmocka_unit_test(ranks_wait_for_the_longest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
