/* Files of the learned models that are what they should be, and files that are not. */
#define _XOPEN_SOURCE 700 /* mkdtemp, P_tmpdir */
#include "base/arena.h"
#include "base/file.h"
#include "base/str.h"
#include "cluster/cluster.h"
#include "learn/fit.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "learned_tests.h"

struct folder {
    char path[64];
    struct arena mem;
};

static void folder_make_new(struct folder *f)
{
    arena_init(&f->mem);
    snprintf(f->path, sizeof f->path, "%s/astra-learned-XXXXXX", P_tmpdir);
    assert_non_null(mkdtemp(f->path));
}

static void folder_remove(struct folder *f)
{
    DIR *dir = opendir(f->path);
    for (struct dirent *e; dir && (e = readdir(dir));)
        if (e->d_name[0] != '.')
            assert_int_equal(remove(arena_format(&f->mem, "%s/%s", f->path, e->d_name)), 0);
    if (dir)
        closedir(dir);
    assert_int_equal(rmdir(f->path), 0);
    arena_release(&f->mem);
}

static struct text read_file(struct folder *f, const char *name)
{
    struct error err = {0};
    struct text text = {0};
    if (!file_read(arena_format(&f->mem, "%s/%s", f->path, name), &f->mem, &text, &err))
        fail_msg("%s", err.text);
    return text;
}

static void write_file(struct folder *f, const char *name, const void *data, size_t size)
{
    struct error err = {0};
    if (!file_write(arena_format(&f->mem, "%s/%s", f->path, name), data, size, &err))
        fail_msg("%s", err.text);
}

static void write_models(struct folder *f)
{
    struct error err = {0};
    if (!learned_write(models, 0, f->path, &err))
        fail_msg("%s", err.text);
}

static void written_models_answer_bit_for_bit(void **state)
{
    struct folder f;
    struct learned *back = NULL;
    struct error err = {0};
    size_t gpus;
    const struct gpu *g = gpu_table(&gpus);
    (void)state;
    folder_make_new(&f);
    write_models(&f);
    if (!learned_load(&back, f.path, &err))
        fail_msg("%s", err.text);
    seed = 7;
    for (size_t i = 0; i < gpus * FAMILIES; i++) {
        struct operation op[64];
        double here[64], there[64];
        for (size_t j = 0; j < COUNT(op); j++)
            op[j] = draw_operation((enum family)(i % FAMILIES), &g[i / FAMILIES], j % 2);
        ask(models, &g[i / FAMILIES], op, COUNT(op), here);
        ask(back, &g[i / FAMILIES], op, COUNT(op), there);
        for (size_t j = 0; j < COUNT(op); j++)
            if (memcmp(&here[j], &there[j], sizeof *here) != 0) {
                say(&op[j], &g[i / FAMILIES]);
                fail_msg("%.17g s, from files %.17g s", here[j], there[j]);
            }
    }
    learned_free(back);
    folder_remove(&f);
}

/* What was written, read and written again is the same text. */
static void manifests_are_stable(void **state)
{
    struct folder f;
    struct learned *back = NULL;
    (void)state;
    folder_make_new(&f);
    write_models(&f);
    struct text before = read_file(&f, "models.json");
    assert_true(learned_load(&back, f.path, NULL));
    assert_true(learned_write(back, 0, f.path, NULL));
    struct text after = read_file(&f, "models.json");
    assert_string_equal(before.data, after.data);
    learned_free(back);
    folder_remove(&f);
}

/* The manifest compiled in describes the trees compiled in: nobody checks that at run time. */
static void models_compiled_in_belong_together(void **state)
{
    extern const char embedded_efficiency_models_json[];
    (void)state;
    struct arena mem;
    arena_init(&mem);
    for (int i = 0; i < LEARNED_MODELS; i++) {
        char hash[32];
        struct text file = model_file(&models->model[i], i, &mem);
        snprintf(hash, sizeof hash, "\"%016llx\"",
                 (unsigned long long)model_hash(file.data, file.length));
        assert_non_null(strstr(embedded_efficiency_models_json, hash));
    }
    arena_release(&mem);
}

/* The file must be refused with a message that names it, and `why`. */
static void expect_refusal(struct folder *f, const char *file, const char *why, const char *label)
{
    struct learned *l = NULL;
    struct error err = {0};
    if (learned_load(&l, f->path, &err)) {
        learned_free(l);
        fail_msg("%s: was taken", label);
    }
    const char *path = arena_format(&f->mem, "%s/%s", f->path, file);
    if (strncmp(err.text, path, strlen(path)) != 0 || !strstr(err.text, why) ||
        err.kind != ERROR_INPUT)
        fail_msg("%s: '%s' instead of %s ... %s", label, err.text, path, why);
}

