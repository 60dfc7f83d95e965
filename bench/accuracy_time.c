/* The scoreboard of step times: predictions against published runs (data/published.csv) and small
 * runs in which the host sets the pace (data/published_small.csv) and with experts
 * (data/published_moe.csv), by source, GPU and parallelism;
 * what one residual factor makes of runs, sources and projects that it was not taken from; and how
 * often the error stays within the one that we expect. Aims stand beside the figures. */
#include "accuracy.h"

#include "base/arena.h"
#include "base/str.h"
#include "base/units.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Classes of runs: r is the run, s its strategy. */
#define CLASS_TABLE(X)                                                                             \
    X(ALL, "all", s->tp > 0)                                                                       \
    X(TP_1, "TP 1", s->tp == 1)                                                                    \
    X(TP_FEW, "TP 2 to 7", s->tp > 1 && s->tp < 8 && !r->tp_across)                                \
    X(TP_NODE, "TP 8, within a node", s->tp >= 8 && !r->tp_across)                                 \
    X(TP_ACROSS, "TP across nodes", r->tp_across)                                                  \
    X(PP_1, "PP 1", s->pp == 1)                                                                    \
    X(PP_MORE, "PP > 1", s->pp > 1)                                                                \
    X(PLAIN, "PP > 1, not interleaved", s->pp > 1 && s->vpp == 1)                                  \
    X(INTERLEAVED, "PP > 1, interleaved", s->pp > 1 && s->vpp > 1)                                 \
    X(CP, "CP > 1", s->cp > 1)                                                                     \
    X(DENSE, "dense", !r->moe)                                                                     \
    X(MOE, "MoE", r->moe)                                                                          \
    X(FSDP, "FSDP", has_fsdp(r))                                                                   \
    X(FP8, "fp8", s->precision == PRECISION_FP8)                                                   \
    X(BLACKWELL, "Blackwell", is_named(r->gpu, "B") || is_named(r->gpu, "GB"))                     \
    X(A100, "A100", is_named(r->gpu, "A100"))                                                      \
    X(H100, "H100", is_named(r->gpu, "H100"))                                                      \
    X(VTRAIN, "vTrain", is_named(r->source, "VIA-Research/"))                                      \
    X(VTRAIN_FEW, "vTrain, TP < 8", is_named(r->source, "VIA-Research/") && s->tp < 8)             \
    X(BLOOM, "BLOOM", is_named(r->source, "bigscience-workshop/"))                                 \
    X(MOE_OVERLAP, "moe_overlap on", r->moe && s->moe_overlap)                                     \
    X(MOE_PLAIN, "moe_overlap off", r->moe && !s->moe_overlap)

enum class {
#define X(name, words, claim) CLASS_##name,
    CLASS_TABLE(X)
#undef X
        CLASSES
};

static const char *const CLASS_NAME[CLASSES] = {
#define X(name, words, claim) words,
    CLASS_TABLE(X)
#undef X
};

static bool has_fsdp(const struct row *r)
{
    return r->strategy.fsdp > FSDP_NO_SHARD;
}

static bool is_in(const struct row *r, enum class c)
{
    const struct strategy *s = &r->strategy;
    const bool in[CLASSES] = {
#define X(name, words, claim) claim,
        CLASS_TABLE(X)
#undef X
    };
    return in[c];
}

/* Dense, 16 bits, A100 or H100, of the Megatron family: what the residual factor is judged on. */
static bool is_core(const struct row *r)
{
    return !r->moe && !has_fsdp(r) && r->strategy.precision != PRECISION_FP8 &&
           (is_in(r, CLASS_A100) || is_in(r, CLASS_H100));
}

struct summary {
    int count;
    double mean, mean_abs, median;
};

static struct summary summarize(const double *error, int count)
{
    double size[MOST_ROWS];
    struct summary s = {.count = count};
    for (int i = 0; i < count; i++) {
        size[i] = fabs(error[i]);
        s.mean += error[i] / count;
        s.mean_abs += size[i] / count;
    }
    s.median = count > 0 ? median(size, count) : 0;
    return s;
}

/* Widths of the first column: names of sources, and names beside two aims. */
enum { WIDE = 58, NARROW = 40 };

static void print_head(int width, const char *title, const char *more)
{
    printf("%-*s %4s %9s %8s %8s%s\n", width, title, "runs", "mean", "mean abs", "median", more);
}

