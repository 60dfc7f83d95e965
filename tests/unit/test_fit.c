/* Learning from a profile whose law is known: a GPU is added to the models, or everything learned
 * from it alone; bad rows are counted, bad files refused, and nothing is written half. */
#define _XOPEN_SOURCE 700 /* mkdtemp, P_tmpdir */
#include "base/arena.h"
#include "base/file.h"
#include "base/str.h"
#include "cluster/cluster.h"
#include "fit/booster.h"
#include "fit/fit_all.h"

#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(table) (sizeof(table) / sizeof *(table))

static const char HEADER[] = "family,variant,pass,dtype,m,n,k,count,seq,heads,kv_heads,head_dim,"
                             "v_dim,causal,window,bytes,time_us,gpu,sm_mhz\n";

struct fixture {
    char path[64];
    struct arena mem;
    struct str report; /* of the training */
    struct fit_report added;
    struct error err;
};

static int set_up(void **state)
{
    struct fixture *f = memory_grow(NULL, sizeof *f);
    memset(f, 0, sizeof *f);
    arena_init(&f->mem);
    str_init(&f->report);
    snprintf(f->path, sizeof f->path, "%s/astra-fit-XXXXXX", P_tmpdir);
    *state = f;
    return mkdtemp(f->path) ? 0 : -1;
}

/* Removes a folder, its files, and folders of files below it. */
static void clean(struct fixture *f, const char *path)
{
    DIR *dir = opendir(path);
    for (struct dirent *e; dir && (e = readdir(dir));) {
        const char *name = arena_format(&f->mem, "%s/%s", path, e->d_name);
        if (e->d_name[0] != '.' && remove(name) != 0)
            clean(f, name);
    }
    if (dir)
        closedir(dir);
    rmdir(path);
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    clean(f, f->path);
    arena_release(&f->mem);
    str_release(&f->report);
    free(f);
    return 0;
}

static const char *below(struct fixture *f, const char *name)
{
    return arena_format(&f->mem, "%s/%s", f->path, name);
}

static const char *write_text(struct fixture *f, const char *name, const char *text)
{
    const char *path = below(f, name);
    if (!file_write(path, text, strlen(text), &f->err))
        fail_msg("%s", f->err.text);
    return path;
}

static struct text read_text(struct fixture *f, const char *path)
{
    struct text text = {0};
    if (!file_read(path, &f->mem, &text, &f->err))
        fail_msg("%s", f->err.text);
    return text;
}

/* The law: half of the peak, half of the bandwidth. */

static const double SHARE = 0.5;

static double law(const struct operation *o, const struct gpu *g)
{
    double rate = SHARE * dtype_peak(g, o->dtype);
    return o->family == FAMILY_MEMORY ? o->bytes / (SHARE * 1e9 * g->memory_gbs)
                                      : operation_flops(o) / rate;
}

/* The i-th operation of a family: every i another shape. */
static struct operation operation_of(enum family family, int i)
{
    static const double SIZE[] = {1024, 1536, 2048, 3072, 4096, 5120, 8192};
    struct operation o = {.family = family, .count = 1, .kv_share = 1};
    o.m = SIZE[i % 7];
    o.n = SIZE[i / 7 % 7];
    o.k = SIZE[i * 3 % 7] + 128.0 * (i / 7);
    if (family == FAMILY_GROUPED)
        o.count = 2 + i % 7;
    if (family <= FAMILY_GROUPED)
        o.pass = (enum op_pass)(i % PASSES);
    if (family == FAMILY_ATTENTION) {
        o.n = o.m;
        o.k = o.value_width = i % 2 ? 64 : 128;
        o.heads = o.count = 4 + i;
        o.pass = (enum op_pass)(i % 2);
        o.causal = true;
        o.kernel = ATTENTION_FLASH2_KERNEL;
    }
    if (family == FAMILY_MEMORY) {
        o.kind = i % 2 ? MEMORY_RMS_NORM : MEMORY_RESIDUAL;
        o.bytes = 4 * o.m * o.n;
        o.k = 0;
    }
    return o;
}

