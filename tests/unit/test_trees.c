/* Tables of trees against their judge, libxgboost: the same bits for the models compiled in and for
 * trees of every shape; and files that are refused, each with its message. */
#include "base/arena.h"
#include "base/ubjson.h"
#include "cost/trees.h"
#include "fit/booster.h"
#include "learn/fit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "learned_tests.h"
#include "tree_rows.h"

enum { JUDGED_ROWS = 10000, LEARN_ROWS = 3000 };

/* A model's file and its tables. */
struct shipped_trees {
    struct arena mem;
    const char *name;
    struct text file;
    struct trees trees;
};

static void read_model(struct shipped_trees *m)
{
    struct error err = {0};
    if (!trees_read(&m->trees, m->file.data, m->file.length, m->name, &m->mem, &err))
        fail_msg("%s", err.text);
}

/* In pieces of all sizes: neither neighbours nor counts may matter. */
static void predict_in_pieces(const struct trees *t, const float *x, size_t rows, float *out)
{
    for (size_t at = 0, piece = 1; at < rows; at += piece, piece = piece % 61 + 1) {
        piece = piece < rows - at ? piece : rows - at;
        trees_predict(t, x + at * (size_t)t->columns, piece, out + at);
    }
}

static void judge(struct shipped_trees *m, size_t rows)
{
    struct booster *b = NULL;
    struct error err = {0};
    float *x = arena_array(&m->mem, rows * (size_t)m->trees.columns, sizeof *x);
    float *ours = arena_array(&m->mem, rows, sizeof *ours);
    float *theirs = arena_array(&m->mem, rows, sizeof *theirs);
    tree_rows(&m->trees, x, rows);
    predict_in_pieces(&m->trees, x, rows, ours);
    if (!booster_load(&b, m->file, &err) ||
        !booster_predict(b, x, rows, m->trees.columns, theirs, &err))
        fail_msg("%s", err.text);
    booster_free(b);
    for (size_t i = 0; i < rows; i++)
        if (memcmp(&ours[i], &theirs[i], sizeof *ours) != 0)
            fail_msg("%s, row %zu: %a, libxgboost says %a", m->name, i, (double)ours[i],
                     (double)theirs[i]);
}

static void models_compiled_in_are_libxgboosts_bit_for_bit(void **state)
{
    (void)state;
    for (int i = 0; i < LEARNED_MODELS; i++) {
        const struct learned_model *l = &models->model[i];
        struct shipped_trees m = {.name = l->name, .trees = *l->trees};
        m.file = model_file(l, i, &m.mem);
        judge(&m, JUDGED_ROWS);
        arena_release(&m.mem);
    }
}

/* Learns something uneven, so that leaves lie on many levels. */
static void learn(struct shipped_trees *m, int columns, int rounds, int depth)
{
    struct error err = {0};
    float *x = arena_array(&m->mem, (size_t)(LEARN_ROWS * columns), sizeof *x);
    float *y = arena_array(&m->mem, LEARN_ROWS, sizeof *y);
    for (int i = 0; i < LEARN_ROWS; i++) {
        for (int c = 0; c < columns; c++)
            x[i * columns + c] = (float)(10 * tree_draw() - 5);
        y[i] = x[i * columns] > 3 ? (float)tree_draw() : x[(i + 1) * columns - 1];
    }
    struct booster_data data = {x, y, NULL, LEARN_ROWS, columns};
    struct booster_params p = {rounds, depth, 1, 1, 0.3, 1, 1, 0.8, 1};
    if (!booster_train(&m->file, &data, &p, &m->mem, &err))
        fail_msg("%s", err.text);
    m->name = "learned here";
}

static void trees_of_every_shape_are_libxgboosts_bit_for_bit(void **state)
{
    (void)state;
    for (int depth = 1; depth <= TREES_DEPTH; depth++) {
        struct shipped_trees m = {0};
        learn(&m, depth == 2 ? 1 : 3 * depth, 5 * depth - 4, depth);
        read_model(&m);
        assert_int_equal(m.trees.depth, depth);
        judge(&m, JUDGED_ROWS / TREES_DEPTH);
        arena_release(&m.mem);
    }
}