static void damaged_trees_are_refused(void **state)
{
    struct folder f;
    (void)state;
    folder_make_new(&f);
    write_models(&f);
    for (int i = 0; i < LEARNED_MODELS; i++) {
        const char *name = arena_format(&f.mem, "%s.ubj", model_name(i));
        struct text whole = read_file(&f, name);
        char *other = arena_copy(&f.mem, whole.data, whole.length);
        write_file(&f, name, whole.data, whole.length / 2);
        expect_refusal(&f, name, "bytes, models.json says", "half a file");
        write_file(&f, name, whole.data, 0);
        expect_refusal(&f, name, "has 0 bytes", "empty file");
        write_file(&f, name, whole.data, whole.length + 1);
        expect_refusal(&f, name, "bytes, models.json says", "a byte too many");
        for (size_t at = 0; at < whole.length; at += whole.length / 5) {
            other[at] ^= 1;
            write_file(&f, name, other, whole.length);
            expect_refusal(&f, name, "is not the file that models.json describes", "flipped bit");
            other[at] ^= 1;
        }
        remove(arena_format(&f.mem, "%s/%s", f.path, name));
        expect_refusal(&f, name, "No such file", "no file");
        write_file(&f, name, whole.data, whole.length);
    }
    folder_remove(&f);
}

/* The first `find` of the manifest is replaced. */
static const struct edit {
    const char *find, *put, *why;
} EDITS[] = {
    {"\"format\": 1", "\"format\": 2", "`format` is not 1"},
    {"\"format\": 1", "\"format\": \"1\"", "`format` is not 1"},
    {"\"format\": 1,", "", "`format` is not 1"},
    {"{", "[{", ":"},
    {"\"gemm\": {", "\"gem\": {", "gemm is missing"},
    {"\"grouped\": {", "\"groups\": {", "grouped is missing"},
    {"\"collectives\": {", "\"comm\": {", "collectives is missing"},
    {"\"memory\": {", "\"memory\": 3, \"x\": {", "memory is missing"},
    {"\"log2 rows\"", "\"log2 row\"", "gemm was trained on other features"},
    {"\"log2 rows\",", "", "gemm was trained on other features"},
    {"\"log2 rows\"", "7", "gemm was trained on other features"},
    {"\"features\"", "\"feature\"", "gemm was trained on other features"},
    {"\"kind\"", "\"kinds\"", "memory was trained on other features"},
    {"\"gpu_error\": ", "\"gpu_error\": -", "gemm"},
    {"\"gpu_error\": ", "\"gpu_error\": NaN, \"x\": ", "invalid token"},
    {"\"gpu_error\": ", "\"gpu_error\": 1e999, \"x\": ", "overflow"},
    {"\"gpu_error\": ", "\"gpu_error\": null, \"x\": ", "gemm"},
    {"\"arch_error\"", "\"error\"", "gemm"},
    {"\"gpu\": \"A40\"", "\"gpu\": \"A41\"", "A41"},
    {"\"gpu\": \"A40\"", "\"gpu\": \"B200-SXM\"", "B200-SXM"}, /* is there already */
    {"\"gpu\": \"A40\"", "\"gpu\": 40", "gemm"},
    {"\"gpus\": [", "\"gpus\": 3, \"x\": [", "gemm"},
    {"\"gpus\": [", "\"gpus\": [ [],", "gemm"},
    {"\"rows\": ", "\"rows\": -", "rows"},
    {"\"rows\": ", "\"rows\": 0.5, \"x\": ", "rows"},
    {"\"offset\": ", "\"offset\": 7, \"x\": ", "offset"},
    {"\"offset\": ", "\"offset\": \"0\", \"x\": ", "offset"},
    {"\"shape_error\": ", "\"shape_error\": -", "shape_error"},
    {"\"curves\"", "\"curve\"", "memory has curves for other kinds"},
    {"\"curves\": [", "\"curves\": [ {},", "memory has curves for other kinds"},
    {"\"fixed_s\": ", "\"fixed_s\": -", "memory: a curve is not complete"},
    {"\"share\": ", "\"share\": 0, \"x\": ", "memory: a curve is not complete"},
};

static void edited_manifests_are_refused(void **state)
{
    struct folder f;
    (void)state;
    folder_make_new(&f);
    write_models(&f);
    struct text whole = read_file(&f, "models.json");
    for (size_t i = 0; i < COUNT(EDITS); i++) {
        const char *at = strstr(whole.data, EDITS[i].find);
        assert_non_null(at);
        char *other = arena_format(&f.mem, "%.*s%s%s", (int)(at - whole.data), whole.data,
                                   EDITS[i].put, at + strlen(EDITS[i].find));
        write_file(&f, "models.json", other, strlen(other));
        expect_refusal(&f, "models.json", EDITS[i].why, EDITS[i].put);
    }
    folder_remove(&f);
}

