/* Rules: the plain-text suites of tests/rules, the shipped files, and what a text cannot say. */
#include "base/arena.h"
#include "base/file.h"
#include "base/str.h"
#include "cluster/cluster.h"
#include "rules/fork_rules.h"
#include "rules/lex.h"
#include "rules/rules.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cautions_met.h"
#include "memory_fixture.h"

#define COUNT(table) (sizeof(table) / sizeof *(table))

/* Values as the suites want them: first values, a model of ones, one node of 8 GPUs. */

static void set_defaults(double values[SLOTS])
{
    struct strategy s;
    for (int i = 0; i < SLOTS; i++)
        values[i] = 1;
    strategy_init(&s);
    slots_set_strategy(values, &s);
    values[SLOT_cluster_gpus_per_node] = values[SLOT_cluster_domain] = 8;
    values[SLOT_cluster_max_gpus] = 8;
    values[SLOT_cluster_compute_capability] = 9;
    values[SLOT_cluster_host_gbs] = 64;
    values[SLOT_stack_local] = 0;
    values[SLOT_release] = RELEASE_HEAD;
}

static bool set_slot(double values[SLOTS], const char *name, const char *text)
{
    int slot = slot_find(name), value;
    if (slot < 0)
        return false;
    if (slot_info(slot)->param == PARAMS)
        return parse_real(text, &values[slot]);
    bool ok = param_parse(slot_info(slot)->param, text, &value, NULL);
    values[slot] = value;
    return ok;
}

/* "tp=8 model.heads=64", or "-" for nothing. */
static bool set_values(double values[SLOTS], const char *text)
{
    set_defaults(values);
    if (strcmp(text, "-") == 0)
        return true;
    while (*text) {
        size_t n = strcspn(text, " ");
        char *name = arena_copy(&mem, text, n), *equal = strchr(name, '=');
        if (!equal)
            return false;
        *equal = 0;
        if (!set_slot(values, name, equal + 1))
            return false;
        text += n + strspn(text + n, " ");
    }
    slots_set_derived(values);
    return true;
}

/* The suites: cases of three or more lines, apart by empty ones; '#' before a case is a comment. */

struct suite_case {
    const char *rule, *strategy, *outcome; /* the outcome is all the rest */
    int line;
};

struct suite {
    const char *path, *text;
    int line;
};

static const char *take_line(struct suite *s)
{
    size_t n = strcspn(s->text, "\n");
    const char *line = arena_copy(&mem, s->text, n);
    s->text += n + (s->text[n] != 0);
    s->line++;
    return line;
}

static void suite_open(struct suite *s, const char *path)
{
    struct text text;
    struct error err;
    if (!file_read(path, &mem, &text, &err))
        fail_msg("%s", err.text);
    *s = (struct suite){path, text.data, 0};
}

static bool suite_next(struct suite *s, struct suite_case *c)
{
    while (*s->text == '\n' || *s->text == '#')
        take_line(s);
    if (!*s->text)
        return false;
    c->line = s->line + 1;
    c->rule = take_line(s);
    c->strategy = take_line(s);
    c->outcome = take_line(s);
    while (*s->text && *s->text != '\n')
        c->outcome = arena_format(&mem, "%s\n%s", c->outcome, take_line(s));
    return true;
}

static const char *verdict(const struct rule *r, const double values[SLOTS])
{
    if (r->kind != RULE_AVOID)
        return rule_allows(r, values) ? "keep" : "drop";
    assert_true(rule_allows(r, values));
    return rule_holds(r, values) ? "mind" : "keep";
}

/* What becomes of a case of the language suites. */
static const char *outcome_of(const struct suite_case *c)
{
    double values[SLOTS];
    struct rules rules;
    struct error err;
    rules_init(&rules);
    if (!rules_add(&rules, c->rule, strlen(c->rule), "rule", &mem, &err))
        return arena_format(&mem, "error: %s", err.text);
    if (rules.count != 1 || !set_values(values, c->strategy))
        return "a case that cannot be read";
    return verdict(&rules.rule[0], values);
}

