/* From xgboost's file to tables. What a tree does not have down to the last level is filled up: both
 * sides of a leaf lead to that leaf again. O(trees * 2^depth). */
#include "cost/trees.h"

#include "base/arena.h"
#include "base/str.h"
#include "base/ubjson.h"

#include <math.h>
#include <string.h>

struct tree_reader {
    const char *name;
    struct arena *mem;
    struct error *err;
    struct ubjson learner, list;
    struct trees *to;
};

/* One tree as the file has it. */
struct tree_nodes {
    struct ubjson_numbers left, right, column, condition, default_left, split_type;
    size_t count;
};

static bool refuse(struct tree_reader *r, const char *what, const char *value, const char *right)
{
    return fail(r->err, ERROR_INPUT, "%s: its %s is '%s', a model of `make fit` has %s", r->name,
                what, value, right);
}

static bool refuse_tree(struct tree_reader *r, int tree, const char *what)
{
    return fail(r->err, ERROR_INPUT, "%s: tree %d %s", r->name, tree, what);
}

/* Texts of the model that must be what they are in models that can be read. */
static const struct {
    const char *what, *path[3], *value;
    bool may_lack;
} EXPECTED[] = {
    {"booster", {"gradient_booster", "name"}, "gbtree", false},
    {"objective", {"objective", "name"}, "reg:squarederror", false},
    {"num_class", {"learner_model_param", "num_class"}, "0", true},
    {"num_target", {"learner_model_param", "num_target"}, "1", true},
};

static struct ubjson look_up(struct ubjson from, const char *const *path)
{
    for (; *path; path++)
        from = ubjson_get(from, *path);
    return from;
}

static bool check_kind(struct tree_reader *r)
{
    char text[64];
    for (size_t i = 0; i < sizeof EXPECTED / sizeof *EXPECTED; i++) {
        struct ubjson v = look_up(r->learner, EXPECTED[i].path);
        if (!v.at && EXPECTED[i].may_lack)
            continue;
        ubjson_text(v, text, sizeof text);
        if (strcmp(text, EXPECTED[i].value) != 0)
            return refuse(r, EXPECTED[i].what, text, EXPECTED[i].value);
    }
    return true;
}

/* xgboost writes its parameters as texts; from 3.1 on base_score as a list of one. */
static bool number_of(struct tree_reader *r, const char *key, double lo, double hi, double *out)
{
    char text[64], *start = text;
    ubjson_text(ubjson_get(ubjson_get(r->learner, "learner_model_param"), key), text, sizeof text);
    size_t length = strlen(text);
    if (length > 2 && text[0] == '[' && text[length - 1] == ']') {
        text[length - 1] = 0;
        start++;
    }
    if (parse_real(start, out) && *out >= lo && *out <= hi)
        return true;
    return fail(r->err, ERROR_INPUT, "%s: %s is '%s', not a number from %g to %g", r->name, key,
                text, lo, hi);
}

static bool read_head(struct tree_reader *r)
{
    static const char *const LIST[] = {"gradient_booster", "model", "trees", NULL};
    double base, columns;
    if (!r->learner.at)
        return fail(r->err, ERROR_INPUT, "%s: it has no `learner`: no model of xgboost", r->name);
    if (!check_kind(r) || !number_of(r, "base_score", -1e6, 1e6, &base) ||
        !number_of(r, "num_feature", 1, TREES_COLUMNS, &columns))
        return false;
    r->list = look_up(r->learner, LIST);
    if (ubjson_count(r->list) == 0)
        return fail(r->err, ERROR_INPUT, "%s: it has no trees", r->name);
    r->to->base_score = (float)base;
    r->to->columns = (int)columns;
    r->to->count = (int)ubjson_count(r->list);
    return true;
}

static bool read_numbers(struct ubjson tree, const char *key, struct ubjson_numbers *out,
                         size_t count)
{
    return ubjson_numbers(ubjson_get(tree, key), out) && out->count == count;
}

static bool integers(struct ubjson tree, const char *key, struct ubjson_numbers *out, size_t count)
{
    return read_numbers(tree, key, out, count) && ubjson_are_integers(*out);
}

static bool read_nodes(struct tree_reader *r, struct ubjson tree, int number, struct tree_nodes *n)
{
    if (!ubjson_numbers(ubjson_get(tree, "left_children"), &n->left) || n->left.count == 0)
        return refuse_tree(r, number, "has no list `left_children`");
    n->count = n->left.count;
    if (!ubjson_are_integers(n->left) || !integers(tree, "right_children", &n->right, n->count) ||
        !integers(tree, "split_indices", &n->column, n->count) ||
        !integers(tree, "default_left", &n->default_left, n->count) ||
        !integers(tree, "split_type", &n->split_type, n->count) ||
        !read_numbers(tree, "split_conditions", &n->condition, n->count) ||
        !ubjson_are_floats(n->condition))
        return refuse_tree(r, number,
                           "lacks right_children, split_indices, default_left, split_type or "
                           "split_conditions, or they are of another length or type");
    return true;
}

