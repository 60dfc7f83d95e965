/* The report of a fit: rows used and skipped, errors of left-out shapes, GPUs and generations
 * beside those of the three rivals. */
#include "fit/fit_all.h"

#include "base/str.h"
#include "cluster/cluster.h"

#include <string.h>

static const char *const PASS_NAMES[PASSES] = {"forward", "dgrad", "wgrad"};

struct want {
    const struct gpu *gpu;
    int pass, dtype, source; /* -1: any */
    bool large;
};

static bool is_chosen(const struct sample *s, const void *context)
{
    const struct want *w = context;
    return (!w->gpu || s->gpu == w->gpu) && (w->pass < 0 || (int)s->op.pass == w->pass) &&
           (w->dtype < 0 || (s->op.dtype == DTYPE_FP8) == (w->dtype == DTYPE_FP8)) &&
           (w->source < 0 || s->source == w->source) && (!w->large || operation_is_large(&s->op));
}

static void head(struct str *out, const char *what)
{
    str_addf(out, "\n%-64s %6s %6s %6s | %8s %8s %8s\n", what, "rows", "error", "bias", "constant",
             "waves", "nearest");
}

/* Nothing when no row is wanted. */
static void line(const struct family_fit *f, enum split split, const char *label,
                 const struct want *w, struct str *out)
{
    struct fit_score s[RIVALS];
    for (int r = 0; r < RIVALS; r++)
        s[r] = score_rows(&f->data, f->check.predicted[split][r], is_chosen, w);
    if (s[0].rows == 0)
        return;
    str_addf(out, "  %-62s %6zu %5.1f%% %+5.1f%% | %7.1f%% %7.1f%% %7.1f%%\n", label, s[0].rows,
             100 * s[BY_MODEL].mean, 100 * s[BY_MODEL].bias, 100 * s[BY_CONSTANT].mean,
             100 * s[BY_QUANTISED].mean, 100 * s[BY_NEAREST].mean);
}

static void pass_lines(const struct family_fit *f, const struct gpu *g, int source, bool fp8,
                       struct str *out)
{
    bool product = f->data.family == FAMILY_GEMM || f->data.family == FAMILY_GROUPED;
    for (int pass = 0; pass < PASSES; pass++)
        for (int large = product; large >= 0; large--) {
            struct str label;
            struct want w = {g, pass, fp8 ? DTYPE_FP8 : DTYPE_BF16, source, large};
            str_init(&label);
            str_addf(&label, "%s, %s%s %s%s", g->name, source_of(source)->name, fp8 ? ", fp8" : "",
                     pass == PASS_BACKWARD && !product ? "backward" : PASS_NAMES[pass],
                     large ? ", m n k >= 1024" : "");
            line(f, LEFT_SHAPES, str_text(&label), &w, out);
            str_release(&label);
        }
}

static void shape_table(const struct family_fit *f, struct str *out)
{
    for (int source = 0; source < SOURCES; source++)
        for (int i = 0; i < f->model.gpus; i++)
            for (int fp8 = 0; fp8 < 2; fp8++)
                pass_lines(f, f->model.gpu[i].gpu, source, fp8, out);
}

/* Every GPU counts once; `vendor` NULL: of all. */
static void average_line(const struct family_fit *f, enum split split, bool large,
                         const char *vendor, struct str *out)
{
    double sum[RIVALS] = {0}, bias = 0;
    size_t rows = 0;
    int gpus = 0;
    for (int i = 0; i < f->model.gpus; i++) {
        struct want w = {f->model.gpu[i].gpu, -1, -1, -1, large};
        struct fit_score s = {0};
        if (vendor && strcmp(w.gpu->vendor, vendor) != 0)
            continue;
        for (int r = RIVALS - 1; r >= 0; r--) {
            s = score_rows(&f->data, f->check.predicted[split][r], is_chosen, &w);
            sum[r] += s.mean;
        }
        bias += s.bias;
        rows += s.rows;
        gpus += s.rows > 0;
    }
    struct str label;
    str_init(&label);
    str_addf(&label, "average over GPUs%s%s%s", vendor ? " of " : "", vendor ? vendor : "",
             large ? ", m n k >= 1024" : "");
    if (gpus > 0)
        str_addf(out, "  %-62s %6zu %5.1f%% %+5.1f%% | %7.1f%% %7.1f%% %7.1f%%\n", str_text(&label),
                 rows, 100 * sum[0] / gpus, 100 * bias / gpus, 100 * sum[1] / gpus,
                 100 * sum[2] / gpus, 100 * sum[3] / gpus);
    str_release(&label);
}

