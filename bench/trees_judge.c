/* Tables of trees against libxgboost: a million rows of every model compiled in, all bits; and how long
 * a row takes in batches of several sizes, on one thread each. Exit code 1 where a bit differs. Machines
 * are noisy: trust the ratio more than microseconds. */
#define _DEFAULT_SOURCE
#include "base/arena.h"
#include "fit/booster.h"
#include "learn/fit.h"
#include "tree_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROWS = 1000000, PIECE = 4096, ROUNDS = 5 };

static const size_t BATCH[] = {1, 31, PIECE};

enum { BATCHES = sizeof BATCH / sizeof *BATCH };

/* One model with its judge, and a piece of rows with both answers. */
struct trial {
    const struct trees *trees;
    struct booster *judge;
    float *x, ours[PIECE], theirs[PIECE];
};

static double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool ask_judge(struct trial *t, size_t from, size_t rows, struct error *err)
{
    return booster_predict(t->judge, t->x + from * (size_t)t->trees->columns, rows,
                           t->trees->columns, t->theirs + from, err);
}

static void ask_tables(struct trial *t, size_t from, size_t rows)
{
    trees_predict(t->trees, t->x + from * (size_t)t->trees->columns, rows, t->ours + from);
}

/* Rows whose bits differ, or -1. */
static long count_differences(struct trial *t, struct error *err)
{
    long differ = 0;
    for (size_t done = 0; done < ROWS; done += PIECE) {
        size_t rows = ROWS - done < PIECE ? ROWS - done : PIECE;
        tree_rows(t->trees, t->x, rows);
        ask_tables(t, 0, rows);
        if (!ask_judge(t, 0, rows, err))
            return -1;
        for (size_t i = 0; i < rows; i++)
            differ += memcmp(&t->ours[i], &t->theirs[i], sizeof *t->ours) != 0;
    }
    return differ;
}

/* Least microseconds a row of each, in turns. */
static bool time_batches(struct trial *t, size_t batch, double out_us[2], struct error *err)
{
    out_us[0] = out_us[1] = INFINITY;
    for (int round = 0; round < ROUNDS; round++) {
        size_t rows = PIECE / batch * batch;
        double start = cpu_s();
        for (size_t i = 0; i < rows; i += batch)
            ask_tables(t, i, batch);
        double middle = cpu_s();
        for (size_t i = 0; i < rows; i += batch)
            if (!ask_judge(t, i, batch, err))
                return false;
        out_us[0] = fmin(out_us[0], 1e6 * (middle - start) / (double)rows);
        out_us[1] = fmin(out_us[1], 1e6 * (cpu_s() - middle) / (double)rows);
    }
    return true;
}

static bool try_model(const char *name, struct trial *t, long *differ, struct error *err)
{
    double us[2];
    *differ = count_differences(t, err);
    if (*differ < 0)
        return false;
    printf("%-12s %5d trees, %ld of %d rows differ;", name, t->trees->count, *differ, ROWS);
    for (int i = 0; i < BATCHES; i++) {
        if (!time_batches(t, BATCH[i], us, err))
            return false;
        printf("  %zu: %.2f, %.2f us (%.1f)", BATCH[i], us[0], us[1], us[1] / us[0]);
    }
    putchar('\n');
    return true;
}

static bool try_all(const struct learned *l, long *all, struct error *err)
{
    static struct trial t;
    bool ok = true;
    for (int i = 0; ok && i < LEARNED_MODELS; i++) {
        const struct learned_model *m = &l->model[i];
        long differ = 0;
        t = (struct trial){.trees = m->trees};
        t.x = memory_grow(NULL, PIECE * (size_t)m->trees->columns * sizeof *t.x);
        ok = booster_load(&t.judge, model_file(m, i, l->mem), err) &&
             try_model(m->name, &t, &differ, err);
        *all += differ;
        booster_free(t.judge);
        free(t.x);
    }
    return ok;
}

int main(void)
{
    struct learned *l;
    struct error err = {0};
    long differ = 0;
    if (!learned_load(&l, NULL, &err))
        return fprintf(stderr, "%s\n", err.text), 2;
    puts("model: rows in a batch: a row by tables, by libxgboost (ratio)");
    bool ok = try_all(l, &differ, &err);
    learned_free(l);
    if (!ok)
        return fprintf(stderr, "%s\n", err.text), 2;
    return differ > 0;
}