static void run_language(const char *path, int least)
{
    struct suite suite;
    struct suite_case c;
    int cases = 0, wrong = 0;
    suite_open(&suite, path);
    for (; suite_next(&suite, &c); cases++) {
        const char *outcome = outcome_of(&c);
        if (strcmp(outcome, c.outcome) == 0)
            continue;
        print_error("%s:%d: expected\n%s\nbut got\n%s\n", path, c.line, c.outcome, outcome);
        wrong++;
    }
    assert_int_equal(wrong, 0);
    assert_true(cases >= least);
}

static void language_suite_holds(void **state)
{
    (void)state;
    run_language("tests/rules/language.txt", 80);
    run_language("tests/rules/errors.txt", 60);
}

/* The suites of the shipped rules: the first line names a rule by a part of its reason, or all. */

enum { SEEN_KEEP = 1, SEEN_OTHER = 2, SHIPPED_MAX = 200 };

/* The first verdict that does not keep, if there is one. */
static bool judge(const struct rules *rules, const char *part, const double values[SLOTS],
                  int *seen, const char **outcome)
{
    int found = 0, all = strcmp(part, "*") == 0;
    *outcome = "keep";
    for (int i = 0; i < rules->count; i++) {
        if (!all && !strstr(rules->rule[i].reason, part))
            continue;
        const char *one = verdict(&rules->rule[i], values);
        bool kept = strcmp(one, "keep") == 0;
        if (!kept)
            *outcome = one;
        if (!all)
            seen[i] |= kept ? SEEN_KEEP : SEEN_OTHER;
        found++;
    }
    return all || found == 1;
}

static void run_shipped(const struct rules *rules, const char *path)
{
    int seen[SHIPPED_MAX] = {0}, wrong = 0;
    struct suite suite;
    struct suite_case c;
    assert_true(rules->count <= SHIPPED_MAX);
    suite_open(&suite, path);
    while (suite_next(&suite, &c)) {
        double values[SLOTS];
        const char *outcome;
        bool known = set_values(values, c.strategy) && judge(rules, c.rule, values, seen, &outcome);
        if (known && strcmp(c.outcome, outcome) == 0)
            continue;
        print_error("%s:%d: %s\n", path, c.line, known ? "judged the other way" : "no such case");
        wrong++;
    }
    for (int i = 0; i < rules->count; i++)
        if (seen[i] != (SEEN_KEEP | SEEN_OTHER)) {
            print_error("%s: not both verdicts for \"%s\"\n", path, rules->rule[i].reason);
            wrong++;
        }
    assert_int_equal(wrong, 0);
}

static void check_shipped(const struct rules *rules, int least)
{
    assert_true(rules->count >= least);
    for (int i = 0; i < rules->count; i++) {
        const struct rule *r = &rules->rule[i];
        assert_int_equal(rule_constant(r), 0);
        assert_string_not_equal(r->reason, r->text);
        for (int j = 0; j < i; j++)
            assert_string_not_equal(r->reason, rules->rule[j].reason);
    }
}

static void megatron_rules_hold(void **state)
{
    struct rules rules;
    struct error err = {0};
    (void)state;
    rules_init(&rules);
    if (!rules_add_megatron(&rules, &mem, &err))
        fail_msg("%s", err.text);
    check_shipped(&rules, 20);
    run_shipped(&rules, "tests/rules/megatron.txt");
}

static void sense_rules_hold(void **state)
{
    struct rules rules;
    struct error err = {0};
    (void)state;
    rules_init(&rules);
    if (!rules_add_sense(&rules, &mem, &err))
        fail_msg("%s", err.text);
    check_shipped(&rules, 20);
    run_shipped(&rules, "tests/rules/sense.txt");
}

static void engine_rules_hold(void **state)
{
    struct rules rules;
    struct error err = {0};
    (void)state;
    rules_init(&rules);
    if (!rules_add_engine(&rules, &mem, &err))
        fail_msg("%s", err.text);
    check_shipped(&rules, 1);
    run_shipped(&rules, "tests/rules/engine.txt");
}

static void cautions_hold(void **state)
{
    struct rules rules;
    struct error err = {0};
    (void)state;
    rules_init(&rules);
    if (!rules_add_cautions(&rules, &mem, &err))
        fail_msg("%s", err.text);
    check_shipped(&rules, 15);
    for (int i = 0; i < rules.count; i++)
        assert_int_equal(rules.rule[i].kind, RULE_AVOID);
    run_shipped(&rules, "tests/rules/cautions.txt");
}

