/* From a plan to the script that starts it: its nodes, flags and environment as a job, and the
 * format that was asked for. */
#include "run/commands.h"

#include "base/arena.h"
#include "base/file.h"
#include "base/str.h"
#include "base/units.h"
#include "cost/placement.h"
#include "export/export.h"
#include "dataset/dataset.h"
#include "export/job.h"
#include "model/trained.h"
#include "query/options.h"
#include "report/plan_words.h"

#include <limits.h>
#include <string.h>

static void take_parts(const struct plan *p, struct export_job *j, struct arena *mem)
{
    struct plan_part part[MESHES_MAX];
    int stage = 0;
    j->parts = plan_parts(p, part);
    for (int i = 0; i < j->parts; i++) {
        const struct plan_part *from = &part[i];
        j->part[i] = (struct job_part){
            .gpu = from->group->gpu,
            .type = export_type_name(p->meshes, i, from->group->gpu, mem),
            .first_stage = stage,
            .stages = from->stages,
            .nodes = from->nodes,
            .gpus = from->gpus,
            .per_node = from->per_node,
            .last_node = (int)(from->gpus - (from->nodes - 1) * from->per_node),
            .whole = from->per_node == from->group->per_node,
            .segment = p->meshes ? 0 : segment_of(from->group, &p->strategy, from->gpus),
        };
        stage += from->stages;
        j->nodes += from->nodes;
        j->gpus += from->gpus;
    }
}

static const char *title_of(const struct plan *p, struct arena *mem)
{
    struct str text = {0};
    str_addf(&text, "%s on ", p->model->name);
    add_gpus(p, &text);
    str_add(&text, ": ");
    add_ways_of(p, &text);
    return str_keep(&text, mem);
}

/* After the model, or after its size where flags alone say what it is. Other characters than a name of
 * a job may have become '-'. */
static const char *name_of(const struct plan *p, struct arena *mem)
{
    const char *letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-";
    struct str text = {0};
    bool flags = strcmp(p->model->name, "flags") == 0;
    str_add(&text, flags ? "gpt-" : p->model->name);
    if (flags)
        add_count(&text, (double)model_params_total(p->model));
    char *name = arena_format(mem, "%.56s", str_text(&text));
    str_release(&text);
    for (char *c = name; *c; c++)
        if (!strchr(letters, *c))
            *c = '-';
    return name;
}

static bool take_release(const struct export_options *x, struct export_job *j, struct arena *mem,
                         struct error *err)
{
    int release = 0, patch = 0;
    if (j->flagscale && x->version)
        return fail(err, ERROR_INPUT,
                    "--megatron-version %s: the plan runs with FlagScale, which has a Megatron of "
                    "its own",
                    x->version);
    j->branch = "";
    if (j->hf && x->version)
        return fail(err, ERROR_INPUT, "--megatron-version %s: the plan runs without Megatron",
                    x->version);
    j->release = j->hf          ? "TRL (f2cd5771) and accelerate (16cb6eb8)"
                 : j->flagscale ? "FlagScale (da4935ec)"
                                : "Megatron-LM (HEAD, d98e8a64)";
    if (!export_release(x->version, &release, &patch, err))
        return false;
    if (release != INT_MAX) {
        j->release = arena_format(mem, patch ? "Megatron-LM core 0.%d.%d" : "Megatron-LM core 0.%d",
                                  release, patch);
        j->branch = arena_format(mem, "--branch core_v0.%d.%d ", release, patch);
    }
    return true;
}

static bool take_hosts(const struct export_options *x, struct export_job *j, struct error *err)
{
    if (x->hosts && (int64_t)x->hosts != j->nodes)
        return fail(err, ERROR_INPUT, "%s has %zu host%s, the plan has %lld node%s", x->hosts_file,
                    x->hosts, x->hosts > 1 ? "s" : "", (long long)j->nodes,
                    j->nodes > 1 ? "s" : "");
    j->hosts = x->hosts;
    j->host = x->host;
    j->hostfile = x->hostfile;
    return true;
}

static bool is_among(const char *text, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i], text) == 0)
            return true;
    return false;
}