static void print_summary(int width, const char *name, const struct summary *s)
{
    printf("%-*s %4d", width, name, s->count);
    if (s->count > 0)
        printf(" %+7.1f %% %6.1f %% %6.1f %%", 100 * s->mean, 100 * s->mean_abs, 100 * s->median);
}

/* "8: met": an aim of `most` in percent. */
static void print_aim(double value, double most)
{
    printf("  %2.0f: %s", 100 * most, value <= most ? "met" : "not met");
}

static struct summary class_summary(const struct row *row, int rows, enum class c)
{
    double error[MOST_ROWS];
    int n = 0;
    for (int i = 0; i < rows; i++)
        if (is_in(&row[i], c))
            error[n++] = row[i].error;
    return summarize(error, n);
}

/* `aim` of the mean size, 0 = none. */
static void print_classes(const struct row *row, int rows, enum class first, enum class last,
                          double aim)
{
    for (int c = (int)first; c <= (int)last; c++) {
        struct summary s = class_summary(row, rows, (enum class)c);
        print_summary(WIDE, CLASS_NAME[c], &s);
        if (s.count > 0 && aim > 0)
            print_aim(s.mean_abs, aim);
        putchar('\n');
    }
}

/* What runs are grouped by. */
enum key { KEY_GROUP, KEY_KIND, KEY_SOURCE, KEY_PROJECT, KEY_PROVENANCE, KEY_MODEL };

static const char *key_of(const struct row *r, enum key k)
{
    const char *const of[] = {r->group, r->kind, r->source, r->project, r->provenance, r->model};
    return of[k];
}

static bool is_same(const struct row *a, const struct row *b, enum key k)
{
    return strcmp(key_of(a, k), key_of(b, k)) == 0;
}

/* Whether no row before has the key of row `i`. */
static bool is_first(const struct row *row, int i, enum key k)
{
    for (int j = 0; j < i; j++)
        if (is_same(&row[j], &row[i], k))
            return false;
    return true;
}

static void print_keys(const struct row *row, int rows, enum key k)
{
    double error[MOST_ROWS];
    for (int i = 0; i < rows; i++) {
        int n = 0;
        if (!is_first(row, i, k))
            continue;
        for (int j = i; j < rows; j++)
            if (is_same(&row[j], &row[i], k))
                error[n++] = row[j].error;
        struct summary s = summarize(error, n);
        print_summary(WIDE, key_of(&row[i], k), &s);
        putchar('\n');
    }
}

/* The middle of measured / predicted over the rows with the key of row `of`, but row `but`. How
 * many those are is in `count`. */
static double middle_ratio(const struct row *row, int rows, enum key k, int of, int but, int *count)
{
    double ratio[MOST_ROWS];
    *count = 0;
    for (int i = 0; i < rows; i++)
        if (i != but && is_same(&row[i], &row[of], k))
            ratio[(*count)++] = 1 / (1 + row[i].error);
    return *count > 0 ? median(ratio, *count) : 1;
}

/* The middle of the groups' middles, without the group of row `left_out` (-1: with all). */
static double factor_without(const struct row *row, int rows, enum key k, int left_out)
{
    double middle[MOST_ROWS];
    int groups = 0, count;
    for (int i = 0; i < rows; i++)
        if (is_first(row, i, k) && (left_out < 0 || !is_same(&row[i], &row[left_out], k)))
            middle[groups++] = middle_ratio(row, rows, k, i, -1, &count);
    return groups > 0 ? median(middle, groups) : 1;
}

static void scale(struct row *out, const struct row *r, double factor)
{
    *out = *r;
    out->error = (1 + r->error) * factor - 1;
}

static void leave_groups_out(const struct row *row, int rows, enum key k, struct row *out)
{
    for (int i = 0; i < rows; i++)
        scale(&out[i], &row[i], factor_without(row, rows, k, i));
}

/* Sources of fewer than three runs have no others to take a factor from. Returns how many are in
 * `out`. */
static int leave_rows_out(const struct row *row, int rows, struct row *out)
{
    int n = 0;
    for (int i = 0; i < rows; i++) {
        int others;
        double factor = middle_ratio(row, rows, KEY_SOURCE, i, i, &others);
        if (others >= 2)
            scale(&out[n++], &row[i], factor);
    }
    return n;
}

