/* Laws of what to rent, on queries too large for brute force: limits, pools, prices, threads, the
 * order of the types and the length of the list change the answer as they should, or not at all. */
#include "asked.h"
#include "base/arena.h"
#include "base/str.h"
#include "cost/learned.h"
#include "report/report.h"
#include "run/commands.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "must.h"

enum { MOST_OPTIONS = 16 };

struct wish {
    int options;
    struct {
        const char *name;
        char value[120];
    } option[MOST_OPTIONS];
};

struct answer {
    struct asked query;
    struct arena mem;
    struct search_report report;
    struct error err;
    bool found;
};

/* In place of what was said of it before; prices are said one by one. */
__attribute__((format(printf, 3, 4))) static void say(struct wish *w, const char *name,
                                                      const char *format, ...)
{
    va_list list;
    int at = 0;
    while (at < w->options && (strcmp(w->option[at].name, name) != 0 || strcmp(name, "price") == 0))
        at++;
    assert_true(at < MOST_OPTIONS);
    w->options += at == w->options;
    w->option[at].name = name;
    va_start(list, format);
    vsnprintf(w->option[at].value, sizeof w->option->value, format, list);
    va_end(list);
}

static void ask(const struct wish *w, struct answer *a)
{
    memset(a, 0, sizeof *a);
    asked_init(&a->query);
    arena_init(&a->mem);
    must(asked_set(&a->query, "resolution", "0", &a->err), &a->err); /* laws of the exact best */
    for (int i = 0; i < w->options; i++)
        must(asked_set(&a->query, w->option[i].name, w->option[i].value, &a->err), &a->err);
    struct answering s = {
        .query = &a->query.query, .mem = &a->mem, .report = &a->report, .err = &a->err};
    must(asked_resolve(&a->query, QUERY_SEARCH, &a->err), &a->err);
    a->found = run_search(&s);
    if (!a->found && a->err.kind != ERROR_INFEASIBLE)
        fail_msg("%s", a->err.text);
}

static void must_find(const struct wish *w, struct answer *a)
{
    ask(w, a);
    must(a->found, &a->err);
}

static void forget(struct answer *a)
{
    arena_release(&a->mem);
    asked_release(&a->query);
}

static bool close_to(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fabs(b);
}

/* The same points, cost times `factor`. */
static void must_have_same_front(const struct answer *a, const struct answer *b, double factor)
{
    assert_int_equal(a->report.front, b->report.front);
    for (int i = 0; i < a->report.front; i++) {
        const struct plan *x = &a->report.pareto[i], *y = &b->report.pareto[i];
        assert_true(x->step_s == y->step_s && x->gpus == y->gpus);
        assert_true(close_to(factor * x->usd_total, y->usd_total));
        assert_true(close_to(factor * x->usd_per_mtoken, y->usd_per_mtoken));
    }
}

/* Two or three types of a wish. */
static const char *const POOLS[][3] = {{"1..8x8:H100", "1..8x8:A100", ""},
                                       {"1..3x8:H200", "1..4x4:L40S", ""},
                                       {"2..5x8:B200", "1..8x8:A100", "1..3x8:H100"},
                                       {"1..2x8:H100", "1..2x8:H200", "1..3x8:L40S"}};
static const char *const PRICES[][3] = {{"H100=2.7447", "A100=1.35", ""},
                                        {"H200=3.5", "L40S=0.87", ""},
                                        {"B200=6.25", "A100=1.2", "H100=2.1"},
                                        {"H100=2.5", "H200=2.5", "L40S=0.55"}};
static const char *const MODELS[] = {"llama3-8b", "gpt3-13b", "mixtral-8x7b", "llama2-13b"};

