/* The scoreboard: step times of published runs (accuracy_time.c), the order of layouts
 * (accuracy_rank.c), memory (accuracy_memory.c), compute of single ranks and operators that we
 * measured (data/measured), with the direction of the error. It fails on none. */
#include "accuracy.h"

#include "asked.h"
#include "base/file.h"
#include "base/str.h"
#include "cost/learned.h"
#include "learn/sample.h"
#include "strategy/layout.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RANKS = 200 };

static bool set(struct asked *q, const char *option, const char *value, struct error *err)
{
    return asked_set(q, option, value, err);
}

/* "tp=8 pp=4 ..." one --set each. */
static bool set_strategy(struct asked *q, const char *text, struct error *err)
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

static bool all_allow(const struct rules *rules, const double values[SLOTS])
{
    for (int i = 0; i < rules->count; i++)
        if (!rule_allows(&rules->rule[i], values))
            return false;
    return true;
}

static void judge(const struct estimate_query *e, struct judged *out, struct arena *mem)
{
    double values[SLOTS] = {0};
    slots_set_fixed(values, e->scene.model, e->scene.group, e->nodes, scene_stack(&e->scene));
    slots_set_strategy(values, &e->strategy);
    out->allowed = e->reasons.count == 0 && all_allow(&e->rules, values);
    out->moe = model_has_feed(e->scene.model, FEED_MOE);
    const struct node_group *g = e->scene.group;
    out->reach = g->domain > g->per_node ? g->domain : g->per_node;
    out->usable_bytes = g->usable_bytes;
    plan_evaluate(&e->scene, &e->strategy, e->layout, mem, &out->plan);
}

static bool answer(struct asked *q, const char *layout, struct judged *out, struct arena *mem,
                   struct error *err)
{
    struct estimate_query e;
    bool ok = asked_estimate(q, &e, err) && asked_lay_out(layout, &e, mem, err);
    if (ok)
        judge(&e, out, mem);
    asked_release(q);
    return ok;
}

bool predict_run(const struct csv *c, int i, struct judged *out, struct arena *mem,
                 struct error *err)
{
    static const char *const options[] = {"cluster", "model", "global_batch", "seq_len",
                                          "precision"};
    static const char *const names[] = {"cluster", "model", "global-batch", "seq-len", "precision"};
    struct asked *q = arena_alloc(mem, sizeof *q);
    int layout = csv_column(c, "layout");
    asked_init(q);
    for (int k = 0; k < 5; k++)
        if (!set(q, names[k], csv_at(c, i, csv_column(c, options[k])), err))
            return false;
    return set_strategy(q, csv_at(c, i, csv_column(c, "strategy")), err) &&
           answer(q, layout < 0 ? "" : csv_at(c, i, layout), out, mem, err);
}