static void print_sources(const struct row *row, int rows)
{
    static struct row scaled[MOST_ROWS];
    print_head(WIDE, "step time: source and GPU", "");
    print_keys(row, rows, KEY_GROUP);
    print_classes(row, rows, CLASS_ALL, CLASS_ALL, 0);
    leave_groups_out(row, rows, KEY_GROUP, scaled);
    print_classes(scaled, rows, CLASS_ALL, CLASS_ALL, 0);
    printf("  (above: with one factor from the other sources; from all of them it is %.3f)\n",
           factor_without(row, rows, KEY_GROUP, -1));
}

static int compare_kinds(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    int order = strcmp(x->kind, y->kind);
    return order ? order : strcmp(x->id, y->id);
}

static int compare_rows(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    int order = strcmp(x->group, y->group);
    return order ? order : strcmp(x->id, y->id);
}

static void print_kinds(const struct row *row, int rows)
{
    static struct row by_kind[MOST_ROWS];
    memcpy(by_kind, row, (size_t)rows * sizeof *row);
    qsort(by_kind, (size_t)rows, sizeof *by_kind, compare_kinds);
    putchar('\n');
    print_head(WIDE, "step time: GPU and precision", "");
    print_keys(by_kind, rows, KEY_KIND);
    putchar('\n');
    print_head(WIDE, "step time: parallelism", "");
    print_classes(row, rows, CLASS_TP_1, CLASS_FSDP, 0);
    putchar('\n');
    print_head(WIDE, "step time: the rarer kinds", "  aim mean abs");
    print_classes(row, rows, CLASS_MOE, CLASS_BLACKWELL, 0.15);
}

struct aims {
    double mean, median;
};

/* Sweeps of vTrain have an aim of their own, whatever is left out. */
static double mean_aim(enum class c, double otherwise)
{
    return c == CLASS_VTRAIN || c == CLASS_VTRAIN_FEW || c == CLASS_TP_ACROSS ? 0.08 : otherwise;
}

static void print_cross(const char *what, const struct row *row, int rows, struct aims aims)
{
    static const enum class CLASS[] = {CLASS_ALL,    CLASS_A100,       CLASS_H100,     CLASS_BLOOM,
                                       CLASS_VTRAIN, CLASS_VTRAIN_FEW, CLASS_TP_ACROSS};
    printf("%s\n", what);
    for (size_t i = 0; i < sizeof CLASS / sizeof *CLASS; i++) {
        char name[80];
        struct summary s = class_summary(row, rows, CLASS[i]);
        snprintf(name, sizeof name, "  %s", CLASS_NAME[CLASS[i]]);
        print_summary(NARROW, name, &s);
        if (s.count > 0 && aims.mean > 0) {
            print_aim(s.median, aims.median);
            printf("%*s", s.median <= aims.median ? 4 : 0, "");
            print_aim(s.mean_abs, mean_aim(CLASS[i], aims.mean));
        }
        putchar('\n');
    }
}

static void board_cross(const struct row *row, int rows)
{
    static struct row core[MOST_ROWS], scaled[MOST_ROWS];
    int n = 0;
    for (int i = 0; i < rows; i++)
        if (is_core(&row[i]))
            core[n++] = row[i];
    putchar('\n');
    print_head(NARROW, "cross-validation of one residual factor", "  aim median   aim mean abs");
    printf("dense, bf16 and fp16, A100 and H100, Megatron family, no FSDP\n");
    print_cross("as predicted, no factor", core, n, (struct aims){0, 0});
    int left = leave_rows_out(core, n, scaled);
    print_cross("runs left out, factor of the source's others", scaled, left,
                (struct aims){0.08, 0.05});
    leave_groups_out(core, n, KEY_SOURCE, scaled);
    print_cross("sources left out, factor of the other sources", scaled, n,
                (struct aims){0.12, 0.08});
    leave_groups_out(core, n, KEY_PROJECT, scaled);
    print_cross("projects left out, with all their sources (stricter than asked)", scaled, n,
                (struct aims){0.12, 0.08});
}

static void print_coverage(const char *name, const struct row *row, int rows,
                           const char *provenance)
{
    double ratio[MOST_ROWS], least = INFINITY, most = 0;
    int n = 0, within = 0;
    for (int i = 0; i < rows; i++) {
        if (provenance && strcmp(row[i].provenance, provenance) != 0)
            continue;
        ratio[n] = fabs(row[i].error) / row[i].expected_error;
        within += ratio[n++] <= 1;
        least = fmin(least, row[i].expected_error);
        most = fmax(most, row[i].expected_error);
    }
    if (n == 0)
        return;
    printf("%-58s %4d  %4.0f to %2.0f %% %6.0f %% %8.2f\n", name, n, 100 * least, 100 * most,
           100.0 * within / n, value_at_share(ratio, n, 0.8));
}