static unsigned char *find(struct shipped_trees *m, const char *text)
{
    unsigned char *at = (unsigned char *)m->file.data, *end = at + m->file.length - strlen(text);
    while (at < end && memcmp(at, text, strlen(text)) != 0)
        at++;
    assert_true(at < end);
    return at;
}

/* One byte, counted from the first letter of the first `key`. Behind the name of a list stand [, $,
 * the type, # and a count of nine bytes. */
static const struct damage {
    const char *key;
    int at;
    unsigned char value;
    const char *why;
} DAMAGES[] = {
    {"learner", 0, 'L', "m: it has no `learner`: no model of xgboost"},
    {"gbtree_model_param", -1, 0xff, "m is not UBJSON as xgboost writes it, at byte "},
    {"tree_info", 9, 'x', "m is not UBJSON as xgboost writes it, at byte "},
    {"tree_info", 10, '$', "m is not UBJSON as xgboost writes it, at byte "},
    {"tree_info", 12, 0x7f, "m is not UBJSON as xgboost writes it, at byte "},
    {"tree_info", 12, 0xff, "m is not UBJSON as xgboost writes it, at byte "},
    {"left_children", 12 + 13, 0x7f, "m is not UBJSON as xgboost writes it, at byte "},
    {"gradient_booster", 0, 'G', "m: its booster is '', a model of `make fit` has gbtree"},
    {"gbtree}", 0, 'h', "m: its booster is 'hbtree', a model of `make fit` has gbtree"},
    {"reg:squarederror", 4, 'S',
     "m: its objective is 'reg:Squarederror', a model of `make fit` has"},
    {"num_class", 19, '3', "m: its num_class is '3', a model of `make fit` has 0"},
    {"num_target", 20, '2', "m: its num_target is '2', a model of `make fit` has 1"},
    {"base_score", 20, 'x', "m: base_score is 'xE0', not a number from -1e+06 to 1e+06"},
    {"num_class", 29, 'N', /* of num_feature */
     "m: num_feature is '', not a number from 1 to 64"},
    {"trees[", 0, 'T', "m: it has no trees"},
    {"left_children", 0, 'L', "m: tree 0 has no list `left_children`"},
    {"left_children", 15, 'd', "m: tree 0 lacks right_children, split_indices"},
    {"right_children", 0, 'L', "m: tree 0 lacks right_children, split_indices"},
    {"default_left", 0, 'L', "m: tree 0 lacks right_children, split_indices"},
    {"split_conditions", 18, 'l', "m: tree 0 lacks right_children, split_indices"},
    {"split_indices", 15, 'd', "m: tree 0 lacks right_children, split_indices"},
    {"left_children", 26, 0x40, "m: tree 0 leads to a node that it does not have"},
    {"left_children", 26, 0x80, "m: tree 0 leads to a node that it does not have"},
    {"right_children", 27, 0xff, "m: tree 0 leads to a node that it does not have"},
    {"left_children", 29, 0, "m: tree 0 has more than 8 levels"}, /* to itself */
    {"split_indices", 29, 5, "m: tree 0 asks for a feature that the model does not have"},
    {"split_indices", 26, 0x80, "m: tree 0 asks for a feature that the model does not have"},
    {"split_type", 23, 1, "m: tree 0 splits by categories, which are not supported"},
    {"default_left", 25, 1, "m: tree 0 sends missing values left: it has learned from rows with"},
};

static void expect_refusal(struct shipped_trees *m, const char *why, const char *label)
{
    struct error err = {0};
    struct trees t = {.count = 77};
    if (trees_read(&t, m->file.data, m->file.length, "m", &m->mem, &err))
        fail_msg("%s: was taken instead of '%s'", label, why);
    if (strncmp(err.text, why, strlen(why)) != 0 || err.kind != ERROR_INPUT || t.count != 77)
        fail_msg("%s: '%s' instead of '%s'", label, err.text, why);
}

static void damaged_files_are_refused(void **state)
{
    struct shipped_trees m = {0};
    (void)state;
    learn(&m, 5, 3, 3);
    for (size_t i = 0; i < COUNT(DAMAGES); i++) {
        unsigned char *at = find(&m, DAMAGES[i].key) + DAMAGES[i].at, before = *at;
        assert_int_not_equal(before, DAMAGES[i].value);
        *at = DAMAGES[i].value;
        expect_refusal(&m, DAMAGES[i].why, DAMAGES[i].key);
        *at = before;
    }
    read_model(&m); /* all is as it was */
    arena_release(&m.mem);
}

