/* The report stage: tables, text, JSON against its schema, CSV, lists. Plans are evaluated ones of
 * small jobs, so that every figure is one that Astra really reports. */
#include "report/report.h"

#include "astra.h"
#include "base/arena.h"
#include "base/file.h"
#include "base/json.h"
#include "base/str.h"
#include "base/units.h"
#include "cluster/cluster.h"
#include "price/rent.h"
#include "cost/learned.h"
#include "probe/answer.h"
#include "report/csv/csv_out.h"
#include "report/plan_words.h"
#include "report/text/table.h"
#include "report/text/typeset.h"
#include "simulate/drawn_step.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "schema.h"

static const struct report_style PLAIN = {0, false};

/* Everything a test needs: freed by release(). */
struct bench {
    struct arena mem;
    struct str out;
    struct model model;
    struct cluster cluster;
    struct rent rent[CLUSTER_MAX_GROUPS];
    struct plan_answer answer;
};

static void start(struct bench *b, const char *model, const char *pool)
{
    struct error err = {0};
    arena_init(&b->mem);
    str_init(&b->out);
    b->answer = (struct plan_answer){0};
    if (!model_load(&b->model, model, &b->mem, &err) || !cluster_from_pool(&b->cluster, pool, &err))
        fail_msg("%s", err.text);
    rents_init(b->rent, &b->cluster, "cluster file");
}

static void release(struct bench *b)
{
    str_release(&b->out);
    arena_release(&b->mem);
}

/* The plan with what follows from it alone; what probes found stays as the test put it there. */
static const struct plan_answer *about(struct bench *b, const struct plan *p)
{
    struct plan_answer *a = &b->answer;
    a->plan = p;
    a->hints = a->speedups ? 0 : hints_of(p, a->hint);
    a->step = p->computed ? drawn_step_new(p, &b->mem) : NULL;
    return a;
}

struct choice {
    enum param param;
    int value;
};

/* A plan of the bench's model on its first group; choices end at value -1. */
static struct plan make_plan(struct bench *b, const struct choice *choices)
{
    struct scene *scene = arena_alloc(&b->mem, sizeof *scene);
    struct strategy s;
    struct plan p;
    *scene = (struct scene){.model = &b->model,
                            .group = &b->cluster.group[0],
                            .te = true,
                            .memory_margin = 0.04,
                            .imbalance = 1,
                            .rent = b->rent};
    strategy_init(&s);
    s.seq_len = 4096;
    s.global_batch = 64;
    for (; choices->value >= 0; choices++)
        strategy_set(&s, choices->param, choices->value);
    plan_evaluate(scene, &s, NULL, &b->mem, &p);
    return p;
}

static const struct choice GOOD[] = {{PARAM_tp, 2},       {PARAM_pp, 2},           {PARAM_dp, 4},
                                     {PARAM_dist_opt, 1}, {PARAM_seq_parallel, 1}, {PARAM_tp, -1}};
static const struct choice INTERLEAVED[] = {
    {PARAM_tp, 2},
    {PARAM_pp, 4},
    {PARAM_dp, 2},
    {PARAM_vpp, 2},
    {PARAM_p2p_overlap, 1},
    {PARAM_dist_opt, 1},
    {PARAM_recompute, RECOMPUTE_SELECTIVE},
    {PARAM_recompute_modules, MODULE_CORE_ATTN | MODULE_MLP},
    {PARAM_tp, -1}};
static const struct choice TOO_BIG[] = {{PARAM_dp, 16}, {PARAM_micro_batch, 4}, {PARAM_tp, -1}};
/* 32 layers do not divide by 3 stages. */
static const struct choice UNCOMPUTED[] = {{PARAM_pp, 3}, {PARAM_dp, 5}, {PARAM_tp, -1}};

static bool contains(const struct str *s, const char *text)
{
    return strstr(str_text(s), text) != NULL;
}

static void must_contain(const struct str *s, const char *text)
{
    if (!contains(s, text))
        fail_msg("'%s' is missing in:\n%s", text, str_text(s));
}

static void must_lack(const struct str *s, const char *text)
{
    if (contains(s, text))
        fail_msg("'%s' should not be in:\n%s", text, str_text(s));
}

/* Tables and typesetting */

static void fill_table(struct table *t)
{
    static const char *const cells[] = {"a", "1", "", "long name", "23", "±5"};
    table_init(t, NULL, 0);
    table_column(t, "name", TABLE_LEFT, 0);
    table_column(t, "n", TABLE_RIGHT, 1);
    table_column(t, "note", TABLE_LEFT, 2);
    for (size_t i = 0; i < COUNT(cells); i++)
        table_add(t, "%s", cells[i]);
}

