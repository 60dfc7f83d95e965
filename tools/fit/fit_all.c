#include "fit/fit_all.h"

#include "base/arena.h"
#include "base/file.h"
#include "base/str.h"
#include "cluster/cluster.h"
#include "fit/train.h"

#include <math.h>
#include <string.h>

static bool of_gpu(const struct sample *s, const void *gpu)
{
    return s->gpu == gpu;
}

static bool read_source(const struct fit_all_query *q, int i, struct fit *all, struct error *err)
{
    const struct source *source = source_of(i);
    all->samples.source = i;
    if (i != SOURCE_PROFILE)
        return source->read(arena_format(all->mem, "%s/%s", q->sources, source->folder),
                            &all->samples, err);
    for (int file = 0; file < q->profiles; file++)
        if (!read_profile(q->profile[file], &all->samples, err))
            return false;
    return true;
}

/* One list of all sources; what was skipped is counted by source. */
static bool read_all(const struct fit_all_query *q, struct fit *all, struct error *err)
{
    for (int i = 0; i < (q->sources ? SOURCES : SOURCE_PROFILE + 1); i++) {
        if (!read_source(q, i, all, err))
            return false;
        memcpy(all->skipped[i], all->samples.skipped, sizeof all->skipped[i]);
        memset(all->samples.skipped, 0, sizeof all->samples.skipped);
    }
    return true;
}

/* Averages over GPUs, every GPU counting once. */
static double average_error(const struct family_fit *f, enum split split)
{
    double sum = 0;
    int gpus = 0;
    for (int i = 0; i < f->model.gpus; i++) {
        struct fit_score s =
            score_rows(&f->data, f->check.predicted[split][BY_MODEL], of_gpu, f->model.gpu[i].gpu);
        sum += s.mean;
        gpus += s.rows > 0;
    }
    return gpus > 0 ? sum / gpus : 0;
}

static void score_gpus(struct family_fit *f, const struct trained *t)
{
    size_t count;
    const struct gpu *table = gpu_table(&count);
    for (size_t i = 0; i < count && f->model.gpus < LEARNED_GPUS; i++) {
        if (t->rows[i] == 0)
            continue;
        double *const(*predicted)[RIVALS] = (double *const(*)[RIVALS])f->check.predicted;
        f->model.gpu[f->model.gpus++] = (struct gpu_score){
            &table[i], t->rows[i], t->offset[i],
            score_rows(&f->data, predicted[LEFT_SHAPES][BY_MODEL], of_gpu, &table[i]).mean,
            score_rows(&f->data, predicted[LEFT_GPU][BY_MODEL], of_gpu, &table[i]).mean};
    }
    f->model.gpu_error = average_error(f, LEFT_GPU);
    f->model.arch_error = average_error(f, LEFT_GENERATION);
}

/* What too few rows say nothing about stays as it is compiled in: collectives, which a profile of
 * one GPU has not, or a family that its software cannot run. */
static bool keep_model(struct fit *all, int model, struct error *err)
{
    struct learned *l;
    if (!learned_load(&l, NULL, err))
        return false;
    const struct learned_model *m = &l->model[model];
    struct text file = model_file(m, model, all->mem);
    if (model == MODEL_COMM) {
        all->comm_bytes = file.data;
        all->comm_size = file.length;
    } else {
        all->family[model].model = *m;
        all->family[model].model.bytes = file.data;
        all->family[model].model.name = model_name(model);
        all->family[model].curves = l->curves;
        all->family[model].kept = true;
    }
    learned_free(l);
    return true;
}

static bool fit_family(struct fit *all, enum family family, int threads, struct error *err)
{
    struct family_fit *f = &all->family[family];
    struct trained t;
    dataset_build(&f->data, &all->samples, family, all->mem);
    if (f->data.rows < FIT_LEAST_ROWS && family != FAMILY_GEMM)
        return keep_model(all, (int)family, err);
    if (f->data.rows < FIT_LEAST_ROWS)
        return fail(err, ERROR_INPUT,
                    "%zu usable measurements of %s operators, %d are needed to learn anything",
                    f->data.rows, model_name((int)family), FIT_LEAST_ROWS);
    if (!validate(&f->check, &f->data, threads, all->mem, err))
        return false;
    unsigned char *every = arena_alloc(all->mem, f->data.rows);
    memset(every, 1, f->data.rows);
    if (!train(&t, &f->data, every, all->mem, err))
        return false;
    f->curves = t.curves;
    f->model.name = model_name((int)family);
    score_gpus(f, &t);
    f->model.bytes = t.file.data;
    f->model.size = t.file.length;
    return true;
}

static bool fit_collectives(struct fit *all, int threads, struct error *err)
{
    struct text file;
    if (all->samples.comms == 0)
        return keep_model(all, MODEL_COMM, err);
    if (!fit_comm(&all->samples, threads, &file, &all->comm, all->mem, err))
        return false;
    all->comm_bytes = file.data;
    all->comm_size = file.length;
    return true;
}

static bool write_all(const struct fit *f, const char *folder, struct error *err)
{
    struct learned *l = arena_alloc(f->mem, sizeof *l);
    l->mem = f->mem;
    l->curves = f->family[FAMILY_MEMORY].curves;
    for (int i = 0; i < SOURCES; i++)
        if (f->skipped[i][SKIP_NONE] > 0)
            l->source[l->sources++] =
                (struct learned_source){source_of(i)->name, f->skipped[i][SKIP_NONE]};
    for (int i = 0; i < FAMILIES; i++)
        l->model[i] = f->family[i].model;
    l->model[MODEL_COMM] = (struct learned_model){.bytes = f->comm_bytes, .size = f->comm_size};
    return learned_write(l, 0, folder, err);
}

static bool learn(const struct fit_all_query *q, struct fit *all, struct str *out,
                  struct error *err)
{
    if (!read_all(q, all, err))
        return false;
    for (int i = 0; i < FAMILIES; i++)
        if (!fit_family(all, (enum family)i, q->threads, err))
            return false;
    if (!fit_collectives(all, q->threads, err))
        return false;
    fit_text(all, out);
    return (!q->plots || fit_plots(all, q->plots, err)) && write_all(all, q->output, err);
}

bool fit_all(const struct fit_all_query *q, struct str *out, struct error *err)
{
    struct arena mem;
    arena_init(&mem);
    struct fit *all = arena_alloc(&mem, sizeof *all);
    all->mem = &mem;
    samples_init(&all->samples, &mem);
    bool ok = learn(q, all, out, err);
    arena_release(&mem);
    return ok;
}
