/* The files of the models: trees as they are, and models.json with where they come from, how good
 * they are and how to tell that a file is whole. Written last, so that a folder with models.json is
 * complete. */
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

static struct json *trees(const void *bytes, size_t size)
{
    char hash[20];
    struct json *j = json_new_object();
    snprintf(hash, sizeof hash, "%016llx", (unsigned long long)model_hash(bytes, size));
    json_set(j, "bytes", json_new_integer((int64_t)size));
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

static struct json *family_lines(const struct learned_model *m, enum family family,
                                 const struct memory_curves *curves)
{
    struct json *j = trees(m->bytes, m->size), *names = json_new_array(), *gpus = json_new_array();
    for (int i = 0; i < features_count(family); i++)
        json_append(names, json_new_string(feature_name(family, i)));
    for (int i = 0; i < m->gpus; i++)
        json_append(gpus, gpu_line(&m->gpu[i]));
    json_set(j, "features", names);
    json_set(j, "gpu_error", number(m->gpu_error));
    json_set(j, "arch_error", number(m->arch_error));
    json_set(j, "gpus", gpus);
    if (family == FAMILY_MEMORY)
        json_set(j, "curves", curve_lines(curves));
    return j;
}

static struct json *source_lines(const struct samples *s)
{
    struct json *j = json_new_object();
    for (int i = 0; i < SOURCES; i++)
        if (s->skipped[i][SKIP_NONE] > 0)
            json_set(j, source_of((enum source_id)i)->name,
                     json_new_integer((int64_t)s->skipped[i][SKIP_NONE]));
    return j;
}

static bool write_trees(const char *folder, int model, const void *bytes, size_t size,
                        struct arena *mem, struct error *err)
{
    return file_write(arena_format(mem, "%s/%s.ubj", folder, model_name(model)), bytes, size, err);
}

static bool write_manifest(struct json *j, const char *folder, struct arena *mem, struct error *err)
{
    struct str text;
    str_init(&text);
    json_dump(j, &text);
    json_release(j);
    bool ok =
        file_write(arena_format(mem, "%s/models.json", folder), str_text(&text), text.length, err);
    str_release(&text);
    return ok;
}

static struct json *new_manifest(const struct samples *s)
{
    struct json *j = json_new_object();
    json_set(j, "format", json_new_integer(1));
    json_set(j, "rows_by_source", source_lines(s));
    return j;
}

bool fit_write(const struct fit *f, const char *folder, struct error *err)
{
    if (!folder_make(folder, err))
        return false;
    struct json *j = new_manifest(&f->samples);
    for (int i = 0; i < FAMILIES; i++) {
        const struct learned_model *m = &f->family[i].model;
        json_set(j, model_name(i), family_lines(m, (enum family)i, &f->family[i].curves));
        if (!write_trees(folder, i, m->bytes, m->size, f->mem, err)) {
            json_release(j);
            return false;
        }
    }
    json_set(j, model_name(MODEL_COMM), trees(f->comm_bytes, f->comm_size));
    if (!write_trees(folder, MODEL_COMM, f->comm_bytes, f->comm_size, f->mem, err)) {
        json_release(j);
        return false;
    }
    return write_manifest(j, folder, f->mem, err);
}

bool learned_write(const struct learned *l, const struct samples *s, const char *folder,
                   struct error *err)
{
    if (!folder_make(folder, err))
        return false;
    struct json *j = new_manifest(s);
    for (int i = 0; i < LEARNED_MODELS; i++) {
        const struct learned_model *m = &l->model[i];
        json_set(j, model_name(i),
                 i == MODEL_COMM ? trees(m->bytes, m->size)
                                 : family_lines(m, (enum family)i, &l->curves));
        if (!write_trees(folder, i, m->bytes, m->size, l->mem, err)) {
            json_release(j);
            return false;
        }
    }
    return write_manifest(j, folder, l->mem, err);
}
