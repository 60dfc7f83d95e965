/* Loading and asking the learned models. Files must have the size and checksum that the manifest
 * says: trees of another write would fit their scores by chance. Scores of GPUs come from
 * `astra fit`. */
#include "cost/learned.h"

#include "base/arena.h"
#include "base/file.h"
#include "base/json.h"
#include "cluster/cluster.h"
#include "cost/comm_features.h"
#include "cost/trees.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHARE_ROWS = 4096 };

extern const char embedded_efficiency_models_json[];
#define MODEL_FILE(id, file) extern const struct trees builtin_trees_##file;
#include "cost/models.def"
#undef MODEL_FILE

static const struct {
    const char *name;
    const struct trees *trees;
} BUILTIN[LEARNED_MODELS] = {
#define MODEL_FILE(id, file) [id] = {#file, &builtin_trees_##file},
#include "cost/models.def"
#undef MODEL_FILE
};

const char *model_name(int model)
{
    return BUILTIN[model].name;
}

/* FNV-1a over eight bytes at a time. */
uint64_t model_hash(const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    uint64_t hash = 14695981039346656037u, word;
    for (; size >= sizeof word; at += sizeof word, size -= sizeof word) {
        memcpy(&word, at, sizeof word);
        hash = (hash ^ word) * 1099511628211u;
        hash ^= hash >> 29;
    }
    for (; size > 0; at++, size--)
        hash = (hash ^ *at) * 1099511628211u;
    return hash ^ hash >> 32;
}

struct loader {
    struct learned *to;
    const char *folder; /* NULL: compiled in */
    const char *name;   /* of the manifest */
    struct error *err;
};

static bool broken(struct loader *l, const char *where, const char *what)
{
    return fail(l->err, ERROR_INPUT, "%s: %s%s; `astra fit` writes these files", l->name, where,
                what);
}

static bool is_described(struct loader *l, const struct json *j, const struct text *file,
                         const char *path)
{
    char hash[20];
    size_t expected = (size_t)json_integer_of(json_get(j, "bytes"));
    if (file->length != expected)
        return fail(l->err, ERROR_INPUT, "%s has %zu bytes, models.json says %zu", path,
                    file->length, expected);
    snprintf(hash, sizeof hash, "%016llx",
             (unsigned long long)model_hash(file->data, file->length));
    return strcmp(hash, json_text(json_get(j, "hash"))) == 0 ||
           fail(l->err, ERROR_INPUT,
                "%s is not the file that models.json describes: it hashes to %s", path, hash);
}

static int columns_of(int model)
{
    return model == MODEL_COMM ? COMM_FEATURES : features_count((enum family)model);
}

static bool load_trees(struct loader *l, const struct json *j, int model)
{
    struct learned_model *m = &l->to->model[model];
    struct arena *mem = l->to->mem;
    const char *path = arena_format(mem, "%s/%s.ubj", l->folder, m->name);
    struct trees *trees = arena_alloc(mem, sizeof *trees);
    struct text file;
    if (!file_read(path, mem, &file, l->err) || !is_described(l, j, &file, path) ||
        !trees_read(trees, file.data, file.length, path, mem, l->err))
        return false;
    if (trees->columns != columns_of(model))
        return fail(l->err, ERROR_INPUT, "%s was trained on %d features, this version has %d", path,
                    trees->columns, columns_of(model));
    m->trees = trees;
    m->bytes = file.data;
    m->size = file.length;
    return true;
}

/* The program's own are checked by the build and by tests. */
static void take_builtin(struct learned_model *m, const struct json *j, int model)
{
    m->trees = BUILTIN[model].trees;
    m->size = (size_t)json_integer_of(json_get(j, "bytes"));
}

static bool check_features(struct loader *l, const struct json *list, enum family family)
{
    bool same = (int)json_count(list) == features_count(family);
    for (int i = 0; same && i < features_count(family); i++)
        same = strcmp(json_text(json_at(list, (size_t)i)), feature_name(family, i)) == 0;
    return same || broken(l, model_name((int)family),
                          " was trained on other features than this version has");
}

static double number_in(const struct json *j, const char *key, double lo, double hi)
{
    const struct json *v = json_get(j, key);
    double x = json_number_of(v);
    return json_is_number(v) && x >= lo && x <= hi ? x : NAN;
}

static const struct gpu_score *score_of(const struct learned_model *m, const struct gpu *g)
{
    for (int i = 0; i < m->gpus; i++)
        if (strcmp(m->gpu[i].gpu->name, g->name) == 0)
            return &m->gpu[i];
    return NULL;
}

