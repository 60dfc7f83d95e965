/* A plan that Astra wrote, as the query it answers: its groups of nodes are the cluster, its
 * engine's flags the strategy. */
#include "query/query_file.h"

#include "base/file.h"
#include "base/json.h"
#include "base/str.h"
#include "query/query_parts.h"

#include <string.h>

/* The plan object of a file: the file itself, or one of a search's best. */
static const struct json *plan_of(const struct json *root, int number, struct error *err)
{
    const struct json *best = json_get(root, "best");
    size_t count = json_is_array(best) ? json_count(best) : 0;
    if (number > 1 && (size_t)number > count) {
        fail(err, ERROR_INPUT, "--plan is %d, the file has %zu plan%s", number, count ? count : 1,
             count > 1 ? "s" : "");
        return NULL;
    }
    return count > 0 ? json_at(best, number > 1 ? (size_t)number - 1 : 0) : root;
}

static bool take_words(struct options *o, const struct json *flags, struct error *err)
{
    size_t n = json_count(flags);
    const char **words = arena_array(o->mem, n + 1, sizeof *words);
    for (size_t i = 0; i < n; i++) {
        if (!json_is_string(json_at(flags, i)))
            return fail(err, ERROR_INPUT, "engine.flags[%zu] is not text", i);
        words[i] = json_text(json_at(flags, i));
    }
    return options_flags(o, n, words, err);
}

/* A group of a plan without what the job makes of it, which the flags say as well. */
static struct json *group_alone(const struct json *group)
{
    static const char *const without[] = {"stages",
#define X(name) #name,
                                          MESH_TABLE(X)
#undef X
    };
    struct json *copy = json_new_copy(group, NULL);
    for (size_t i = 0; i < sizeof without / sizeof *without; i++) {
        struct json *less = json_new_copy(copy, without[i]);
        json_release(copy);
        copy = less;
    }
    return copy;
}

/* The node groups of a plan are those of a cluster file, but for the job: JSON is YAML. `name`
 * is their key. */
static bool take_groups(struct options *o, const struct json *plan, const char *name,
                        struct error *err)
{
    const struct json *given = json_get(plan, name), *links = json_get(plan, "links");
    struct json *file = json_new_object(), *groups = json_new_array();
    struct str text = {0};
    if (json_is_object(given))
        json_append(groups, json_new_copy(given, NULL));
    for (size_t i = 0; json_is_array(given) && i < json_count(given); i++)
        json_append(groups, group_alone(json_at(given, i)));
    json_set(file, "groups", groups);
    if (links)
        json_set(file, "links", json_new_copy(links, NULL));
    json_dump_release(file, &text);
    o->has_cluster =
        cluster_from_yaml(&o->cluster, str_text(&text), text.length, name, o->mem, err);
    str_release(&text);
    return o->has_cluster;
}

static bool take_cluster(struct options *o, const struct json *plan, struct error *err)
{
    if (json_is_object(json_get(plan, "node_group")))
        return take_groups(o, plan, "node_group", err);
    if (json_is_array(json_get(plan, "node_groups")))
        return take_groups(o, plan, "node_groups", err);
    return options_set(o, "cluster", json_text(json_get(plan, "cluster")), err);
}

/* The cluster and the number of GPUs are the plan's, unless the user named a cluster. */
static bool take_pool(struct options *o, const struct json *plan, struct error *err)
{
    if (o->has_cluster)
        return true;
    if (!take_cluster(o, plan, err))
        return false;
    int64_t gpus = json_integer_of(json_get(plan, "gpus"));
    if (!o->terms.gpus && o->cluster.groups == 1 && gpus > 0 &&
        gpus < cluster_max_gpus(&o->cluster))
        o->terms.gpus = gpus;
    o->money.of_plan = true;
    return true;
}

/* What options did not say. A run is so many samples or so many tokens. */
static void take_run(struct options *o, const struct json *run)
{
    bool samples = json_get(run, "samples") && !o->times[OPTION_tokens];
    const struct {
        const char *name;
        double *value;
        enum option_id option;
        bool counts;
    } terms[] = {{"tokens", &o->run.tokens, OPTION_tokens, !samples && !o->times[OPTION_samples]},
                 {"samples", &o->run.samples, OPTION_samples, samples},
                 {"epochs", &o->dataset.epochs, OPTION_epochs, samples},
                 {"checkpoint_every_s", &o->run.outage.interval_s, OPTION_checkpoint_every, true},
                 {"checkpoint_write_s", &o->run.outage.write_s, OPTION_checkpoint_write, true},
                 {"restart_s", &o->run.outage.restart_s, OPTION_restart, true}};
    for (size_t i = 0; i < sizeof terms / sizeof *terms; i++) {
        double value = json_number_of(json_get(run, terms[i].name));
        if (value > 0 && terms[i].counts && !o->times[terms[i].option])
            *terms[i].value = value;
    }
}

