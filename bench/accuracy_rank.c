/* The scoreboard of order: where one model was measured in at least four layouts on one cluster with
 * the same batch, sequence and number format, what our first choice costs, and what that of a rule of
 * thumb costs: least TP x PP, then the largest micro-batch. */
#include "accuracy.h"

#include "base/arena.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LEAST = 4 };
static const double REGRET_AIM = 0.03;

static bool is_same_query(const struct row *a, const struct row *b)
{
    return strcmp(a->model, b->model) == 0 && strcmp(a->cluster, b->cluster) == 0 &&
           strcmp(a->project, b->project) == 0 &&
           a->strategy.global_batch == b->strategy.global_batch &&
           a->strategy.seq_len == b->strategy.seq_len &&
           a->strategy.precision == b->strategy.precision;
}

static bool asked_before(const struct row *row, int i)
{
    for (int j = 0; j < i; j++)
        if (is_same_query(&row[j], &row[i]))
            return true;
    return false;
}

/* A layout of a group; of one that was measured more than once the mean time. */
struct layout_time {
    const struct row *row;
    double measured_s;
    int runs;
};

static void add_run(struct layout_time *of, int *layouts, const struct row *r)
{
    int at = 0;
    while (at < *layouts && strategy_compare(&of[at].row->strategy, &r->strategy) != 0)
        at++;
    if (at == *layouts)
        of[(*layouts)++] = (struct layout_time){.row = r};
    of[at].measured_s += (r->measured_s - of[at].measured_s) / ++of[at].runs;
}

/* The layouts that answer the query of row `i`, none where a row before asked it. */
static int find_group(const struct row *row, int rows, int i, struct layout_time *of)
{
    int n = 0;
    if (asked_before(row, i))
        return 0;
    for (int j = i; j < rows; j++)
        if (is_same_query(&row[i], &row[j]))
            add_run(of, &n, &row[j]);
    return n;
}

/* What a choice goes by: the run with the least is first. */
typedef double preference(const struct layout_time *);

static double measured(const struct layout_time *l)
{
    return l->measured_s;
}

static double predicted(const struct layout_time *l)
{
    return l->row->predicted_s;
}

static double rule_of_thumb(const struct layout_time *l)
{
    const struct strategy *s = &l->row->strategy;
    return s->tp * s->pp - (double)s->micro_batch / (1 << 20);
}

/* The layout that is first by a preference, and what it costs: its measured time over the best one,
 * less 1; the mean of those that share the first place. */
struct choice {
    const char *id;
    double regret;
};

static struct choice choose(const struct layout_time *of, int layouts, preference *by)
{
    struct choice c = {0};
    double least = INFINITY, best = INFINITY, sum = 0;
    int same = 0;
    for (int i = 0; i < layouts; i++) {
        least = fmin(least, by(&of[i]));
        best = fmin(best, of[i].measured_s);
    }
    for (int i = 0; i < layouts; i++)
        if (by(&of[i]) == least) {
            c.id = same++ == 0 ? of[i].row->id : c.id;
            sum += of[i].measured_s;
        }
    c.regret = sum / same / best - 1;
    return c;
}

static double correlation_of(const struct layout_time *of, int layouts)
{
    double a[MOST_ROWS], b[MOST_ROWS];
    for (int i = 0; i < layouts; i++) {
        a[i] = of[i].row->predicted_s;
        b[i] = of[i].measured_s;
    }
    return rank_correlation(a, b, layouts);
}

struct regrets {
    double ours[MOST_ROWS], rule[MOST_ROWS], correlation[MOST_ROWS];
    int count, lost;
};

static void add_group(struct regrets *g, const struct layout_time *of, int n, bool print)
{
    struct choice ours = choose(of, n, predicted), rule = choose(of, n, rule_of_thumb);
    double correlation = correlation_of(of, n);
    bool lost = ours.regret > rule.regret;
    g->ours[g->count] = ours.regret;
    g->rule[g->count] = rule.regret;
    g->correlation[g->count++] = correlation;
    g->lost += lost;
    if (print)
        printf("%-30.30s %-14s %4d %8.3f %6.1f %% %6.1f %%%s  %s, best %s\n", of->row->project,
               of->row->cluster, n, correlation, 100 * ours.regret, 100 * rule.regret,
               lost ? " lost" : "     ", ours.id, choose(of, n, measured).id);
}

static double mean_of(const double *value, int count)
{
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += value[i];
    return sum / count;
}

static void print_regrets(const char *name, struct regrets *g)
{
    if (g->count == 0)
        return;
    double ours = median(g->ours, g->count), rule = median(g->rule, g->count);
    printf("%s: %d groups of at least %d, lost to the rule in %d\n", name, g->count, LEAST,
           g->lost);
    printf("  regret: median %.1f %%, mean %.1f %%, most %.1f %%; of the rule %.1f, %.1f, %.1f %%; "
           "Spearman mean %.3f\n",
           100 * ours, 100 * mean_of(g->ours, g->count), 100 * g->ours[g->count - 1], 100 * rule,
           100 * mean_of(g->rule, g->count), 100 * g->rule[g->count - 1],
           mean_of(g->correlation, g->count));
    printf("  median at most %.0f %% and below the rule's: %s\n", 100 * REGRET_AIM,
           ours <= REGRET_AIM && ours < rule ? "met" : "not met");
}

void board_rank(const struct row *row, int rows)
{
    static struct regrets large, small, all;
    struct layout_time of[MOST_ROWS];
    printf("\n%-30s %-14s %4s %8s %8s %8s\n", "ranking: layouts of one model", "", "runs",
           "Spearman", "regret", "rule's");
    for (int i = 0; i < rows; i++) {
        int n = find_group(row, rows, i, of);
        if (n < LEAST)
            continue;
        add_group(row[i].small ? &small : &large, of, n, !row[i].small);
        add_group(&all, of, n, false);
    }
    print_regrets("published runs", &large);
    print_regrets("small runs of vTrain", &small);
    print_regrets("both", &all);
}
