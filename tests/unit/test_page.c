/* Parts of a page: escapes of its data, words by place, one step in units. */
#include "base/json.h"
#include "base/str.h"
#include "report/page/page.h"
#include "report/page/page_parts.h"
#include "report/report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "scene.h"

/* Read back it is what it was, and nothing in between can end or begin a tag. */
static void data_stays_data(void **state)
{
    static const char *const texts[] = {"</script>", "<!--<script>", "a&b'\"\\",   "\xe2\x80\xa8",
                                        "]]>",       "\x01\x7f",     "caf\xc3\xa9"};
    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct str out;
        struct error err = {0};
        struct json *list = json_new_array();
        str_init(&out);
        json_append(list, json_new_string(texts[i]));
        json_dump_script(list, &out);
        json_release(list);
        assert_null(strpbrk(str_text(&out), "<>&"));
        for (const char *c = str_text(&out); *c; c++)
            assert_true((unsigned char)*c < 0x80);
        list = json_parse(out.data, out.length, "page", &err);
        must(list, &err);
        assert_string_equal(json_text(json_at(list, 0)), texts[i]);
        json_release(list);
        str_release(&out);
    }
}

static void words_have_places(void **state)
{
    struct page_words w;
    (void)state;
    page_words_init(&w, &mem);
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < 1000; i++) {
            char word[32];
            snprintf(word, sizeof word, "word %d", i);
            assert_int_equal(page_words_add(&w, word), i);
        }
    assert_int_equal(w.count, 1000);
    assert_string_equal(w.word[999], "word 999");
}

static struct plan plan_of(int pp, int vpp, int micro_batches)
{
    struct scene sc = scene();
    struct strategy s;
    struct plan p;
    strategy_init(&s);
    s.tp = 8 / pp > 2 ? 2 : 8 / pp;
    s.pp = pp;
    s.vpp = vpp;
    s.dp = 8 / pp / s.tp;
    s.seq_len = 4096;
    s.global_batch = micro_batches * s.dp;
    s.dist_opt = s.dp > 1;
    plan_evaluate(&sc, &s, NULL, &mem, &p);
    assert_true(p.computed);
    return p;
}

/* Ends of the passes of a rank, in units: each begins when the one before has ended or later. */
static int64_t last_end(const struct json *timeline, int rank, int pp, int vpp)
{
    const struct json *passes =
        json_get(json_at(json_get(timeline, "ranks"), (size_t)rank), "passes");
    int64_t start = 0, end = 0;
    for (size_t k = 0; k < json_count(passes); k += 2) {
        int64_t code = json_integer_of(json_at(passes, k + 1)), chunk = code / 2 % vpp;
        const struct json *parts = json_at(
            json_at(json_get(timeline, "shapes"), (size_t)(chunk * pp + rank)), (size_t)(code % 2));
        start += json_integer_of(json_at(passes, k));
        assert_true(start + 2 >= end);                                    /* rounding */
        assert_true(k == 0 || json_integer_of(json_at(passes, k)) > 100); /* they are seen */
        end = start;
        for (size_t i = 0; i < 3; i++) {
            assert_true(json_integer_of(json_at(parts, i)) >= 0);
            end += json_integer_of(json_at(parts, i));
        }
    }
    return end;
}

/* All passes are there, and the last edge of some rank ends with the step. */
static void timelines_fill_the_step(void **state)
{
    static const struct {
        int pp, vpp, micro_batches;
    } cases[] = {{1, 1, 4}, {2, 1, 6}, {4, 1, 16}, {4, 2, 8}, {4, 4, 16}, {8, 1, 8}};
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        int pp = cases[i].pp, vpp = cases[i].vpp;
        struct plan p = plan_of(pp, vpp, cases[i].micro_batches);
        struct json *t = page_timeline(&p);
        int64_t each = 2 * cases[i].micro_batches * vpp, latest = 0;
        assert_int_equal(json_integer_of(json_get(t, "each")), each);
        for (int r = 0; r < pp; r++) {
            const struct json *rank = json_at(json_get(t, "ranks"), (size_t)r);
            const struct json *edges = json_get(rank, "edges");
            int64_t end = last_end(t, r, pp, vpp);
            assert_int_equal(json_count(json_get(rank, "passes")), 2 * each);
            assert_true(end <= 1000000 + 2);
            for (size_t k = 0; k < json_count(edges); k++) {
                int64_t to = json_integer_of(json_at(json_at(edges, k), 2));
                latest = to > latest ? to : latest;
            }
        }
        assert_true(latest >= 999999 && latest <= 1000001);
        json_release(t);
    }
}