static bool load_score(struct loader *l, const struct json *j, const char *model,
                       struct gpu_score *s)
{
    static const struct {
        const char *key;
        double lo, hi;
    } NUMBERS[] = {{"rows", 0, 1e12},
                   {"offset", -OFFSET_LIMIT, OFFSET_LIMIT},
                   {"shape_error", 0, 100},
                   {"gpu_error", 0, 100}};
    double value[sizeof NUMBERS / sizeof *NUMBERS];
    for (size_t i = 0; i < sizeof NUMBERS / sizeof *NUMBERS; i++) {
        value[i] = number_in(j, NUMBERS[i].key, NUMBERS[i].lo, NUMBERS[i].hi);
        if (isnan(value[i]) || (i == 0 && !json_is_integer(json_get(j, NUMBERS[i].key))))
            return broken(l, model,
                          arena_format(l->to->mem, ": %s of %s is not a number from %g to %g",
                                       NUMBERS[i].key, s->gpu->name, NUMBERS[i].lo, NUMBERS[i].hi));
    }
    s->rows = (size_t)value[0];
    s->offset = value[1];
    s->shape_error = value[2];
    s->gpu_error = value[3];
    return true;
}

static bool load_gpu(struct loader *l, const struct json *j, struct learned_model *m)
{
    const char *name = json_text(json_get(j, "gpu"));
    const struct gpu *g = gpu_find(name, NULL);
    if (m->gpus == LEARNED_GPUS)
        return broken(l, m->name, " lists too many GPUs");
    if (!g || score_of(m, g))
        return broken(
            l, m->name,
            arena_format(l->to->mem, ": GPU '%s' is %s", name, g ? "listed twice" : "not known"));
    struct gpu_score *s = &m->gpu[m->gpus];
    s->gpu = g;
    if (!load_score(l, j, m->name, s))
        return false;
    m->gpus++;
    return true;
}

static bool load_curves(struct loader *l, const struct json *list)
{
    if (json_count(list) != 2 * MEMORY_KINDS)
        return broken(l, "memory", " has curves for other kinds of operators");
    for (size_t i = 0; i < 2 * MEMORY_KINDS; i++) {
        struct memory_curve *c = &l->to->curves.of[i / 2][i % 2];
        c->fixed_s = number_in(json_at(list, i), "fixed_s", 1e-9, 1);
        c->share = number_in(json_at(list, i), "share", 1e-3, 10);
        if (isnan(c->fixed_s + c->share))
            return broken(l, "memory", ": a curve is not complete");
    }
    return true;
}

static bool load_model(struct loader *l, const struct json *j, int model)
{
    struct learned_model *m = &l->to->model[model];
    m->name = model_name(model);
    if (!json_is_object(j))
        return broken(l, m->name, " is missing");
    if (!l->folder)
        take_builtin(m, j, model);
    else if (!load_trees(l, j, model))
        return false;
    if (model == MODEL_COMM)
        return true;
    if (!check_features(l, json_get(j, "features"), (enum family)model))
        return false;
    m->gpu_error = number_in(j, "gpu_error", 0, 100);
    m->arch_error = number_in(j, "arch_error", 0, 100);
    if (isnan(m->gpu_error + m->arch_error))
        return broken(l, m->name, ": gpu_error or arch_error is not a number from 0 to 100");
    const struct json *gpus = json_get(j, "gpus");
    if (!json_is_array(gpus))
        return broken(l, m->name, " has no list `gpus`");
    for (size_t i = 0; i < json_count(gpus); i++)
        if (!load_gpu(l, json_at(gpus, i), m))
            return false;
    return model != FAMILY_MEMORY || load_curves(l, json_get(j, "curves"));
}

static void load_source(void *context, const char *key, const struct json *value)
{
    struct learned *l = context;
    if (l->sources < LEARNED_SOURCES && json_integer_of(value) > 0)
        l->source[l->sources++] =
            (struct learned_source){arena_string(l->mem, key), (size_t)json_integer_of(value)};
}

static bool load_manifest(struct loader *l, const char *text, size_t length)
{
    struct json *j = json_parse(text, length, l->name, l->err);
    if (!j)
        return false;
    bool ok = json_integer_of(json_get(j, "format")) == LEARNED_FORMAT ||
              broken(l, "", "`format` is not 1");
    if (json_is_object(json_get(j, "rows_by_source")))
        json_each(json_get(j, "rows_by_source"), load_source, l->to);
    for (int i = 0; ok && i < LEARNED_MODELS; i++)
        ok = load_model(l, json_get(j, model_name(i)), i);
    json_release(j);
    return ok;
}