static void add_row(struct str *s, const struct operation *o, const char *gpu, double time_us)
{
    static const char *const PASS[] = {"forward", "dgrad", "wgrad"};
    switch (o->family) {
    case FAMILY_ATTENTION:
        str_addf(s, "attention,flash,%s,bf16,,,,1,%g,%g,%g,%g,%g,1,0,,%.9g,%s,\n",
                 o->pass ? "backward" : "forward", o->m, o->count, o->count, o->k, o->value_width,
                 time_us, gpu);
        break;
    case FAMILY_MEMORY:
        str_addf(s, "%s,forward,bf16,%g,%g,,,,,,,,,,%.9g,%.9g,%s,\n",
                 o->kind == MEMORY_RMS_NORM ? "norm,rms" : "residual,add", o->m, o->n, o->bytes,
                 time_us, gpu);
        break;
    default:
        str_addf(s, "%s,%s,bf16,%g,%g,%g,%g,,,,,,,,,%.9g,%s,\n",
                 o->family == FAMILY_GEMM ? "gemm,mm" : "grouped_gemm,grouped_mm", PASS[o->pass],
                 o->m, o->n, o->k, o->count, time_us, gpu);
    }
}

/* A profile by the law, `rows` of each family, times multiplied by `unit`. */
static void add_rows(struct str *s, const char *gpu, int rows, double unit)
{
    const struct gpu *g = gpu_find(strncmp(gpu, "NVIDIA ", 7) == 0 ? gpu + 7 : gpu, NULL);
    assert_non_null(g);
    for (int f = 0; f < FAMILIES; f++)
        for (int i = 0; i < rows; i++) {
            struct operation o = operation_of((enum family)f, i);
            add_row(s, &o, gpu, 1e6 * unit * law(&o, g));
        }
}

static const char *write_profile(struct fixture *f, const char *name, const char *gpu, int rows,
                                 double unit)
{
    struct str s;
    str_init(&s);
    str_add(&s, HEADER);
    add_rows(&s, gpu, rows, unit);
    const char *path = write_text(f, name, str_text(&s));
    str_release(&s);
    return path;
}

static bool run(struct fixture *f, const char *profile, const char *models, const char *output)
{
    struct fit_query q = {.profile = &profile, .profiles = 1, .models = models, .output = output};
    f->err = (struct error){0};
    return fit_run(&q, &f->mem, &f->added, &f->err);
}

static struct learned *load(struct fixture *f, const char *folder)
{
    struct learned *l = NULL;
    if (!learned_load(&l, folder, &f->err))
        fail_msg("%s", f->err.text);
    return l;
}

static double ask(const struct learned *l, const struct gpu *g, const struct operation *o)
{
    double time_s = 0;
    learned_predict(l, g, o, 1, &time_s);
    return time_s;
}

/* Adding a GPU */

enum { ROWS = 40 };

static void check_added(const struct learned *l, const struct gpu *g, enum family family)
{
    struct coverage c = learned_coverage(l, g, family);
    double sum = 0;
    for (int i = 0; i < ROWS; i++) {
        struct operation o = operation_of(family, i);
        sum += log(ask(l, g, &o) / law(&o, g));
    }
    if (c.provenance != MEASURED || c.rows != ROWS || !(c.error > 0 && c.error < 0.6) ||
        fabs(sum / ROWS) > 1e-5)
        fail_msg("%s: %s, %zu rows, error %g, bias %g", model_name((int)family),
                 provenance_name(c.provenance), c.rows, c.error, sum / ROWS);
}

static void an_added_gpu_is_known_and_no_other_changes(void **state)
{
    struct fixture *f = *state;
    size_t gpus;
    const struct gpu *table = gpu_table(&gpus), *l4 = gpu_find("L4", NULL);
    const char *profile = write_profile(f, "l4.csv", "NVIDIA L4", ROWS, 1);
    if (!run(f, profile, NULL, below(f, "out")))
        fail_msg("%s", f->err.text);
    struct learned *before = load(f, NULL), *after = load(f, below(f, "out"));
    for (int family = 0; family < FAMILIES; family++) {
        assert_int_not_equal(learned_coverage(before, l4, (enum family)family).provenance,
                             MEASURED);
        check_added(after, l4, (enum family)family);
        for (size_t i = 0; i < gpus * 8; i++) {
            struct operation o = operation_of((enum family)family, (int)i % 47);
            double old = ask(before, &table[i / 8], &o), new = ask(after, &table[i / 8], &o);
            if (&table[i / 8] != l4 && memcmp(&old, &new, sizeof old) != 0)
                fail_msg("%s changed: %.17g, %.17g", table[i / 8].name, old, new);
        }
    }
    learned_free(before);
    learned_free(after);
}

