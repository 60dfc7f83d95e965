/* The tables of the comparison with published plans: by container or source, what stands in the way
 * of a plan, what differs, and NVIDIA's plans one by one. */
#include "experts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Part of the expert's step that the plan found saves; far below 0 where none was found. */
static double gain(const struct expert *x)
{
    return x->best->found ? 1 - x->best->step_s / x->step_s : -1;
}

/* How fast it is said to be, of the measured speed of the expert's plan. */
static double best_of_measured(const struct expert *x)
{
    return x->best->found ? x->measured_s / x->best->step_s : 0;
}

static double own_of_measured(const struct expert *x)
{
    return x->measured_s / x->step_s;
}

/* A plan that may stand for what experts can do. */
static bool is_valid(const struct expert *x)
{
    return x->allowed && x->fits;
}

static bool is_slower(const struct expert *x)
{
    return gain(x) < -1e-9;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Rows of a group; NULL = all of NVIDIA's or of the others. */
struct group {
    const char *name;
    bool nvidia;
};

static bool belongs(const struct group *g, const struct expert *x)
{
    return x->nvidia == g->nvidia && (!g->name || strcmp(g->name, x->group) == 0);
}

/* Middle, least and most. */
static void print_spread(struct bench *b, const struct group *g,
                         double (*value)(const struct expert *), double scale, int decimals)
{
    double *v = arena_array(&b->mem, (size_t)b->experts, sizeof *v);
    int n = 0;
    for (int i = 0; i < b->experts; i++)
        if (belongs(g, &b->expert[i]))
            v[n++] = scale * value(&b->expert[i]);
    qsort(v, (size_t)n, sizeof *v, by_size);
    const double three[] = {(v[(n - 1) / 2] + v[n / 2]) / 2, v[0], v[n - 1]};
    for (int i = 0; i < 3; i++)
        printf(" %*.*f", 7 - decimals, decimals, three[i]);
}

static void print_group(struct bench *b, const struct group *g)
{
    int rows = 0, allowed = 0, fits = 0, inside = 0, slower = 0, valid = 0;
    const char *release = "";
    for (int i = 0; i < b->experts; i++) {
        const struct expert *x = &b->expert[i];
        if (!belongs(g, x))
            continue;
        rows++;
        allowed += x->allowed;
        fits += x->fits;
        inside += x->inside;
        valid += is_valid(x);
        slower += is_valid(x) && is_slower(x);
        release = g->name && x->release ? x->release : "";
    }
    printf("%-43s %-7s %4d %4d %4d %6d %5d %6d", g->name ? g->name : "all", release, rows, allowed,
           fits, inside, valid, slower);
    print_spread(b, g, gain, 100, 1);
    print_spread(b, g, own_of_measured, 1, 2);
    print_spread(b, g, best_of_measured, 1, 2);
    printf("\n");
}

static bool is_first(const struct bench *b, int row)
{
    int i = 0;
    while (b->expert[i].nvidia != b->expert[row].nvidia ||
           strcmp(b->expert[i].group, b->expert[row].group) != 0)
        i++;
    return i == row;
}

/* Containers, whose names are their dates, first, and the newest of them. */
static int by_name(const void *a, const void *b)
{
    const char *x = ((const struct group *)a)->name, *y = ((const struct group *)b)->name;
    bool dated = *x < 'A', other = *y < 'A';
    return dated != other ? other - dated : strcmp(y, x);
}

static void print_groups(struct bench *b, bool nvidia)
{
    struct group *g = arena_array(&b->mem, (size_t)b->experts, sizeof *g);
    int groups = 0;
    printf("%s%-43s %-7s %4s %4s %4s %6s %5s %6s %20s %17s %17s\n%-85s", nvidia ? "" : "\n",
           nvidia ? "NVIDIA's plans: container" : "plans of others", "core", "rows", "pass", "fit",
           "inside", "valid", "slower", "gain %", "own / measured", "best / measured", "");
    printf(" %6s %6s %6s %5s %5s %5s %5s %5s %5s\n", "median", "least", "most", "mid", "least",
           "most", "mid", "least", "most");
    for (int i = 0; i < b->experts; i++)
        if (b->expert[i].nvidia == nvidia && is_first(b, i))
            g[groups++] = (struct group){b->expert[i].group, nvidia};
    qsort(g, (size_t)groups, sizeof *g, by_name);
    g[groups++] = (struct group){NULL, nvidia};
    for (int i = 0; i < groups; i++)
        print_group(b, &g[i]);
}

static void print_notes(struct bench *b)
{
    printf("\n%4s %6s  what stands in the way\n", "rows", "NVIDIA");
    for (struct note *n = b->notes; n; n = n->next) {
        printf("%4d %6d  %s\n", n->rows, n->nvidia, n->text);
        if (n->nvidia)
            printf("%12s%s\n", "", str_text(&n->ids));
        str_release(&n->ids);
    }
}

/* In how many rows a parameter is not the expert's. */
static void print_changes(const struct bench *b)
{
    printf("\n%-22s %6s %6s\n", "differs in rows", "NVIDIA", "others");
    for (int p = 0; p < PARAMS; p++) {
        int n[2] = {0};
        for (int i = 0; i < b->experts; i++) {
            const struct expert *x = &b->expert[i];
            n[x->nvidia] += strategy_get(&x->best->strategy, (enum param)p) !=
                            strategy_get(&x->strategy, (enum param)p);
        }
        if (n[0] || n[1])
            printf("%-22s %6d %6d\n", param_info((enum param)p)->name, n[true], n[false]);
    }
}

static void print_plan(const struct strategy *s, double step_s)
{
    struct str t;
    str_init(&t);
    str_addf(&t, "%d/%d/%d/%d/%d/%d/%d ", s->tp, s->pp, s->vpp, s->cp, s->dp, s->ep,
             s->micro_batch);
    if (s->recompute == RECOMPUTE_SELECTIVE)
        param_print(PARAM_recompute_modules, s->recompute_modules, &t);
    else
        param_print(PARAM_recompute, s->recompute, &t);
    if (s->recompute_method == METHOD_BLOCK)
        str_addf(&t, " %d", s->recompute_layers);
    printf("%-36s %8.3f ", str_text(&t), step_s);
    str_release(&t);
}

static void print_rows(const struct bench *b)
{
    printf("\n%-12s %-16s %-11s %-36s %8s %-36s %8s %8s %6s\n", "id", "container", "cluster",
           "expert: tp/pp/vpp/cp/dp/ep/mb", "step s", "found", "step s", "measured", "gain %");
    for (int i = 0; i < b->experts; i++) {
        const struct expert *x = &b->expert[i];
        if (!x->nvidia)
            continue;
        printf("%-12s %-16.16s %-11.11s ", x->id, x->group, x->cluster);
        print_plan(&x->strategy, x->step_s);
        print_plan(&x->best->strategy, x->best->step_s);
        printf("%8.3f %6.1f%s%s\n", x->measured_s, 100 * gain(x), x->allowed ? "" : " refused",
               x->fits ? "" : " full");
    }
}

/* Slower than a plan that rules allow and that fits. One that lies in the space was missed; of
 * NVIDIA's plans the others are missed too, for the space should have them. */
static int print_slower(const struct bench *b)
{
    int missed = 0;
    for (int i = 0; i < b->experts; i++) {
        const struct expert *x = &b->expert[i];
        if (!is_slower(x) || !is_valid(x))
            continue;
        missed += x->inside || x->nvidia;
        printf("%s: what was found is %.1f %% slower than the expert's plan, which a search %s\n",
               x->id, -100 * gain(x),
               x->inside ? "could have found: an error of ours" : "does not try");
    }
    printf("\n%d searches missed a plan\n", missed);
    return missed;
}

int print_experts(struct bench *b)
{
    print_groups(b, true);
    print_groups(b, false);
    printf("\n");
    int missed = print_slower(b);
    print_notes(b);
    print_changes(b);
    print_rows(b);
    return missed;
}