static void numbers_that_are_not_finite_are_refused(void **state)
{
    static const unsigned char BITS[][4] = {{0x7f, 0x80}, {0xff, 0x80}, {0x7f, 0xc0}};
    struct shipped_trees m = {0};
    (void)state;
    learn(&m, 5, 1, 3);
    for (size_t i = 0; i < COUNT(BITS); i++) {
        memcpy(find(&m, "split_conditions") + 29, BITS[i], sizeof BITS[i]);
        expect_refusal(&m, "m: tree 0 has a threshold or leaf that is not a finite number", "");
    }
    arena_release(&m.mem);
}

/* Whatever is cut off or changed, nothing is read beside the file and nothing crashes. */
static void any_damage_is_survived(void **state)
{
    struct shipped_trees m = {0};
    struct trees t;
    (void)state;
    learn(&m, 5, 2, 3);
    unsigned char *bytes = (unsigned char *)m.file.data;
    for (size_t size = 0; size < m.file.length; size++) {
        unsigned char *cut = malloc(size + 1); /* of its size, for sanitizers */
        memcpy(cut, bytes, size);
        assert_false(trees_read(&t, cut, size, "m", &m.mem, NULL));
        free(cut);
    }
    for (size_t at = 0; at < m.file.length; at++)
        for (int bit = 0; bit < 8; bit += 3) {
            float x[TREES_COLUMNS] = {0}, out;
            bytes[at] ^= (unsigned char)(1 << bit);
            if (trees_read(&t, bytes, m.file.length, "m", &m.mem, NULL))
                trees_predict(&t, x, 1, &out);
            bytes[at] ^= (unsigned char)(1 << bit);
        }
    arena_release(&m.mem);
}

static void other_files_are_refused(void **state)
{
    static const struct {
        const char *bytes;
        size_t size;
        const char *why;
    } FILES[] = {
        {"", 0, "m is not UBJSON: it does not begin with {"},
        {"binf", 4, "m is not UBJSON: it does not begin with {"}, /* xgboost's older format */
        {"{\"learner\":{}}", 14, "m is not UBJSON as xgboost writes it, at byte 1 of 14"},
        {"{}", 2, "m: it has no `learner`: no model of xgboost"},
        {"{}}", 3, "m: 1 bytes of it are left over behind byte 2"},
        {"{i\7learner{}}", 13, "m: its booster is '', a model of `make fit` has gbtree"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(FILES); i++) {
        struct shipped_trees m = {.file = {FILES[i].bytes, FILES[i].size}};
        expect_refusal(&m, FILES[i].why, FILES[i].bytes);
    }
}

static void deep_nesting_is_refused(void **state)
{
    char bytes[4096];
    struct ubjson root;
    struct error err = {0};
    (void)state;
    for (size_t i = 0; i < sizeof bytes; i += 4)
        memcpy(bytes + i, "{i\1k", 4);
    assert_false(ubjson_check(&root, bytes, sizeof bytes, "m", &err));
    assert_non_null(strstr(err.text, "at byte 64 of 4096"));
}

static void deep_trees_are_refused(void **state)
{
    struct shipped_trees m = {0};
    (void)state;
    learn(&m, 5, 1, TREES_DEPTH + 1);
    expect_refusal(&m, "m: tree 0 has more than 8 levels", "nine levels");
    arena_release(&m.mem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_compiled_in_are_libxgboosts_bit_for_bit),
        cmocka_unit_test(trees_of_every_shape_are_libxgboosts_bit_for_bit),
        cmocka_unit_test(damaged_files_are_refused),
        cmocka_unit_test(numbers_that_are_not_finite_are_refused),
        cmocka_unit_test(any_damage_is_survived),
        cmocka_unit_test(other_files_are_refused),
        cmocka_unit_test(deep_nesting_is_refused),
        cmocka_unit_test(deep_trees_are_refused),
    };
    return cmocka_run_group_tests(tests, load_models, free_models);
}