static void expect_same_files(struct fixture *f, const char *one, const char *two)
{
    int files = 0;
    DIR *dir = opendir(one);
    assert_non_null(dir);
    for (struct dirent *e; (e = readdir(dir));) {
        if (e->d_name[0] == '.')
            continue;
        struct text a = read_text(f, arena_format(&f->mem, "%s/%s", one, e->d_name));
        struct text b = read_text(f, arena_format(&f->mem, "%s/%s", two, e->d_name));
        assert_int_equal(a.length, b.length);
        if (memcmp(a.data, b.data, a.length) != 0)
            fail_msg("%s differs", e->d_name);
        files++;
    }
    closedir(dir);
    assert_int_equal(files, LEARNED_MODELS + 1);
}

static void the_same_profile_gives_the_same_files(void **state)
{
    struct fixture *f = *state;
    const char *profile = write_profile(f, "l4.csv", "L4", ROWS, 1);
    assert_true(run(f, profile, NULL, below(f, "one")));
    const struct fit_report report = f->added;
    assert_true(run(f, profile, NULL, below(f, "two")));
    assert_int_equal(report.count, f->added.count);
    assert_memory_equal(report.added, f->added.added, (size_t)report.count * sizeof *report.added);
    expect_same_files(f, below(f, "one"), below(f, "two"));
    assert_true(run(f, profile, NULL, below(f, "two"))); /* over itself */
    expect_same_files(f, below(f, "one"), below(f, "two"));
}

/* Added to what it was added to, a profile changes nothing: the offset is what was left. */
static void adding_twice_changes_no_time(void **state)
{
    struct fixture *f = *state;
    const struct gpu *l4 = gpu_find("L4", NULL);
    const char *profile = write_profile(f, "l4.csv", "L4", ROWS, 1);
    assert_true(run(f, profile, NULL, below(f, "one")));
    assert_true(run(f, profile, below(f, "one"), below(f, "two")));
    struct learned *one = load(f, below(f, "one")), *two = load(f, below(f, "two"));
    for (int family = 0; family < FAMILIES; family++) {
        struct operation o = operation_of((enum family)family, 3);
        assert_true(fabs(ask(one, l4, &o) / ask(two, l4, &o) - 1) < 1e-5);
        assert_int_equal(learned_coverage(two, l4, (enum family)family).rows, 2 * ROWS);
    }
    learned_free(one);
    learned_free(two);
}

static void the_order_of_rows_does_not_matter(void **state)
{
    struct fixture *f = *state;
    struct text text = read_text(f, write_profile(f, "l4.csv", "L4", ROWS, 1));
    struct str s;
    str_init(&s);
    str_add(&s, HEADER);
    const char *end = text.data + text.length - 1, *first = text.data + strlen(HEADER);
    while (end > first) { /* the last line first */
        const char *begin = end;
        while (begin > first && begin[-1] != '\n')
            begin--;
        str_add_bytes(&s, begin, (size_t)(end - begin) + 1);
        end = begin - 1;
    }
    write_text(f, "turned.csv", str_text(&s));
    str_release(&s);
    assert_true(run(f, below(f, "l4.csv"), NULL, below(f, "one")));
    assert_true(run(f, below(f, "turned.csv"), NULL, below(f, "two")));
    expect_same_files(f, below(f, "one"), below(f, "two"));
}