/* Cautions are counted, go a way of their own, and drop nothing. */
static void cautions_are_dealt_out(void **state)
{
    static const char text[] = "avoid tp > 1 \"slow, a, b\"\nrequire tp < 8\n"
                               "avoid pp > 1\"bubbles,me\"\navoid 1 / 0 \"undefined, nobody\"\n";
    struct rules read, drop, cautions;
    struct error err = {0};
    double values[SLOTS];
    (void)state;
    rules_init(&read);
    rules_init(&drop);
    rules_init(&cautions);
    assert_true(rules_add(&read, text, strlen(text), "both", &mem, &err));
    rules_deal(&read, &drop, &cautions, &mem);
    assert_int_equal(drop.count, 1);
    assert_int_equal(cautions.count, 3);
    assert_string_equal(cautions.rule[0].reason, "slow, a");
    assert_string_equal(cautions.rule[0].source, "b");
    assert_string_equal(cautions.rule[1].source, "me");
    assert_int_equal(rule_constant(&cautions.rule[2]), 1);
    assert_true(set_values(values, "tp=1"));
    assert_int_equal(cautions_met(&cautions, values), 0);
    assert_true(set_values(values, "tp=8 pp=2"));
    assert_int_equal(cautions_met(&cautions, values), 2);
    for (int i = 0; i < cautions.count; i++)
        assert_true(rule_allows(&cautions.rule[i], values));
}

/* A line of fork_rules.def is about a rule there is, or about a refusal of flags, and names no comma in its source. */
static void lifted_rules_exist(void **state)
{
    const char *fork, *reason, *before = "";
    struct rules rules;
    struct error err;
    (void)state;
    rules_init(&rules);
    assert_true(rules_add_megatron(&rules, &mem, &err));
    assert_true(rules_add_cautions(&rules, &mem, &err));
    for (size_t i = 0; fork_rule_at(i, &fork, &reason); i++) {
        bool found = strncmp(reason, "--", 2) == 0;
        for (int k = 0; k < rules.count; k++)
            found |= strcmp(rules.rule[k].reason, reason) == 0;
        if (!found)
            fail_msg("no rule has this reason: %s", reason);
        assert_true(strcmp(before, fork) <= 0);
        assert_null(strchr(fork_runs(reason, fork, &mem), ','));
        before = fork;
    }
}