/* First and last passes of a rank stay where they are, and none of them vanishes. */
static void long_steps_lose_their_middle(void **state)
{
    enum { MICRO_BATCHES = 900000 };
    struct plan p = plan_of(2, 1, MICRO_BATCHES);
    struct json *t = page_timeline(&p);
    (void)state;
    for (int r = 0; r < 2; r++) {
        const struct json *passes = json_get(json_at(json_get(t, "ranks"), (size_t)r), "passes");
        size_t words = json_count(passes);
        assert_int_equal(words / 2, 6000);
        assert_int_equal(json_integer_of(json_at(passes, 1)), 0);
        assert_int_equal(json_integer_of(json_at(passes, words - 1)), 2 * (MICRO_BATCHES - 1) + 1);
        assert_true((double)last_end(t, r, 2, 1) > 0.99 * json_number_of(json_get(t, "units")));
    }
    assert_int_equal(json_integer_of(json_get(t, "half")), 3000);
    json_release(t);
}

/* Plans of the front that are listed too are there once. */
static void front_joins_the_list(void **state)
{
    struct plan plan[3], front[3];
    struct page_list l;
    (void)state;
    for (int i = 0; i < 3; i++)
        plan[i] = plan_of(1 << i, 1, 8);
    front[0] = plan[2];
    front[1] = plan_of(8, 1, 8);
    front[2] = plan[0];
    const struct search_report r = {.best = 3, .plan = plan, .front = 3, .pareto = front};
    page_list_init(&l, &r, &mem);
    assert_int_equal(l.count, 4);
    assert_int_equal(l.front[0], 2);
    assert_int_equal(l.front[1], 3);
    assert_int_equal(l.front[2], 0);
}

/* A page of made-up names has its five places filled, two scripts, and no name as markup. */
static void pages_are_whole(void **state)
{
    struct plan p = plan_of(2, 1, 8);
    struct model named = model;
    struct cluster pool = cluster;
    struct str one, two;
    (void)state;
    snprintf(named.name, sizeof named.name, "%s", "</title><script>x()</script>{{data}}");
    snprintf(pool.text, sizeof pool.text, "%s", "\"><img onerror=y()>");
    p.model = &named;
    const struct search_report r = {.model = &named,
                                    .cluster = &pool,
                                    .rent = rent,
                                    .query = "</script><b>?",
                                    .best = 1,
                                    .plan = &p};
    const struct page page = {.report = &r};
    str_init(&one);
    str_init(&two);
    page_print(&page, &one);
    page_print(&page, &two);
    assert_string_equal(str_text(&one), str_text(&two));
    int scripts = 0;
    for (const char *at = str_text(&one); (at = strstr(at, "<script")); at++)
        scripts++;
    assert_int_equal(scripts, 2);
    assert_null(strstr(str_text(&one), "content=\"{{"));
    assert_null(strstr(str_text(&one), "<img"));
    assert_null(strstr(str_text(&one), "<b>?"));
    assert_non_null(strstr(str_text(&one), "script-src 'sha256-"));
    assert_non_null(strstr(str_text(&one), "</html>"));
    str_release(&one);
    str_release(&two);
}

static int begin(void **state)
{
    (void)state;
    arena_init(&mem);
    load("llama3-8b", "1x8:H100");
    return 0;
}

static int end(void **state)
{
    (void)state;
    arena_release(&mem);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(data_stays_data),         cmocka_unit_test(words_have_places),
        cmocka_unit_test(timelines_fill_the_step), cmocka_unit_test(long_steps_lose_their_middle),
        cmocka_unit_test(front_joins_the_list),    cmocka_unit_test(pages_are_whole),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