static void tables_align(void **state)
{
    static const struct {
        int columns;
        const char *want;
    } cases[] = {
        {0, "  name        n  note\n  a           1\n  long name  23  ±5\n"},
        {21, "  name        n  note\n  a           1\n  long name  23  ±5\n"},
        {20, "  name        n\n  a           1\n  long name  23\n  too narrow for:\n  note\n"},
        {14, "  name\n  a\n  long name\n  too narrow\n  for: n, note\n"},
        {3, "  name\n  a\n  long name\n  too\n  narrow\n  for:\n  n,\n  note\n"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct report_style style = {cases[i].columns, false};
        struct table t;
        struct str out;
        str_init(&out);
        fill_table(&t);
        table_print(&t, &style, &out);
        assert_string_equal(str_text(&out), cases[i].want);
        str_release(&out);
    }
}

/* Where no column may go, the widest of text is narrowed, and what is too long for it is broken at
 * blanks, behind a dash, or anywhere. */
static void tables_break_text(void **state)
{
    static const struct {
        int columns;
        const char *want;
    } cases[] = {
        {0, "  GPU             why\n  H100-SXM5-80GB  median of 8 providers, on demand\n"},
        {40, "  GPU             why\n  H100-SXM5-80GB  median of 8 providers,\n"
             "                  on demand\n"},
        {27, "  GPU            why\n  H100-SXM5-     median of\n  80GB           8\n"
             "                 providers,\n                 on demand\n"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct report_style style = {cases[i].columns, false};
        struct table t;
        struct str out;
        str_init(&out);
        table_init(&t, NULL, 0);
        table_column(&t, "GPU", TABLE_LEFT, 0);
        table_column(&t, "why", TABLE_LEFT, 0);
        table_add(&t, "H100-SXM5-80GB");
        table_add(&t, "median of 8 providers, on demand");
        table_print(&t, &style, &out);
        assert_string_equal(str_text(&out), cases[i].want);
        str_release(&out);
    }
}

static void text_is_cut(void **state)
{
    static const struct {
        const char *text;
        size_t width, want;
    } cases[] = {{"one two", 7, 7},  {"one two", 6, 3}, {"one two", 3, 3}, {"one two", 2, 2},
                 {"H100-SXM", 6, 5}, {"±±± x", 4, 6},   {"±±±", 1, 2},     {"x", 1, 1}};
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_int_equal(typeset_cut(cases[i].text, cases[i].width), cases[i].want);
}

static void tables_hide_columns(void **state)
{
    struct table t;
    struct str out;
    (void)state;
    str_init(&out);
    table_init(&t, NULL, 0);
    table_column(&t, "", TABLE_LEFT, 0);
    table_column(&t, "", TABLE_LEFT, 0);
    table_column(&t, "", TABLE_LEFT, 0);
    for (int i = 0; i < 100; i++) {
        table_add(&t, "1");
        table_add(&t, "%d", i / 99);
        table_add(&t, "x\ny\033%c", 'z');
    }
    table_hide_if_all(&t, 0, "1");
    table_hide_if_all(&t, 1, "0");
    table_print(&t, &PLAIN, &out);
    assert_int_equal(strncmp(str_text(&out), "  0  x?y?z\n", 11),
                     0); /* no heads: no line of them */
    must_contain(&out, "\n  1  x?y?z\n");
    str_release(&out);
}

static void text_wraps(void **state)
{
    static const struct {
        int columns;
        const char *text, *want;
    } cases[] = {
        {0, "one two  three", "one two three\n"},
        {7, "one two three", "one two\n  three\n"},
        {6, "one two three", "one\n  two\n  three\n"},
        {7, "±±± ±±± x", "±±± ±±±\n  x\n"},
        {2, "indivisible", "indivisible\n"},
        {9, "", "\n"},
        {0, "a\033[31mb", "a?[31mb\n"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct report_style style = {cases[i].columns, false};
        struct str out;
        str_init(&out);
        typeset_wrap(&style, cases[i].text, 2, &out);
        assert_string_equal(str_text(&out), cases[i].want);
        str_release(&out);
    }
}

static void bars_show_shares(void **state)
{
    static const struct {
        double share;
        const char *want, *blocks;
    } cases[] = {{0, ".....", "     "},    {0.001, "#....", "▏    "}, {0.5, "###..", "██▌  "},
                 {0.99, "#####", "█████"}, {1, "#####", "█████"},     {7, "#####", "█████"},
                 {-1, ".....", "     "},   {NAN, ".....", "     "},   {0.225, "#....", "█▏   "}};
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        static const struct report_style ascii = {0, ASTRA_COLOUR}, utf8 = {0, ASTRA_COLOUR_UTF8};
        struct str out;
        str_init(&out);
        typeset_bar(&ascii, cases[i].share, 5, &out);
        assert_string_equal(str_text(&out), cases[i].want);
        str_clear(&out);
        typeset_bar(&utf8, cases[i].share, 5, &out);
        assert_string_equal(str_text(&out), cases[i].blocks);
        str_release(&out);
    }
}

static void shell_words_are_quoted(void **state)
{
    static const char *const words[] = {"--a",  "1",    "--layout", "Et*2|tL",
                                        "--it", "it's", "",         "--switch"};
    static const struct {
        int columns;
        const char *want;
    } cases[] = {
        {0, "    --a 1 --layout 'Et*2|tL' --it 'it'\\''s' '' --switch\n"},
        {32, "    --a 1 --layout 'Et*2|tL' \\\n    --it 'it'\\''s' '' --switch\n"},
        {1, "    --a 1 \\\n    --layout 'Et*2|tL' \\\n    --it 'it'\\''s' '' \\\n    --switch\n"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct report_style style = {cases[i].columns, false};
        struct str out;
        str_init(&out);
        add_shell_lines(words, COUNT(words), &style, &out);
        assert_string_equal(str_text(&out), cases[i].want);
        str_release(&out);
    }
}

static void recompute_in_few_words(void **state)
{
    static const struct {
        int recompute, method, layers, modules;
        const char *want;
    } cases[] = {
        {RECOMPUTE_NONE, METHOD_NONE, 0, 0, "none"},
        {RECOMPUTE_SELECTIVE, METHOD_NONE, 0, MODULE_CORE_ATTN | MODULE_MLP, "sel core_attn+mlp"},
        {RECOMPUTE_FULL, METHOD_UNIFORM, 1, 0, "full"},
        {RECOMPUTE_FULL, METHOD_UNIFORM, 4, 0, "full/4"},
        {RECOMPUTE_FULL, METHOD_BLOCK, 2, 0, "block 2"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct strategy s;
        struct str out;
        strategy_init(&s);
        s.recompute = cases[i].recompute;
        s.recompute_method = cases[i].method;
        s.recompute_layers = cases[i].layers;
        s.recompute_modules = cases[i].modules;
        str_init(&out);
        add_recompute(&s, &out);
        assert_string_equal(str_text(&out), cases[i].want);
        str_release(&out);
    }
}

static struct json *parse(const struct str *text)
{
    struct error err = {0};
    struct json *v = json_parse(str_text(text), text->length, "report", &err);
    if (!v)
        fail_msg("%s", err.text);
    return v;
}

static void must_be_valid(const struct json *v, const char *what)
{
    must_be_by_schema(v, "data/schema/plan.schema.json", what);
}

/* JSON of a plan */

static void sum_up(void *context, const char *key, const struct json *value)
{
    (void)key;
    *(double *)context += json_number_of(value);
}

static double sum_of(const struct json *object)
{
    double sum = 0;
    json_each(object, sum_up, &sum);
    return sum;
}

static void near(double got, double want, double relative)
{
    if (fabs(got - want) > relative * fabs(want))
        fail_msg("%.17g, expected %.17g", got, want);
}

/* One stage on each of two groups; the rest of the mixture is the plan itself. */
static void mixed_plans_are_valid_json(void **state)
{
    struct bench b;
    struct strategy s;
    struct plan p;
    (void)state;
    start(&b, "llama3-8b", "1x8:A100,2x4:H100@100");
    struct mesh_list meshes = {
        2,
        {{.group = &b.cluster.group[0], .stages = 1}, {.group = &b.cluster.group[1], .stages = 1}}};
    struct scene scene = {.model = &b.model,
                          .group = &b.cluster.group[0],
                          .te = true,
                          .memory_margin = 0.04,
                          .imbalance = 1,
                          .meshes = &meshes,
                          .cluster = &b.cluster,
                          .rent = b.rent};
    b.cluster.links = 1;
    b.cluster.link[0] = (struct group_link){0, 1, 1e9};
    strategy_init(&s);
    s.pp = 2;
    s.dp = 8;
    s.seq_len = 4096;
    s.global_batch = 64;
    plan_evaluate(&scene, &s, NULL, &b.mem, &p);
    struct plan then = p;
    struct more_layer more[] = {{1, 0.5, &then}, {-1, 0, NULL}};
    struct comparison_alone alone[] = {{&b.cluster.group[0], &then}, {&b.cluster.group[1], NULL}};
    struct comparison comparison = {
        more, {{"even", "even", &then}, {"speed", "speed", NULL}}, 2, alone};
    b.answer.comparison = &comparison;
    report_plan_json(about(&b, &p), &b.out);
    struct json *v = parse(&b.out);
    must_be_valid(v, "plan");
    assert_string_equal(json_text(json_get(v, "gpu")), "A100-SXM4-80GB+H100-SXM5-80GB");
    assert_string_equal(json_text(json_get(v, "cluster")),
                        "1x8:A100-SXM4-80GB,2x4:H100-SXM5-80GB@100");
    assert_int_equal(json_integer_of(json_get(v, "gpus")), 16);
    assert_int_equal(json_count(json_get(v, "node_groups")), 2);
    near(json_number_of(json_get(json_at(json_get(v, "links"), 0), "nic_gbit")), 8, 1e-9);
    const struct json *last = json_at(json_get(v, "stages"), 1);
    assert_string_equal(json_text(json_get(last, "gpu")), "H100-SXM5-80GB");
    near(json_number_of(json_get(last, "limit_bytes")), p.stage[1].limit_bytes, 1e-9);
    json_release(v);
    str_clear(&b.out);
    p.feasible = true; /* what does not fit has no speed to tell of */
    report_explain_text(about(&b, &p), NULL, &PLAIN, &b.out);
    must_contain(&b.out, "on 8 A100-SXM4-80GB + 8 H100-SXM5-80GB, ");
    must_contain(&b.out, " is the bottleneck: busy ");
    must_contain(&b.out, "none has one to spare");
    must_contain(&b.out, "there is none");
    release(&b);
}

static void plans_are_valid_json(void **state)
{
    static const struct choice *const cases[] = {GOOD, INTERLEAVED, TOO_BIG, UNCOMPUTED};
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct bench b;
        start(&b, "llama3-8b", "2x8:H100");
        struct plan p = make_plan(&b, cases[i]);
        report_plan_json(about(&b, &p), &b.out);
        struct json *v = parse(&b.out);
        must_be_valid(v, "plan");
        assert_int_equal(json_bool_of(json_get(v, "feasible")), p.feasible);
        assert_int_equal(json_count(json_get(v, "reasons")), p.reasons);
        json_release(v);
        release(&b);
    }
}

static void json_numbers_add_up(void **state)
{
    struct bench b;
    (void)state;
    start(&b, "llama3-8b", "2x8:H100");
    struct plan p = make_plan(&b, INTERLEAVED);
    report_plan_json(about(&b, &p), &b.out);
    struct json *v = parse(&b.out);
    const struct json *stages = json_get(v, "stages");
    near(json_number_of(json_get(v, "step_s")), p.step_s, 1e-8);
    near(sum_of(json_get(v, "breakdown")), json_number_of(json_get(v, "step_s")), 1e-6);
    assert_int_equal(json_count(stages), 4);
    for (size_t i = 0; i < 4; i++) {
        const struct json *s = json_at(stages, i);
        double device = json_number_of(json_get(s, "device_bytes"));
        assert_true(fabs(sum_of(json_get(s, "memory")) - device) <= MEMORY_PARTS);
        assert_true(json_number_of(json_get(s, "peak_bytes")) < device);
        assert_int_equal(json_integer_of(json_get(s, "layers")), 8);
        assert_int_equal(json_integer_of(json_get(s, "stage")), i);
    }
    json_release(v);
    release(&b);
}

static void strategy_has_every_parameter_as_its_kind(void **state)
{
    static bool (*const kinds[])(const struct json *) = {
        [PARAM_INT] = json_is_integer,
        [PARAM_ONOFF] = json_is_bool,
        [PARAM_WORD] = json_is_string,
        [PARAM_SET] = json_is_array,
    };
    struct bench b;
    (void)state;
    start(&b, "llama3-8b", "2x8:H100");
    struct plan p = make_plan(&b, INTERLEAVED);
    report_plan_json(about(&b, &p), &b.out);
    struct json *v = parse(&b.out);
    const struct json *s = json_get(v, "strategy");
    assert_int_equal(json_count(s), PARAMS);
    for (int i = 0; i < PARAMS; i++) {
        const struct param_info *info = param_info((enum param)i);
        if (!kinds[info->kind](json_get(s, info->name)))
            fail_msg("%s is of the wrong kind", info->name);
    }
    assert_int_equal(json_integer_of(json_get(s, "vpp")), 2);
    assert_true(json_bool_of(json_get(s, "dist_opt")));
    assert_string_equal(json_text(json_get(s, "recompute")), "selective");
    assert_int_equal(json_count(json_get(s, "recompute_modules")), 2);
    assert_string_equal(json_text(json_at(json_get(s, "recompute_modules"), 1)), "mlp");
    json_release(v);
    release(&b);
}

static void what_was_not_computed_is_null(void **state)
{
    static const char *const names[] = {"step_s",         "tokens_per_s", "tokens_per_s_per_gpu",
                                        "tflops_per_gpu", "mfu",          "expected_error",
                                        "breakdown",      "stages"};
    struct bench b;
    (void)state;
    start(&b, "llama3-8b", "2x8:H100");
    struct plan p = make_plan(&b, UNCOMPUTED);
    assert_false(p.computed);
    report_plan_json(about(&b, &p), &b.out);
    struct json *v = parse(&b.out);
    for (size_t i = 0; i < COUNT(names); i++)
        if (!json_get(v, names[i]) || !json_is_null(json_get(v, names[i])))
            fail_msg("%s is not null", names[i]);
    assert_true(json_is_null(json_get(json_get(v, "money"), "usd_per_hour")));
    assert_int_equal(json_count(json_get(v, "reasons")), 1);
    json_release(v);
    release(&b);
}

static void unknown_prices_are_null(void **state)
{
    struct bench b;
    (void)state;
    start(&b, "llama3-8b", "2x8:H100");
    b.rent[0].usd_per_hour = 0;
    struct plan p = make_plan(&b, GOOD);
    report_plan_json(about(&b, &p), &b.out);
    struct json *v = parse(&b.out);
    assert_int_equal(json_count(json_get(v, "money")), 2);
    assert_true(json_is_null(json_get(json_get(v, "money"), "usd_per_hour")));
    assert_true(json_is_null(json_get(json_get(v, "money"), "usd_per_mtoken")));
    assert_true(json_is_number(json_get(v, "step_s")));
    must_be_valid(v, "plan");
    json_release(v);
    str_clear(&b.out);
    report_plan_text(about(&b, &p), &PLAIN, &b.out);
    must_contain(&b.out, "no price of H100-SXM5-80GB is known");
    release(&b);
}

/* Flags need the layers of an uneven split: without them there are none. */
static void flags_of_an_impossible_split_are_null(void **state)
{
    static const struct choice none[] = {
        {PARAM_pp, 16}, {PARAM_vpp, 4}, {PARAM_split, SPLIT_UNEVEN}, {PARAM_tp, -1}};
    struct bench b;
    (void)state;
    start(&b, "llama3-8b", "2x8:H100");
    struct plan p = make_plan(&b, none);
    assert_false(p.computed);
    assert_int_equal(p.layout.stages, 0);
    report_plan_json(about(&b, &p), &b.out);
    struct json *v = parse(&b.out);
    assert_true(json_is_null(json_get(json_get(v, "engine"), "flags")));
    must_be_valid(v, "plan");
    json_release(v);
    release(&b);
}

/* Every type of GPU, with its usual NIC and another. */
static void clusters_of_plans_can_be_read_back(void **state)
{
    static const struct choice one[] = {{PARAM_dp, 24}, {PARAM_global_batch, 24}, {PARAM_tp, -1}};
    size_t count;
    const struct gpu *g = gpu_table(&count);
    (void)state;
    for (size_t i = 0; i < count; i++) {
        struct bench b;
        struct cluster again;
        struct error err = {0};
        char pool[128];
        snprintf(pool, sizeof pool, "3x8:%s%s", g[i].name, i % 2 ? "@33.3" : "");
        start(&b, "llama3.2-1b", pool);
        struct plan p = make_plan(&b, one);
        report_plan_json(about(&b, &p), &b.out);
        struct json *v = parse(&b.out);
        if (!cluster_from_pool(&again, json_text(json_get(v, "cluster")), &err))
            fail_msg("%s", err.text);
        assert_int_equal(again.group[0].nodes_max, 3);
        assert_int_equal(again.group[0].per_node, 8);
        assert_ptr_equal(again.group[0].gpu, &g[i]);
        near(again.group[0].nic_bs, b.cluster.group[0].nic_bs, 1e-8);
        json_release(v);
        release(&b);
    }
}

/* A search */

static struct search_report make_search(struct bench *b, const struct choice *const *choices,
                                        int count)
{
    static const struct drop drops[] = {{"too, \"big\"", 1e12}, {"slow", 7}, {"slow", 5}};
    struct plan *plans = arena_array(&b->mem, (size_t)count, sizeof *plans);
    struct funnel *f = arena_alloc(&b->mem, sizeof *f);
    for (int i = 0; i < count; i++)
        plans[i] = make_plan(b, choices[i]);
    *f = (struct funnel){1e12 + 112, 100, 10, 2, COUNT(drops), (struct drop *)drops, NULL};
    return (struct search_report){.model = &b->model,
                                  .cluster = &b->cluster,
                                  .rent = b->rent,
                                  .query = "the question",
                                  .best = count,
                                  .plan = plans,
                                  .front = count,
                                  .pareto = plans,
                                  .funnel = f,
                                  .elapsed_s = 0.0123,
                                  .stats = true};
}

static const struct choice *const BOTH[] = {GOOD, INTERLEAVED};

static void searches_are_valid_json(void **state)
{
    (void)state;
    for (int count = 0; count <= 2; count++) {
        struct bench b;
        start(&b, "llama3-8b", "2x8:H100");
        struct search_report r = make_search(&b, BOTH, count);
        report_search_json(&r, &b.out);
        struct json *v = parse(&b.out);
        const struct json *funnel = json_get(v, "funnel");
        must_be_valid(v, "search");
        assert_int_equal(json_count(json_get(v, "best")), count);
        assert_int_equal(json_count(json_get(v, "pareto")), count);
        assert_true(json_is_null(json_get(json_get(v, "question"), "seq_len")) == (count == 0));
        assert_int_equal(json_integer_of(json_get(funnel, "generated")), 1000000000112);
        assert_int_equal(json_count(json_get(funnel, "dropped")), 2);
        assert_int_equal(json_integer_of(json_get(json_get(funnel, "dropped"), "slow")), 12);
        near(json_number_of(json_get(v, "elapsed_s")), 0.0123, 1e-8);
        json_release(v);
        release(&b);
    }
}

/* The second plan as what the first becomes; the first as it stays; and none. */
static void what_ifs_are_words_and_valid_json(void **state)
{
    struct bench b;
    (void)state;
    start(&b, "llama3-8b", "2x8:H100");
    struct search_report r = make_search(&b, BOTH, 2);
    const struct what_if list[] = {{"gpus=16", &r.plan[0], NULL},
                                   {"nic:h100=x2", &r.plan[1], NULL},
                                   {"gpus=15", NULL, "15 GPUs are no use"}};
    r.what_ifs = COUNT(list);
    r.what_if = list;
    report_search_json(&r, &b.out);
    struct json *v = parse(&b.out);
    const struct json *what_if = json_get(v, "what_if");
    must_be_valid(v, "search");
    assert_int_equal(json_count(what_if), 3);
    for (size_t i = 0; i < COUNT(list); i++) {
        const struct json *w = json_at(what_if, i);
        assert_string_equal(json_text(json_get(w, "change")), list[i].change);
        assert_int_equal(json_bool_of(json_get(w, "feasible")), i < 2);
        assert_int_equal(json_bool_of(json_get(w, "same")), i == 0);
        assert_int_equal(json_is_null(json_get(w, "plan")), i == 2);
    }
    json_release(v);
    str_clear(&b.out);
    report_search_text(&r, &PLAIN, &b.out);
    must_contain(&b.out, "\n  gpus=16      the same plan ");
    must_contain(&b.out, "\n  nic:h100=x2  other strategy ");
    must_contain(&b.out,
                 "\n  - nic:h100=x2: same GPUs, other strategy: pp 2 -> 4, dp 4 -> 2, vpp 1 "
                 "-> 2, ");
    must_contain(&b.out, "\n  - gpus=15: no plan: 15 GPUs are no use\n");
    must_lack(&b.out, "- gpus=16:");
    must_lack(&b.out, "hours"); /* no run is known */
    release(&b);
}

static void search_text_leaves_dull_columns_out(void **state)
{
    struct bench b;
    (void)state;
    start(&b, "llama3-8b", "2x8:H100");
    struct search_report r = make_search(&b, BOTH, 2);
    report_search_text(&r, &PLAIN, &b.out);
    assert_int_equal(strncmp(str_text(&b.out), "the question\n", 13), 0);
    must_contain(&b.out, "  #  GPUs  tp  pp x vpp  dp  mbs  sp ");
    must_contain(&b.out, "  1    16   2         2   4    1  on   none ");
    must_contain(&b.out, "  2    16   2       4x2   2    1  off  sel core_attn+mlp  p2p-ov ");
    must_contain(&b.out, "\n  all: dist-opt\n");
    must_contain(&b.out, "±25 %"); /* no learned models here */
    must_contain(&b.out,
                 "\n  torchrun --nnodes 2 --nproc-per-node 8 \\\n    --node-rank \"$NODE_RANK\" "
                 "--master-addr \"$MASTER_ADDR\" \\\n    pretrain_gpt.py \\\n    --num-layers 32 ");
    must_contain(&b.out, "\n       1.00T  100.00 %  dropped: too, \"big\"\n");
    must_contain(&b.out, "\n1.00T strategies, 100 judged, elapsed 12.3 ms\n");
    must_lack(&b.out, "\033");
    must_lack(&b.out, " cp ");
    must_lack(&b.out, "etp");
    release(&b);
}

static void search_text_shows_what_differs(void **state)
{
    static const struct choice experts[] = {
        {PARAM_ep, 4}, {PARAM_cp, 2}, {PARAM_dp, 8}, {PARAM_tp, -1}};
    static const struct choice *const list[] = {experts};
    struct bench b;
    (void)state;
    start(&b, "mixtral-8x7b", "2x8:H100");
    b.rent[0].usd_per_hour = 0;
    struct search_report r = make_search(&b, list, 1);
    r.stats = false;
    report_search_text(&r, &PLAIN, &b.out);
    must_contain(&b.out, "  #  GPUs  tp  cp  pp  dp  ep  etp  mbs  recompute  ");
    must_lack(&b.out, "$/Mtoken");
    must_lack(&b.out, "Pareto front"); /* one point is no front */
    must_lack(&b.out, "Funnel");
    release(&b);
}

static void search_text_without_plans(void **state)
{
    struct bench b;
    (void)state;
    start(&b, "llama3-8b", "2x8:H100");
    struct search_report r = make_search(&b, BOTH, 0);
    report_search_text(&r, &PLAIN, &b.out);
    must_contain(&b.out, "No strategy is valid and fits.");
    must_lack(&b.out, "torchrun");
    release(&b);
}

/* Without its colours a coloured text is the plain one. */
static void strip_colour(const char *text, struct str *out)
{
    for (; *text; text++)
        if (*text == '\033')
            text += strcspn(text, "m");
        else
            str_add_bytes(out, text, 1);
}

static size_t widest_line(const char *text)
{
    size_t widest = 0;
    while (*text) {
        size_t bytes = strcspn(text, "\n");
        struct str line;
        str_init(&line);
        str_add_bytes(&line, text, bytes);
        size_t width = typeset_width(str_text(&line));
        widest = width > widest ? width : widest;
        str_release(&line);
        text += bytes + (text[bytes] == '\n');
    }
    return widest;
}

static void style_is_kept(void **state)
{
    static const struct report_style styles[] = {{90, ASTRA_COLOUR}, {90, ASTRA_PLAIN}};
    struct bench b;
    struct str plain;
    (void)state;
    start(&b, "llama3-8b", "2x8:H100");
    str_init(&plain);
    struct search_report r = make_search(&b, BOTH, 2);
    report_search_text(&r, &styles[0], &b.out);
    report_plan_text(about(&b, &r.plan[0]), &styles[0], &b.out);
    must_contain(&b.out, "\033[1;32mFits\033[0m");
    strip_colour(str_text(&b.out), &plain);
    assert_true(widest_line(str_text(&plain)) <= 90);
    must_contain(&plain, "  ####");
    str_clear(&b.out);
    report_search_text(&r, &styles[1], &b.out);
    report_plan_text(about(&b, &r.plan[0]), &styles[1], &b.out);
    assert_null(strchr(str_text(&b.out), '\033'));
    assert_null(strstr(str_text(&b.out), "##"));
    assert_true(widest_line(str_text(&b.out)) <= 90);
    str_release(&plain);
    release(&b);
}

/* Text of one plan */

static void verdicts(void **state)
{
    static const struct {
        const struct choice *choices;
        const char *extra; /* a rule that says no */
        const char *want;
    } cases[] = {
        {GOOD, NULL, "\nFits: stage 0, the fullest, needs "},
        {TOO_BIG, NULL, "\nDoes not fit\n  - stage 0 needs "},
        {TOO_BIG, "a rule", "\nInvalid\n  - stage 0 needs "},
        {TOO_BIG, "a rule", "\n  - a rule\n\n"},
        {GOOD, "a rule", "\nInvalid\n  - a rule\n\n"},
        {UNCOMPUTED, NULL, "\nInvalid\n  - "},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct bench b;
        start(&b, "llama3-8b", "2x8:H100");
        struct plan p = make_plan(&b, cases[i].choices);
        if (cases[i].extra)
            plan_add_reason(&p, &b.mem, cases[i].extra);
        report_plan_text(about(&b, &p), &PLAIN, &b.out);
        must_contain(&b.out, cases[i].want);
        str_clear(&b.out);
        report_explain_text(about(&b, &p), NULL, &PLAIN, &b.out);
        must_contain(&b.out, cases[i].want);
        if (!p.feasible)
            must_lack(&b.out, "\n  step ");
        release(&b);
    }
}

/* A fix is part of the verdict and of the JSON; where nothing fits, of the text alone. */
static void remedies_are_printed(void **state)
{
    static const char *set[] = {"dist_opt=on", "micro_batch=1"};
    static const char *flags[] = {"--use-distributed-optimizer", "--micro-batch-size", "1"};
    struct bench b;
    (void)state;
    start(&b, "llama3-8b", "2x8:H100");
    struct plan then = make_plan(&b, GOOD), p = make_plan(&b, TOO_BIG);
    struct fix r = {.fits = true,
                    .change = {.plan = &then,
                               .sets = COUNT(set),
                               .set = set,
                               .flags = COUNT(flags),
                               .flag = flags,
                               .add = "--use-distributed-optimizer",
                               .remove = "--sequence-parallel"}};
    then.step_s = 1.25 * p.step_s;
    b.answer.fix = &r;
    report_plan_text(about(&b, &p), &PLAIN, &b.out);
    must_contain(&b.out, "\n  - cheapest change that makes it fit: --set dist_opt=on --set "
                         "micro_batch=1 (Megatron: with --use-distributed-optimizer, without "
                         "--sequence-parallel); stage ");
    must_lack(&b.out, " longer\n"); /* than what does not run */
    must_lack(&b.out, "numerics");
    str_clear(&b.out);
    report_plan_json(about(&b, &p), &b.out);
    struct json *v = json_parse(str_text(&b.out), b.out.length, "plan", NULL);
    assert_non_null(v);
    must_be_valid(v, "plan");
    assert_int_equal(json_count(json_get(json_get(v, "remedy"), "set")), COUNT(set));
    near(json_number_of(json_get(json_get(v, "remedy"), "step_s")), then.step_s, 1e-8);
    json_release(v);
    r.fits = false;
    r.gpus = 4096;
    str_clear(&b.out);
    report_plan_json(about(&b, &p), &b.out);
    must_lack(&b.out, "\"remedy\"");
    report_plan_text(about(&b, &p), &PLAIN, &b.out);
    must_contain(&b.out, "; 4096 of these GPUs would do\n");
    release(&b);
}

/* Speedups take the place of hints; figures are those of the two plans. */
static void speedups_are_printed(void **state)
{
    static const char *set[] = {"tp=4", "dp=4"};
    static const char *flags[] = {"--tensor-model-parallel-size", "4"};
    struct bench b;
    (void)state;
    start(&b, "llama3-8b", "2x8:H100");
    struct plan p = make_plan(&b, GOOD), then = p;
    struct change change = {.plan = &then,
                            .sets = COUNT(set),
                            .set = set,
                            .flags = COUNT(flags),
                            .flag = flags,
                            .add = "--tensor-model-parallel-size 4",
                            .remove = ""};
    struct speedups g = {.from = &p,
                         .count = 1,
                         .speedup = {{.change = change, .part = BREAKDOWN_tp}},
                         .found = true,
                         .searched = change};
    p.breakdown[BREAKDOWN_tp] = 0.2 * p.step_s;
    then.breakdown[BREAKDOWN_tp] = 0.05 * p.step_s;
    then.step_s = 0.85 * p.step_s;
    b.answer.speedups = &g;
    report_explain_text(about(&b, &p), NULL, &PLAIN, &b.out);
    must_contain(&b.out, "\nSpeedups (one change each)\n  - ");
    must_contain(&b.out, ", 15.0 % shorter (tp 20.0 % -> 5.0 %): --set tp=4 --set dp=4 (Megatron: "
                         "with --tensor-model-parallel-size 4)\n  - searched: the best plan of a "
                         "search on 16 GPUs takes ");
    must_contain(&b.out, ", 15.0 % shorter: tp 2, pp 2, dp 4, ");
    must_lack(&b.out, "Hints");
    str_clear(&b.out);
    report_plan_json(about(&b, &p), &b.out);
    struct json *v = json_parse(str_text(&b.out), b.out.length, "plan", NULL);
    assert_non_null(v);
    must_be_valid(v, "plan");
    const struct json *speedup = json_at(json_get(v, "gains"), 0);
    assert_string_equal(json_text(json_get(speedup, "shrinks")), "tp");
    near(json_number_of(json_get(speedup, "then_s")), 0.05 * p.step_s, 1e-8);
    assert_int_equal(json_count(json_get(json_get(v, "searched"), "set")), COUNT(set));
    json_release(v);
    release(&b);
}

static void searches_that_find_little_say_so(void **state)
{
    static const struct {
        double faster; /* the plan of the search */
        int speedups;
        const char *want;
    } cases[] = {
        {0, 0, "  - no single change is 1 % faster; searched: a search puts no faster plan first "},
        {0, 0, " faster plan first on 16 GPUs\n"},
        {-0.1, 1, "\n  - searched: a search puts no faster plan first on 16 GPUs\n"},
        {0.0002, 0, ", less than 0.1 % shorter: tp 2, "},
        {0.004, 0, ", 0.4 % shorter: tp 2, "},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct bench b;
        start(&b, "llama3-8b", "2x8:H100");
        struct plan p = make_plan(&b, GOOD), then = p;
        struct change change = {.plan = &then, .add = "", .remove = ""};
        struct speedups g = {.from = &p,
                             .count = cases[i].speedups,
                             .speedup = {{.change = change}},
                             .found = true,
                             .searched = change};
        then.step_s = (1 - cases[i].faster) * p.step_s;
        b.answer.speedups = &g;
        report_explain_text(about(&b, &p), NULL, &PLAIN, &b.out);
        must_contain(&b.out, cases[i].want);
        release(&b);
    }
}

static void alike_stages_are_one_row(void **state)
{
    static const struct choice four[] = {{PARAM_pp, 8},
                                         {PARAM_dp, 2},
                                         {PARAM_recompute, RECOMPUTE_FULL},
                                         {PARAM_recompute_method, METHOD_UNIFORM},
                                         {PARAM_recompute_layers, 1},
                                         {PARAM_tp, -1}};
    struct bench b;
    (void)state;
    start(&b, "llama3-8b", "2x8:H100");
    struct plan p = make_plan(&b, four);
    for (int i = 1; i < 7; i++) /* as stages of one class are */
        p.stage[i] = p.stage[1];
    report_plan_text(about(&b, &p), &PLAIN, &b.out);
    must_contain(&b.out, "\n  0 ");
    must_contain(&b.out, "\n  1-6 ");
    must_contain(&b.out, "\n  7 ");
    must_lack(&b.out, "\n  2 ");
    release(&b);
}

static void hints_fit_the_plan(void **state)
{
    static const struct choice plain_tp[] = {
        {PARAM_tp, 8}, {PARAM_dp, 2}, {PARAM_micro_batch, 4}, {PARAM_tp, -1}};
    static const struct choice few[] = {
        {PARAM_pp, 8}, {PARAM_dp, 2}, {PARAM_global_batch, 8}, {PARAM_tp, -1}};
    static const struct choice wide[] = {{PARAM_tp, 16}, {PARAM_tp, -1}};
    static const struct {
        const struct choice *choices;
        const char *hint;
    } cases[] = {
        {plain_tp, "dist_opt (--use-distributed-optimizer)"},
        {plain_tp, "seq_parallel (--sequence-parallel)"},
        {plain_tp, "tp_overlap (--tp-comm-overlap)"},
        {few, "more micro-batches a step, a smaller pp, or virtual stages"},
        {wide, "larger than the GPUs joined by the fast link"},
        {TOO_BIG, "micro_batch=1"},
        {TOO_BIG, "recompute=full"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct bench b;
        start(&b, "llama3-8b", "2x8:H100");
        struct plan p = make_plan(&b, cases[i].choices);
        report_plan_text(about(&b, &p), &PLAIN, &b.out);
        must_contain(&b.out, cases[i].hint);
        release(&b);
    }
}

static void good_plans_get_no_memory_hints(void **state)
{
    struct bench b;
    (void)state;
    start(&b, "llama3-8b", "2x8:H100");
    struct plan p = make_plan(&b, GOOD);
    report_plan_text(about(&b, &p), &PLAIN, &b.out);
    must_lack(&b.out, "smaller micro-batch");
    must_lack(&b.out, "dist_opt (");
    must_lack(&b.out, "seq_parallel (");
    release(&b);
}

/* Explain */

static void stages_of_astra_explain_themselves(void **state)
{
    static const struct {
        const char *stage, *want;
    } cases[] = {
        {"ops", "\n  core attention "},
        {"cost", "\n  sum, nothing hidden "},
        {"schedule",
         "Interleaved 1F1B of 32 micro-batches, pp 4 with 2 virtual stages each, groups of 4\n"},
        {"schedule", "\n     3  4+4 "},
        {"schedule", "\n  rank  3  ."},
        {"memory", "\n  stage  weights  gradients "},
        {"memory", "  limit  of it  fullest\n"},
        {"memory", "\n  - in flight: 11 forward passes at most wait for their backward, each of "
                   "one of the 2 virtual stages and one of 32 micro-batches; "},
        {"memory", "\n  - at the operator '"},
        {"nonsense", "There is no stage 'nonsense'"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct bench b;
        start(&b, "llama3-8b", "2x8:H100");
        struct plan p = make_plan(&b, INTERLEAVED);
        report_explain_text(about(&b, &p), cases[i].stage, &PLAIN, &b.out);
        must_contain(&b.out, cases[i].want);
        str_clear(&b.out);
        p = make_plan(&b, UNCOMPUTED); /* says what it can */
        report_explain_text(about(&b, &p), cases[i].stage, &PLAIN, &b.out);
        assert_true(b.out.length > 100);
        release(&b);
    }
}

/* Bars are for a terminal. */
static void memory_has_bars_on_a_terminal(void **state)
{
    static const struct report_style styles[] = {{80, ASTRA_COLOUR}, {80, ASTRA_PLAIN}};
    struct bench b;
    (void)state;
    start(&b, "llama3-8b", "2x8:H100");
    struct plan p = make_plan(&b, INTERLEAVED);
    for (int i = 0; i < 2; i++) {
        report_explain_text(about(&b, &p), "memory", &styles[i], &b.out);
        bool bars = strstr(str_text(&b.out), "WWGG") || strstr(str_text(&b.out), "WGG");
        assert_int_equal(bars, i == 0);
        assert_int_equal(!!strstr(str_text(&b.out), "Against the limit (| at 75.9 GiB): W"),
                         i == 0);
        str_clear(&b.out);
    }
    release(&b);
}

/* What is beyond the limit stands behind it: half of what is needed, half of the bar. */
static void bars_show_the_limit(void **state)
{
    static const struct report_style style = {80, ASTRA_COLOUR};
    struct bench b;
    (void)state;
    start(&b, "llama3-8b", "2x8:H100");
    struct plan p = make_plan(&b, GOOD);
    p.stage[0].limit_bytes = p.stage[0].device_bytes / 2;
    p.stage[1] = p.stage[0];
    report_explain_text(about(&b, &p), "memory", &style, &b.out);
    const char *bar = strstr(str_text(&b.out), "WW");
    assert_non_null(bar);
    size_t before = strcspn(bar, "|"), line = strcspn(bar, "\n");
    assert_true(before < line);
    const char *inked = strchr(bar + before, 'm'); /* the end of "red" */
    assert_non_null(inked);
    size_t behind = strcspn(inked + 1, "\033\n");
    if (before > behind + 1 || behind > before + 1)
        fail_msg("%zu before the limit, %zu behind it: %.*s", before, behind, (int)line, bar);
    release(&b);
}

/* The row of a rank in the picture of a step, without its label. */
static void take_row(const struct str *text, int rank, struct str *row)
{
    char label[32];
    snprintf(label, sizeof label, "  rank %2d  ", rank);
    const char *at = strstr(str_text(text), label);
    assert_non_null(at);
    str_clear(row);
    str_add_bytes(row, at + strlen(label), strcspn(at + strlen(label), "\n"));
}

/* Two ranks and few micro-batches: the whole step, in which the second waits for the first, turns
 * every micro-batch round at once, and the first ends with a backward. */
static void picture_shows_the_schedule(void **state)
{
    static const struct choice two[] = {
        {PARAM_pp, 2}, {PARAM_dp, 8}, {PARAM_micro_batch, 1}, {PARAM_tp, -1}};
    struct bench b;
    struct str first, second;
    (void)state;
    str_init(&first);
    str_init(&second);
    start(&b, "llama3.2-1b", "2x8:H100");
    struct plan p = make_plan(&b, two);
    report_explain_text(about(&b, &p), NULL, &PLAIN, &b.out);
    take_row(&b.out, 0, &first);
    take_row(&b.out, 1, &second);
    assert_int_equal(str_text(&first)[strspn(str_text(&first), "o")], 'F');
    assert_int_equal(strspn(str_text(&second), "o."), strcspn(str_text(&second), "F"));
    assert_true(strcspn(str_text(&second), "F") > strcspn(str_text(&first), "F"));
    assert_true(strcspn(str_text(&second), "B") < strcspn(str_text(&first), "B"));
    assert_int_equal(typeset_width(str_text(&first)), typeset_width(str_text(&second)));
    must_contain(&b.out, "a column is ");
    str_release(&first);
    str_release(&second);
    release(&b);
}

/* One rank without bubble: the picture has no waiting. */
static void picture_of_one_rank_is_full(void **state)
{
    static const struct choice one[] = {{PARAM_dp, 16}, {PARAM_tp, -1}};
    struct bench b;
    (void)state;
    start(&b, "llama3.2-1b", "2x8:H100");
    struct plan p = make_plan(&b, one);
    report_explain_text(about(&b, &p), "schedule", &PLAIN, &b.out);
    const char *row = strstr(str_text(&b.out), "  rank  0  ");
    assert_non_null(row);
    assert_int_equal(strcspn(row + 11, "\n"), 69);
    assert_int_equal(strspn(row + 11, "FBo ~0123456789"), 69);
    release(&b);
}

static void blocks_of_mixed_layers_are_all_there(void **state)
{
    static const struct choice one[] = {{PARAM_dp, 16}, {PARAM_ep, 8}, {PARAM_tp, -1}};
    static const struct {
        const char *model, *want[5];
    } cases[] = {
        {"deepseek-v3",
         {"\nattention\n", "\nMLP\n", "\nexperts\n", "\nmtp projection\n", "\nhead\n"}},
        {"gpt-oss-20b",
         {"\nattention\n", "\nattention (window 128)\n", "\nexperts\n", "\nembedding\n",
          "\nhead\n"}},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct bench b;
        start(&b, cases[i].model, "2x8:H100");
        struct plan p = make_plan(&b, one);
        report_explain_text(about(&b, &p), "ops", &PLAIN, &b.out);
        for (size_t k = 0; k < COUNT(cases[i].want); k++)
            must_contain(&b.out, cases[i].want[k]);
        release(&b);
    }
}

/* CSV */

static void csv_cells_are_quoted(void **state)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"plain", "plain"},
        {"", ""},
        {"a,b", "\"a,b\""},
        {"say \"x\"", "\"say \"\"x\"\"\""},
        {"two\nlines", "\"two\nlines\""},
        {"semi;colon", "semi;colon"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct str out;
        str_init(&out);
        struct csv_writer c = {&out, 0};
        csv_text(&c, cases[i].text);
        assert_string_equal(str_text(&out), cases[i].want);
        str_release(&out);
    }
}

static void csv_numbers(void **state)
{
    static const struct {
        double value;
        const char *want;
    } cases[] = {{0, "0"},
                 {-3, "-3"},
                 {81604378624.0, "81604378624"},
                 {0.125, "0.125"},
                 {1.0 / 3, "0.333333333"},
                 {NAN, ""},
                 {INFINITY, ""},
                 {1e300, "1e+300"}};
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct str out;
        str_init(&out);
        struct csv_writer c = {&out, 0};
        csv_number(&c, cases[i].value);
        assert_string_equal(str_text(&out), cases[i].want);
        str_release(&out);
    }
}

/* Cells of the row at *at, quotes understood; moves *at behind it. `wanted` is copied to cell. */
static int read_row(const char **at, int limits, struct str *cell)
{
    int cells = 1;
    bool quoted = false;
    for (; **at && (quoted || **at != '\n'); ++*at) {
        if (**at == '"' && quoted && (*at)[1] == '"') {
            ++*at;
        } else if (**at == '"') {
            quoted = !quoted;
            continue;
        } else if (**at == ',' && !quoted) {
            cells++;
            continue;
        }
        if (cells == limits)
            str_add_bytes(cell, *at, 1);
    }
    *at += **at == '\n';
    return cells;
}

static void csv_rows_match_their_header(void **state)
{
    struct bench b;
    struct str name, list, reasons;
    (void)state;
    start(&b, "llama3-8b", "2x8:H100");
    str_init(&name);
    str_init(&list);
    str_init(&reasons);
    struct search_report r = make_search(&b, (const struct choice *const[]){GOOD, UNCOMPUTED}, 2);
    plan_add_reason((struct plan *)&r.plan[1], &b.mem, "comma, \"quote\"");
    report_search_csv(&r, &b.out);
    const char *at = str_text(&b.out);
    int columns = read_row(&at, 3, &name);
    assert_string_equal(str_text(&name), "model");
    assert_int_equal(columns, 2 + 4 + PARAMS + 9 + BREAKDOWN_PARTS + 13);
    for (int row = 0; row < 4; row++)
        assert_int_equal(read_row(&at,
                                  row == 1   ? columns - 1
                                  : row == 2 ? 1
                                             : 0,
                                  row == 1 ? &reasons : &list),
                         columns);
    assert_string_equal(at, "");
    assert_string_equal(str_text(&list), "pareto");
    must_contain(&reasons, "; comma, \"quote\"");
    str_release(&name);
    str_release(&list);
    str_release(&reasons);
    release(&b);
}

static void csv_of_one_plan(void **state)
{
    struct bench b;
    struct str cell;
    (void)state;
    start(&b, "llama3-8b", "2x8:H100");
    str_init(&cell);
    struct plan p = make_plan(&b, INTERLEAVED);
    report_plan_csv(about(&b, &p), &b.out);
    const char *at = str_text(&b.out);
    int columns = read_row(&at, 5 + PARAM_recompute_modules, &cell);
    assert_string_equal(str_text(&cell), "recompute_modules");
    str_clear(&cell);
    assert_int_equal(read_row(&at, 5 + PARAM_recompute_modules, &cell), columns);
    assert_string_equal(str_text(&cell), "core_attn+mlp");
    assert_string_equal(at, "");
    str_release(&cell);
    release(&b);
}

/* Lists */

static size_t rows_of(const struct str *csv)
{
    const char *at = str_text(csv);
    size_t rows = 0;
    struct str ignored;
    str_init(&ignored);
    int columns = read_row(&at, 0, &ignored);
    for (; *at; rows++)
        assert_int_equal(read_row(&at, 0, &ignored), columns);
    str_release(&ignored);
    return rows;
}

static size_t lines_of(const struct str *text)
{
    size_t lines = 0;
    for (const char *c = str_text(text); *c; c++)
        lines += *c == '\n';
    return lines;
}

static void check_list(void (*report)(int, struct str *), const char *name, size_t count)
{
    struct str out;
    str_init(&out);
    report(ASTRA_TEXT, &out);
    assert_int_equal(lines_of(&out), count + 1);
    str_clear(&out);
    report(ASTRA_CSV, &out);
    assert_int_equal(rows_of(&out), count);
    str_clear(&out);
    report(ASTRA_JSON, &out);
    struct json *v = parse(&out);
    assert_int_equal(json_count(json_get(v, name)), count);
    json_release(v);
    str_release(&out);
}

/* With the models compiled in. */
static void list_gpus(int format, struct str *out)
{
    struct learned *l;
    assert_true(learned_load(&l, NULL, NULL));
    report_gpus(format, l, &PLAIN, out);
    learned_free(l);
}

static void list_models(int format, struct str *out)
{
    report_models(format, &PLAIN, out);
}

static void lists_are_complete(void **state)
{
    size_t gpus, models = 0;
    (void)state;
    gpu_table(&gpus);
    check_list(list_gpus, "gpus", gpus);
    while (model_presets()[models].name)
        models++;
    check_list(list_models, "models", models);
}

static void lists_have_the_figures(void **state)
{
    struct str out;
    (void)state;
    str_init(&out);
    list_gpus(ASTRA_JSON, &out);
    struct json *v = parse(&out);
    const struct json *list = json_get(v, "gpus"), *h100 = NULL;
    for (size_t i = 0; i < json_count(list); i++)
        if (strcmp(json_text(json_get(json_at(list, i), "name")), "H100-SXM5-80GB") == 0)
            h100 = json_at(list, i);
    assert_non_null(h100);
    assert_string_equal(json_text(json_at(json_get(h100, "aliases"), 0)), "H100");
    assert_int_equal(json_integer_of(json_get(h100, "domain")), 8);
    near(json_number_of(json_get(h100, "bf16_tflops")), 989, 0.01);
    const struct json *gemm = json_get(json_get(h100, "operators"), "gemm");
    assert_string_equal(json_text(json_get(gemm, "provenance")), "measured");
    assert_true(json_integer_of(json_get(gemm, "measurements")) > 1000);
    assert_true(json_number_of(json_get(gemm, "expected_error")) < 0.15);
    json_release(v);
    str_clear(&out);
    list_models(ASTRA_JSON, &out);
    v = parse(&out);
    const struct json *first = json_at(json_get(v, "models"), 0);
    assert_string_equal(json_text(json_get(first, "name")), "gpt3-1.3b");
    assert_int_equal(json_integer_of(json_get(first, "layers")), 24);
    assert_false(json_bool_of(json_get(first, "gated")));
    assert_true(json_is_null(json_get(first, "published_params")));
    json_release(v);
    str_release(&out);
}

/* Two types that run differently: JSON has what each has of its own, text both beside each other,
 * and how FlagScale launches them. */
static void meshes_of_their_own(void **state)
{
    static const char *const said[] = {"2/1",
                                       "4/8",
                                       "2/1   ",
                                       "flagscale/train/train_gpt.py",
                                       "HOST slots=8 type=A100 (1 node)",
                                       "HOST slots=4 type=H100 (2 nodes)",
                                       "--hetero-process-meshes 2 1 1 4 1 1 1 1 8 1"};
    struct bench b;
    struct strategy s;
    struct plan p;
    struct funnel funnel = {0};
    (void)state;
    start(&b, "llama3-8b", "1x8:A100,2x4:H100");
    struct mesh_list meshes = {2,
                               {{.group = &b.cluster.group[0],
                                 .stages = 1,
                                 .own = true,
                                 .tp = 2,
                                 .dp = 4,
                                 .ep = 1,
                                 .etp = 1,
                                 .micro_batch = 2},
                                {.group = &b.cluster.group[1],
                                 .stages = 1,
                                 .own = true,
                                 .tp = 1,
                                 .dp = 8,
                                 .ep = 1,
                                 .etp = 1,
                                 .micro_batch = 1}}};
    struct scene scene = {.model = &b.model,
                          .group = &b.cluster.group[0],
                          .te = true,
                          .memory_margin = 0.04,
                          .imbalance = 1,
                          .meshes = &meshes,
                          .cluster = &b.cluster,
                          .rent = b.rent};
    strategy_init(&s);
    s.tp = s.pp = s.micro_batch = 2;
    s.dp = 4;
    s.seq_parallel = 1;
    s.seq_len = 4096;
    s.global_batch = 64;
    plan_evaluate(&scene, &s, NULL, &b.mem, &p);
    report_plan_json(about(&b, &p), &b.out);
    struct json *v = parse(&b.out);
    must_be_valid(v, "plan");
    const struct json *last = json_at(json_get(v, "node_groups"), 1);
    assert_int_equal(json_integer_of(json_get(last, "tp")), 1);
    assert_int_equal(json_integer_of(json_get(last, "dp")), 8);
    assert_string_equal(json_text(json_get(last, "recompute")), "none");
    assert_string_equal(json_text(json_get(json_get(v, "engine"), "name")), "flagscale");
    json_release(v);
    struct search_report r = {.model = &b.model,
                              .cluster = &b.cluster,
                              .rent = b.rent,
                              .query = "q",
                              .best = 1,
                              .plan = &p,
                              .funnel = &funnel};
    str_clear(&b.out);
    report_search_text(&r, &PLAIN, &b.out);
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        must_contain(&b.out, said[i]);
    assert_null(strstr(str_text(&b.out), "Order of the nodes"));
    release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_align),
        cmocka_unit_test(tables_hide_columns),
        cmocka_unit_test(tables_break_text),
        cmocka_unit_test(text_is_cut),
        cmocka_unit_test(text_wraps),
        cmocka_unit_test(bars_show_shares),
        cmocka_unit_test(shell_words_are_quoted),
        cmocka_unit_test(recompute_in_few_words),
        cmocka_unit_test(plans_are_valid_json),
        cmocka_unit_test(mixed_plans_are_valid_json),
        cmocka_unit_test(meshes_of_their_own),
        cmocka_unit_test(json_numbers_add_up),
        cmocka_unit_test(strategy_has_every_parameter_as_its_kind),
        cmocka_unit_test(what_was_not_computed_is_null),
        cmocka_unit_test(unknown_prices_are_null),
        cmocka_unit_test(flags_of_an_impossible_split_are_null),
        cmocka_unit_test(clusters_of_plans_can_be_read_back),
        cmocka_unit_test(searches_are_valid_json),
        cmocka_unit_test(what_ifs_are_words_and_valid_json),
        cmocka_unit_test(search_text_leaves_dull_columns_out),
        cmocka_unit_test(search_text_shows_what_differs),
        cmocka_unit_test(search_text_without_plans),
        cmocka_unit_test(style_is_kept),
        cmocka_unit_test(verdicts),
        cmocka_unit_test(remedies_are_printed),
        cmocka_unit_test(speedups_are_printed),
        cmocka_unit_test(searches_that_find_little_say_so),
        cmocka_unit_test(alike_stages_are_one_row),
        cmocka_unit_test(hints_fit_the_plan),
        cmocka_unit_test(good_plans_get_no_memory_hints),
        cmocka_unit_test(stages_of_astra_explain_themselves),
        cmocka_unit_test(picture_of_one_rank_is_full),
        cmocka_unit_test(picture_shows_the_schedule),
        cmocka_unit_test(memory_has_bars_on_a_terminal),
        cmocka_unit_test(bars_show_the_limit),
        cmocka_unit_test(blocks_of_mixed_layers_are_all_there),
        cmocka_unit_test(csv_cells_are_quoted),
        cmocka_unit_test(csv_numbers),
        cmocka_unit_test(csv_rows_match_their_header),
        cmocka_unit_test(csv_of_one_plan),
        cmocka_unit_test(lists_are_complete),
        cmocka_unit_test(lists_have_the_figures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