static void forks_lift_rules(void **state)
{
    static const struct {
        const char *fork, *values, *warns; /* "" = it is refused */
    } cases[] = {
        {NULL, "optimizer_offload=100 precision_aware=off stack.te=1", ""},
        {"MindSpeed", "optimizer_offload=100 precision_aware=off stack.te=1", ""},
        {"DeepSpeed", "optimizer_offload=100 precision_aware=off stack.te=1",
         "optimizer offload needs the precision-aware optimizer"},
        {NULL, "model.expert_bias=1 model.sigmoid_router=0 stack.te=1", ""},
        {"MindSpeed", "model.expert_bias=1 model.sigmoid_router=0 stack.te=1",
         "a router with expert bias must score by sigmoid"},
        {NULL,
         "stack.te=0 stack.local=1 seq_parallel=on tp=2 model.heads=2 model.kv=2 model.ffn=2 "
         "model.layer_norm=1 model.mtp=0 model.experts=0 seq_len=2 model.max_seq=2 "
         "global_batch=8",
         "the norm of Megatron's local layers refuses sequence parallelism"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct rules rules, cautions;
        struct error err = {0};
        double values[SLOTS];
        const char *refuses = "", *warns = "";
        rules_init(&rules);
        rules_init(&cautions);
        assert_true(rules_add_megatron(&rules, &mem, &err));
        if (!rules_lift(&rules, &cautions, cases[i].fork, &mem, &err))
            fail_msg("%s", err.text);
        assert_true(set_values(values, cases[i].values));
        for (int k = 0; k < rules.count; k++)
            if (!rule_allows(&rules.rule[k], values) &&
                strstr(
                    "optimizer offload needs the precision-aware optimizer; a router with expert "
                    "bias must score by sigmoid; the norm of Megatron's local layers refuses "
                    "sequence parallelism (stack torch brings another)",
                    rules.rule[k].reason))
                refuses = rules.rule[k].reason;
        for (int k = 0; k < cautions.count; k++)
            if (rule_holds(&cautions.rule[k], values) && *cases[i].warns &&
                strstr(cautions.rule[k].reason, cases[i].warns))
                warns = cases[i].warns;
        assert_string_equal(warns, cases[i].warns);
        assert_true((*refuses == 0) == (*warns != 0));
    }
}

static void example_file_loads(void **state)
{
    struct rules rules;
    struct error err = {0};
    (void)state;
    rules_init(&rules);
    if (!rules_add_file(&rules, "data/rules/example.rules", &mem, &err))
        fail_msg("%s", err.text);
    assert_int_equal(rules.count, 6);
    assert_string_equal(rules.rule[0].file, "data/rules/example.rules");
    assert_string_equal(rules.rule[3].reason, rules.rule[3].text);
}

/* Tables */

static void names_are_unique_and_resolve(void **state)
{
    const char *names[SLOT_NAMES_MAX];
    size_t n = slot_names(names);
    (void)state;
    for (size_t i = 0; i < n; i++) {
        int slot = slot_find(names[i]);
        assert_true(i < SLOTS ? slot == (int)i : slot >= 0);
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(names[i], names[j]);
    }
    assert_int_equal(slot_find("no_such_name"), -1);
}

/* A word that were also a name could never be compared with. */
static void words_are_no_names(void **state)
{
    static const char *const own[] = {"on",  "off", "true", "false", "and", "or", "not",
                                      "min", "max", "ceil", "floor", "abs", "has"};
    (void)state;
    for (int i = 0; i < PARAMS; i++)
        for (const char *w = param_info((enum param)i)->words; *w; w += strspn(w, " ")) {
            const char *word = arena_copy(&mem, w, strcspn(w, " "));
            assert_int_equal(slot_find(word), -1);
            for (size_t j = 0; j < COUNT(own); j++)
                assert_string_not_equal(word, own[j]);
            w += strlen(word);
        }
    for (size_t j = 0; j < COUNT(own); j++)
        assert_int_equal(slot_find(own[j]), -1);
}

static void generations_have_their_capability(void **state)
{
    static const struct {
        const char *arch;
        double capability;
    } cases[] = {{"Volta", 7},      {"Turing", 7.5},         {"Ampere", 8},
                 {"Ada", 8.9},      {"Hopper", 9},           {"CDNA2", 8},
                 {"Blackwell", 10}, {"Blackwell Ultra", 10}, {"CDNA3", 9}};
    static const struct model model = {.layers = 7};
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        double values[SLOTS];
        struct gpu gpu = {.name = "GB200", .arch = cases[i].arch, .pcie_gbs = 32};
        struct node_group group = {.gpu = &gpu, .per_node = 4, .domain = 72};
        slots_set_fixed(values, &model, &group, 3, STACK_TE);
        assert_true(values[SLOT_cluster_compute_capability] == cases[i].capability);
        assert_true(values[SLOT_cluster_max_gpus] == 12 && values[SLOT_cluster_domain] == 72);
        assert_true(values[SLOT_MODEL + MODEL_layers] == 7 && values[SLOT_stack_te] == 1);
        assert_true(values[SLOT_cluster_host_gbs] == 225);
    }
}

/* What rules say of themselves */

static const struct rule *one_rule(const char *line)
{
    struct rules rules;
    struct error err = {0};
    rules_init(&rules);
    if (!rules_add(&rules, line, strlen(line), "rule", &mem, &err))
        fail_msg("%s", err.text);
    assert_int_equal(rules.count, 1);
    return rules.rule;
}

#define BIT(param) (1ull << PARAM_##param)

