/* Step times of runs in formats with scales for blocks: MXFP8, NVFP4 (data/published_narrow.csv). A table of its own: no
 * constant and no stated error was chosen on it. */
#include "accuracy.h"

#include "base/arena.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct narrow {
    const char *precision, *gpu;
    double error;
    bool fits;
};

static void print_errors(const struct narrow *all, int count, const char *precision,
                         const char *gpu)
{
    double sum = 0, wide = 0, low = 0, high = 0;
    int rows = 0, tight = 0;
    for (int i = 0; i < count; i++) {
        if (strcmp(all[i].precision, precision) != 0 || (gpu && strcmp(all[i].gpu, gpu) != 0))
            continue;
        low = rows ? fmin(low, all[i].error) : all[i].error;
        high = rows ? fmax(high, all[i].error) : all[i].error;
        sum += all[i].error;
        wide += fabs(all[i].error);
        tight += !all[i].fits;
        rows++;
    }
    if (rows > 0)
        printf("%-6s %-8s %5d %+6.1f %8.1f %+6.1f %+6.1f %8d\n", precision, gpu ? gpu : "", rows,
               100 * sum / rows, 100 * wide / rows, 100 * low, 100 * high, tight);
}

bool board_narrow(struct arena *mem, struct error *err)
{
    struct csv c;
    if (!load_table("data/published_narrow.csv", &c, mem, err))
        return false;
    struct narrow *all = arena_array(mem, (size_t)c.rows, sizeof *all);
    for (int i = 0; i < c.rows; i++) {
        struct judged j;
        if (!predict_run(&c, i, &j, mem, err))
            return false;
        const char *cluster = csv_at(&c, i, csv_column(&c, "cluster"));
        all[i] =
            (struct narrow){csv_at(&c, i, csv_column(&c, "precision")), strchr(cluster, ':') + 1,
                            j.plan.step_s / real_at(&c, i, "step_s") - 1, j.plan.feasible};
    }
    printf("\nstep time: MXFP8 and NVFP4 (data/published_narrow.csv): error in percent\n"
           "%-15s %5s %6s %8s %6s %6s %8s\n",
           "", "rows", "mean", "mean abs", "low", "high", "not fit");
    static const char *const PRECISION[] = {"mxfp8", "nvfp4"}, *const GPU[] = {NULL, "GB200",
                                                                               "GB300"};
    for (int i = 0; i < 6; i++)
        print_errors(all, c.rows, PRECISION[i / 3], GPU[i % 3]);
    return true;
}