/* Two GPUs in one table or in two, whatever clocks the other one ran at: the same offsets. */
static void gpus_of_one_profile_do_not_touch_each_other(void **state)
{
    struct fixture *f = *state;
    const struct gpu *l4 = gpu_find("L4", NULL);
    struct str both;
    str_init(&both);
    str_add(&both, HEADER);
    for (int i = 0; i < 2 * ROWS; i++) {
        const char *name = i % 2 ? "L4" : "A30";
        struct operation o = operation_of(FAMILY_GEMM, i / 2);
        add_row(&both, &o, name, 1e6 * law(&o, gpu_find(name, NULL)));
        both.length--; /* the last cell of the row, behind its comma */
        str_add(&both, i % 2 ? "1000\n" : "2000\n");
    }
    assert_true(run(f, write_text(f, "both.csv", str_text(&both)), NULL, below(f, "both")));
    assert_true(run(f, write_profile(f, "l4.csv", "L4", ROWS, 1), NULL, below(f, "one")));
    struct learned *one = load(f, below(f, "one")), *two = load(f, below(f, "both"));
    struct operation o = operation_of(FAMILY_GEMM, 3);
    double alone = ask(one, l4, &o), beside = ask(two, l4, &o);
    learned_free(one);
    learned_free(two);
    str_release(&both);
    if (fabs(alone / beside - 1) > 1e-5)
        fail_msg("%g s alone, %g s beside another GPU", alone, beside);
}

/* Rows */

/* Used, no number, not above 0, above peak, unknown GPU, other kind. */
static void expect_counts(struct fixture *f, const int want[SKIPS])
{
    for (int i = 0; i < SKIPS; i++)
        assert_int_equal(f->added.skipped[i], want[i]);
}

static void bad_rows_are_counted(void **state)
{
    struct fixture *f = *state;
    struct operation o = operation_of(FAMILY_GEMM, 0);
    double us = 1e6 * law(&o, gpu_find("L4", NULL));
    struct str s;
    str_init(&s);
    str_add(&s, HEADER);
    add_rows(&s, "L4", ROWS, 1);
    add_row(&s, &o, "L4", us); /* a duplicate is used: joined with the first */
    add_row(&s, &o, "L4", NAN);
    add_row(&s, &o, "L4", INFINITY);
    add_row(&s, &o, "L4", 0);
    add_row(&s, &o, "L4", -us);
    add_row(&s, &o, "L4", us / 1000); /* milliseconds */
    add_row(&s, &o, "L4000", us);
    add_row(&s, &o, "", us);
    str_addf(&s, "gemm,mm,forward,bf16,,128,128,1,,,,,,,,,%g,L4,\n", us);  /* no m */
    str_addf(&s, "gemm,mm,sideways,bf16,1,1,1,1,,,,,,,,,%g,L4,\n", us);    /* no such pass */
    str_addf(&s, "gemm,mm,forward,int4,1,1,1,1,,,,,,,,,%g,L4,\n", us);     /* no such type */
    str_addf(&s, "norm,rms,forward,bf16,,128,,,,,,,,,,1e9,%g,L4,\n", 1e5); /* no m */
    str_addf(&s, "norm,odd,forward,bf16,1,128,,,,,,,,,,1e6,%g,L4,\n", us); /* no such norm */
    str_addf(&s, "launch,graph,forward,,,,,,,,,,,,,,2,L4,\n");             /* not learned */
    if (!run(f, write_text(f, "bad.csv", str_text(&s)), NULL, below(f, "out")))
        fail_msg("%s", f->err.text);
    str_release(&s);
    expect_counts(f, (const int[6]){FAMILIES * ROWS + 1, 4, 2, 1, 2, 4});
    struct learned *l = load(f, below(f, "out"));
    check_added(l, gpu_find("L4", NULL), FAMILY_GEMM);
    learned_free(l);
}

/* A clock that no GPU has must not turn a time into nothing or into eternity. */
static void impossible_clocks_do_no_harm(void **state)
{
    static const char *const MHZ[] = {"1e-300", "1e300", "-5"};
    struct fixture *f = *state;
    for (size_t i = 0; i < COUNT(MHZ); i++) {
        struct str s;
        struct operation o = operation_of(FAMILY_GEMM, 0);
        str_init(&s);
        str_add(&s, HEADER);
        for (int j = 0; j < ROWS; j++) {
            o = operation_of(FAMILY_GEMM, j);
            add_row(&s, &o, "L4", 1e6 * law(&o, gpu_find("L4", NULL)));
            s.length--;
            str_addf(&s, "%s\n", j == 0 ? MHZ[i] : "1500");
        }
        if (!run(f, write_text(f, "clock.csv", str_text(&s)), NULL, below(f, "out")))
            fail_msg("%s MHz: %s", MHZ[i], f->err.text);
        str_release(&s);
        struct learned *l = load(f, below(f, "out"));
        double share = ask(l, gpu_find("L4", NULL), &o) / law(&o, gpu_find("L4", NULL));
        learned_free(l);
        if (!(share > 0.3 && share < 3))
            fail_msg("%s MHz: time x %g", MHZ[i], share);
    }
}