static void rules_know_what_they_need(void **state)
{
    static const struct {
        const char *line;
        uint64_t depends;
        int constant;
    } cases[] = {
        {"require tp * pp <= 16", BIT(tp) | BIT(pp), 0},
        {"require micro_batches >= 1", BIT(global_batch) | BIT(micro_batch) | BIT(dp), 0},
        {"require gpus == 8 && recompute == full",
         BIT(tp) | BIT(cp) | BIT(pp) | BIT(dp) | BIT(recompute), 0},
        {"require model.heads > cluster.domain", 0, 0},
        {"require has(recompute_modules, moe)", BIT(recompute_modules), 0},
        {"require 1 + 1 == 2", 0, 1},
        {"reject 1 + 1 == 2", 0, -1},
        {"require min(3, 2) == 3", 0, -1},
        {"require 1 / 0", 0, -1},
        {"reject 1 / 0", 0, -1},
        {"require true || tp == 1", 0, 1},
        {"require false && tp == 1", 0, -1},
        {"require true && tp == 1", BIT(tp), 0},
        {"require false || tp == 1", BIT(tp), 0},
        {"require 1 / 0 || tp == 1", 0, -1},
        {"require tp == 1 || true", BIT(tp), 0}, /* tp might be undefined, for all we know here */
        {"require !(2 < 1) && ceil(1.5) == -(-2)", 0, 1},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct rule *r = one_rule(cases[i].line);
        assert_true(r->depends == cases[i].depends);
        assert_int_equal(rule_constant(r), cases[i].constant);
    }
}

static void texts_are_kept(void **state)
{
    static const struct {
        const char *line, *text, *reason;
        enum rule_kind kind;
    } cases[] = {
        {"require tp == 1", "tp == 1", "tp == 1", RULE_REQUIRE},
        {"  reject\t$tp == 1   \"because\"  # not this", "$tp == 1", "because", RULE_REJECT},
        {"require tp==1\"\"", "tp==1", "tp==1", RULE_REQUIRE},
        {"require tp==1 \" \t \"", "tp==1", "tp==1", RULE_REQUIRE},
        {"require tp == 1 \"caf\xc3\xa9 # \t x\"\r", "tp == 1", "caf\xc3\xa9 # \t x", RULE_REQUIRE},
        {"require tp == 1\t\r\n", "tp == 1", "tp == 1", RULE_REQUIRE},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct rule *r = one_rule(cases[i].line);
        assert_string_equal(r->text, cases[i].text);
        assert_string_equal(r->reason, cases[i].reason);
        assert_int_equal(r->kind, cases[i].kind);
        assert_null(r->source);
    }
}

static void files_add_up(void **state)
{
    static const char first[] = "# head\r\n\r\nrequire tp == 1 \"a\"\r\n  # more\nreject pp > 1";
    static const char second[] = "\n\nrequire dp == 1\nrequire dq == 1\n";
    struct rules rules;
    struct error err = {0};
    (void)state;
    rules_init(&rules);
    assert_true(rules_add(&rules, first, strlen(first), "one", &mem, &err));
    assert_int_equal(rules.count, 2);
    assert_int_equal(rules.rule[0].line, 3);
    assert_int_equal(rules.rule[1].line, 5);
    assert_false(rules_add(&rules, second, strlen(second), "two", &mem, &err));
    assert_int_equal(err.kind, ERROR_INPUT);
    assert_string_equal(err.text, "two:4:9: unknown name 'dq' (did you mean dp?)\n"
                                  "require dq == 1\n"
                                  "        ^");
    assert_int_equal(rules.count, 2); /* a file is taken whole or not at all */
    assert_true(rules_add(&rules, "", 0, "empty", &mem, &err));
    assert_int_equal(rules.count, 2);
}

static void many_rules_fit(void **state)
{
    struct rules rules;
    struct error err = {0};
    struct str text;
    (void)state;
    str_init(&text);
    for (int i = 0; i < 1000; i++)
        str_addf(&text, "require tp != %d\n", i);
    rules_init(&rules);
    assert_true(rules_add(&rules, str_text(&text), text.length, "many", &mem, &err));
    assert_int_equal(rules.count, 1000);
    assert_string_equal(rules.rule[777].text, "tp != 777");
    str_release(&text);
}

/* Limits: what is just allowed, and what is just not. */

