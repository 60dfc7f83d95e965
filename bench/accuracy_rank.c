/* The scoreboard of order: where one model was measured in many layouts on the same GPUs, how far
 * our order of them agrees with the measured one, and what our first choice costs. */
#include "accuracy.h"

#include "base/arena.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Layouts of one model in the main table. */
struct layouts {
    const char *name, *source, *cluster, *model; /* beginnings, but of the model: a part */
    int precision, global_batch;
    bool has_aim; /* BLOOM's times are single early iterations: reported only */
};

static const struct layouts LAYOUTS[] = {
    {"vTrain, 64 GPUs, hidden 3072", "VIA-Research/", "8x8:", "hidden=3072,", PRECISION_FP16, 512,
     true},
    {"vTrain, 512 GPUs, hidden 8192", "VIA-Research/", "64x8:", "hidden=8192,", PRECISION_FP16,
     1536, true},
    {"BLOOM, 384 GPUs, fp16, batch 2048, 72 layers", "bigscience-workshop/", "48x8:", "layers=72,",
     PRECISION_FP16, 2048, false},
};

static bool are_of(const struct layouts *l, const struct row *r)
{
    return is_named(r->source, l->source) && is_named(r->cluster, l->cluster) &&
           strstr(r->model, l->model) && r->strategy.precision == l->precision &&
           r->strategy.global_batch == l->global_batch;
}

/* How well layouts of one model on the same GPUs are put in order. */
struct ranking {
    int count;
    double correlation;
    double regret;     /* measured time of our first choice over the best one, less 1 */
    double first_rank; /* of our first choice by measured time */
    const char *first;
};

/* Where several runs share our first place (one plan measured more than once), their mean time is
 * that of our choice. */
static struct ranking rank_rows(const struct row *row, int rows)
{
    double predicted[MOST_ROWS], measured[MOST_ROWS], best = INFINITY, least = INFINITY, sum = 0;
    struct ranking out = {.count = rows};
    int same = 0;
    for (int i = 0; i < rows; i++) {
        predicted[i] = row[i].predicted_s;
        measured[i] = row[i].measured_s;
        least = fmin(least, predicted[i]);
        best = fmin(best, measured[i]);
    }
    for (int i = 0; i < rows; i++)
        if (predicted[i] == least) {
            out.first = same++ == 0 ? row[i].id : out.first;
            sum += measured[i];
            out.first_rank += rank_of(measured, rows, measured[i]);
        }
    out.first_rank /= same;
    out.regret = sum / same / best - 1;
    out.correlation = rank_correlation(predicted, measured, rows);
    return out;
}

static const double REGRET_AIM = 0.03;

static void print_layouts(const struct row *row, int rows, const struct layouts *l)
{
    static struct row of[MOST_ROWS];
    int n = 0;
    for (int i = 0; i < rows; i++)
        if (are_of(l, &row[i]))
            of[n++] = row[i];
    if (n == 0)
        return;
    struct ranking r = rank_rows(of, n);
    printf("%-44s %4d %8.3f  %-12s %6.1f %%  %3.0f: %-7s %5.1f  %s\n", l->name, n, r.correlation,
           !l->has_aim            ? ""
           : r.correlation >= 0.9 ? "0.9: met"
                                  : "0.9: not met",
           100 * r.regret, 100 * REGRET_AIM, r.regret <= REGRET_AIM ? "met" : "not met",
           r.first_rank, r.first);
}

static bool is_same_query(const struct row *a, const struct row *b)
{
    return strcmp(a->model, b->model) == 0 && strcmp(a->cluster, b->cluster) == 0 &&
           a->strategy.global_batch == b->strategy.global_batch;
}

static bool asked_before(const struct row *row, int i)
{
    for (int j = 0; j < i; j++)
        if (is_same_query(&row[j], &row[i]))
            return true;
    return false;
}

/* The runs that answer the query of row `i`, none where a row before asked it. */
static int find_group(const struct row *row, int rows, int i, struct row *of)
{
    int n = 0;
    if (asked_before(row, i))
        return 0;
    for (int j = i; j < rows; j++)
        if (is_same_query(&row[i], &row[j]))
            of[n++] = row[j];
    return n;
}

static void print_small(const char *name, const struct row *row, int rows)
{
    static struct row of[MOST_ROWS];
    double correlation[MOST_ROWS], regret[MOST_ROWS], ranks = 0, lost = 0;
    int groups = 0, best = 0;
    for (int i = 0; i < rows; i++) {
        int n = find_group(row, rows, i, of);
        if (n < 5)
            continue;
        struct ranking r = rank_rows(of, n);
        best += r.regret <= 0;
        lost += r.regret;
        ranks += r.correlation;
        correlation[groups] = r.correlation;
        regret[groups++] = r.regret;
    }
    if (groups == 0)
        return;
    double middle = median(correlation, groups), middle_lost = median(regret, groups);
    printf("%s: %d groups of at least 5\n", name, groups);
    printf("  Spearman: mean %.3f, median %.3f, lowest %.3f\n", ranks / groups, middle,
           correlation[0]);
    printf("  regret: mean %.1f %%, median %.1f %%, most %.1f %%; our first is the fastest in %d\n",
           100 * lost / groups, 100 * middle_lost, 100 * regret[groups - 1], best);
}

void board_rank(const struct row *row, int rows, const struct row *small, int smalls,
                const struct row *others, int rest)
{
    printf("\n%-44s %4s %8s  %-12s %8s  %-12s %5s  %s\n", "ranking: layouts of one model", "runs",
           "Spearman", "aim", "regret", "  aim", "rank", "our first");
    for (size_t i = 0; i < sizeof LAYOUTS / sizeof *LAYOUTS; i++)
        print_layouts(row, rows, &LAYOUTS[i]);
    print_small("small runs, same model, GPUs and batch", small, smalls);
    print_small("the same without those that host seconds were chosen on", others, rest);
}
