/* What mixing GPU types is worth: for each of some pools the best plan on all its types, the same
 * stages and parameters with the layers dealt out evenly and by the speed of the GPUs, and the best
 * plan on each type alone. All by our own estimate. The table stands in doc/evidence/mixed.md. */
#include "asked.h"
#include "base/str.h"
#include "base/units.h"
#include "probe/answer.h"
#include "report/plan_words.h"
#include "search/mixed/mixed.h"
#include "search/results.h"

#include <stdio.h>
#include <stdlib.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { MORE = 2 };

/* `more` are options and their values. */
static const struct pool {
    const char *what, *model, *cluster, *more[2 * MORE];
} POOLS[] = {
    {"two generations", "llama3-70b", "8x8:A100,8x8:H100", {0}},
    {"two older generations", "llama2-13b", "4x8:V100,4x8:A100", {"precision", "fp16"}},
    {"big and small memory", "llama3-70b", "8x8:H200,8x8:H100", {0}},
    {"one type, half the memory", "llama3-70b", "8x8:A100-40GB,8x8:A100", {0}},
    {"fast and slow network", "llama3-70b", "8x8:H100@400,8x8:H100@50", {0}},
    {"the newest and the one before", "llama3-405b", "32x8:H100,16x8:B200", {0}},
    {"without fast links", "qwen2.5-32b", "4x8:H100,8x8:L40S", {0}},
    {"AMD", "llama3-70b", "8x8:MI250X,8x8:MI300X", {0}},
    {"experts", "mixtral-8x7b", "4x8:A100,4x8:H100", {0}},
    {"three types", "llama3-70b", "8x8:A100,8x8:H100,8x8:H200", {0}},
    {"four types", "llama3-70b", "8x8:A100,8x8:H100,8x8:H200,8x8:B200", {0}},
    {"coprime counts", "llama3-70b", "3x8:A100,5x8:H100", {0}},
    {"the same, own tp and dp", "llama3-70b", "3x8:A100,5x8:H100", {"engine", "any"}},
};

struct row {
    const struct pool *pool;
    struct arena mem; /* of plans and what they point to */
    struct asked query;
    struct mixed_query mixed;
    struct mixed_result found;
    struct plan plan;
    const struct comparison *comparison;
};

static void must(bool ok, const struct error *err)
{
    if (ok)
        return;
    fprintf(stderr, "%s\n", err->text);
    exit(2);
}

static void ask(struct row *r)
{
    const struct pool *p = r->pool;
    struct error err = {0};
    asked_init(&r->query);
    must(asked_set(&r->query, "model", p->model, &err), &err);
    must(asked_set(&r->query, "cluster", p->cluster, &err), &err);
    for (int i = 0; i < 2 * MORE && p->more[i]; i += 2)
        must(asked_set(&r->query, p->more[i], p->more[i + 1], &err), &err);
    must(asked_set(&r->query, "top", "1", &err), &err);
    must(asked_resolve(&r->query, QUERY_SEARCH, &err), &err);
}

/* The best on each type: what a mixed plan has to beat. */
static void search_types(struct row *r, struct results *results)
{
    const struct query *q = &r->query.query;
    for (int g = 0; g < q->cluster.groups; g++) {
        struct search_query sq;
        struct search_result found;
        struct error err = {0};
        must(query_search(q, g, &r->mem, &sq, &err), &err);
        sq.results = results;
        search_run(&sq, &r->mem, &found);
    }
    r->mixed.results = results;
}

static void search(struct row *r)
{
    struct results results;
    struct error err = {0};
    must(query_mixed(&r->query.query, &r->mem, &r->mixed, &err), &err);
    results_init(&results, &SPEED_ALONE, 1, &r->mem);
    search_types(r, &results);
    mixed_run(&r->mixed, &r->mem, &r->found);
    results_release(&results);
    if (r->found.best == 0) {
        fprintf(stderr, "%s on %s: one type alone is faster than all plans on several\n",
                r->pool->model, r->pool->cluster);
        exit(1);
    }
}

/* Splits and types alone: those that `astra explain` shows, on the whole pool. */
static void compare(struct row *r)
{
    const struct mixed_found *x = &r->found.found[0];
    struct estimate_query e = {.scene = r->mixed.scene, .strategy = x->strategy};
    e.scene.group = x->meshes.mesh[0].group;
    e.scene.meshes = &x->meshes;
    e.scene.cluster = r->mixed.cluster;
    plan_evaluate(&e.scene, &x->strategy, &x->layout, &r->mem, &r->plan);
    r->comparison = comparison_of(&r->query.query, &e, &r->plan, &r->mem);
}

/* With its NICs where another group of the pool has the same GPUs. */
static void add_group(const struct row *r, const struct node_group *g, struct str *out)
{
    const struct cluster *c = &r->query.query.cluster;
    str_add(out, g->gpu->name);
    for (int i = 0; i < c->groups; i++)
        if (&c->group[i] != g && c->group[i].gpu == g->gpu)
            str_addf(out, "@%.0f", 8e-9 * g->nic_bs);
}