static void broken_manifests_are_refused(void **state)
{
    static const char *const TEXTS[] = {
        "", "hello", "{}", "[]", "null", "{\"format\": 1}", "\0", "{\"format\": 1, \"format\": 1}"};
    struct folder f;
    (void)state;
    folder_make_new(&f);
    write_models(&f);
    struct text whole = read_file(&f, "models.json");
    for (size_t i = 0; i < COUNT(TEXTS); i++) {
        write_file(&f, "models.json", TEXTS[i], strlen(TEXTS[i]));
        expect_refusal(&f, "models.json", "", TEXTS[i]);
    }
    for (size_t length = 1; length < whole.length - 2; length += 101) {
        write_file(&f, "models.json", whole.data, length);
        expect_refusal(&f, "models.json", "", "cut manifest");
    }
    remove(arena_format(&f.mem, "%s/models.json", f.path));
    expect_refusal(&f, "models.json", "No such file", "no manifest");
    folder_remove(&f);
}

/* Trees say how many bytes they have and what they hash to: both must hold. */
static void trees_of_another_model_are_refused(void **state)
{
    struct folder f;
    (void)state;
    folder_make_new(&f);
    write_models(&f);
    struct text gemm = read_file(&f, "gemm.ubj"), manifest = read_file(&f, "models.json");
    write_file(&f, "memory.ubj", gemm.data, gemm.length);
    expect_refusal(&f, "memory.ubj", "models.json says", "another model");
    char *other = arena_copy(&f.mem, manifest.data, manifest.length);
    char *at = strstr(other, "\"hash\": \"");
    assert_non_null(at);
    at[9] = at[9] == '0' ? '1' : '0';
    write_file(&f, "models.json", other, manifest.length);
    expect_refusal(&f, "gemm.ubj", "is not the file that models.json describes", "another hash");
    folder_remove(&f);
}

/* Puts a file in the place of the trees of `model`, with a manifest that describes it. */
static void put_trees(struct folder *f, int model, struct text file)
{
    struct text old = read_file(f, arena_format(&f->mem, "%s.ubj", model_name(model)));
    struct text manifest = read_file(f, "models.json");
    struct text part[] = {old, file};
    char line[2][80];
    for (int i = 0; i < 2; i++)
        snprintf(line[i], sizeof line[i], "\"bytes\": %zu,\n    \"hash\": \"%016llx\"",
                 part[i].length, (unsigned long long)model_hash(part[i].data, part[i].length));
    char *at = strstr(manifest.data, line[0]);
    assert_non_null(at);
    char *other = arena_format(&f->mem, "%.*s%s%s", (int)(at - manifest.data), manifest.data,
                               line[1], at + strlen(line[0]));
    write_file(f, "models.json", other, strlen(other));
    write_file(f, arena_format(&f->mem, "%s.ubj", model_name(model)), file.data, file.length);
}

/* A manifest that describes the file does not make it a model. */
static void foreign_files_are_refused(void **state)
{
    struct folder f;
    (void)state;
    folder_make_new(&f);
    write_models(&f);
    struct text whole = read_file(&f, "memory.ubj");
    put_trees(&f, FAMILY_MEMORY, (struct text){"{}", 2});
    expect_refusal(&f, "memory.ubj", ": it has no `learner`: no model of xgboost", "no model");
    put_trees(&f, FAMILY_MEMORY, (struct text){whole.data, whole.length / 2});
    expect_refusal(&f, "memory.ubj", " is not UBJSON as xgboost writes it, at byte", "half of it");
    put_trees(&f, FAMILY_MEMORY, read_file(&f, "gemm.ubj"));
    expect_refusal(&f, "memory.ubj", " was trained on 17 features, this version has 8", "gemm");
    folder_remove(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(written_models_answer_bit_for_bit),
        cmocka_unit_test(manifests_are_stable),
        cmocka_unit_test(models_compiled_in_belong_together),
        cmocka_unit_test(damaged_trees_are_refused),
        cmocka_unit_test(edited_manifests_are_refused),
        cmocka_unit_test(broken_manifests_are_refused),
        cmocka_unit_test(trees_of_another_model_are_refused),
        cmocka_unit_test(foreign_files_are_refused),
    };
    return cmocka_run_group_tests(tests, load_models, free_models);
}
