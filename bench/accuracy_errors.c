/* Errors that hold: which part of published runs lies within the error that was stated for them,
 * by class, where the stated error comes from a table without the run's own source; and the table
 * itself (data/efficiency/step_errors.csv). A source is one file of one repository, whatever its
 * version. */
#include "accuracy.h"

#include "base/arena.h"
#include "base/file.h"
#include "base/str.h"
#include "cluster/cluster.h"
#include "strategy/precision.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "v25.02", "7644e91": versions of a file. */
static bool is_version(const char *word)
{
    size_t digits = strspn(word + (*word == 'v'), "0123456789.");
    return (strlen(word) == 7 && strspn(word, "0123456789abcdef") == 7) ||
           (strchr(word, '.') && digits == strlen(word + (*word == 'v')));
}

const char *source_file(const char *source, struct arena *mem)
{
    struct str out = {0};
    char word[200];
    while (*source && *source != '(') {
        size_t n = strcspn(source, " ");
        snprintf(word, sizeof word, "%.*s", (int)n, source);
        if (!is_version(word))
            str_addf(&out, "%s%s", out.length ? " " : "", word);
        source += n + strspn(source + n, " ");
    }
    return str_keep(&out, mem);
}

static int compare_classes(const struct step_class *a, const struct step_class *b)
{
    int order = strcmp(a->gpu->name, b->gpu->name);
    order = order ? order : (a->experts > b->experts) - (a->experts < b->experts);
    order = order ? order : (a->format > b->format) - (a->format < b->format);
    return order ? order : (a->pace > b->pace) - (a->pace < b->pace);
}

static int compare_files(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    int order = strcmp(x->file, y->file);
    order = order ? order : compare_classes(&x->evidence.class, &y->evidence.class);
    return order ? order : strcmp(x->id, y->id);
}

/* Of rows of one source and class. */
static struct step_line line_of(const struct row *row, int rows)
{
    struct step_line l = {.of = row->evidence.class, .source = row->file, .runs = rows};
    for (int i = 0; i < rows; i++) {
        l.mean += row[i].error / rows;
        l.mean_abs += fabs(row[i].error) / rows;
        l.kernels += row[i].evidence.kernels / rows;
    }
    for (int i = 0; i < rows; i++)
        l.deviation += pow(fabs(row[i].error) - l.mean_abs, 2) / rows;
    l.deviation = sqrt(l.deviation);
    return l;
}

static const char *format_word(const struct step_class *c)
{
    return precision_is_narrow(c->format) ? precision_info(c->format)->word : "16";
}

static void add_line(struct str *out, const struct step_line *l)
{
    str_addf(out, "\"%s\",%s,%s,%s,%s,%d,%.4f,%.4f,%.4f,%.4f\n", l->source, l->of.gpu->name,
             l->of.experts ? "experts" : "dense", format_word(&l->of), pace_name(l->of.pace),
             l->runs, l->mean, l->mean_abs, l->deviation, l->kernels);
}

/* The table as text. Sorts the rows by source. */
static void table_of(struct row *row, int rows, struct str *out)
{
    qsort(row, (size_t)rows, sizeof *row, compare_files);
    str_add(out, "source,gpu,kind,format,pace,runs,mean,mean_abs,deviation,kernels\n");
    for (int i = 0, n; i < rows; i += n) {
        for (n = 1; i + n < rows && strcmp(row[i + n].file, row[i].file) == 0 &&
                    compare_classes(&row[i + n].evidence.class, &row[i].evidence.class) == 0;)
            n++;
        struct step_line l = line_of(row + i, n);
        add_line(out, &l);
    }
}

bool write_step_errors(const char *path, struct row *row, int rows, struct error *err)
{
    struct str text = {0};
    table_of(row, rows, &text);
    bool ok = file_write(path, text.data, text.length, err);
    str_release(&text);
    return ok;
}

/* What is stated for each row by a table of these rows: of all of them, and without its source. */
static bool state_errors(struct row *row, int rows, struct arena *mem, struct error *err)
{
    struct str text = {0};
    struct step_errors all, without;
    table_of(row, rows, &text);
    bool ok = step_errors_parse(&all, text.data, text.length, "step errors", mem, err);
    for (int i = 0; ok && i < rows; i++) {
        const struct plan_evidence *e = &row[i].evidence;
        if (i == 0 || strcmp(row[i].file, row[i - 1].file) != 0)
            step_errors_without(&without, &all, row[i].file, mem);
        row[i].stated = step_error_of(&without, &e->class, e->kernels).error;
        row[i].stated_in_sample = step_error_of(&all, &e->class, e->kernels).error;
    }
    printf("  (sizes of errors of one source and class correlate with %.2f;", all.correlation);
    for (int p = 0; ok && p < PACES; p++)
        printf(" %s x %.2f", pace_words((enum pace)p), all.paces[p]);
    printf(")\n");
    str_release(&text);
    return ok;
}

struct class_score {
    int runs, sources, inside, inside_in_sample;
    double mean, mean_abs, stated;
};

static bool seen_before(const struct row *const *row, int i)
{
    for (int j = 0; j < i; j++)
        if (strcmp(row[j]->file, row[i]->file) == 0)
            return true;
    return false;
}