/* The types from the `first` on and around, prices times `factor`. */
static void say_pool(struct wish *w, int pool, int first, double factor)
{
    char text[100] = "";
    int types = POOLS[pool][2][0] ? 3 : 2;
    size_t length = 0;
    for (int i = 0; i < types; i++) {
        const char *price = PRICES[pool][(i + first) % types], *equals = strchr(price, '=');
        length += (size_t)snprintf(text + length, sizeof text - length, "%s%s", i ? "," : "",
                                   POOLS[pool][(i + first) % types]);
        say(w, "price", "%.*s=%.6f", (int)(equals - price), price,
            factor * strtod(equals + 1, NULL));
    }
    say(w, "cluster", "%s", text);
}

static void random_wish(struct wish *w, int number, int first, double factor)
{
    memset(w, 0, sizeof *w);
    say_pool(w, number % (int)COUNT(POOLS), first, factor);
    say(w, "model", "%s", MODELS[(number / 2) % (int)COUNT(MODELS)]);
    say(w, "tokens", "%d7B", 3 + number);
    say(w, "global-batch", "%d", 128 << number % 2);
    say(w, "seq-len", "2048");
    say(w, "set", "vpp=1");
    say(w, "mix", "%d", 1 + number % 2);
    if (number % 3 == 0)
        say(w, "mtbf", "20000h");
    if (number % 4 == 1)
        say(w, "engine", "any");
}

enum { WISHES = 3 };

static void front_is_the_same(void **state)
{
    (void)state;
    for (int i = 0; i < WISHES; i++) {
        struct wish w, other;
        struct answer a, b;
        random_wish(&w, i, 0, 1);
        must_find(&w, &a);
        assert_true(a.report.front > 3);
        random_wish(&other, i, 0, 3); /* everything three times as dear */
        must_find(&other, &b);
        must_have_same_front(&a, &b, 3);
        forget(&b);
        random_wish(&other, i, 1, 1); /* types in another order */
        must_find(&other, &b);
        must_have_same_front(&a, &b, 1);
        forget(&b);
        other = w;
        say(&other, "top", "1"); /* a shorter list, which cuts sooner */
        must_find(&other, &b);
        must_have_same_front(&a, &b, 1);
        forget(&b);
        say(&other, "objective", "cost"); /* another best */
        must_find(&other, &b);
        must_have_same_front(&a, &b, 1);
        assert_true(b.report.plan[0].usd_total <= a.report.plan[0].usd_total);
        forget(&b);
        forget(&a);
    }
}

/* A slow type beside fast ones: the best of mixed jobs on the others are far from the list. */
static void list_cuts_no_front(void **state)
{
    static const char *const pools[] = {"8x8:B200,1x4:L4,1x8:L40S"};
    (void)state;
    for (size_t i = 0; i < COUNT(pools); i++) {
        struct wish w = {0};
        struct answer a, b;
        say(&w, "model", "layers=16,hidden=2048,ffn=8192,heads=16,kv=8,vocab=32000");
        say(&w, "cluster", "%s", pools[i]);
        say(&w, "price", "B200=30");
        say(&w, "mix", "2");
        say(&w, "engine", "any");
        say(&w, "tokens", "1T");
        say(&w, "top", "1");
        must_find(&w, &a);
        say(&w, "objective", "cost");
        must_find(&w, &b);
        must_have_same_front(&a, &b, 1);
        forget(&a);
        forget(&b);
    }
}

static const char *json_of(struct answer *a, struct str *out)
{
    a->report.elapsed_s = 0;
    str_init(out);
    report_search_json(&a->report, out);
    return str_text(out);
}

static void threads_change_nothing(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct wish w;
        struct answer a, b;
        struct str x, y;
        random_wish(&w, i, 0, 1);
        say(&w, "threads", "1");
        must_find(&w, &a);
        say(&w, "threads", "4");
        must_find(&w, &b);
        assert_string_equal(json_of(&a, &x), json_of(&b, &y));
        str_release(&x);
        str_release(&y);
        forget(&a);
        forget(&b);
    }
}

/* What the objective looks at; INFINITY: no plan. */
static double value_of(const struct answer *a, bool cheap)
{
    if (!a->found)
        return INFINITY;
    return cheap ? a->report.plan[0].usd_total : a->report.plan[0].hours;
}