static void few_rows_are_told_and_not_used(void **state)
{
    struct fixture *f = *state;
    assert_false(run(f, write_profile(f, "few.csv", "L4", 19, 1), NULL, below(f, "out")));
    assert_true(f->added.count > 0);
    for (int i = 0; i < f->added.count; i++)
        assert_true(f->added.added[i].rows <= 19 && !f->added.added[i].used);
    assert_non_null(strstr(f->err.text, "there is nothing to add"));
}

/* Files */

static void expect_nothing_written(struct fixture *f, const char *folder)
{
    DIR *dir = opendir(folder);
    for (struct dirent *e; dir && (e = readdir(dir));)
        if (e->d_name[0] != '.')
            fail_msg("%s is in %s after: %s", e->d_name, folder, f->err.text);
    if (dir)
        closedir(dir);
}

static void expect_error(struct fixture *f, const char *profile, const char *output,
                         const char *why)
{
    if (run(f, profile, NULL, output))
        fail_msg("'%s' was expected", why);
    if (!strstr(f->err.text, why))
        fail_msg("'%s' instead of '%s'", f->err.text, why);
    expect_nothing_written(f, output);
}

static void bad_profiles_are_refused(void **state)
{
    struct fixture *f = *state;
    const char *out = below(f, "out");
    expect_error(f, write_text(f, "empty.csv", ""), out, "empty.csv");
    expect_error(f, write_text(f, "header.csv", HEADER), out, "no row of the profile can be used");
    expect_error(f, write_text(f, "odd.csv", "a,b\n1,2\n"), out, "odd.csv:1: no column 'family'");
    expect_error(f, write_text(f, "short.csv", "family,variant,pass\ngemm,mm\n"), out,
                 "short.csv:2:");
    expect_error(f, below(f, "none.csv"), out, "none.csv: No such file");
    expect_error(f, f->path, out, "is a folder");
}

static void times_in_nanoseconds_are_refused(void **state)
{
    struct fixture *f = *state;
    expect_error(f, write_profile(f, "ns.csv", "L4", ROWS, 1000), below(f, "out"), "microseconds");
    assert_non_null(strstr(f->err.text, "L4"));
    /* seconds or milliseconds are faster than the peak */
    expect_error(f, write_profile(f, "ms.csv", "L4", ROWS, 1e-3), below(f, "out"),
                 "no row of the profile can be used");
}

static void bad_folders_are_refused(void **state)
{
    struct fixture *f = *state;
    const char *profile = write_profile(f, "l4.csv", "L4", ROWS, 1);
    expect_error(f, profile, below(f, "l4.csv"), "l4.csv"); /* a file */
    expect_error(f, profile, below(f, "l4.csv/out"), "l4.csv/out: Not a directory");
    expect_error(f, profile, below(f, "no/where"), "no/where: No such file");
    expect_error(f, profile, "/proc/astra", "/proc/astra: ");
    assert_false(run(f, profile, below(f, "none"), below(f, "out")));
    assert_non_null(strstr(f->err.text, "none/models.json: No such file"));
}

/* A folder in the place of a file stops the writing in the middle: no .new stays behind, and what
 * is there is no set of models. */
static void a_write_that_fails_leaves_no_models(void **state)
{
    struct fixture *f = *state;
    struct learned *l = NULL;
    const char *profile = write_profile(f, "l4.csv", "L4", ROWS, 1), *out = below(f, "out");
    assert_int_equal(mkdir(out, 0777), 0);
    assert_int_equal(mkdir(below(f, "out/memory.ubj"), 0777), 0);
    assert_false(run(f, profile, NULL, out));
    assert_non_null(strstr(f->err.text, "memory.ubj"));
    assert_false(file_exists(below(f, "out/memory.ubj.new")));
    assert_false(file_exists(below(f, "out/models.json")));
    assert_false(learned_load(&l, out, NULL));
}

