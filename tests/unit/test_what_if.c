/* Changes of an input: what they say, and that the answer is that of a search asked so. */
#include "asked.h"
#include "astra.h"
#include "base/json.h"
#include "base/str.h"
#include "base/units.h"
#include "run/commands.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "must.h"

static void factors_are_read_or_refused(void **state)
{
    static const struct {
        const char *text;
        double factor; /* 0: none */
    } cases[] = {{"x2", 2}, {"x.5", 0.5}, {"x1e3", 1000}, {"+10%", 1.1}, {"-20%", 0.8}, {"+0%", 1},
                 {"x0", 0}, {"-100%", 0}, {"-101%", 0},   {"20%", 0},    {"+10", 0},    {"x", 0},
                 {"%", 0},  {"+%", 0},    {"", 0},        {"x-2", 0},    {"+-1%", 0},   {"x2%", 0},
                 {"2x", 0}, {"x 2", 0},   {"x1e400", 0},  {"xnan", 0},   {"+inf%", 0}};
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        double factor = 0;
        bool ok = parse_factor(cases[i].text, &factor);
        if (ok != (cases[i].factor > 0) || (ok && factor != cases[i].factor))
            fail_msg("'%s' is %d, %.17g", cases[i].text, ok, factor);
    }
}

/* Figures of a pool, changed, are those of the pool that says so. */
static void pools_change_in_one_figure(void **state)
{
    static const struct {
        const char *figure, *type, *change, *pool;
    } cases[] = {
        {"nodes", "h100", "x2", "4x8:H100,1..3x8:A100@100"},
        {"nodes", "H100-SXM5-80GB", "7", "7x8:H100,1..3x8:A100@100"},
        {"nodes", "a100", "x2", "2x8:H100,2..6x8:A100@100"},
        {"nodes", "a100", "2..9", "2x8:H100,2..9x8:A100@100"},
        {"nic", "a100", "+10%", "2x8:H100,1..3x8:A100@110"},
        {"nic", "h100", "50", "2x8:H100@50,1..3x8:A100@100"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct cluster c, want;
        struct error err = {0};
        assert_true(cluster_from_pool(&c, "2x8:H100,1..3x8:A100@100", &err));
        assert_true(cluster_from_pool(&want, cases[i].pool, &err));
        if (!cluster_change(&c, cases[i].figure, cases[i].type, cases[i].change, &err))
            fail_msg("%s", err.text);
        for (int g = 0; g < 2; g++) {
            assert_int_equal(c.group[g].nodes_min, want.group[g].nodes_min);
            assert_int_equal(c.group[g].nodes_max, want.group[g].nodes_max);
            assert_true(c.group[g].nic_bs == want.group[g].nic_bs);
        }
    }
}

static void links_and_memory_change(void **state)
{
    struct cluster c;
    struct error err = {0};
    (void)state;
    assert_true(cluster_from_pool(&c, "2x8:H100", &err));
    double usable_gib = c.group[0].usable_bytes / GIB;
    assert_true(cluster_change(&c, "link", "h100", "300", &err));
    assert_true(c.group[0].link_bs == 300e9);
    assert_true(cluster_change(&c, "memory", "h100", "x0.5", &err));
    assert_true(c.group[0].usable_bytes < (0.5 * usable_gib + 1e-9) * GIB);
    assert_true(c.group[0].usable_bytes > (0.5 * usable_gib - 1e-9) * GIB);
    assert_string_equal(c.text, "2x8:H100 with link:h100=300 with memory:h100=x0.5");
}

/* The value that an option has in the changed query, after "x2". */
static void relative_changes_start_from_what_is_in_force(void **state)
{
    static const struct {
        const char *option, *value;
    } given[] = {
        {"model", "llama3-8b"},
        {"cluster", "2x8:H100"},
        {"gpus", "4"},
        {"gpus", "8"}, /* the last one holds */
        {"set", "tp=2"},
        {"set", "micro_batch=4"},
        {"price", "h100=3"},
        {"plot", "front.svg"},
        {"what-if", "gpus=x2"},
        {"what-if", "global-batch=-50%"},
        {"what-if", "memory-margin=x2"},
        {"what-if", "set:tp=x2"},
        {"what-if", "price:H100-SXM5-80GB=+10%"},
        {"what-if", "set:seq_len=1024"},
    };
    struct asked q;
    struct error err = {0};
    (void)state;
    asked_init(&q);
    for (size_t i = 0; i < sizeof given / sizeof *given; i++)
        must(asked_set(&q, given[i].option, given[i].value, &err), &err);
    assert_false(asked_set(&q, "what-if", "nonsense", &err));
    must(asked_resolve(&q, QUERY_SEARCH, &err), &err);
    const struct query **changed = what_if_queries(&q.query, &q.mem, &err);
    must(changed, &err);
    assert_int_equal(changed[0]->terms.gpus, 16);
    assert_int_equal(changed[1]->terms.global_batch, 256);
    assert_int_equal(changed[1]->terms.gpus, 8);
    assert_true(changed[2]->terms.memory_margin == 0.08);
    assert_int_equal(changed[3]->terms.settings[PARAM_tp].value[0], 4);
    assert_int_equal(changed[3]->terms.settings[PARAM_tp].count, 1);
    assert_int_equal(changed[3]->terms.settings[PARAM_micro_batch].value[0], 4);
    assert_true(changed[4]->rent[0].usd_per_hour == 3.3);
    assert_true(q.query.rent[0].usd_per_hour == 3);
    assert_int_equal(changed[5]->terms.seq_len, 1024);
    assert_null(changed[6]);
    for (int i = 0; i < 6; i++) { /* what is written beside the answer is of the query as asked */
        assert_int_equal(changed[i]->given->what_if.count, 0);
        assert_null(changed[i]->given->output.plot);
    }
    asked_release(&q);
}

/* A derived query is another one, and shares the times of nodes that are the same. */
static void derived_queries_leave_the_first_alone(void **state)
{
    struct asked q;
    struct error err = {0};
    (void)state;
    asked_init(&q);
    must(asked_set(&q, "model", "llama3-8b", &err) &&
             asked_set(&q, "cluster", "2x8:H100,2x8:A100", &err) &&
             asked_resolve(&q, QUERY_SEARCH, &err),
         &err);
    struct query_terms terms = q.query.terms;
    struct cluster cluster = q.query.cluster;
    terms.gpus = 8;
    terms.settings[PARAM_tp] = (struct setting){1, {4}};
    cluster.group[0].nodes_max = 4;
    cluster.group[1].nic_bs *= 2;
    const struct query *other = query_derive(&q.query, &terms, &cluster, &q.mem, &err);
    must(other, &err);
    assert_int_equal(q.query.terms.gpus, 0);
    assert_int_equal(q.query.terms.settings[PARAM_tp].count, 0);
    assert_int_equal(q.query.cluster.group[0].nodes_max, 2);
    assert_int_equal(other->terms.gpus, 8);
    assert_int_equal(other->cluster.group[0].nodes_max, 4);
    assert_ptr_equal(other->costing[0].costs, q.query.costing[0].costs);
    assert_non_null(other->costing[1].costs);
    assert_ptr_not_equal(other->costing[1].costs, q.query.costing[1].costs);
    asked_release(&q);
}

static struct astra *ask(const char *pool)
{
    struct astra *a = astra_new();
    assert_int_equal(astra_set(a, "model", "llama3-8b"), ASTRA_OK);
    assert_int_equal(astra_set(a, "cluster", pool), ASTRA_OK);
    assert_int_equal(astra_set(a, "set", "tp=1,2,4"), ASTRA_OK);
    assert_int_equal(astra_set(a, "top", "2"), ASTRA_OK);
    return a;
}

static struct json *answer(struct astra *a)
{
    struct error err;
    if (astra_search(a) != ASTRA_OK)
        fail_msg("%s", astra_message(a));
    const char *text = astra_print(a, ASTRA_JSON);
    struct json *v = json_parse(text, strlen(text), "answer", &err);
    assert_non_null(v);
    return v;
}

static void must_be_same(const struct json *a, const struct json *b, const char *what)
{
    struct str one, other;
    str_init(&one);
    str_init(&other);
    json_dump(a, &one);
    json_dump(b, &other);
    if (one.length < 1000 || strcmp(str_text(&one), str_text(&other)) != 0)
        fail_msg("%s: another plan", what);
    str_release(&one);
    str_release(&other);
}

static const struct {
    const char *what_if, *option, *value;
} ALIKE[] = {
    {"gpus=8", "gpus", "8"},
    {"global-batch=x0.5", "global-batch", "256"},
    {"seq-len=-50%", "seq-len", "4096"},
    {"precision=fp8", "precision", "fp8"},
    {"stack=torch", "stack", "torch"},
    {"memory-margin=+900%", "memory-margin", "0.4"},
    {"mix=1", "mix", "1"},
    {"model=llama2-7b", "model", "llama2-7b"},
    {"cluster=2x4:H100", "cluster", "2x4:H100"},
    {"set:pp=2", "set", "pp=2"},
    {"price:h100=-20%", "price", "h100=1.992"},
    {"nodes:h100=x2", "cluster", "2x8:H100,1x8:A100"},
    {"nic:a100=50", "cluster", "1x8:H100,1x8:A100@50"},
};

static void answers_are_those_of_a_direct_search(void **state)
{
    struct astra *a = ask("1x8:H100,1x8:A100");
    (void)state;
    assert_int_equal(astra_set(a, "price", "h100=2.49"), ASTRA_OK);
    for (size_t i = 0; i < COUNT(ALIKE); i++)
        assert_int_equal(astra_set(a, "what-if", ALIKE[i].what_if), ASTRA_OK);
    struct json *v = answer(a);
    for (size_t i = 0; i < COUNT(ALIKE); i++) {
        const struct json *w = json_at(json_get(v, "what_if"), i);
        struct astra *direct = ask("1x8:H100,1x8:A100");
        assert_int_equal(astra_set(direct, "price", "h100=2.49"), ASTRA_OK);
        assert_int_equal(astra_set(direct, ALIKE[i].option, ALIKE[i].value), ASTRA_OK);
        struct json *d = answer(direct);
        must_be_same(json_get(w, "plan"), json_at(json_get(d, "best"), 0), ALIKE[i].what_if);
        json_release(d);
        astra_free(direct);
    }
    json_release(v);
    astra_free(a);
}

/* Asked again, with one more, on the same handle. */
static void queries_can_be_asked_again(void **state)
{
    struct astra *a = ask("1x8:H100");
    (void)state;
    assert_int_equal(astra_set(a, "what-if", "nodes:h100=x2"), ASTRA_OK);
    struct json *first = answer(a);
    assert_int_equal(astra_set(a, "what-if", "gpus=16"), ASTRA_OK);
    struct json *second = answer(a);
    const struct json *list = json_get(second, "what_if");
    must_be_same(json_get(json_at(json_get(first, "what_if"), 0), "plan"),
                 json_get(json_at(list, 0), "plan"), "the first again");
    assert_int_equal(json_count(list), 2);
    assert_true(json_is_null(json_get(json_at(list, 1), "plan")));
    assert_non_null(
        strstr(json_text(json_get(json_at(list, 1), "message")), "no plan: 16 GPUs are asked "));
    json_release(first);
    json_release(second);
    assert_int_equal(astra_set(a, "what-if", "gpus=x2"), ASTRA_OK); /* none is given */
    assert_int_equal(astra_search(a), ASTRA_INPUT);
    assert_string_equal(astra_print(a, ASTRA_JSON), "");
    astra_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(factors_are_read_or_refused),
        cmocka_unit_test(pools_change_in_one_figure),
        cmocka_unit_test(links_and_memory_change),
        cmocka_unit_test(relative_changes_start_from_what_is_in_force),
        cmocka_unit_test(derived_queries_leave_the_first_alone),
        cmocka_unit_test(answers_are_those_of_a_direct_search),
        cmocka_unit_test(queries_can_be_asked_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
