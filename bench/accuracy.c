/* The scoreboard: predicted step times against published runs (data/published.csv), by source, with the
 * direction of the error. It fails on none. */
#include "base/csv.h"
#include "base/file.h"
#include "base/str.h"
#include "question.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROWS = 2000, MOST_GROUPS = 200 };

struct row {
    char group[80];
    double error; /* predicted over measured, less 1 */
    bool fits;
};

static bool set(struct question *q, const char *option, const char *value, struct error *err)
{
    return question_set(q, option, value, err);
}

/* "tp=8 pp=4 ..." one --set each. */
static bool set_strategy(struct question *q, const char *text, struct error *err)
{
    char word[64];
    while (*text) {
        size_t n = strcspn(text, " ");
        if (n >= sizeof word)
            return fail(err, ERROR_INPUT, "a word of the strategy is too long");
        memcpy(word, text, n);
        word[n] = 0;
        if (!set(q, "set", word, err))
            return false;
        text += n + strspn(text + n, " ");
    }
    return true;
}

static bool predict(const struct csv *c, int i, struct plan *p, struct arena *mem, struct error *err)
{
    static const char *const options[] = {"cluster", "model", "global_batch", "seq_len", "precision"};
    static const char *const names[] = {"cluster", "model", "global-batch", "seq-len", "precision"};
    struct question *q = arena_alloc(mem, sizeof *q);
    struct estimate_question e;
    question_init(q);
    for (int k = 0; k < 5; k++)
        if (!set(q, names[k], csv_at(c, i, csv_column(c, options[k])), err))
            return false;
    if (!set_strategy(q, csv_at(c, i, csv_column(c, "strategy")), err) || !question_ready(q, err) ||
        !question_estimate(q, &e, err))
        return false;
    plan_evaluate(&e.scene, &e.strategy, e.layout, mem, p);
    question_release(q);
    return true;
}

/* Source up to its details, and the GPU. */
static void name_group(char *out, size_t size, const char *source, const char *cluster)
{
    size_t n = strcspn(source, "(");
    if (n > 46)
        n = 46;
    snprintf(out, size, "%-46.*s %s", (int)n, source, strchr(cluster, ':') + 1);
    char *at = strchr(out + 46, '@');
    if (at)
        *at = 0;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print_group(const char *name, const struct row *row, int rows)
{
    double size[MOST_ROWS], sum = 0, sizes = 0;
    int n = 0;
    for (int i = 0; i < rows; i++)
        if (!name || strcmp(row[i].group, name) == 0) {
            sum += row[i].error;
            size[n] = fabs(row[i].error);
            sizes += size[n++];
        }
    qsort(size, (size_t)n, sizeof *size, by_size);
    printf("%-58s %4d %+7.1f %% %6.1f %% %6.1f %%\n", name ? name : "all", n, 100 * sum / n, 100 * sizes / n,
           100 * size[n / 2]);
}

static int compare_rows(const void *a, const void *b)
{
    return strcmp(((const struct row *)a)->group, ((const struct row *)b)->group);
}

static void print_board(struct row *row, int rows)
{
    qsort(row, (size_t)rows, sizeof *row, compare_rows);
    printf("%-58s %4s %9s %8s %8s\n", "step time: source and GPU", "runs", "mean", "mean abs", "median");
    for (int i = 0; i < rows; i++)
        if (i == 0 || strcmp(row[i].group, row[i - 1].group) != 0)
            print_group(row[i].group, row, rows);
    print_group(NULL, row, rows);
    int refused = 0;
    for (int i = 0; i < rows; i++)
        refused += !row[i].fits;
    printf("\nmemory: %d of %d runs that worked are said not to fit\n", refused, rows);
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : "data/published.csv";
    static struct row row[MOST_ROWS];
    struct arena mem;
    struct text text;
    struct csv c;
    struct error err = {0};
    int rows = 0;
    arena_init(&mem);
    if (!file_read(path, &mem, &text, &err) || !csv_parse(&c, text.data, text.length, path, &mem, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 2;
    }
    for (int i = 0; i < c.rows && rows < MOST_ROWS; i++) {
        struct plan p;
        double step;
        if (!predict(&c, i, &p, &mem, &err) || !parse_real(csv_at(&c, i, csv_column(&c, "step_s")), &step)) {
            fprintf(stderr, "%s:%d: %s\n", path, c.line[i], err.text);
            return 2;
        }
        if (!p.computed) {
            printf("not computed: %s: %s\n", csv_at(&c, i, 0), p.reasons ? p.reason[0] : "?");
            continue;
        }
        row[rows].error = p.step_s / step - 1;
        row[rows].fits = p.feasible;
        name_group(row[rows].group, sizeof row[rows].group, csv_at(&c, i, 1), csv_at(&c, i, 2));
        rows++;
    }
    print_board(row, rows);
    arena_release(&mem);
    return 0;
}