static bool taken(const char *piece, int times, const char *middle, const char *end,
                  struct error *err)
{
    struct rules rules;
    struct str text;
    str_init(&text);
    str_add(&text, "require ");
    for (int i = 0; i < times; i++)
        str_add(&text, piece);
    str_add(&text, middle);
    for (int i = 0; i < times; i++)
        str_add(&text, end);
    rules_init(&rules);
    bool ok = rules_add(&rules, str_text(&text), text.length, "rule", &mem, err);
    str_release(&text);
    return ok;
}

static void limits_are_errors(void **state)
{
    struct error err = {0};
    (void)state;
    assert_true(taken("(", 64, "tp", ")", &err));
    assert_false(taken("(", 65, "tp", ")", &err));
    assert_non_null(strstr(err.text, "rule:1:73: nested more than 64 levels deep"));
    assert_true(taken("tp + ", 255, "tp", "", &err)); /* 256 loads, 255 additions */
    assert_false(taken("tp + ", 256, "tp", "", &err));
    assert_non_null(strstr(err.text, "the expression is too long"));
    assert_true(taken("1 + ", 5000, "tp", "", &err)); /* constants fold as they come */
    assert_true(taken("tp-(", 63, "tp", ")", &err));
    assert_false(taken("tp-(", 64, "tp", ")", &err));
    assert_non_null(strstr(err.text, "64 values kept at once"));
    assert_false(taken("x", 5000, "", "", &err));
    assert_non_null(strstr(err.text, "rule:1:9: unknown name 'xxxxxxxx"));
    assert_false(taken("9", 5000, "", "", &err));
    assert_non_null(strstr(err.text, "is not a number"));
}

/* A name of the longest size is shown whole, a longer one is cut to it, in every place that a name
 * may stand. The text ends where the name does: a sanitizer sees a byte too many. */
static void names_are_cut_at_one_size(void **state)
{
    static const struct {
        const char *front, *before, *after; /* the rule, the message on both sides of the name */
    } places[] = {
        {"require ", "unknown name '", "'"},
        {"require $", "unknown name '", "'"},
        {"require 1 + ", "unknown name '", "'"},
        {"require attention == ", "attention has no value '", "', its values are"},
        {"require tp == 1 ", "as the end of the rule, but found '", "'"},
        {"require tp == 1 \"reason\" ", "behind the reason, but found '", "'"},
        {"require (tp ", "but found '", "'"},
    };
    enum { LONGEST = NAME_BYTES - 1 };
    (void)state;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        for (size_t n = LONGEST - 1; n <= LONGEST + 2; n++) {
            struct rules rules;
            struct error err = {0};
            char expected[256];
            size_t front = strlen(places[i].front);
            char *text = malloc(front + n);
            assert_non_null(text);
            memcpy(text, places[i].front, front);
            memset(text + front, 'x', n);
            rules_init(&rules);
            assert_false(rules_add(&rules, text, front + n, "rule", &mem, &err));
            snprintf(expected, sizeof expected, "%s%.*s%s", places[i].before,
                     (int)(n < LONGEST ? n : LONGEST), text + front, places[i].after);
            if (!strstr(err.text, expected))
                fail_msg("%zu bytes: '%s' is not in '%s'", n, expected, err.text);
            free(text);
        }
}

static void strange_bytes_are_errors(void **state)
{
    static const char zero[] = "require tp\0== 1";
    static const char bell[] = "require tp == 1 \"\a\"";
    struct rules rules;
    struct error err = {0};
    (void)state;
    rules_init(&rules);
    assert_false(rules_add(&rules, zero, sizeof zero - 1, "rule", &mem, &err));
    assert_string_equal(err.text,
                        "rule:1:11: a control character (byte 0x00) has no meaning in a rule\n"
                        "require tp?== 1\n"
                        "          ^");
    assert_false(rules_add(&rules, bell, sizeof bell - 1, "rule", &mem, &err));
    assert_non_null(strstr(err.text, "rule:1:18: the reason holds a control character (code 7)"));
    assert_false(rules_add(&rules, "", (size_t)FILE_LIMIT + 1, "huge", &mem, &err));
    assert_string_equal(err.text, "huge: larger than 16 MiB");
    assert_false(rules_add_file(&rules, "tests/rules/none.rules", &mem, &err));
    assert_string_equal(err.text, "tests/rules/none.rules: No such file or directory");
}