/* "5 H100 (8x4 9)": stages of a type and their layers, four with 8 and one with 9. */
static void add_stages(const struct row *row, const struct plan *p, int first, const struct mesh *m,
                       struct str *out)
{
    str_addf(out, "%d ", m->stages);
    add_group(row, m->group, out);
    str_add(out, " (");
    for (int r = first, n; r < first + m->stages; r += n) {
        for (n = 1; r + n < first + m->stages && p->stage[r + n].layers == p->stage[r].layers;)
            n++;
        str_addf(out, "%s%d", r > first ? " " : "", p->stage[r].layers);
        if (n > 1)
            str_addf(out, "x%d", n);
    }
    str_add(out, ")");
    if (m->own)
        str_addf(out, " tp %d dp %d mbs %d %s", m->tp, m->dp, m->micro_batch,
                 m->recompute ? "full" : "none");
}

static void add_layers(const struct row *r, const struct plan *p, struct str *out)
{
    int first = 0;
    for (int i = 0; i < p->meshes->count; i++) {
        str_add(out, i ? ", " : "");
        add_stages(r, p, first, &p->meshes->mesh[i], out);
        first += p->meshes->mesh[i].stages;
    }
}

/* Part by which the mixed plan is faster; NULL or what does not fit has none. */
static void add_speedup(const struct row *r, const struct plan *than, struct str *out)
{
    if (than && than->feasible)
        str_addf(out, "%+.1f %%", 100 * (r->plan.tokens_per_s / than->tokens_per_s - 1));
    else
        str_add(out, than ? "does not fit" : "none");
}

static void print_use(const struct row *r, const char *what, const struct plan *p)
{
    struct str speed, speedup, words;
    str_init(&speed);
    str_init(&speedup);
    str_init(&words);
    if (p)
        add_count(&speed, p->tokens_per_s);
    if (p != &r->plan)
        add_speedup(r, p, &speedup);
    if (p && p->meshes)
        add_layers(r, p, &words);
    else if (p)
        add_plan_words(&p->strategy, &words);
    printf("  %-22s %5lld %9s %13s  %s\n", what, p ? (long long)p->gpus : 0LL, str_text(&speed),
           str_text(&speedup), str_text(&words));
    str_release(&speed);
    str_release(&speedup);
    str_release(&words);
}

static void print_row(const struct row *r)
{
    struct str text;
    str_init(&text);
    add_plan_words(&r->plan.strategy, &text);
    printf("\n%s: %s on %s%s%s%s%s\n", r->pool->what, r->pool->model, r->pool->cluster,
           r->pool->more[0] ? ", " : "", r->pool->more[0] ? r->pool->more[0] : "",
           r->pool->more[0] ? " " : "", r->pool->more[0] ? r->pool->more[1] : "");
    printf("  %-22s %5s %9s %13s  %s%s\n", "", "GPUs", "tokens/s", "gain of mixed", str_text(&text),
           r->found.unproven > 0 ? " (layers not proven)" : "");
    print_use(r, "mixed", &r->plan);
    for (int i = 0; i < COMPARISON_SPLITS; i++)
        print_use(r, r->comparison->split[i].words, r->comparison->split[i].plan);
    for (int g = 0; g < r->comparison->groups; g++) {
        str_clear(&text);
        add_group(r, r->comparison->alone[g].group, &text);
        print_use(r, str_text(&text), r->comparison->alone[g].plan);
    }
    str_release(&text);
}

static const struct plan *best_alone(const struct row *r)
{
    const struct plan *best = NULL;
    for (int g = 0; g < r->comparison->groups; g++) {
        const struct plan *p = r->comparison->alone[g].plan;
        if (p && (!best || p->step_s < best->step_s))
            best = p;
    }
    return best;
}

/* Tokens a second of one job on each type, all at once: a mixture can hardly do more. */
static double sum_alone(const struct row *r)
{
    double sum = 0;
    for (int g = 0; g < r->comparison->groups; g++)
        sum += r->comparison->alone[g].plan ? r->comparison->alone[g].plan->tokens_per_s : 0;
    return sum;
}

static void print_short(const struct row *r)
{
    const struct plan *const beside[] = {best_alone(r), r->comparison->split[0].plan,
                                         r->comparison->split[1].plan};
    struct str text;
    str_init(&text);
    add_count(&text, r->plan.tokens_per_s);
    printf("%-30s %-12s %-40s %5lld %9s", r->pool->what, r->pool->model, r->pool->cluster,
           (long long)r->plan.gpus, str_text(&text));
    for (size_t i = 0; i < COUNT(beside); i++) {
        str_clear(&text);
        add_speedup(r, beside[i], &text);
        printf(" %14s", str_text(&text));
    }
    printf(" %9.0f %%\n", 100 * r->plan.tokens_per_s / sum_alone(r));
    str_release(&text);
}

int main(void)
{
    static struct row rows[COUNT(POOLS)];
    for (size_t i = 0; i < COUNT(POOLS); i++) {
        rows[i].pool = &POOLS[i];
        ask(&rows[i]);
        search(&rows[i]);
        compare(&rows[i]);
    }
    printf("%-30s %-12s %-40s %5s %9s %44s %11s\n", "", "", "", "", "", "mixed is faster than",
           "of the sum");
    printf("%-30s %-12s %-40s %5s %9s %14s %14s %14s %11s\n", "pool", "model", "", "GPUs",
           "tokens/s", "best type", "even split", "split by speed", "of types");
    for (size_t i = 0; i < COUNT(POOLS); i++)
        print_short(&rows[i]);
    for (size_t i = 0; i < COUNT(POOLS); i++) {
        print_row(&rows[i]);
        asked_release(&rows[i].query);
        arena_release(&rows[i].mem);
    }
    return 0;
}