/* What the report says that 10 % more buys is what a search with that finds. */
static void must_buy(const struct wish *w, const struct answer *a, bool cheap, const char *limit,
                     double value)
{
    struct wish more = *w;
    struct answer b;
    const struct plan *said = cheap ? a->report.money->more_time : a->report.money->more_budget;
    say(&more, limit, cheap ? "%.9gs" : "%.9g", 1.1 * value);
    ask(&more, &b);
    double before = value_of(a, cheap), after = value_of(&b, cheap);
    assert_true(after <= before);
    assert_true((said != NULL) == (after < before));
    if (said)
        assert_true(said->step_s == b.report.plan[0].step_s && said->gpus == b.report.plan[0].gpus);
    forget(&b);
}

/* From too little to more than enough, in steps. */
static void tighten(int number, bool cheap, int *changes, int *refused, int *bought)
{
    enum { STEPS = 4 };
    struct wish w;
    struct answer all, a;
    double last = INFINITY;
    random_wish(&w, number, 0, 1);
    must_find(&w, &all);
    const struct plan *front = all.report.pareto, *end = &front[all.report.front - 1];
    double low = cheap ? 3600 * end->hours : front->usd_total;
    double high = cheap ? 3600 * front->hours : end->usd_total;
    say(&w, "objective", "%s", cheap ? "cost" : "time");
    for (int i = 0; i < STEPS; i++) {
        double limit =
            round(100 * 0.95 * low * pow(1.1 * high / low, (double)i / (STEPS - 1))) / 100;
        say(&w, cheap ? "deadline" : "budget", cheap ? "%.9gs" : "%.9g", limit);
        ask(&w, &a);
        double value = value_of(&a, cheap);
        assert_true(value <= last);
        *changes += value < last && last < INFINITY;
        *refused += !a.found;
        if (a.found) {
            *bought +=
                cheap ? a.report.money->more_time != NULL : a.report.money->more_budget != NULL;
            must_buy(&w, &a, cheap, cheap ? "deadline" : "budget", limit);
        }
        last = value;
        forget(&a);
    }
    assert_true(last == (cheap ? front->usd_total : end->hours)); /* nothing binds any more */
    forget(&all);
}

static void limits_never_improve(void **state)
{
    int changes = 0, refused = 0, bought = 0;
    (void)state;
    tighten(0, true, &changes, &refused, &bought);
    tighten(2, false, &changes, &refused, &bought);
    tighten(3, false, &changes, &refused, &bought);
    print_message("%d of 12 limits change the answer, %d allow none, 10 %% more buys more in %d\n",
                  changes, refused, bought);
    assert_true(changes >= 4 && refused >= 3 && bought >= 1);
}

static void more_nodes_never_worsen(void **state)
{
    static const int most[] = {1, 2, 5, 12};
    int better = 0;
    (void)state;
    for (int i = 0; i < 4; i += 3) {
        bool cheap = i & 1;
        double last = INFINITY;
        for (size_t k = 0; k < COUNT(most); k++) {
            struct wish w = {0};
            struct answer a;
            say(&w, "model", i < 2 ? "llama3-8b" : "gpt3-13b");
            say(&w, "cluster", "1..3x8:A100,1..%dx8:H100", most[k]);
            say(&w, "price", "H100=%s", cheap ? "1.4" : "2.9");
            say(&w, "price", "A100=1.9");
            say(&w, "objective", cheap ? "cost" : "time");
            say(&w, "tokens", "15B");
            say(&w, "mix", i < 2 ? "1" : "2");
            say(&w, "budget", "20K");
            ask(&w, &a);
            assert_true(value_of(&a, cheap) <= last);
            better += value_of(&a, cheap) < last && last < INFINITY;
            last = value_of(&a, cheap);
            forget(&a);
        }
    }
    assert_true(better >= 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(front_is_the_same),       cmocka_unit_test(list_cuts_no_front),
        cmocka_unit_test(threads_change_nothing),  cmocka_unit_test(limits_never_improve),
        cmocka_unit_test(more_nodes_never_worsen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