static struct class_score score_of(const struct row *const *row, int rows)
{
    double stated[MOST_ROWS];
    struct class_score s = {.runs = rows};
    for (int i = 0; i < rows; i++) {
        double size = fabs(row[i]->error);
        s.mean += row[i]->error / rows;
        s.mean_abs += size / rows;
        s.inside += size <= row[i]->stated;
        s.inside_in_sample += size <= row[i]->stated_in_sample;
        s.sources += !seen_before(row, i);
        stated[i] = row[i]->stated;
    }
    s.stated = rows > 0 ? median(stated, rows) : 0;
    return s;
}

static void print_score(const char *name, const struct class_score *s)
{
    printf("%-34s %4d %7d %+7.1f %% %6.1f %% %6.1f %% %5.2f %6.0f %% %8.0f %%", name, s->runs,
           s->sources, 100 * s->mean, 100 * s->mean_abs, 100 * s->stated, s->stated / s->mean_abs,
           100.0 * s->inside / s->runs, 100.0 * s->inside_in_sample / s->runs);
}

static void print_met(bool met, const char *what)
{
    printf("  %s: %s\n", what, met ? "met" : "not met");
}

static int kind_order(const void *a, const void *b)
{
    const struct row *const *x = a, *const *y = b;
    return strcmp((*x)->kind, (*y)->kind);
}

enum { FEW = 8 }; /* runs: a smaller class is no class */

/* Classes of GPU and number format among these rows, those with few runs last. */
struct worst {
    double mean_abs, inside, ratio;
};

static struct worst print_kinds_of(const struct row **row, int rows)
{
    struct worst w = {0, 1, 0};
    qsort(row, (size_t)rows, sizeof *row, kind_order);
    for (int few = 0; few < 2; few++)
        for (int i = 0, n; i < rows; i += n) {
            char name[100];
            for (n = 1; i + n < rows && strcmp(row[i + n]->kind, row[i]->kind) == 0;)
                n++;
            if ((n < FEW) != few)
                continue;
            struct class_score s = score_of(row + i, n);
            snprintf(name, sizeof name, "%s%s", few ? "  few: " : "", row[i]->kind);
            print_score(name, &s);
            putchar('\n');
            if (few)
                continue;
            w.mean_abs = fmax(w.mean_abs, s.mean_abs);
            w.inside = fmin(w.inside, (double)s.inside / n);
            w.ratio = fmax(w.ratio, s.stated / s.mean_abs);
        }
    return w;
}

static int pick(const struct row *row, int rows, bool (*is)(const struct row *),
                const struct row **out)
{
    int n = 0;
    for (int i = 0; i < rows; i++)
        if (is(&row[i]))
            out[n++] = &row[i];
    return n;
}

static bool is_any(const struct row *r)
{
    return !r->small && !r->sweep;
}

static bool is_dense(const struct row *r)
{
    return is_any(r) && !r->moe;
}

static bool is_moe(const struct row *r)
{
    return r->moe;
}

static bool is_small(const struct row *r)
{
    return r->small;
}

static bool is_sweep(const struct row *r)
{
    return r->sweep;
}

static struct class_score print_all(const char *name, const struct row *row, int rows,
                                    bool (*is)(const struct row *))
{
    const struct row *of[MOST_ROWS];
    struct class_score s = score_of(of, pick(row, rows, is, of));
    print_score(name, &s);
    putchar('\n');
    return s;
}

static struct worst print_part(const char *title, const struct row *row, int rows,
                               bool (*is)(const struct row *))
{
    const struct row *of[MOST_ROWS];
    printf("%s\n", title);
    return print_kinds_of(of, pick(row, rows, is, of));
}

static void print_paces(const struct row *row, int rows)
{
    printf("by what sets the pace\n");
    for (int p = 0; p < PACES; p++) {
        const struct row *of[MOST_ROWS];
        int n = 0;
        for (int i = 0; i < rows; i++)
            if (is_any(&row[i]) && row[i].evidence.class.pace == (enum pace)p)
                of[n++] = &row[i];
        if (n == 0)
            continue;
        struct class_score s = score_of(of, n);
        print_score(pace_words((enum pace)p), &s);
        putchar('\n');
    }
}

bool board_errors(struct row *row, int rows, struct arena *mem, struct error *err)
{
    printf("\n%-34s %4s %7s %9s %8s %8s %5s %8s %10s\n", "errors that hold: source left out",
           "runs", "sources", "mean", "mean abs", "stated", "times", "inside", "in sample");
    if (!state_errors(row, rows, mem, err))
        return false;
    struct class_score all = print_all("all", row, rows, is_any);
    struct class_score dense = print_all("dense", row, rows, is_dense);
    struct class_score moe = print_all("experts", row, rows, is_moe);
    print_all("small runs of vTrain, apart", row, rows, is_small);
    print_all("a sweep on T4, apart", row, rows, is_sweep);
    print_paces(row, rows);
    struct worst each = print_part("GPU and precision", row, rows, is_any);
    struct worst of_dense = print_part("the same, dense", row, rows, is_dense);
    print_part("the same, experts", row, rows, is_moe);
    double inside = (double)all.inside / all.runs;
    printf("aims (classes: GPU and precision, %d runs or more)\n", FEW);
    print_met(dense.mean_abs <= 0.08, "dense, mean error of all at most 8 %");
    print_met(of_dense.mean_abs <= 0.12, "dense, of no class above 12 %");
    print_met(moe.mean_abs <= 0.15, "experts, mean error at most 15 %");
    print_met(inside >= 0.75 && inside <= 0.90, "75 to 90 % of all runs within the stated error");
    print_met(each.inside >= 0.65, "of every class at least 65 %");
    print_met(each.ratio <= 2, "median stated error of a class at most twice its mean error");
    return true;
}
