/* Results of `astra verify` (data/schema/verify.schema.json): stages that ran alone on one GPU, with
 * the flags as they ran. The cluster may name another type than the GPU that measured: what is
 * learned is about the latter. */
#include "calibrate/calibrate_input.h"

#include "base/json.h"
#include "cluster/group.h"

#include <math.h>
#include <string.h>

static bool wrong(const struct calibrate_input *in, const char *what, struct error *err)
{
    return fail(err, ERROR_INPUT, "%s: no result of astra verify: %s", in->path, what);
}

/* All nodes with the GPU that measured: its network is of no use. */
static void replace_gpus(struct cluster *c, const struct gpu *gpu)
{
    for (int g = 0; g < c->groups; g++) {
        struct node_group *group = &c->group[g], old = *group;
        group_init(group, gpu, old.per_node);
        group->index = old.index;
        group->nodes_min = old.nodes_min;
        group->nodes_max = old.nodes_max;
        group->gpus = old.gpus;
    }
}

static bool take_cluster(struct calibrate_input *in, const struct json *root, const struct gpu *gpu,
                         struct error *err)
{
    struct options *o = &in->options;
    struct error inner = {0};
    int64_t world = json_integer_of(json_get(root, "world"));
    o->has_cluster = cluster_from_pool(&o->cluster, json_text(json_get(root, "cluster")), &inner);
    if (!o->has_cluster)
        return wrong(in, arena_format(o->mem, "cluster: %s", inner.text), err);
    o->gpu = NULL; /* that of logs */
    if (world < 1 || world > cluster_max_gpus(&o->cluster))
        return wrong(in, "world is no number of GPUs that the cluster has", err);
    if (o->cluster.groups == 1 && world < cluster_max_gpus(&o->cluster))
        o->terms.gpus = world;
    replace_gpus(&o->cluster, gpu);
    return true;
}

static bool take_flags(struct calibrate_input *in, const struct json *list, struct error *err)
{
    struct options *o = &in->options;
    struct error inner = {0};
    size_t n = json_is_array(list) ? json_count(list) : 0;
    const char **words = arena_array(o->mem, n + 1, sizeof *words);
    for (size_t i = 0; i < n; i++) {
        if (!json_is_string(json_at(list, i)))
            return wrong(in, arena_format(o->mem, "flags[%zu] is no text", i), err);
        words[i] = json_text(json_at(list, i));
    }
    if (n == 0)
        return wrong(in, "flags is no list of texts", err);
    return options_flags(o, n, words, &inner) ||
           fail(err, inner.kind, "%s: %s", in->path, inner.text);
}

static bool take_query(struct calibrate_input *in, const struct json *root, struct error *err)
{
    struct error inner = {0};
    const char *stack = json_text(json_get(root, "stack"));
    const struct json *device = json_get(root, "gpu");
    const struct gpu *gpu = gpu_of_device(json_text(device));
    if (!json_is_string(device) || !gpu)
        return wrong(in,
                     arena_format(in->options.mem, "gpu is '%.60s', which astra gpus does not list",
                                  json_text(device)),
                     err);
    if (!options_set(&in->options, "stack", stack, &inner))
        return wrong(
            in,
            arena_format(in->options.mem, "stack is '%.60s', te, torch or local is right", stack),
            err);
    return take_cluster(in, root, gpu, err) && take_flags(in, json_get(root, "flags"), err);
}

/* A figure above 0; 0 where it is absent or null. */
static bool figure(const struct calibrate_input *in, const struct json *stage, const char *name,
                   double *out, struct error *err)
{
    const struct json *v = json_get(json_get(stage, "measured"), name);
    *out = json_number_of(v);
    if (json_is_null(v) || (json_is_number(v) && *out > 0 && isfinite(*out)))
        return true;
    return fail(err, ERROR_INPUT,
                "%s: no result of astra verify: measured.%s of a stage is no number above 0",
                in->path, name);
}

static const char *first_suspect(const struct json *stage)
{
    const struct json *list = json_get(stage, "suspect");
    return json_is_array(list) && json_count(list) > 0 ? json_text(json_at(list, 0)) : NULL;
}

static bool take_stage(struct calibrate_input *in, const struct json *stage, struct arena *mem,
                       struct error *err)
{
    const struct json *number = json_get(stage, "stage");
    const char *status = json_text(json_get(stage, "status")), *suspect = first_suspect(stage);
    int64_t at = json_integer_of(number);
    double compute_s, peak_bytes;
    if (!json_is_integer(number) || at < 0 || at >= in->asked.strategy.pp)
        return wrong(in, "a stage is none of the pipeline's", err);
    if (strcmp(status, "ok") != 0) {
        calibrate_refuse(in, mem,
                         arena_format(mem, "stage %d: %.200s", (int)at, *status ? status : "?"));
        return true;
    }
    if (!figure(in, stage, "compute_s", &compute_s, err) ||
        !figure(in, stage, "peak_bytes", &peak_bytes, err))
        return false;
    struct observation o = {.stage = (int)at, .alone = true, .measured = compute_s};
    if (suspect)
        calibrate_refuse(
            in, mem,
            arena_format(mem, "stage %d: its times are suspect: %.200s", (int)at, suspect));
    else if (compute_s > 0)
        calibrate_observe(in, mem, o);
    o.memory = true;
    o.measured = peak_bytes;
    if (peak_bytes > 0)
        calibrate_observe(in, mem, o);
    return true;
}

static bool take_result(struct calibrate_input *in, struct resources *resources,
                        const struct json *root, struct arena *mem, struct error *err)
{
    const struct json *stages = json_get(root, "stages");
    if (strcmp(json_text(json_get(root, "kind")), "astra-verify") != 0)
        return wrong(in, "its kind is not 'astra-verify'", err);
    if (json_integer_of(json_get(root, "version")) != 1)
        return wrong(in, "its version is not 1", err);
    if (!json_is_array(stages) || json_count(stages) == 0)
        return wrong(in, "it has no stages", err);
    if (!take_query(in, root, err) || !calibrate_ask(in, resources, mem, err))
        return false;
    for (size_t i = 0; in->refusals == 0 && i < json_count(stages); i++)
        if (!json_is_object(json_at(stages, i)))
            return wrong(in, "a stage is no object", err);
    bool predicted = in->refusals == 0;
    for (size_t i = 0; predicted && i < json_count(stages); i++)
        if (!take_stage(in, json_at(stages, i), mem, err))
            return false;
    return true;
}

bool calibrate_read_verify(struct calibrate_input *in, struct resources *resources,
                           const char *text, size_t length, struct arena *mem, struct error *err)
{
    struct json *root = json_parse(text, length, in->path, err);
    bool ok = root && take_result(in, resources, root, mem, err);
    in->kind = "result of verify";
    if (root)
        json_release(root);
    return ok;
}
