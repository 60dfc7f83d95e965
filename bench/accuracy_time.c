/* The scoreboard of step times by source, parallelism and model: published runs, small ones in which
 * the host sets the pace, those with experts. Rows that older figures speak of are apart. */
#include "accuracy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Classes of runs: r is the run, s its strategy. */
#define CLASS_TABLE(X)                                                                             \
    X(ALL, "all", s->tp > 0)                                                                       \
    X(BASELINE, "rows of 2026-11-16", r->baseline)                                                 \
    X(TP_1, "TP 1", s->tp == 1)                                                                    \
    X(TP_FEW, "TP 2 to 7", s->tp > 1 && s->tp < 8 && !r->tp_across)                                \
    X(TP_NODE, "TP 8, within a node", s->tp >= 8 && !r->tp_across)                                 \
    X(TP_ACROSS, "TP across nodes", r->tp_across)                                                  \
    X(PP_1, "PP 1", s->pp == 1)                                                                    \
    X(PP_MORE, "PP > 1", s->pp > 1)                                                                \
    X(PLAIN, "PP > 1, not interleaved", s->pp > 1 && s->vpp == 1)                                  \
    X(INTERLEAVED, "PP > 1, interleaved", s->pp > 1 && s->vpp > 1)                                 \
    X(CP, "CP > 1", s->cp > 1)                                                                     \
    X(FSDP, "FSDP", has_fsdp(r))                                                                   \
    X(A100, "A100", is_named(r->gpu, "A100"))                                                      \
    X(H100, "H100", is_named(r->gpu, "H100"))                                                      \
    X(VTRAIN, "vTrain", is_named(r->source, "VIA-Research/"))                                      \
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

/* Dense, 16 bits, A100 or H100, of the Megatron family. */
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

enum { WIDE = 58 }; /* the first column */

static void print_head(const char *title, const char *more)
{
    printf("%-*s %4s %9s %8s %8s%s\n", WIDE, title, "runs", "mean", "mean abs", "median", more);
}

static void print_summary(const char *name, const struct summary *s)
{
    printf("%-*s %4d", WIDE, name, s->count);
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
        print_summary(CLASS_NAME[c], &s);
        if (s.count > 0 && aim > 0)
            print_aim(s.mean_abs, aim);
        putchar('\n');
    }
}

/* What runs are grouped by. */
enum key { KEY_GROUP, KEY_MODEL };

static const char *key_of(const struct row *r, enum key k)
{
    return k == KEY_GROUP ? r->group : r->model;
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
        print_summary(key_of(&row[i], k), &s);
        putchar('\n');
    }
}

static int compare_rows(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    int order = strcmp(x->group, y->group);
    return order ? order : strcmp(x->id, y->id);
}

static void print_rows(const struct row *row, int rows)
{
    print_head("step time: source and GPU", "");
    print_keys(row, rows, KEY_GROUP);
    print_classes(row, rows, CLASS_ALL, CLASS_ALL, 0);
    putchar('\n');
    print_head("step time: parallelism", "");
    print_classes(row, rows, CLASS_TP_1, CLASS_FSDP, 0);
}

/* The rows that older figures speak of, so that they can be compared. */
static void print_baseline(const struct row *row, int rows)
{
    static struct row old[MOST_ROWS], core[MOST_ROWS];
    int n = 0, cores = 0;
    for (int i = 0; i < rows; i++)
        if (row[i].baseline)
            old[n++] = row[i];
    for (int i = 0; i < n; i++)
        if (is_core(&old[i]))
            core[cores++] = old[i];
    putchar('\n');
    print_head("step time: rows of 2026-11-16, for comparison", "");
    struct summary s = class_summary(old, n, CLASS_ALL);
    print_summary("all", &s);
    s = class_summary(core, cores, CLASS_ALL);
    putchar('\n');
    print_summary("16 bits, A100 and H100, no FSDP", &s);
    putchar('\n');
    print_classes(core, cores, CLASS_A100, CLASS_BLOOM, 0);
}

/* Every sixth small run served to choose the host seconds of an operator. */
static void board_small(const struct row *row, int rows)
{
    static struct row chosen[MOST_ROWS], others[MOST_ROWS];
    int count = 0, rest = 0;
    for (int i = 0; i < rows; i++)
        if (i % 6 == 0)
            chosen[count++] = row[i];
        else
            others[rest++] = row[i];
    putchar('\n');
    print_head("step time: small runs of vTrain (data/published_small.csv)", "  aim mean abs");
    struct summary s = class_summary(chosen, count, CLASS_ALL);
    print_summary("every sixth, which host seconds were chosen on: no test", &s);
    s = class_summary(others, rest, CLASS_ALL);
    putchar('\n');
    print_summary("the others", &s);
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

/* By model and by source; the older rows first, of which some served to choose constants. */
static void board_moe(const struct row *all, int rows)
{
    static struct row chosen[MOST_ROWS], row[MOST_ROWS];
    int count = 0, rest = 0;
    for (int i = 0; i < rows; i++)
        if (chose_a_constant(&all[i]))
            chosen[count++] = all[i];
        else
            row[rest++] = all[i];
    name_models(row, rest);
    putchar('\n');
    print_head("step time: MoE (data/published_moe.csv)", "  aim mean abs");
    struct summary s = class_summary(chosen, count, CLASS_ALL);
    print_summary("six, which calls of the host were chosen on: no test", &s);
    s = class_summary(row, rest, CLASS_BASELINE);
    putchar('\n');
    print_summary("the others of 2026-11-16, for comparison", &s);
    s = class_summary(row, rest, CLASS_ALL);
    putchar('\n');
    print_summary("all but those six", &s);
    print_aim(s.mean_abs, 0.15);
    putchar('\n');
    print_classes(row, rest, CLASS_MOE_OVERLAP, CLASS_MOE_PLAIN, 0.15);
    qsort(row, (size_t)rest, sizeof *row, compare_rows);
    print_keys(row, rest, KEY_GROUP);
    qsort(row, (size_t)rest, sizeof *row, compare_models);
    print_keys(row, rest, KEY_MODEL);
}

void board_time(struct runs *r)
{
    qsort(r->row, (size_t)r->dense, sizeof *r->row, compare_rows);
    print_rows(r->row, r->dense);
    print_baseline(r->row, r->dense);
    board_small(r->row + r->dense + r->moe, r->small);
    board_moe(r->row + r->dense, r->moe);
}