static bool load(struct learned **out, const char *folder, const char *name, struct text text,
                 struct error *err)
{
    struct arena *mem = memory_grow(NULL, sizeof *mem);
    arena_init(mem);
    struct learned *l = arena_alloc(mem, sizeof *l);
    l->mem = mem;
    struct loader loader = {l, folder, name, err};
    bool ok = true;
    if (folder) {
        loader.name = arena_format(mem, "%s/models.json", folder);
        ok = file_read(loader.name, mem, &text, err);
    }
    if (ok && load_manifest(&loader, text.data, text.length) &&
        step_errors_load(&l->steps, mem, err)) {
        *out = l;
        return true;
    }
    learned_free(l);
    return false;
}

bool learned_load(struct learned **out, const char *folder, struct error *err)
{
    struct text text = {embedded_efficiency_models_json, strlen(embedded_efficiency_models_json)};
    return load(out, folder, "models compiled in", text, err);
}

bool learned_parse(struct learned **out, const char *text, size_t length, const char *name,
                   struct error *err)
{
    return load(out, NULL, name, (struct text){text, length}, err);
}

void learned_free(struct learned *l)
{
    if (!l)
        return;
    struct arena *mem = l->mem;
    arena_release(mem);
    free(mem);
}

/* More rows seldom take less time, but trees may step down: the shortest of the times of the rows,
 * twice and four times as many counts. Only grouped products need it, which have few measurements
 * between sizes. */
static int ahead_of(enum family family)
{
    return family == FAMILY_GROUPED ? 2 : 0;
}

/* A batch of at most SHARE_ROWS rows: each operation as it is and with more rows, one after the
 * other. */
static void predict_some(const struct learned *l, const struct gpu *g, const struct operation *op,
                         size_t count, double *out_s)
{
    enum family family = op->family;
    const struct learned_model *m = &l->model[family];
    const struct gpu_score *score = score_of(m, g);
    size_t columns = (size_t)features_count(family), each = (size_t)ahead_of(family) + 1;
    float *x = memory_grow(NULL, count * each * (columns + 1) * sizeof *x);
    float *f = x + count * each * columns;
    for (size_t i = 0; i < count * each; i++) {
        struct operation o = op[i / each];
        assert(o.family == family);
        o.m = ldexp(o.m, (int)(i % each));
        features_of(&o, g, SUSTAINED, x + i * columns);
    }
    assert(m->trees->columns == (int)columns);
    trees_predict(m->trees, x, count * each, f);
    for (size_t i = 0; i < count * each; i++) {
        struct operation o = op[i / each];
        o.m = ldexp(o.m, (int)(i % each));
        double t = learned_time(&o, g, SUSTAINED, &l->curves, f[i] + (score ? score->offset : 0));
        out_s[i / each] = i % each == 0 ? t : fmin(t, out_s[i / each]);
    }
    free(x);
}

void learned_predict(const struct learned *l, const struct gpu *g, const struct operation *op,
                     size_t count, double *out_s)
{
    for (size_t at = 0; at < count; at += SHARE_ROWS) {
        size_t some = count - at < SHARE_ROWS ? count - at : SHARE_ROWS;
        predict_some(l, g, op + at, some, out_s + at);
    }
}

/* Models of a single GPU cannot tell how far off they are elsewhere: the worst of our own families
 * are 30 to 40 % off on left-out GPUs and generations (doc/operators.md). */
static double known_error(double error)
{
    return error > 0 ? error : 0.5;
}

struct coverage learned_coverage(const struct learned *l, const struct gpu *g, enum family family)
{
    const struct learned_model *m = &l->model[family];
    const struct gpu_score *s = score_of(m, g);
    if (s && s->rows > 0)
        return (struct coverage){MEASURED, s->rows, s->shape_error};
    for (int i = 0; i < m->gpus; i++)
        if (generation_of(m->gpu[i].gpu) == generation_of(g))
            return (struct coverage){TRANSFERRED, 0, known_error(m->gpu_error)};
    return (struct coverage){DATASHEET, 0, known_error(m->arch_error)};
}

const char *provenance_name(enum provenance p)
{
    static const char *const NAMES[] = {
        [MEASURED] = "measured", [TRANSFERRED] = "transferred", [DATASHEET] = "datasheet"};
    return NAMES[p];
}

int attention_kernel_of(const struct gpu *g)
{
    int generation = generation_of(g);
    return generation == 2 || generation == 3 ? ATTENTION_CUDNN_KERNEL : ATTENTION_FLASH2_KERNEL;
}
