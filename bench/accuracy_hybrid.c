/* Scoreboards of published runs on which no figure was chosen, row by row: hybrids, models with state spaces
 * (data/published_hybrid.csv); adapters (data/published_lora.csv); transformers' and like layers under FSDP and ZeRO
 * (data/published_hf.csv). Those that do not fit or break a rule are outside of what a search would have found. */
#include "accuracy.h"

#include "base/arena.h"

#include <math.h>
#include <stdio.h>

static bool board_of(const char *path, const char *title, struct arena *mem, struct error *err)
{
    struct csv c;
    int rows = 0, fit = 0, within = 0;
    double sum = 0, signed_sum = 0;
    if (!load_table(path, &c, mem, err))
        return false;
    printf("\n%-40s %10s %9s %6s %7s\n", title, "measured s", "predicted", "error", "stated");
    for (int i = 0; i < c.rows; i++) {
        struct judged j;
        double step_s = real_at(&c, i, "step_s");
        if (!predict_run(&c, i, &j, mem, err))
            return false;
        if (!j.plan.computed)
            return fail(err, ERROR_INPUT, "%s cannot be computed", csv_at(&c, i, 0));
        double error = j.plan.step_s / step_s - 1;
        printf("%-31.31s %-8s %10.3f %9.3f %+5.0f %% %5.0f %%%s\n", csv_at(&c, i, 3),
               csv_at(&c, i, 2), step_s, j.plan.step_s, 100 * error, 100 * j.plan.expected_error,
               j.plan.stage[0].fits ? "" : "  does not fit");
        rows++;
        fit += j.plan.stage[0].fits;
        within += fabs(error) <= j.plan.expected_error;
        sum += fabs(error);
        signed_sum += error;
    }
    printf("%d runs: mean error %.1f %%, signed %+.1f %%; %d within what is stated; %d fit\n", rows,
           100 * sum / rows, 100 * signed_sum / rows, within, fit);
    return true;
}

bool board_hybrid(struct arena *mem, struct error *err)
{
    return board_of("data/published_hybrid.csv", "hybrids, published", mem, err) &&
           board_of("data/published_lora.csv", "adapters (LoRA), published", mem, err);
}

bool board_hf(struct arena *mem, struct error *err)
{
    return board_of("data/published_hf.csv", "FSDP and ZeRO, published", mem, err);
}