bool is_named(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double median(double *value, int count)
{
    qsort(value, (size_t)count, sizeof *value, by_size);
    return (value[(count - 1) / 2] + value[count / 2]) / 2;
}

double value_at_share(double *value, int count, double share)
{
    qsort(value, (size_t)count, sizeof *value, by_size);
    int at = (int)ceil(share * count) - 1;
    return value[at < 0 ? 0 : at];
}

double rank_of(const double *value, int count, double one)
{
    int below = 0, same = 0;
    for (int i = 0; i < count; i++) {
        below += value[i] < one;
        same += value[i] == one;
    }
    return below + (same + 1) / 2.0;
}

double rank_correlation(const double *a, const double *b, int count)
{
    double middle = (count + 1) / 2.0, both = 0, of_a = 0, of_b = 0;
    for (int i = 0; i < count; i++) {
        double x = rank_of(a, count, a[i]) - middle, y = rank_of(b, count, b[i]) - middle;
        both += x * y;
        of_a += x * x;
        of_b += y * y;
    }
    return of_a > 0 && of_b > 0 ? both / sqrt(of_a * of_b) : 0;
}

bool load_table(const char *path, struct csv *c, struct arena *mem, struct error *err)
{
    struct text text;
    return file_read(path, mem, &text, err) && csv_parse(c, text.data, text.length, path, mem, err);
}

double real_at(const struct csv *c, int row, const char *column)
{
    int at = csv_column(c, column);
    double v = 0;
    return at >= 0 && parse_real(csv_at(c, row, at), &v) ? v : 0;
}

/* The flags of a measured rank, word by word. */
static bool set_flags(struct asked *q, const char *text, struct arena *mem, struct error *err)
{
    const char *words[256];
    size_t count = 0;
    while (*text && count < 256) {
        size_t n = strcspn(text, " ");
        words[count++] = arena_copy(mem, text, n);
        text += n + strspn(text + n, " ");
    }
    return asked_flags(q, count, words, err);
}

static bool predict_words(const struct csv *c, int i, const char *stack, struct judged *out,
                          struct arena *mem, struct error *err)
{
    struct asked *q = arena_alloc(mem, sizeof *q);
    asked_init(q);
    return set(q, "cluster", csv_at(c, i, csv_column(c, "cluster")), err) &&
           (!stack || set(q, "stack", stack, err)) &&
           set_flags(q, csv_at(c, i, csv_column(c, "flags")), mem, err) &&
           answer(q, "", out, mem, err);
}

bool predict_flags(const struct csv *c, int i, struct judged *out, struct arena *mem,
                   struct error *err)
{
    return predict_words(c, i, NULL, out, mem, err);
}

bool predict_rank(const struct csv *c, int i, struct judged *out, struct arena *mem,
                  struct error *err)
{
    return predict_words(c, i, "torch", out, mem, err); /* whose module the harness brought */
}

struct tally {
    double sum, size, worst_low;
    double error[MOST_RANKS];
    int count;
};

static void add_error(struct tally *t, double error)
{
    t->sum += error;
    t->size += fabs(error);
    t->worst_low = t->count ? fmin(t->worst_low, error) : error;
    if (t->count < MOST_RANKS)
        t->error[t->count++] = error;
}

/* Each rank with the middle factor of the others. */
static void add_left_out(struct tally *to, const struct tally *from)
{
    for (int i = 0; i < from->count; i++) {
        double ratio[MOST_RANKS];
        int n = 0;
        for (int j = 0; j < from->count; j++)
            if (j != i)
                ratio[n++] = 1 / (1 + from->error[j]);
        if (n > 0)
            add_error(to, (1 + from->error[i]) * median(ratio, n) - 1);
    }
}

static void print_tally(const char *name, const struct tally *t)
{
    if (t->count)
        printf("%-46s %3d ranks: mean %+.1f %%, mean abs %.1f %%, lowest %+.1f %%\n", name,
               t->count, 100 * t->sum / t->count, 100 * t->size / t->count, 100 * t->worst_low);
}

/* What a rank's time is compared for. Those that wait for the host have constants of their own. */
enum use { USE_TEST, USE_FIT, USE_HOST_TEST, USE_HOST_FIT, USES };

static enum use use_of(const char *said)
{
    static const struct {
        const char *said;
        enum use use;
    } WORDS[] = {{"test", USE_TEST},
                 {"fit", USE_FIT},
                 {"host-bound", USE_HOST_TEST},
                 {"host-test", USE_HOST_TEST}};
    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++)
        if (strcmp(said, WORDS[i].said) == 0)
            return WORDS[i].use;
    return USE_HOST_FIT; /* host-fit, host-only */
}

static bool board_ranks(const char *path, struct arena *mem, struct error *err)
{
    struct csv c;
    struct tally memory = {0}, of[USES] = {0};
    if (!load_table(path, &c, mem, err))
        return false;
    printf("\nsingle Megatron ranks on an H200, torch stack\n%-15s %-11s %9s %9s %8s %9s %9s %8s\n",
           "rank", "use", "peak MiB", "measured", "error", "ms", "measured", "error");
    for (int i = 0; i < c.rows; i++) {
        struct judged j;
        const char *use = csv_at(&c, i, csv_column(&c, "use"));
        int stage = (int)real_at(&c, i, "stage");
        if (!predict_rank(&c, i, &j, mem, err))
            return false;
        if (!j.plan.computed || stage >= j.plan.stages)
            continue;
        double peak = j.plan.stage[stage].peak_bytes / 1048576,
               bytes = peak / real_at(&c, i, "peak_mib") - 1;
        double ms = 1e3 * j.plan.stage[stage].compute_step_s,
               measured = real_at(&c, i, "compute_ms");
        add_error(&memory, bytes);
        printf("%-15s %-11s %9.0f %9.0f %+7.1f%%", csv_at(&c, i, 0), use, peak,
               real_at(&c, i, "peak_mib"), 100 * bytes);
        if (measured > 0) {
            printf(" %9.1f %9.1f %+7.1f%%", ms, measured, 100 * (ms / measured - 1));
            add_error(&of[use_of(use)], ms / measured - 1);
        }
        putchar('\n');
    }
    print_tally("peak memory", &memory);
    print_tally("compute, test ranks", &of[USE_TEST]);
    struct tally left_out = {0};
    add_left_out(&left_out, &of[USE_TEST]);
    print_tally("the same, factor from the other ranks", &left_out);
    print_tally("compute, for fitting", &of[USE_FIT]);
    print_tally("waiting for the host, test ranks", &of[USE_HOST_TEST]);
    print_tally("waiting for the host, for fitting", &of[USE_HOST_FIT]);
    return true;
}

