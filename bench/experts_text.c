/* The tables of the comparison with published plans: by source, what stands in the way of a plan,
 * what differs, and row by row. */
#include "experts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Part of the expert's step that the plan found saves; far below 0 where none was found. */
static double speedup(const struct expert *x, enum freedom scope)
{
    return x->best[scope]->found ? 1 - x->best[scope]->step_s / x->step_s : -1;
}

static bool is_slower(const struct expert *x, int scope)
{
    return speedup(x, (enum freedom)scope) < -1e-9;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Least, middle and most. */
static void print_speedups(struct bench *b, const char *source, enum freedom scope)
{
    double *g = arena_array(&b->mem, (size_t)b->table.rows, sizeof *g);
    int n = 0;
    for (int i = 0; i < b->table.rows; i++)
        if (!source || strcmp(source, b->expert[i].source) == 0)
            g[n++] = 100 * speedup(&b->expert[i], scope);
    qsort(g, (size_t)n, sizeof *g, by_size);
    printf(" %6.1f %6.1f %6.1f", g[0], (g[(n - 1) / 2] + g[n / 2]) / 2, g[n - 1]);
}

static void print_source(struct bench *b, const char *source)
{
    int rows = 0, allowed = 0, fits = 0, inside[FREEDOMS] = {0}, beyond = 0, slower = 0;
    for (int i = 0; i < b->table.rows; i++) {
        const struct expert *x = &b->expert[i];
        if (source && strcmp(source, x->source) != 0)
            continue;
        rows++;
        allowed += x->allowed;
        fits += x->fits;
        for (int scope = 0; scope < FREEDOMS; scope++) {
            inside[scope] += x->inside[scope];
            slower += is_slower(x, scope);
        }
        beyond += speedup(x, EVERYTHING) > x->expected_error;
    }
    printf("%-47s %4d %4d %4d %6d %4d", source ? source : "all", rows, allowed, fits,
           inside[EVERYTHING], inside[OWN_FEATURES]);
    print_speedups(b, source, EVERYTHING);
    print_speedups(b, source, OWN_FEATURES);
    printf(" %6d %6d\n", beyond, slower);
}

static bool is_first(const struct bench *b, int row)
{
    int i = 0;
    while (strcmp(b->expert[i].source, b->expert[row].source) != 0)
        i++;
    return i == row;
}

static void print_sources(struct bench *b)
{
    printf("%-47s %4s %4s %4s %6s %4s %20s %20s %6s %6s\n%-73s %6s %6s %6s %6s %6s %6s\n", "source",
           "rows", "pass", "fit", "inside", "own", "gain %, everything", "gain %, own features",
           "beyond", "slower", "", "least", "median", "most", "least", "median", "most");
    for (int i = 0; i < b->table.rows; i++)
        if (is_first(b, i))
            print_source(b, b->expert[i].source);
    print_source(b, NULL);
}

static void print_notes(struct bench *b)
{
    printf("\n%4s  what\n", "rows");
    for (struct note *n = b->notes; n; n = n->next) {
        printf("%4d  %s\n     %s\n", n->rows, n->text, str_text(&n->ids));
        str_release(&n->ids);
    }
}

/* In how many rows a parameter is not the expert's. */
static void print_changes(const struct bench *b)
{
    printf("\n%-22s %10s %12s\n", "differs in rows", "everything", "own features");
    for (int p = 0; p < PARAMS; p++) {
        int n[FREEDOMS] = {0};
        for (int i = 0; i < b->table.rows * FREEDOMS; i++) {
            const struct expert *x = &b->expert[i / FREEDOMS];
            n[i % FREEDOMS] += strategy_get(&x->best[i % FREEDOMS]->strategy, (enum param)p) !=
                               strategy_get(&x->strategy, (enum param)p);
        }
        if (n[EVERYTHING] || n[OWN_FEATURES])
            printf("%-22s %10d %12d\n", param_info((enum param)p)->name, n[EVERYTHING],
                   n[OWN_FEATURES]);
    }
}

static void print_plan(const struct strategy *s, double step_s)
{
    struct str t;
    str_init(&t);
    str_addf(&t, "%d/%d/%d/%d/%d/%d ", s->tp, s->pp, s->vpp, s->cp, s->dp, s->micro_batch);
    if (s->recompute == RECOMPUTE_SELECTIVE)
        param_print(PARAM_recompute_modules, s->recompute_modules, &t);
    else
        param_print(PARAM_recompute, s->recompute, &t);
    if (s->recompute_method == METHOD_BLOCK)
        str_addf(&t, " %d", s->recompute_layers);
    printf("%-26s %8.3f ", str_text(&t), step_s);
    str_release(&t);
}

static void print_rows(const struct bench *b)
{
    printf("\n%-19s %-15s %-26s %8s %-26s %8s %6s %6s\n", "id", "cluster",
           "expert: tp/pp/vpp/cp/dp/mb", "step s", "found", "step s", "gain %", "own %");
    for (int i = 0; i < b->table.rows; i++) {
        const struct expert *x = &b->expert[i];
        const struct searched *best = x->best[EVERYTHING];
        printf("%-19s %-15s ", x->id, x->cluster);
        print_plan(&x->strategy, x->step_s);
        print_plan(&best->strategy, best->step_s);
        printf("%6.1f %6.1f\n", 100 * speedup(x, EVERYTHING), 100 * speedup(x, OWN_FEATURES));
    }
}

/* Slower than a plan that fits and lies in the space: the search missed it. */
static int print_slower(const struct bench *b)
{
    int missed = 0;
    for (int i = 0; i < b->table.rows * FREEDOMS; i++) {
        const struct expert *x = &b->expert[i / FREEDOMS];
        bool in_reach = x->fits && x->inside[i % FREEDOMS];
        if (!is_slower(x, i % FREEDOMS))
            continue;
        missed += in_reach;
        printf("%s: what was found is slower than the expert's plan, which a search %s\n", x->id,
               in_reach ? "could have found: an error of ours" : "does not try");
    }
    return missed;
}

int print_experts(struct bench *b)
{
    print_sources(b);
    int missed = print_slower(b);
    print_notes(b);
    print_changes(b);
    print_rows(b);
    return missed;
}