/* How many errors lie within what holds 80 % of those of the other models. */
static void print_coverage_left_out(const char *name, const struct row *row, int rows)
{
    double size[MOST_ROWS];
    int within = 0;
    for (int i = 0; i < rows; i++) {
        int n = 0;
        for (int j = 0; j < rows; j++)
            if (!is_same(&row[j], &row[i], KEY_MODEL))
                size[n++] = fabs(row[j].error);
        within += n > 0 && fabs(row[i].error) <= value_at_share(size, n, 0.8);
    }
    printf("%-58s %4d  %10s %6.0f %%\n", name, rows, "", rows > 0 ? 100.0 * within / rows : 0);
}

static void board_coverage(const struct row *row, int rows, const struct row *others, int rest,
                           const struct row *moe, int moes)
{
    printf("\n%-58s %4s  %10s %8s %8s\n", "coverage of expected_error, by provenance", "runs",
           "expected", "within", "for 80 %");
    for (int i = 0; i < rows; i++)
        if (is_first(row, i, KEY_PROVENANCE))
            print_coverage(row[i].provenance, row, rows, row[i].provenance);
    print_coverage("all", row, rows, NULL);
    print_coverage("small runs, but those that host seconds were chosen on", others, rest, NULL);
    print_coverage("runs with experts, but those six", moe, moes, NULL);
    print_coverage_left_out("the same, expected from the other models", moe, moes);
    printf("  (for 80 %%: times the expected error that holds 80 %% of the runs)\n");
}

/* Every sixth small run served to choose the host seconds of an operator. */
static void board_small(const struct row *chosen, int count, const struct row *others, int rest)
{
    putchar('\n');
    print_head(WIDE, "step time: small runs of vTrain (data/published_small.csv)",
               "  aim mean abs");
    struct summary s = class_summary(chosen, count, CLASS_ALL);
    print_summary(WIDE, "every sixth, which host seconds were chosen on: no test", &s);
    s = class_summary(others, rest, CLASS_ALL);
    putchar('\n');
    print_summary(WIDE, "the others", &s);
    print_aim(s.mean_abs, 0.15);
    putchar('\n');
    print_classes(others, rest, CLASS_TP_1, CLASS_TP_NODE, 0.15);
    print_classes(others, rest, CLASS_PP_1, CLASS_PP_MORE, 0.15);
}

static bool chose_a_constant(const struct row *r)
{
    static const char *const ids[] = {"mbridge_227", "mbridge_228", "overlap_7",
                                      "overlap_9",   "zoo_4",       "zoo_5"};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        if (strcmp(r->id, ids[i]) == 0)
            return true;
    return false;
}

static int compare_models(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    int order = strcmp(x->model, y->model);
    return order ? order : strcmp(x->id, y->id);
}

/* Models given by their sizes have no name. */
static void name_models(struct row *row, int rows)
{
    for (int i = 0; i < rows; i++)
        if (strchr(row[i].model, '='))
            row[i].model = "others, given by their sizes";
}

/* Leaves in `row` those that no constant was chosen on; returns how many. */
static int board_moe(struct row *row, int rows)
{
    static struct row chosen[MOST_ROWS];
    int count = 0, rest = 0;
    for (int i = 0; i < rows; i++)
        if (chose_a_constant(&row[i]))
            chosen[count++] = row[i];
        else
            row[rest++] = row[i];
    name_models(row, rest);
    putchar('\n');
    print_head(WIDE, "step time: MoE (data/published_moe.csv)", "  aim mean abs");
    struct summary s = class_summary(chosen, count, CLASS_MOE);
    print_summary(WIDE, "six, which calls of the host were chosen on: no test", &s);
    s = class_summary(row, rest, CLASS_MOE);
    putchar('\n');
    print_summary(WIDE, "the others", &s);
    print_aim(s.mean_abs, 0.15);
    putchar('\n');
    print_classes(row, rest, CLASS_MOE_OVERLAP, CLASS_MOE_PLAIN, 0.15);
    qsort(row, (size_t)rest, sizeof *row, compare_rows);
    print_keys(row, rest, KEY_GROUP);
    qsort(row, (size_t)rest, sizeof *row, compare_models);
    print_keys(row, rest, KEY_MODEL);
    return rest;
}