static bool is_leaf(const struct tree_nodes *n, size_t i)
{
    return ubjson_integer(n->left, i) == -1 && ubjson_integer(n->right, i) == -1;
}

static const char *fault_of_split(const struct trees *t, const struct tree_nodes *n, size_t i)
{
    int64_t left = ubjson_integer(n->left, i), right = ubjson_integer(n->right, i);
    int64_t column = ubjson_integer(n->column, i), count = (int64_t)n->count;
    if (left < 0 || left >= count || right < 0 || right >= count)
        return "leads to a node that it does not have";
    if (column < 0 || column >= t->columns)
        return "asks for a feature that the model does not have";
    if (ubjson_integer(n->split_type, i) != 0)
        return "splits by categories, which are not supported";
    if (ubjson_integer(n->default_left, i) != 0)
        return "sends missing values left: it has learned from rows with missing values";
    return NULL;
}

/* What is wrong with the nodes from `i` on, or NULL and the deepest level. */
static const char *fault_of(const struct trees *t, const struct tree_nodes *n, size_t i, int level,
                            int *deepest)
{
    if (!isfinite(ubjson_float(n->condition, i)))
        return "has a threshold or leaf that is not a finite number";
    if (is_leaf(n, i)) {
        *deepest = level > *deepest ? level : *deepest;
        return NULL;
    }
    const char *fault = fault_of_split(t, n, i);
    if (!fault && level == TREES_DEPTH)
        fault = "has more than 8 levels";
    if (!fault)
        fault = fault_of(t, n, (size_t)ubjson_integer(n->left, i), level + 1, deepest);
    return fault ? fault : fault_of(t, n, (size_t)ubjson_integer(n->right, i), level + 1, deepest);
}

static bool check_trees(struct tree_reader *r, struct tree_nodes *all)
{
    struct ubjson tree = ubjson_first(r->list);
    int deepest = 0;
    for (int i = 0; i < r->to->count; i++, tree = ubjson_next(tree)) {
        if (!read_nodes(r, tree, i, &all[i]))
            return false;
        const char *fault = fault_of(r->to, &all[i], 0, 0, &deepest);
        if (fault)
            return refuse_tree(r, i, fault);
    }
    r->to->depth = deepest;
    return true;
}

/* The tables of one tree: every TREES_LANES-th number of its group's. */
struct tree_table {
    float *threshold, *leaf;
    unsigned char *column;
    size_t inner;
};

static void fill(const struct tree_table *t, const struct tree_nodes *n, size_t node, size_t at)
{
    size_t left = node, right = node;
    if (at >= t->inner) {
        t->leaf[(at - t->inner) * TREES_LANES] = ubjson_float(n->condition, node);
        return;
    }
    if (!is_leaf(n, node)) {
        t->threshold[at * TREES_LANES] = ubjson_float(n->condition, node);
        t->column[at * TREES_LANES] = (unsigned char)ubjson_integer(n->column, node);
        left = (size_t)ubjson_integer(n->left, node);
        right = (size_t)ubjson_integer(n->right, node);
    }
    fill(t, n, left, 2 * at + 1);
    fill(t, n, right, 2 * at + 2);
}

/* Where a group has no tree left, leaves are -0: a sum stays what it is, whatever its sign. */
static void fill_all(struct tree_reader *r, const struct tree_nodes *all)
{
    struct trees *to = r->to;
    size_t inner = trees_inner(to), wide = trees_groups(to) * TREES_LANES;
    float *threshold = arena_array(r->mem, wide * inner + 1, sizeof *threshold);
    float *leaf = arena_array(r->mem, wide * (inner + 1), sizeof *leaf);
    unsigned char *column = arena_array(r->mem, wide * inner + 1, sizeof *column);
    for (size_t i = 0; i < wide * (inner + 1); i++)
        leaf[i] = -0.0f;
    for (size_t i = 0; i < (size_t)to->count; i++) {
        size_t group = i / TREES_LANES * TREES_LANES, lane = i % TREES_LANES;
        struct tree_table t = {threshold + group * inner + lane, leaf + group * (inner + 1) + lane,
                               column + group * inner + lane, inner};
        fill(&t, &all[i], 0, 0);
    }
    to->threshold = threshold;
    to->column = column;
    to->leaf = leaf;
}

bool trees_read(struct trees *out, const void *bytes, size_t size, const char *name,
                struct arena *mem, struct error *err)
{
    struct trees trees = {0};
    struct tree_reader r = {.name = name, .mem = mem, .err = err, .to = &trees};
    struct arena scratch = {0};
    struct ubjson root;
    if (!ubjson_check(&root, bytes, size, name, err))
        return false;
    r.learner = ubjson_get(root, "learner");
    if (!read_head(&r))
        return false;
    struct tree_nodes *all = arena_array(&scratch, (size_t)trees.count, sizeof *all);
    bool ok = check_trees(&r, all);
    if (ok) {
        fill_all(&r, all);
        *out = trees;
    }
    arena_release(&scratch);
    return ok;
}