/* The same of its samples. */
static bool take_dataset(struct options *o, const struct json *dataset, struct error *err)
{
    const struct json *lengths = json_get(dataset, "lengths"),
                      *padding = json_get(dataset, "padding");
    bool packed = json_bool_of(json_get(dataset, "packing"));
    if (!json_is_string(lengths) || o->times[OPTION_lengths])
        return true;
    if (!options_set(o, "lengths", json_text(lengths), err))
        return false;
    if (packed && !o->times[OPTION_packing])
        return options_set(o, "packing", "on", err);
    return packed || o->times[OPTION_padding] || !json_is_string(padding) ||
           options_set(o, "padding", json_text(padding), err);
}

/* The same of what they are for. */
static bool take_task(struct options *o, const struct json *task, struct error *err)
{
    const struct json *reference = json_get(task, "reference");
    if (!json_is_string(json_get(task, "kind")) || o->times[OPTION_task])
        return true;
    if (!options_set(o, "task", json_text(json_get(task, "kind")), err))
        return false;
    o->task.generation_s = json_number_of(json_get(task, "generation_s"));
    return o->times[OPTION_reference] || !json_is_string(reference) ||
           options_set(o, "reference", json_text(reference), err);
}

static bool is_feasible(const struct json *plan, struct error *err)
{
    const struct json *reasons = json_get(plan, "reasons");
    bool said = json_is_array(reasons) && json_count(reasons) > 0;
    return !said ||
           fail(err, ERROR_INFEASIBLE, "the plan is not feasible: %s",
                json_is_string(json_at(reasons, 0)) ? json_text(json_at(reasons, 0)) : "?");
}

static bool is_preset(const char *name)
{
    for (const struct model_preset *p = model_presets(); p->name; p++)
        if (strcmp(p->name, name) == 0)
            return true;
    return false;
}

/* The flags cannot say all of a model. Where the plan's is a preset and the flags agree with it,
 * it is that one. */
static void take_model(struct options *o, const struct json *plan)
{
    const struct json *name = json_get(json_get(plan, "model"), "name");
    struct flags_result flags = o->flags;
    struct model preset;
    if (o->has_model || !json_is_string(name) || !is_preset(json_text(name)) ||
        !model_load(&preset, json_text(name), o->mem, NULL) ||
        !(flags.job || flags_model(&flags, &preset, NULL)))
        return;
    o->model = preset;
    o->has_model = true;
}

static void take_train(struct options *o, const struct json *words)
{
    if (json_is_string(words))
        o->file_train = arena_string(o->mem, json_text(words));
}

/* Of a model that only flags describe, what they leave out. */
static void take_untold(struct options *o, const struct json *list)
{
    size_t count = json_is_array(list) && !o->has_model ? json_count(list) : 0;
    o->export.untold = arena_array(o->mem, count + 1, sizeof *o->export.untold);
    o->export.untolds = 0;
    for (size_t i = 0; i < count; i++)
        if (json_is_string(json_at(list, i)))
            o->export.untold[o->export.untolds++] =
                arena_string(o->mem, json_text(json_at(list, i)));
}

static bool take_plan(struct options *o, const struct json *root, struct error *err)
{
    const struct json *plan = plan_of(root, o->plan, err);
    const struct json *flags = plan ? json_get(json_get(plan, "engine"), "flags") : NULL;
    if (!plan)
        return false;
    if (plan && json_is_null(flags) && json_is_object(json_get(plan, "engine")))
        return fail(
            err, ERROR_INPUT,
            "the plan has no flags, because nothing launches its model: ask again with --model, "
            "--cluster and --set");
    if (!json_is_array(flags) || !json_is_string(json_get(plan, "cluster")))
        return fail(err, ERROR_INPUT,
                    "not a plan of Astra: engine.flags or cluster is missing (write one with "
                    "--format json)");
    take_run(o, json_get(plan, "run"));
    if (!take_dataset(o, json_get(plan, "dataset"), err) ||
        !take_task(o, json_get(plan, "task"), err))
        return false;
    if (!options_take_residual(o, json_get(plan, "residual"), err))
        return false;
    if (!take_pool(o, plan, err) || !take_words(o, flags, err))
        return false;
    take_model(o, plan);
    take_train(o, json_get(json_get(plan, "model"), "train"));
    take_untold(o, json_get(json_get(plan, "engine"), "untold"));
    return !o->export.format || is_feasible(plan, err);
}

/* What is wrong with the plan in a file names the file. */
static void name_file(struct error *err, const char *path)
{
    struct error inner = *err;
    fail(err, inner.kind, "%s: %s", path, inner.text);
}

bool import_plan(struct options *o, const struct text *text, const char *path, struct error *err)
{
    struct json *root = json_parse(text->data, text->length, path, err);
    bool ok = root && take_plan(o, root, err);
    if (root && !ok)
        name_file(err, path);
    if (root)
        json_release(root);
    return ok;
}