static double fullest_peak(const struct plan *p)
{
    double most = 0;
    for (int i = 0; i < p->stages; i++)
        most = fmax(most, p->stage[i].peak_bytes);
    return most;
}

static const char *field(const struct csv *c, int i, const char *column)
{
    return csv_at(c, i, csv_column(c, column));
}

/* Names of a run: the source up to its details, its first word, the GPU without its network. */
static void name_row(struct row *r, const struct csv *c, int i, struct arena *mem)
{
    const char *source = field(c, i, "source");
    size_t n = strcspn(source, "(");
    while (n > 0 && source[n - 1] == ' ')
        n--;
    r->source = arena_copy(mem, source, n);
    r->project = arena_copy(mem, source, strcspn(source, " "));
    r->cluster = field(c, i, "cluster");
    r->model = field(c, i, "model");
    r->precision = field(c, i, "precision");
    const char *gpu = strchr(r->cluster, ':');
    gpu = gpu ? gpu + 1 : r->cluster;
    r->gpu = arena_copy(mem, gpu, strcspn(gpu, "@"));
    snprintf(r->group, sizeof r->group, "%-46.46s %.20s", r->source, r->gpu);
    snprintf(r->kind, sizeof r->kind, "%.20s %s", r->gpu, r->precision);
}

/* Whether row `i` could be computed is in `computed`. */
static bool read_run(const struct csv *c, int i, struct row *out, bool *computed, struct arena *mem,
                     struct error *err)
{
    struct judged j;
    double step = real_at(c, i, "step_s"), peak = real_at(c, i, "peak_gib");
    if (!predict_run(c, i, &j, mem, err))
        return false;
    if (step <= 0)
        return fail(err, ERROR_INPUT, "%s: step_s is not above 0", csv_at(c, i, 0));
    *computed = j.plan.computed;
    if (!*computed) {
        printf("not computed: %s: %s\n", csv_at(c, i, 0), j.plan.reasons ? j.plan.reason[0] : "?");
        return true;
    }
    *out = (struct row){.id = csv_at(c, i, 0),
                        .strategy = j.plan.strategy,
                        .moe = j.moe,
                        .tp_across = j.plan.strategy.tp > j.reach,
                        .measured_s = step,
                        .predicted_s = j.plan.step_s,
                        .error = j.plan.step_s / step - 1,
                        .expected_error = j.plan.expected_error,
                        .provenance = j.plan.provenance,
                        .fits = j.plan.feasible,
                        .allowed = j.allowed,
                        .has_memory = peak > 0};
    out->memory_error = peak > 0 ? fullest_peak(&j.plan) / GIB / peak - 1 : 0;
    name_row(out, c, i, mem);
    return true;
}

static bool read_runs(const char *path, struct row *row, int *rows, struct arena *mem,
                      struct error *err)
{
    struct csv c;
    *rows = 0;
    if (!load_table(path, &c, mem, err))
        return false;
    if (c.rows > MOST_ROWS)
        return fail(err, ERROR_INPUT, "%s: more than %d rows", path, MOST_ROWS);
    for (int i = 0; i < c.rows; i++) {
        bool computed;
        if (!read_run(&c, i, &row[*rows], &computed, mem, err))
            return false;
        *rows += computed;
    }
    return true;
}

bool board_time(struct row *row, int *rows, struct arena *mem, struct error *err)
{
    static struct row small[MOST_ROWS], chosen[MOST_ROWS], others[MOST_ROWS], moe[MOST_ROWS];
    int smalls, moes, count = 0, rest = 0;
    if (!read_runs("data/published.csv", row, rows, mem, err) ||
        !read_runs("data/published_small.csv", small, &smalls, mem, err) ||
        !read_runs("data/published_moe.csv", moe, &moes, mem, err))
        return false;
    for (int i = 0; i < smalls; i++)
        if (i % 6 == 0)
            chosen[count++] = small[i];
        else
            others[rest++] = small[i];
    qsort(row, (size_t)*rows, sizeof *row, compare_rows);
    print_sources(row, *rows);
    print_kinds(row, *rows);
    board_small(chosen, count, others, rest);
    moes = board_moe(moe, moes);
    board_cross(row, *rows);
    board_rank(row, *rows, small, smalls, others, rest);
    board_coverage(row, *rows, others, rest, moe, moes);
    return true;
}
