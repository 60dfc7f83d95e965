/* The scoreboard of Megatron-LM's own functional tests: the most that its last rank allocated, whole
 * flag lists, on up to three platforms (data/published_golden.csv). Where platforms differ by more than
 * 5 % the flags do not say what ran: those rows are listed with their cause. */
#include "accuracy.h"

#include "base/arena.h"
#include "base/units.h"
#include "cluster/cluster.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double AGREE = 1.05;

struct golden {
    const char *id, *cause;
    char gpu[24];
    bool moe;
    double measured, error;
    bool agrees;
};

struct goldens {
    struct golden row[MOST_ROWS];
    int count;
};

static bool read_row(const struct csv *c, int i, struct golden *out, struct arena *mem,
                     struct error *err)
{
    struct judged j;
    if (!predict_flags(c, i, &j, mem, err))
        return false;
    if (!j.plan.computed)
        return fail(err, ERROR_INPUT, "%s cannot be computed", csv_at(c, i, 0));
    *out = (struct golden){.id = csv_at(c, i, 0),
                           .cause = csv_at(c, i, csv_column(c, "cause")),
                           .moe = j.moe,
                           .measured = real_at(c, i, "peak_bytes")};
    snprintf(out->gpu, sizeof out->gpu, "%s", j.plan.group->gpu->name);
    out->error = j.plan.stage[j.plan.stages - 1].peak_bytes / out->measured - 1;
    return true;
}

/* A test is its name, without the platform. */
static bool same_test(const struct golden *a, const struct golden *b)
{
    size_t n = strcspn(a->id, "@");
    return n == strcspn(b->id, "@") && memcmp(a->id, b->id, n) == 0;
}

static void find_agreement(struct goldens *all)
{
    for (int i = 0; i < all->count; i++) {
        double least = all->row[i].measured, most = least;
        for (int k = 0; k < all->count; k++)
            if (same_test(&all->row[i], &all->row[k])) {
                least = fmin(least, all->row[k].measured);
                most = fmax(most, all->row[k].measured);
            }
        all->row[i].agrees = most <= AGREE * least;
    }
}

/* Those of one GPU (NULL = any), with experts or without (-1 = any). */
static void print_line(const struct goldens *all, const char *name, const char *gpu, int moe)
{
    double size[MOST_ROWS], sum = 0, low = 1, high = -1;
    int count = 0, too_low = 0;
    for (int i = 0; i < all->count; i++) {
        const struct golden *r = &all->row[i];
        if (!r->agrees || (gpu && strcmp(gpu, r->gpu) != 0) || (moe >= 0 && moe != r->moe))
            continue;
        size[count++] = fabs(r->error);
        sum += fabs(r->error);
        low = fmin(low, r->error);
        high = fmax(high, r->error);
        too_low += r->measured > GIB && r->error < -0.05;
    }
    if (count > 0)
        printf("%-25s %5d %6.2f %8.2f %+6.2f %+6.2f %8d\n", name, count, 100 * median(size, count),
               100 * sum / count, 100 * low, 100 * high, too_low);
}

static void print_others(const struct goldens *all)
{
    printf("rows whose platforms differ by more than 5 %%: error, measured, cause\n");
    for (int i = 0; i < all->count; i++)
        if (!all->row[i].agrees)
            printf("  %-96s %+6.1f %6.2f GiB  %s\n", all->row[i].id, 100 * all->row[i].error,
                   all->row[i].measured / GIB, all->row[i].cause);
}

bool board_golden(struct arena *mem, struct error *err)
{
    struct goldens *all = arena_alloc(mem, sizeof *all);
    struct csv c;
    all->count = 0;
    if (!load_table("data/published_golden.csv", &c, mem, err))
        return false;
    for (int i = 0; i < c.rows && i < MOST_ROWS; i++, all->count++)
        if (!read_row(&c, i, &all->row[i], mem, err))
            return false;
    find_agreement(all);
    printf(
        "\npeak memory of the last rank of Megatron-LM's own tests (data/published_golden.csv):\n"
        "error in percent; the last column counts rows above 1 GiB that are 5 %% too low\n"
        "%-25s %5s %6s %8s %6s %6s %8s\n",
        "", "rows", "median", "mean abs", "low", "high", "too low");
    print_line(all, "platforms agree in 5 %", NULL, -1);
    print_line(all, "  A100", "A100-SXM4-80GB", -1);
    print_line(all, "  H100", "H100-SXM5-80GB", -1);
    print_line(all, "  GB200", "GB200", -1);
    print_line(all, "  dense", NULL, 0);
    print_line(all, "  experts", NULL, 1);
    print_others(all);
    return true;
}
