/* Primus names a trainer, a model and what differs from both: modules: {pre_trainer: {framework, config, model, overrides}}.
 * The files of the first two lie in Primus' own tree: what its trainers and models set are tables, and of a model that is in none
 * the name decides which it is. Files of these names beside the one that is read count instead. */
#include "import/yaml/yaml_parts.h"

#include "base/arena.h"
#include "base/str.h"
#include "import/megatron/foreign_flags.h"
#include "import/megatron/primus_model.h"
#include "model/model.h"

#include <string.h>

static const struct {
    const char *framework, *config, *switches, *numbers;
} TRAINERS[] = {
#define TRAINER(framework, config, switches, numbers) {framework, config, switches, numbers},
#include "import/megatron/primus_trainers.def"
#undef TRAINER
};

static const struct yaml_dialect BY_FIELD = {
    .name = "Primus file", .strange = "*", .source = "fields"};

static const char *scalar(struct yaml_reading *r, const struct yaml *map, const char *key)
{
    const struct yaml *node = yaml_get(map, key);
    const char *text = node && node->kind == YAML_SCALAR ? reading_value(r, node) : "";
    return launch_is_known(text) && !same_name(text, "null") ? text : "";
}

/* The part of a path behind the last "/", without .yaml. */
static const char *base_name(const char *path, struct arena *mem)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t n = strlen(name);
    return n > 5 && strcmp(name + n - 5, ".yaml") == 0 ? arena_copy(mem, name, n - 5) : name;
}

static bool refuse(struct yaml_reading *r, const struct yaml *module, const char *what,
                   const char *why)
{
    return fail(r->err, ERROR_INPUT,
                "%s:%d: %s is not planned: %s; flags behind -- without a file are planned as a "
                "decoder's",
                r->path, reading_line(r, module), what, why) ||
           error_in_file(r->err);
}

static bool is_megatron(const char *framework)
{
    return is_one_of(framework, "megatron megatron_bridge");
}

/* The module that trains; of several, the first that Megatron runs. */
static const struct yaml *training_module(struct yaml_reading *r, const char **framework)
{
    const struct yaml *modules = reading_find(r, "modules"), *found = NULL;
    for (const struct yaml *m = modules->item; m; m = m->next) {
        if (m->replaced || m->kind != YAML_MAP)
            continue;
        const char *name = scalar(r, m, "framework");
        name = *name ? name : "megatron";
        if (!found || (!is_megatron(*framework) && is_megatron(name))) {
            found = m;
            *framework = name;
        }
    }
    return found;
}

/* Settings of a file beside this one; false where it is not there. */
static bool read_file(struct yaml_reading *r, const char *name)
{
    int from = r->layers;
    bool own = r->own;
    if (!*name || !reading_add_file(r, name, ""))
        return false;
    r->own = false;
    for (int i = from; i < r->layers; i++) {
        r->below = r->list.count;
        reading_settings(r, r->layer[i].root, "");
    }
    r->own = own;
    r->layers = from;
    return true;
}

static void read_trainer(struct yaml_reading *r, const char *framework, const char *config)
{
    const char *name = strrchr(config, '/') ? strrchr(config, '/') + 1 : config;
    if (read_file(r, config))
        return;
    for (size_t i = 0; i < sizeof TRAINERS / sizeof *TRAINERS; i++)
        if (strcmp(TRAINERS[i].framework, framework) == 0 &&
            (strcmp(TRAINERS[i].config, name) == 0 || *TRAINERS[i].config == '*')) {
            reading_words(r, TRAINERS[i].switches, "", 0);
            reading_words(r, TRAINERS[i].numbers, "", 0);
            return;
        }
}

/* What the files of all models in models/megatron set, whatever their makers did. */
static void add_of_models(struct yaml_reading *r, const char *name)
{
    const char *preset = model_named(name);
    struct error ignored;
    struct model m;
    if (!preset || !model_load(&m, preset, r->mem, &ignored))
        return;
    reading_words(r, "--attention-dropout 0 --hidden-dropout 0", "", 0);
    if (m.experts)
        reading_words(r, "--moe-grouped-gemm --moe-token-dispatcher-type alltoall", "", 0);
    if (m.tied) {
        reading_words(r, "--untie-embeddings-and-output-weights", "", 0);
        launch_note(r->out, "Primus gives every model an output layer with weights of its own");
    }
}

static bool is_off(struct yaml_reading *r, const struct yaml *map, const char *key)
{
    const struct yaml *node = map ? yaml_get(map, key) : NULL;
    const char *text = node && node->kind == YAML_SCALAR ? reading_value(r, node) : "-";
    return !*text || is_one_of(text, "null None false False 0");
}

/* Flags can only add to a model that is named: what overrides take from it is looked at here. */
static void take_from_model(struct yaml_reading *r, const struct yaml *overrides, const char *name)
{
    const char *preset = model_named(name);
    struct error ignored;
    struct model m;
    if (!preset || !model_load(&m, preset, r->mem, &ignored))
        return;
    if (m.mtp && is_off(r, overrides, "mtp_num_layers"))
        reading_words(r, "--mtp-num-layers 0", "", reading_line(r, overrides));
    if (m.mla && is_off(r, overrides, "multi_latent_attention")) {
        r->out->plain_attention = true;
        launch_note(r->out,
                    arena_format(r->mem,
                                 "multi_latent_attention is off: %s is planned with heads of their "
                                 "own keys and values, as wide as its are without positions",
                                 preset));
    }
}

/* The model's own file, the row of its name, or the preset of its name. */
static void read_model(struct yaml_reading *r, const char *framework, const char *model,
                       const char *name)
{
    if (read_file(r, model) || !*name)
        return;
    if (strcmp(framework, "megatron") == 0 && primus_model_add(&r->list, name, 0)) {
        launch_note(r->out, primus_model_note(name, r->mem));
        return;
    }
    r->out->model = name;
    if (strcmp(framework, "megatron") == 0)
        add_of_models(r, name);
}

bool primus_read(struct yaml_reading *r)
{
    const char *framework = "", *note;
    const struct yaml *module = training_module(r, &framework);
    if (!module)
        return fail(r->err, ERROR_INPUT, "%s: modules: holds no module that trains", r->path);
    if (!is_megatron(framework))
        return refuse(r, module, arena_format(r->mem, "the framework %s", framework),
                      "only Megatron's trainings are");
    const char *model = scalar(r, module, "model"), *name = base_name(model, r->mem);
    const char *why = foreign_program(name, &note);
    if (why)
        return refuse(r, module, name, why);
    r->out->line = reading_line(r, module);
    if (strcmp(framework, "megatron_bridge") == 0) {
        r->dialect = &BY_FIELD;
        r->list.source = DEST_OVERRIDE;
    }
    read_trainer(r, framework, scalar(r, module, "config"));
    read_model(r, framework, model, name);
    const struct yaml *overrides = yaml_get(module, "overrides");
    r->below = r->list.count;
    if (overrides)
        reading_settings(r, overrides, "");
    if (overrides && r->out->model)
        take_from_model(r, overrides, name);
    return true;
}
