/* Laws that any question must obey: a faster NIC or link, a larger scale-up domain, more memory and
 * more GPUs make no plan slower, and the best one no worse. Random questions. */
#include "asked.h"
#include "base/str.h"
#include "random.h"
#include "search/search.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "must.h"

static int questions = 4; /* 1,000 take ten minutes: make laws */
static int first_question;

/* Rounded ticks of passes add up. */
static const double TOLERANCE = 1e-9;

struct question {
    const char *model, *precision;
    char pool[64];
    int batch, length;
};

static struct question random_question(void)
{
    static const char *const MODELS[] = {
        "llama3-8b",
        "gpt3-13b",
        "llama2-70b",
        "mixtral-8x7b",
        "gpt3-1.3b",
        "llama3.2-1b",
        "qwen3-30b-a3b",
        "deepseek-v2",
        "qwen2.5-32b",
        "gpt-oss-20b",
        "layers=24,hidden=3072,ffn=8192,heads=24,kv=8,vocab=32000"};
    static const struct {
        const char *type;
        int per_node;
    } NODES[] = {{"H100", 8},      {"A100", 8},  {"H200", 8},    {"B200", 8},
                 {"A100-PCIe", 8}, {"L40S", 8},  {"H100", 4},    {"A100", 6},
                 {"H100", 5},      {"GB200", 4}, {"GB200", 4},   {"MI300X", 8},
                 {"V100", 8},      {"H100", 16}, {"RTX4090", 8}, {"H100-PCIe", 4}};
    static const int NIC[] = {0, 25, 50, 100, 200, 400, 800};
    struct question q = {.precision = "bf16"};
    int n = pick(0, 15), nic = NIC[pick(0, 6)], nodes = 1 << pick(0, 4);
    nodes = pick(0, 2) ? nodes : pick(1, 24);
    q.model = MODELS[pick(0, 10)];
    int at = snprintf(q.pool, sizeof q.pool, "%dx%d:%s", nodes, NODES[n].per_node, NODES[n].type);
    if (nic)
        snprintf(q.pool + at, sizeof q.pool - (size_t)at, "@%d", nic);
    if (NODES[n].type[0] == 'V')
        q.precision = "fp16";
    q.batch = pick(0, 3) ? 64 << pick(0, 3) : 60 * pick(1, 8);
    q.length = 2048 << pick(0, 3);
    return q;
}

/* What changes for the better. */
enum change { NOTHING, NIC, LINK, DOMAIN, MEMORY, GPUS, CHANGES };
static const char *const WORDS[CHANGES] = {"nothing",         "a faster NIC", "a faster link",
                                           "a larger domain", "more memory",  "more GPUs"};

/* Twice the domain: every border of it was one before. */
static bool improve(struct node_group *g, enum change c, double factor)
{
    bool inside = g->domain < g->per_node;
    switch (c) {
    case NIC:
        g->nic_bs *= factor;
        return true;
    case LINK:
        g->link_bs *= factor;
        return g->domain > 1;
    case DOMAIN:
        g->domain = inside && 2 * g->domain > g->per_node ? g->per_node : 2 * g->domain;
        return g->domain > 2;
    case MEMORY:
        g->usable_bytes *= factor;
        return true;
    case GPUS:
        g->nodes_min = g->nodes_max = g->nodes_max + (int)(2 * factor);
        return true;
    default:
        return true;
    }
}

struct answer {
    bool found;
    double step_s;
    struct strategy strategy;
};

static void set(struct asked *a, const char *option, const char *value)
{
    struct error err = {0};
    must(asked_set(a, option, value, &err), &err);
}

/* The best plan after a change; of `same`, where it is given, its step. False where the change is
 * none. */
static bool ask(const struct question *q, enum change c, double factor, const struct strategy *same,
                struct answer *out, double *same_s)
{
    struct asked a;
    struct search_query sq;
    struct search_result r;
    struct error err = {0};
    char text[16];
    asked_init(&a);
    set(&a, "model", q->model);
    set(&a, "cluster", q->pool);
    set(&a, "precision", q->precision);
    snprintf(text, sizeof text, "%d", q->batch);
    set(&a, "global-batch", text);
    snprintf(text, sizeof text, "%d", q->length);
    set(&a, "seq-len", text);
    bool changed = improve(&a.options.cluster.group[0], c, factor);
    a.options.search.top = 1;
    if (changed) {
        must(asked_resolve(&a, QUERY_SEARCH, &err), &err);
        must(query_search(&a.query, 0, &a.mem, &sq, &err), &err);
        sq.threads = 1;
        search_run(&sq, &a.mem, &r);
        out->found = r.best > 0;
        if (out->found) {
            out->step_s = (double)r.found[0].step / TICKS_PER_S;
            out->strategy = r.found[0].strategy;
        }
        if (same) {
            struct plan p;
            plan_evaluate(&sq.scene, same, NULL, &a.mem, &p);
            *same_s = p.step_s;
        }
    }
    asked_release(&a);
    return changed;
}

static void print_broken(const struct question *q, enum change c, double factor, const char *what,
                         double before, double after, const struct strategy *s)
{
    struct str text = {0};
    strategy_print(s, &text);
    print_message("%s x%g makes %s slower by %.3g %%: %s on %s, batch %d of %d: %s\n", WORDS[c],
                  factor, what, 100 * (after / before - 1), q->model, q->pool, q->batch, q->length,
                  str_text(&text));
    str_release(&text);
}

static void better_is_never_worse(void **state)
{
    (void)state;
    int asked = 0, broken[CHANGES] = {0}, all = 0;
    double worst = 0;
    for (int i = 0; i < questions; i++) {
        struct question q = random_question();
        struct answer base, then;
        double factor = 1 + 0.25 * pick(1, 8), same_s = 0;
        if (i < first_question || !ask(&q, NOTHING, 1, NULL, &base, NULL) || !base.found)
            continue;
        asked++;
        for (enum change c = NIC; c < CHANGES; c++) {
            const struct strategy *same = c == GPUS ? NULL : &base.strategy;
            if (!ask(&q, c, factor, same, &then, &same_s))
                continue;
            bool slower = !then.found || then.step_s > base.step_s * (1 + TOLERANCE);
            bool same_slower = same && same_s > base.step_s * (1 + TOLERANCE);
            if (same_slower)
                print_broken(&q, c, factor, "the plan", base.step_s, same_s, same);
            if (slower)
                print_broken(&q, c, factor, "the best", base.step_s, then.step_s, &base.strategy);
            worst = slower && then.step_s / base.step_s - 1 > worst ? then.step_s / base.step_s - 1
                                                                    : worst;
            broken[c] += slower || same_slower;
            all += slower || same_slower;
        }
    }
    print_message("%d questions with an answer; broken:", asked);
    for (int c = NIC; c < CHANGES; c++)
        print_message(" %s %d,", WORDS[c], broken[c]);
    print_message(" worst %.2g %%\n", 100 * worst);
    assert_int_equal(all, 0);
    assert_true(asked > 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(better_is_never_worse)};
    questions = argc > 1 ? (int)strtol(argv[1], NULL, 10) : questions;
    first_question = argc > 2 ? (int)strtol(argv[2], NULL, 10) : first_question;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