static void left_out_table(const struct family_fit *f, enum split split, struct str *out)
{
    for (int i = 0; i < f->model.gpus; i++) {
        struct want w = {f->model.gpu[i].gpu, -1, -1, -1, false};
        line(f, split, f->model.gpu[i].gpu->name, &w, out);
    }
    average_line(f, split, false, NULL, out);
    if (f->data.family != FAMILY_GEMM)
        return;
    average_line(f, split, true, NULL, out);
    average_line(f, split, false, "NVIDIA", out);
    average_line(f, split, true, "NVIDIA", out);
}

static void comm_line(const struct fit *f, int source, struct str *out)
{
    static const char *const SPLIT_NAMES[COMM_SPLITS] = {"sizes", "rank counts", "whole source"};
    for (int i = 0; i < COMM_SPLITS; i++) {
        const struct comm_score *s = f->comm.score[source][i];
        if (s[COMM_BY_MODEL].rows == 0)
            continue;
        str_addf(out, "  %-14s %-47s %6zu %5.1f%%        | %7.1f%% %7.1f%% %7.1f%%\n",
                 source_of(source)->name, SPLIT_NAMES[i], s[COMM_BY_MODEL].rows,
                 100 * s[COMM_BY_MODEL].median, 100 * s[COMM_BY_CONSTANT].median,
                 100 * s[COMM_BY_ANALYTIC].median, 100 * s[COMM_BY_NEAREST].median);
    }
}

static void skips_head(struct str *out)
{
    str_addf(out, "%-16s", "rows");
    for (int i = 0; i < SKIPS; i++)
        str_addf(out, " %11s", SKIP_WORDS[i]);
    str_add(out, "\n");
}

static void skips_line(const char *source, const size_t skipped[SKIPS], struct str *out)
{
    size_t sum = 0;
    for (int i = 0; i < SKIPS; i++)
        sum += skipped[i];
    if (sum == 0)
        return;
    str_addf(out, "%-16s", source);
    for (int i = 0; i < SKIPS; i++)
        str_addf(out, " %11zu", skipped[i]);
    str_add(out, "\n");
}

void fit_text(const struct fit *f, struct str *out)
{
    skips_head(out);
    for (int i = 0; i < SOURCES; i++)
        skips_line(source_of(i)->name, f->skipped[i], out);
    for (int i = 0; i < FAMILIES; i++) {
        const struct family_fit *one = &f->family[i];
        if (one->kept) {
            str_addf(out, "\n%s: %zu rows are too few, as compiled in\n", one->model.name,
                     one->data.rows);
            continue;
        }
        str_addf(out, "\n%s: %zu rows, %zu KB of trees\n", one->model.name, one->data.rows,
                 one->model.size / 1000);
        head(out, "left-out shapes (mean error)");
        shape_table(one, out);
        head(out, "left-out GPU (mean error)");
        left_out_table(one, LEFT_GPU, out);
        head(out, "left-out generation (mean error)");
        left_out_table(one, LEFT_GENERATION, out);
    }
    str_addf(out, "\ncollectives: %zu rows, %zu KB of trees\n", f->comm.trained_rows,
             f->comm_size / 1000);
    str_addf(out, "\n%-64s %6s %6s %6s | %8s %8s %8s\n", "left out (median error)", "rows", "error",
             "", "constant", "analytic", "nearest");
    for (int i = 0; i < SOURCES; i++)
        comm_line(f, i, out);
}