/* What the flags do not say, and what the plan's file knows beyond them. Bridge hands the factor of
 * llama3 on, which Megatron's trainer does not. */
static const char *gap_of(const struct export_options *x, const struct model *m, int release,
                          struct arena *mem)
{
    struct model told = *m;
    const char **known;
    size_t count = export_untold(m, INT_MAX, mem, &known);
    if (x->format->write == export_bridge && told.rope_scaling == ROPE_LLAMA3)
        told.rope_factor = 8;
    if (x->format->write == export_swift) /* the model is read from its own files */
        return NULL;
    if (x->format->trains_parts)
        model_set_trained(&told, "full", NULL);
    const char *gap = export_untold_text(&told, release, mem);
    for (size_t i = 0; i < x->untolds; i++)
        if (!is_among(x->untold[i], known, count))
            gap = arena_format(mem, "%s%s%s", gap ? gap : "", gap ? "; " : "", x->untold[i]);
    return gap;
}

static bool take_plan(const struct export_options *x, const struct plan *p, struct export_job *j,
                      struct arena *mem, struct error *err)
{
    const char **words, **env;
    int release;
    j->flagscale = plan_on_flagscale(p);
    j->hf = strategy_on_hf(&p->strategy);
    if (j->hf != (x->format->write == export_accelerate))
        return fail(err, ERROR_INPUT,
                    j->hf
                        ? "the plan runs with transformers, not with Megatron: use --to accelerate"
                        : "accelerate: the plan runs with Megatron-LM; search with --engine "
                          "fsdp2, zero2 or zero3, or use --to torchrun");
    if (!export_release(x->version, &release, NULL, err) || !take_release(x, j, mem, err) ||
        !plan_flags_for(p, x->version, mem, &words, &j->flags, err))
        return false;
    plan_environment(p, mem, &env, &j->envs);
    j->flag = words;
    j->env = env;
    j->title = title_of(p, mem);
    j->name = x->job_name ? x->job_name : name_of(p, mem);
    j->gap = export_join_gaps(j->hf ? NULL : gap_of(x, p->model, release, mem),
                              export_data_gap(p, j->hf || x->format->trains_parts, mem), mem);
    j->packed = p->dataset && p->dataset->packing;
    j->te = p->te;
    j->module = !j->hf && plan_stack_kind(p) == STACK_TORCH;
    j->ranks = x->launcher == 1;
    j->vpp = p->strategy.vpp;
    j->tp = p->strategy.tp;
    j->model = p->model;
    take_parts(p, j, mem);
    return job_says_trained(j, x->format, err) && take_hosts(x, j, err);
}

/* Beside its place: it belongs to the script, which may still not be written. */
static bool stage_hostfile(const struct export_job *j, struct error *err)
{
    struct str text = {0};
    export_hostfile(j, &text);
    bool ok = file_write_beside(j->hostfile, str_text(&text), text.length, err);
    str_release(&text);
    return ok;
}

/* Scripts bring it along too: this one is for other ways to start. */
static bool stage_module(const char *path, struct error *err)
{
    return file_write_beside(path, export_module(), strlen(export_module()), err);
}

/* In the folder of the script; devices have none. */
static const char *module_path(const char *answer, struct arena *mem)
{
    if (!answer || strncmp(answer, "/dev/", 5) == 0)
        return NULL;
    const char *slash = strrchr(answer, '/');
    int folder = slash ? (int)(slash - answer) + 1 : 0;
    return arena_format(mem, "%.*s" EXPORT_MODULE ".py", folder, answer);
}

bool run_export(const struct export_options *x, const struct plan *p, const char *answer,
                struct arena *mem, struct str *out, const char **staged, struct error *err)
{
    struct export_job j = {0};
    str_clear(out);
    *staged = NULL;
    if (!take_plan(x, p, &j, mem, err) || !x->format->write(&j, out, err))
        return false;
    const char *module = j.module ? module_path(answer, mem) : NULL;
    if ((j.hostfile && !stage_hostfile(&j, err)) || (module && !stage_module(module, err)))
        return false;
    *staged = j.hostfile ? j.hostfile : module; /* no format has both */
    return true;
}