/* Learning alone */

static void alone_says_what_it_needs(void **state)
{
    struct fixture *f = *state;
    const char *profile = write_profile(f, "h200.csv", "H200", 24, 1);
    struct fit_all_query q = {
        .profile = &profile, .profiles = 1, .output = below(f, "out"), .threads = 1};
    bool ok = fit_all(&q, &f->report, &f->err);
    if (ok) { /* then the models must work, and claim no error that nobody measured */
        struct learned *l = load(f, below(f, "out"));
        for (int i = 0; i < FAMILIES; i++) {
            assert_true(learned_coverage(l, gpu_find("H200", NULL), (enum family)i).error > 0);
            assert_true(learned_coverage(l, gpu_find("H100", NULL), (enum family)i).error > 0);
            assert_true(learned_coverage(l, gpu_find("L4", NULL), (enum family)i).error > 0);
        }
        learned_free(l);
    } else {
        assert_non_null(strstr(f->err.text, "collective"));
        expect_nothing_written(f, below(f, "out"));
    }
}

static void too_few_rows_alone_are_refused(void **state)
{
    struct fixture *f = *state;
    const char *profile = write_profile(f, "few.csv", "H200", 19, 1);
    struct fit_all_query q = {
        .profile = &profile, .profiles = 1, .output = below(f, "out"), .threads = 1};
    assert_false(fit_all(&q, &f->report, &f->err));
    assert_string_equal(
        f->err.text, "19 usable measurements of gemm operators, 20 are needed to learn anything");
    expect_nothing_written(f, below(f, "out"));
}

/* Training */

static uint64_t seed;

static float draw(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (float)(seed >> 40) / 16777216.0f;
}

static struct text train_some(int threads, struct arena *mem)
{
    enum { TRAIN_ROWS = 20000, COLUMNS = 12 };
    static float x[TRAIN_ROWS][COLUMNS], y[TRAIN_ROWS], w[TRAIN_ROWS];
    struct text file = {0};
    seed = 1;
    for (int i = 0; i < TRAIN_ROWS; i++) {
        for (int j = 0; j < COLUMNS; j++)
            x[i][j] = draw();
        y[i] = sinf(9 * x[i][0]) * x[i][1] + x[i][2] * x[i][2] + 0.1f * draw();
        w[i] = i % 3 ? 0.5f : 20;
    }
    struct booster_data data = {x[0], y, w, TRAIN_ROWS, COLUMNS};
    struct booster_params p = {.rounds = 4,
                               .depth = 6,
                               .seed = 1,
                               .threads = threads,
                               .rate = 0.1,
                               .leaf_weight = 8,
                               .lambda = 1,
                               .subsample = 0.8,
                               .columns = 0.8};
    assert_true(booster_train(&file, &data, &p, mem, NULL));
    return file;
}

static void threads_do_not_change_trees(void **state)
{
    struct fixture *f = *state;
    struct text first = train_some(1, &f->mem);
    for (int threads = 1; threads <= 2; threads++) {
        struct text file = train_some(threads, &f->mem);
        if (file.length != first.length || memcmp(first.data, file.data, file.length) != 0)
            fail_msg("%d threads give other trees", threads);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(an_added_gpu_is_known_and_no_other_changes),
        TEST(the_same_profile_gives_the_same_files),
        TEST(adding_twice_changes_no_time),
        TEST(the_order_of_rows_does_not_matter),
        TEST(gpus_of_one_profile_do_not_touch_each_other),
        TEST(bad_rows_are_counted),
        TEST(impossible_clocks_do_no_harm),
        TEST(few_rows_are_told_and_not_used),
        TEST(bad_profiles_are_refused),
        TEST(times_in_nanoseconds_are_refused),
        TEST(bad_folders_are_refused),
        TEST(a_write_that_fails_leaves_no_models),
        TEST(alone_says_what_it_needs),
        TEST(too_few_rows_alone_are_refused),
        TEST(threads_do_not_change_trees),
    };
#undef TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}
