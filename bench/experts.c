/* Published plans (data/published.csv, data/published_moe.csv) against what a search finds for the
 * same model, GPUs, batch, precision and release of Megatron, both by our own estimate, and against
 * the step that was measured. The search is free in all that NVIDIA's recipes set (--numerics
 * production), takes the fastest plan however narrow the lead (--resolution 0) and heeds no
 * cautions; experts are as balanced as the published runs assume. Queries that are equal share their
 * search. Ends with 1 if a search missed a plan that it could have found. */
#include "experts.h"

#include "asked.h"
#include "base/file.h"
#include "strategy/layout.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

struct option_value {
    const char *option, *value;
};

static bool ask_all(struct asked *q, const struct option_value *o, int count, struct error *err)
{
    for (int i = 0; i < count; i++)
        if (!asked_set(q, o[i].option, o[i].value, err))
            return false;
    return true;
}

/* What the row and its estimate have in common with the search. */
static bool ask(const struct expert *x, struct asked *q, struct error *err)
{
    const struct option_value o[] = {{"cluster", x->cluster},
                                     {"model", expert_column(x, "model")},
                                     {"global-batch", expert_column(x, "global_batch")},
                                     {"seq-len", expert_column(x, "seq_len")},
                                     {"precision", expert_column(x, "precision")},
                                     {"expert-imbalance", "1"},
                                     {"megatron-version", x->release ? x->release : "HEAD"}};
    asked_init(q);
    return ask_all(q, o, COUNT(o), err);
}

static bool set_words(struct asked *q, const char *text, struct error *err)
{
    while (*text) {
        size_t n = strcspn(text, " ");
        if (!asked_set(q, "set", arena_copy(&q->mem, text, n), err))
            return false;
        text += n + strspn(text + n, " ");
    }
    return true;
}

/* The expert's plan as `astra estimate` judges it. */
static bool judge(struct bench *b, struct expert *x, struct asked *q, struct error *err)
{
    struct estimate_query e;
    struct plan plan;
    double values[SLOTS] = {0};
    if (!asked_estimate(q, &e, err) || !asked_lay_out(expert_column(x, "layout"), &e, &q->mem, err))
        return false;
    x->strategy = e.strategy;
    estimate_slots(&e, 0, values);
    x->allowed = rules_hold(b, &e.rules, values, x, "refused") && e.reasons.count == 0;
    for (int i = 0; i < e.reasons.count; i++)
        add_note(b, x, arena_format(&b->mem, "refused: %s", e.reasons.text[i]));
    plan_evaluate(&e.scene, &e.strategy, e.layout, &q->mem, &plan);
    x->fits = plan.feasible;
    x->step_s = plan.step_s;
    x->expected_error = plan.expected_error;
    if (!plan.feasible)
        add_note(b, x, arena_format(&b->mem, "does not fit: %s", plan.reason[0]));
    return plan.computed || fail(err, ERROR_INPUT, "%s: not computed", x->id);
}

static struct searched *search_of(struct bench *b, const char *key)
{
    int i = 0;
    while (i < b->searches && strcmp(b->searched[i].key, key) != 0)
        i++;
    return &b->searched[i]; /* there is one for each row */
}

static void run_search(struct bench *b, const struct search_query *sq, const char *key,
                       struct searched *out)
{
    struct search_result r;
    struct plan plan;
    struct arena mem;
    arena_init(&mem);
    search_run(sq, &mem, &r);
    *out = (struct searched){.key = key, .found = r.best > 0};
    if (out->found) {
        plan_evaluate(&sq->scene, &r.found[0].strategy, NULL, &mem, &plan);
        out->strategy = plan.strategy;
        out->step_s = plan.step_s;
    }
    arena_release(&mem);
    b->searches++;
}

static const char *key_of(struct bench *b, const struct expert *x)
{
    return arena_format(&b->mem, "%s %s %s %s %s %s", x->cluster, expert_column(x, "model"),
                        expert_column(x, "global_batch"), expert_column(x, "seq_len"),
                        expert_column(x, "precision"), x->release ? x->release : "");
}

static bool find_best(struct bench *b, struct expert *x, struct asked *q, struct error *err)
{
    const struct strategy *s = &x->strategy;
    const char *gpus = arena_format(&q->mem, "%d", s->tp * s->cp * s->pp * s->dp);
    const struct option_value o[] = {{"gpus", gpus},      {"threads", "2"},
                                     {"top", "1"},        {"no-cautions", NULL},
                                     {"resolution", "0"}, {"numerics", "production"}};
    struct search_query sq;
    if (!ask_all(q, o, COUNT(o), err) || !asked_resolve(q, QUERY_SEARCH, err) ||
        !query_search(&q->query, 0, &q->mem, &sq, err))
        return false;
    const char *key = key_of(b, x);
    struct searched *best = search_of(b, key);
    x->inside = is_inside(b, &sq, x);
    if (!best->key)
        run_search(b, &sq, key, best);
    x->best = best;
    return true;
}

static bool read_expert(struct bench *b, struct expert *x, struct error *err)
{
    struct asked q;
    x->id = csv_at(x->table, x->row, 0);
    x->cluster = expert_column(x, "cluster");
    x->measured_s = strtod(expert_column(x, "step_s"), NULL);
    expert_place(x, &b->mem);
    bool ok =
        ask(x, &q, err) && set_words(&q, expert_column(x, "strategy"), err) && judge(b, x, &q, err);
    asked_release(&q);
    if (!ok)
        return false;
    ok = ask(x, &q, err) && find_best(b, x, &q, err);
    asked_release(&q);
    return ok;
}

/* NVIDIA's rows stand in both tables, between those of others. */
static bool read_tables(struct bench *b, struct error *err)
{
    static const char *const path[] = {"data/published_moe.csv", "data/published.csv"};
    struct csv *table = arena_array(&b->mem, COUNT(path), sizeof *table);
    struct text text;
    for (int i = 0; i < COUNT(path); i++) {
        if (!file_read(path[i], &b->mem, &text, err) ||
            !csv_parse(&table[i], text.data, text.length, path[i], &b->mem, err))
            return false;
        b->experts += table[i].rows;
    }
    b->expert = arena_array(&b->mem, (size_t)b->experts, sizeof *b->expert);
    b->searched = arena_array(&b->mem, (size_t)b->experts, sizeof *b->searched);
    for (int i = 0, n = 0; i < COUNT(path); i++)
        for (int row = 0; row < table[i].rows; row++)
            b->expert[n++] = (struct expert){.table = &table[i], .row = row};
    return true;
}

int main(void)
{
    struct bench b = {0};
    struct error err = {0};
    arena_init(&b.mem);
    bool ok = read_tables(&b, &err);
    for (int i = 0; ok && i < b.experts; i++) {
        ok = read_expert(&b, &b.expert[i], &err);
        if (i % 50 == 49 || i + 1 == b.experts)
            fprintf(stderr, "%d of %d plans, %d searches\n", i + 1, b.experts, b.searches);
    }
    if (!ok)
        fprintf(stderr, "%s\n", err.text);
    int missed = ok ? print_experts(&b) : 0;
    arena_release(&b.mem);
    return !ok ? 2 : missed > 0;
}
