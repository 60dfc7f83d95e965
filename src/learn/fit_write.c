/* The files of the models: trees as they are, and models.json with where they come from, how good
 * they are and how to tell that a file is whole. */
#include "learn/fit.h"

#include "base/arena.h"
#include "base/file.h"
#include "base/json.h"
#include "base/str.h"
#include "cluster/cluster.h"

#include <stdio.h>
#include <string.h>

static double rounded(double x, double step)
{
    return (double)(long long)(x / step + (x < 0 ? -0.5 : 0.5)) * step;
}

/* Short decimals, the same on every machine. */
static struct json *number(double x)
{
    char text[32];
    snprintf(text, sizeof text, "%.6g", rounded(x, 1e-6));
    double shorter;
    return json_new_number(parse_real(text, &shorter) ? shorter : x);
}

static struct json *trees(struct text file)
{
    char hash[20];
    struct json *j = json_new_object();
    snprintf(hash, sizeof hash, "%016llx", (unsigned long long)model_hash(file.data, file.length));
    json_set(j, "bytes", json_new_integer((int64_t)file.length));
    json_set(j, "hash", json_new_string(hash));
    return j;
}

static struct json *gpu_line(const struct gpu_score *s)
{
    struct json *j = json_new_object();
    json_set(j, "gpu", json_new_string(s->gpu->name));
    json_set(j, "rows", json_new_integer((int64_t)s->rows));
    json_set(j, "offset", number(s->offset));
    json_set(j, "shape_error", number(s->shape_error));
    json_set(j, "gpu_error", number(s->gpu_error));
    return j;
}

static struct json *curve_lines(const struct memory_curves *c)
{
    struct json *list = json_new_array();
    for (int i = 0; i < 2 * MEMORY_KINDS; i++) {
        struct json *j = json_new_object();
        json_set(j, "fixed_s", json_new_number(rounded(c->of[i / 2][i % 2].fixed_s, 1e-9)));
        json_set(j, "share", number(c->of[i / 2][i % 2].share));
        json_append(list, j);
    }
    return list;
}

static struct json *family_lines(const struct learned *l, enum family family)
{
    const struct learned_model *m = &l->model[family];
    struct json *j = trees(model_file(m, (int)family, l->mem)), *names = json_new_array(),
                *gpus = json_new_array();
    for (int i = 0; i < features_count(family); i++)
        json_append(names, json_new_string(feature_name(family, i)));
    for (int i = 0; i < m->gpus; i++)
        json_append(gpus, gpu_line(&m->gpu[i]));
    json_set(j, "features", names);
    json_set(j, "gpu_error", number(m->gpu_error));
    json_set(j, "arch_error", number(m->arch_error));
    json_set(j, "gpus", gpus);
    if (family == FAMILY_MEMORY)
        json_set(j, "curves", curve_lines(&l->curves));
    return j;
}

/* Rows by the name of their source: those that the models had, and new ones. */
static struct json *source_lines(const struct learned *l, size_t added)
{
    struct json *j = json_new_object();
    for (int i = 0; i < l->sources; i++)
        json_set(j, l->source[i].name, json_new_integer((int64_t)l->source[i].rows));
    if (added > 0)
        json_set(j, "profile",
                 json_new_integer((int64_t)added + json_integer_of(json_get(j, "profile"))));
    return j;
}

/* The trees of all models and models.json, whose checksums tell when they are not of one write. */
struct folder {
    const char *path[LEARNED_MODELS + 1];
    size_t written;
};

static bool write_one(struct folder *f, const char *path, const void *bytes, size_t size,
                      struct error *err)
{
    f->path[f->written] = path;
    if (!file_write_beside(path, bytes, size, err))
        return false;
    f->written++;
    return true;
}

static bool write_all(const struct learned *l, struct json *j, const char *folder,
                      struct error *err)
{
    struct folder f = {.written = 0};
    struct str text = {0};
    bool ok = folder_make(folder, err);
    for (int i = 0; ok && i < LEARNED_MODELS; i++) {
        struct text file = model_file(&l->model[i], i, l->mem);
        ok = write_one(&f, arena_format(l->mem, "%s/%s.ubj", folder, model_name(i)), file.data,
                       file.length, err);
    }
    json_dump(j, &text);
    ok = ok && write_one(&f, arena_format(l->mem, "%s/models.json", folder), str_text(&text),
                         text.length, err);
    str_release(&text);
    if (ok && files_replace(f.path, f.written, err))
        return true;
    files_forget(f.path, f.written);
    return false;
}

bool learned_write(const struct learned *l, size_t added, const char *folder, struct error *err)
{
    struct json *j = json_new_object();
    json_set(j, "format", json_new_integer(LEARNED_FORMAT));
    json_set(j, "rows_by_source", source_lines(l, added));
    for (int i = 0; i < LEARNED_MODELS; i++)
        json_set(j, model_name(i),
                 i == MODEL_COMM ? trees(model_file(&l->model[i], i, l->mem))
                                 : family_lines(l, (enum family)i));
    bool ok = write_all(l, j, folder, err);
    json_release(j);
    return ok;
}