/* Operators of h200_operators_test.csv whose weight sizes, head configuration or pass the models
 * were not trained on. */
struct operators {
    struct samples test, trained;
    struct learned *models;
};

static bool is_alike(const struct operation *a, const struct operation *b)
{
    if (a->family != b->family || a->k != b->k)
        return false;
    if (a->family == FAMILY_ATTENTION)
        return a->heads == b->heads && a->kv_share == b->kv_share &&
               a->value_width == b->value_width;
    if (a->family == FAMILY_MEMORY)
        return a->kind == b->kind && a->m == b->m && a->n == b->n && a->bytes == b->bytes;
    return a->n == b->n;
}

static bool is_known(const struct operators *o, const struct operation *a)
{
    for (size_t i = 0; i < o->trained.ops; i++)
        if (is_alike(a, &o->trained.op[i].op))
            return true;
    return false;
}

static void print_operators(const struct operators *o, enum family family, int pass, bool fp8,
                            bool large)
{
    static const char *const PASS[] = {"forward", "backward", "wgrad"};
    struct tally t = {0};
    for (size_t i = 0; i < o->test.ops; i++) {
        const struct sample *s = &o->test.op[i];
        double predicted;
        if (s->op.family != family || (int)s->op.pass != pass ||
            (s->op.dtype == DTYPE_FP8) != fp8 || (large && !operation_is_large(&s->op)) ||
            is_known(o, &s->op))
            continue;
        learned_predict(o->models, s->gpu, &s->op, 1, &predicted);
        double error = predicted / s->time_s - 1;
        t.sum += error;
        t.size += fabs(error);
        t.count++;
    }
    if (t.count > 0)
        printf("%-10s %-4s %-9s %-16s %5d %+7.1f %% %6.1f %%\n", model_name((int)family),
               fp8 ? "fp8" : "", PASS[pass], large ? "m n k >= 1024" : "", t.count,
               100 * t.sum / t.count, 100 * t.size / t.count);
}

static bool board_operators(struct arena *mem, struct error *err)
{
    static const char *const TRAINED[] = {"data/measured/h200_operators.csv",
                                          "data/measured/h200_operators_2.csv",
                                          "data/measured/h200_operators_3.csv"};
    struct operators o;
    samples_init(&o.test, mem);
    samples_init(&o.trained, mem);
    for (size_t i = 0; i < sizeof TRAINED / sizeof *TRAINED; i++)
        if (!read_profile(TRAINED[i], &o.trained, err))
            return false;
    if (!read_profile("data/measured/h200_operators_test.csv", &o.test, err) ||
        !learned_load(&o.models, NULL, err))
        return false;
    printf("\n%-42s %5s %9s %8s\n", "operators on an H200, measured afterwards", "rows", "mean",
           "mean abs");
    for (int i = 0; i < FAMILIES * 2 * PASSES * 2; i++) {
        enum family family = (enum family)(i / (4 * PASSES));
        bool large = i % 2 == 0;
        if (!large || family == FAMILY_GEMM)
            print_operators(&o, family, i / 2 % PASSES, i / (2 * PASSES) % 2, large);
    }
    learned_free(o.models);
    return true;
}

/* What to write: the table of step errors and nothing else, or pictures beside what is printed. */
struct wanted {
    const char *step_errors, *pictures;
};

static bool run(const struct wanted *w, struct runs *runs, struct arena *mem, struct error *err)
{
    if (!read_published(runs, mem, err))
        return false;
    int rows = runs->all;
    if (w->step_errors)
        return write_step_errors(w->step_errors, runs->row, rows, err);
    board_time(runs);
    board_rank(runs->row, rows);
    return board_memory(runs->row, runs->dense, mem, err) &&
           board_ranks("data/measured/h200_ranks.csv", mem, err) &&
           board_ranks("data/measured/h200_ranks_2.csv", mem, err) && board_operators(mem, err) &&
           board_hybrid(mem, err) && board_hf(mem, err) &&
           board_errors(runs->row, rows, mem, err) &&
           (!w->pictures || draw_pictures(w->pictures, runs->row, rows, mem, err));
}

int main(int count, char **word)
{
    static struct runs runs;
    struct arena mem;
    struct error err = {0};
    struct wanted w = {0};
    if (count == 3)
        *(strcmp(word[1], "--step-errors") == 0 ? &w.step_errors : &w.pictures) = word[2];
    arena_init(&mem);
    bool ok = run(&w, &runs, &mem, &err);
    if (!ok)
        fprintf(stderr, "%s\n", err.text);
    arena_release(&mem);
    return ok ? 0 : 2;
}
