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
           strcmp(a->file, b->file) == 0 && a->strategy.global_batch == b->strategy.global_batch &&
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

/* The runs that answer the query of row `i`, none where a row before asked it. */
static int find_group(const struct row *row, int rows, int i, const struct row **of)
{
    int n = 0;
    if (asked_before(row, i))
        return 0;
    for (int j = i; j < rows; j++)
        if (is_same_query(&row[i], &row[j]))
            of[n++] = &row[j];
    return n;
}

/* What a choice goes by: the run with the least is first. */
typedef double preference(const struct row *);

static double predicted(const struct row *r)
{
    return r->predicted_s;
}

static double rule_of_thumb(const struct row *r)
{
    const struct strategy *s = &r->strategy;
    return s->tp * s->pp - (double)s->micro_batch / (1 << 20);
}

/* Measured time of the first choice over the best one, less 1. Where several runs share the first
 * place (one plan measured more than once), their mean time counts. */
static double regret_of(const struct row *const *row, int rows, preference *of, const char **first)
{
    double least = INFINITY, best = INFINITY, sum = 0;
    int same = 0;
    for (int i = 0; i < rows; i++) {
        least = fmin(least, of(row[i]));
        best = fmin(best, row[i]->measured_s);
    }
    for (int i = 0; i < rows; i++)
        if (of(row[i]) == least) {
            *first = same++ == 0 ? row[i]->id : *first;
            sum += row[i]->measured_s;
        }
    return sum / same / best - 1;
}

static double correlation_of(const struct row *const *row, int rows)
{
    double a[MOST_ROWS], b[MOST_ROWS];
    for (int i = 0; i < rows; i++) {
        a[i] = row[i]->predicted_s;
        b[i] = row[i]->measured_s;
    }
    return rank_correlation(a, b, rows);
}

struct regrets {
    double ours[MOST_ROWS], rule[MOST_ROWS], correlation[MOST_ROWS];
    int count, lost;
};

static void add_group(struct regrets *g, const struct row *const *of, int n, bool print)
{
    const char *ours, *rule, *best = of[0]->id;
    double least = of[0]->measured_s;
    for (int i = 1; i < n; i++)
        if (of[i]->measured_s < least) {
            least = of[i]->measured_s;
            best = of[i]->id;
        }
    double a = regret_of(of, n, predicted, &ours), b = regret_of(of, n, rule_of_thumb, &rule);
    g->ours[g->count] = a;
    g->rule[g->count] = b;
    g->correlation[g->count++] = correlation_of(of, n);
    g->lost += a > b;
    if (print)
        printf("%-24.24s %-14s %4d %8.3f %6.1f %% %6.1f %%%s  %s, best %s\n", of[0]->file,
               of[0]->cluster, n, g->correlation[g->count - 1], 100 * a, 100 * b,
               a > b ? " lost" : "     ", ours, best);
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
    static struct regrets large, small;
    const struct row *of[MOST_ROWS];
    printf("\n%-24s %-14s %4s %8s %8s %8s\n", "ranking: layouts of one model", "", "runs",
           "Spearman", "regret", "rule's");
    for (int i = 0; i < rows; i++) {
        int n = find_group(row, rows, i, of);
        if (n >= LEAST)
            add_group(row[i].small ? &small : &large, of, n, !row[i].small);
    }
    print_regrets("published runs", &large);
    print_regrets("small runs of vTrain", &small);
}