/* Folding: an expression of numbers must have the value it has when slots hold those numbers. */

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 16;
}

static const int LEAF[] = {MODEL_ffn, MODEL_layers, MODEL_hidden,
                           MODEL_heads}; /* hold 0, 1, 2, 3 */

/* Adds one random expression to both texts: numbers to one, numbers or slots to the other. */
static void add_random(struct str *numbers, struct str *mixed, int depth, uint32_t *seed)
{
    static const char *const between[] = {"||", "&&", "==", "!=", "<", "<=", ">",
                                          ">=", "+",  "-",  "*",  "/", "%"};
    static const char *const before[] = {"-(", "!(", "ceil(", "floor(", "abs("};
    uint32_t pick = next_random(seed) % 8;
    if (depth == 0 || pick == 0) {
        uint32_t leaf = next_random(seed) % COUNT(LEAF);
        str_addf(numbers, "%u", leaf);
        if (next_random(seed) % 2)
            str_addf(mixed, "%u", leaf);
        else
            str_add(mixed, slot_info(SLOT_MODEL + LEAF[leaf])->name);
        return;
    }
    bool single = pick == 1, function = pick == 2;
    const char *sign = function ? (next_random(seed) % 2 ? "," : " ,") : NULL;
    const char *open = single ? before[next_random(seed) % COUNT(before)] : "(";
    if (function)
        open = next_random(seed) % 2 ? "min(" : "max(";
    if (!sign)
        sign = between[next_random(seed) % COUNT(between)];
    str_add(numbers, open), str_add(mixed, open);
    add_random(numbers, mixed, depth - 1, seed);
    if (!single) {
        str_add(numbers, sign), str_add(mixed, sign);
        add_random(numbers, mixed, depth - 1, seed);
    }
    str_add(numbers, ")"), str_add(mixed, ")");
}

static void folding_changes_nothing(void **state)
{
    double values[SLOTS];
    uint32_t seed = 1;
    struct str numbers, mixed;
    int undefined = 0;
    (void)state;
    set_defaults(values);
    for (size_t i = 0; i < COUNT(LEAF); i++)
        values[SLOT_MODEL + LEAF[i]] = (double)i;
    str_init(&numbers), str_init(&mixed);
    for (int i = 0; i < 5000; i++) {
        str_clear(&numbers), str_clear(&mixed);
        str_add(&numbers, "require "), str_add(&mixed, "require ");
        add_random(&numbers, &mixed, 1 + i % 5, &seed);
        const struct rule *folded = one_rule(str_text(&numbers)), *run = one_rule(str_text(&mixed));
        double a = rule_value(folded, values), b = rule_value(run, values);
        assert_int_not_equal(rule_constant(folded), 0);
        assert_true(a == b || (isnan(a) && isnan(b)));
        assert_int_equal(rule_constant(folded) == 1, rule_allows(run, values));
        undefined += isnan(a);
    }
    assert_true(undefined > 100 && undefined < 4900);
    str_release(&numbers), str_release(&mixed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(language_suite_holds),
        cmocka_unit_test(megatron_rules_hold),
        cmocka_unit_test(sense_rules_hold),
        cmocka_unit_test(engine_rules_hold),
        cmocka_unit_test(cautions_hold),
        cmocka_unit_test(cautions_are_dealt_out),
        cmocka_unit_test(lifted_rules_exist),
        cmocka_unit_test(forks_lift_rules),
        cmocka_unit_test(example_file_loads),
        cmocka_unit_test(names_are_unique_and_resolve),
        cmocka_unit_test(words_are_no_names),
        cmocka_unit_test(generations_have_their_capability),
        cmocka_unit_test(rules_know_what_they_need),
        cmocka_unit_test(texts_are_kept),
        cmocka_unit_test(files_add_up),
        cmocka_unit_test(many_rules_fit),
        cmocka_unit_test(limits_are_errors),
        cmocka_unit_test(names_are_cut_at_one_size),
        cmocka_unit_test(strange_bytes_are_errors),
        cmocka_unit_test(folding_changes_nothing),
    };
    return cmocka_run_group_tests(tests, open_memory, close_memory);
}
