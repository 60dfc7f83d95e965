/* From the text of a YAML file to the launch that it is about. */
#include "import/yaml/yaml_launch.h"

#include "base/arena.h"
#include "base/str.h"
#include "import/megatron/bridge_recipe.h"
#include "import/megatron/foreign_flags.h"
#include "import/yaml/yaml_parts.h"

#include <ctype.h>
#include <string.h>

enum { YAML_LONGEST = 1 << 20, LEAST_KNOWN = 3 };

/* The first line that is neither empty nor a comment. */
static const char *first_line(const char *text, const char *end)
{
    while (text < end) {
        const char *p = text, *stop = memchr(text, '\n', (size_t)(end - text));
        while (p < end && (*p == ' ' || *p == '\t' || *p == '\r'))
            p++;
        stop = stop ? stop : end;
        if (p < stop && *p != '#')
            return p;
        text = stop + 1;
    }
    return end;
}

/* KEY: and a blank or nothing behind it. A shell's word may have a colon, a command has none at its end. */
static bool is_key(const char *p, const char *end)
{
    const char *from = p;
    char quote = p < end && (*p == '"' || *p == '\'') ? *p++ : 0;
    while (p < end && *p != '\n' && (quote ? *p != quote : !strchr(" \t\r:=$(;|&<>`\"'", *p)))
        p++;
    p += quote && p < end && *p == quote;
    while (p < end && (*p == ' ' || *p == '\t')) /* "key : value" is YAML too */
        p++;
    return p > from && p < end && *p == ':' && (p + 1 == end || strchr(" \t\r\n", p[1]));
}

static bool begins(const char *p, const char *end, const char *with)
{
    size_t n = strlen(with);
    return (size_t)(end - p) >= n && memcmp(p, with, n) == 0;
}

/* Marks of a template (Helm, Jinja) that is YAML once it is filled in. */
static bool is_template(const char *p, const char *end)
{
    return begins(p, end, "{{") || begins(p, end, "{%");
}

bool yaml_launch_is(const char *text, size_t length)
{
    const char *end = text + length;
    if (begins(text, end, "\xef\xbb\xbf"))
        text += 3;
    if (begins(text, end, "#!"))
        return false;
    const char *p = first_line(text, end);
    if (begins(p, end, "---") && (p + 3 == end || isspace((unsigned char)p[3])))
        return true;
    if (begins(p, end, "%YAML") || is_template(p, end))
        return true;
    while (begins(p, end, "- "))
        p += 2;
    if (begins(p, end, "{") && !is_template(p, end))
        p = first_line(p + 1, end); /* a map in braces, with comments */
    return is_key(p, end);
}

/* How many settings of a map, and of those in it, have names of Megatron's arguments. */
static int known_names(struct yaml_reading *r, const struct yaml *map, bool deep)
{
    struct dest_list scratch;
    int known = 0;
    dest_list_init(&scratch, DEST_OVERRIDE, r->mem);
    for (const struct yaml *m = map->kind == YAML_MAP ? map->item : NULL; m; m = m->next)
        if (m->kind == YAML_MAP && deep)
            known += known_names(r, m, deep);
        else if (m->kind == YAML_SCALAR && !m->replaced)
            known += dest_add(&scratch, m->key + strspn(m->key, "-"), "1", 0);
    return known;
}

/* How often a name stands in a map and those in it. */
static int mentions(const struct yaml *map, const char *name)
{
    int n = 0;
    for (const struct yaml *m = map->kind == YAML_MAP ? map->item : NULL; m; m = m->next)
        n += m->kind == YAML_MAP ? mentions(m, name)
                                 : !m->replaced && same_name(m->key + strspn(m->key, "-"), name);
    return n;
}

static int mentions_of(const struct yaml_reading *r, const char *name)
{
    int n = 0;
    for (int i = 0; i < r->layers; i++)
        n += mentions(r->layer[i].root, name);
    return n;
}

static const struct yaml_dialect BY_FLAG = {.name = "YAML file",
                                            .sections = ".",
                                            .strange = "*",
                                            .source = "flags",
                                            .nodes = "num_nodes",
                                            .each = "num_gpus_per_node",
                                            .model = "",
                                            .program = "",
                                            .refused = ""};
static const struct yaml_dialect BY_FIELD = {.name = "YAML file",
                                             .sections = ".",
                                             .strange = "*",
                                             .source = "fields",
                                             .nodes = "num_nodes",
                                             .each = "num_gpus_per_node",
                                             .model = "",
                                             .program = "",
                                             .refused = ""};

/* A file of nobody's that we know, with names of Megatron's: those of one model, each there once. */
static const struct yaml_dialect *by_names(struct yaml_reading *r, const char **twice)
{
    static const char *const ONCE[] = {"num_layers", "hidden_size", "tensor_model_parallel_size",
                                       "pipeline_model_parallel_size", "micro_batch_size"};
    int known = 0;
    bool says = false;
    for (int i = 0; i < r->layers; i++)
        known += known_names(r, r->layer[i].root, true);
    for (size_t i = 0; i < sizeof ONCE / sizeof *ONCE; i++) {
        int n = mentions_of(r, ONCE[i]);
        says |= n > 0;
        if (n > 1 && r->layers == 1)
            *twice = ONCE[i];
    }
    if (known < LEAST_KNOWN || !says)
        return NULL;
    return mentions_of(r, "group_query_attention") ? &BY_FLAG : &BY_FIELD;
}

void reading_note_part(struct yaml_reading *r)
{
    launch_note(r->out,
                "the file describes a model and no training: batch, micro-batch (1), "
                "optimizer (not sharded) and what else it leaves out are Megatron's "
                "defaults, where the trainer that reads it may have others (-- FLAG VALUE)");
}

/* A part of a training, which others share: what its trainer sets is not known here. */
static void note_part(struct yaml_reading *r)
{
    static const char *const TRAINING[] = {"micro_batch_size", "global_batch_size", "train_iters",
                                           "train_samples", "lr"};
    for (size_t i = 0; i < sizeof TRAINING / sizeof *TRAINING; i++)
        if (mentions_of(r, TRAINING[i]))
            return;
    reading_note_part(r);
}

static int64_t number_at(struct yaml_reading *r, const char *path)
{
    const char *text = reading_text(r, path);
    int64_t n;
    return text && parse_int(text, &n) && n > 0 && n < 1 << 24 ? n : 0;
}

static void read_world(struct yaml_reading *r)
{
    r->out->said_nodes = number_at(r, r->dialect->nodes);
    r->out->said_per_node = number_at(r, r->dialect->each);
}

static void finish_world(struct launch *l)
{
    if (!l->said_nodes || !l->said_per_node)
        return;
    l->nodes = l->said_nodes;
    l->per_node = l->said_per_node;
    l->gpus = l->nodes * l->per_node;
}

static void read_names(struct yaml_reading *r)
{
    const char *program = r->dialect->program;
    const char *text = *program == '=' ? program + 1 : reading_text(r, program);
    const char *slash = text ? strrchr(text, '/') : NULL;
    r->out->program = slash ? slash + 1 : text;
    r->out->model = reading_text(r, r->dialect->model);
}

/* Megatron's tests lie in folders of the program that they are for. */
static void read_folder(struct yaml_reading *r)
{
    static const char *const KINDS[][2] = {{"/test_cases/bert/", "pretrain_bert.py"},
                                           {"/test_cases/t5/", "pretrain_t5.py"},
                                           {"/test_cases/hybrid/", "pretrain_hybrid.py"},
                                           {"/bert-nemo_", "pretrain_bert.py"},
                                           {"/t5-nemo_", "pretrain_t5.py"},
                                           {"/test_cases/multimodal", "pretrain_vlm.py"}};
    for (size_t i = 0; i < sizeof KINDS / sizeof *KINDS; i++)
        if (strstr(r->path, KINDS[i][0]))
            r->out->program = KINDS[i][1];
}

/* FlagScale's files of a model lie in MODEL/conf/train: what trains no decoder is seen from that name alone. */
static void read_model_folder(struct yaml_reading *r)
{
    const char *conf = strstr(r->path, "/conf/"), *from = conf, *note;
    if (!conf || r->out->program || strcmp(r->dialect->name, "FlagScale file") != 0)
        return;
    while (from > r->path && from[-1] != '/')
        from--;
    const char *name = arena_copy(r->mem, from, (size_t)(conf - from));
    if (foreign_program(name, &note))
        r->out->program = name;
}

/* Tests of NeMo say what differs from a recipe that stands nowhere in the file. */
static bool is_on_recipe(struct yaml_reading *r)
{
    const struct yaml *map = reading_find(r, "MODEL_ARGS");
    const struct yaml *m = map && map->kind == YAML_MAP ? map->item : NULL;
    while (m && strncmp(m->key, "trainer.", 8) != 0)
        m = m->next;
    return m != NULL;
}

static void note_recipe(struct yaml_reading *r)
{
    if (is_on_recipe(r))
        launch_note(r->out, "settings on top of a recipe of NeMo, which is not read: its key-value "
                            "heads, gated MLP, norms, precision and sharding of the optimizer are "
                            "not planned; --model NAME and flags behind -- state them");
}

/* FlagScale's tuner tries others than the one that is written down. */
static void note_tuner(struct yaml_reading *r)
{
    if (reading_find(r, "experiment.auto_tuner"))
        launch_note(r->out, "experiment.auto_tuner: the settings below are planned, not those that "
                            "the tuner would try (astra search finds the best)");
}

/* Sections of variables: of Megatron's tests, FlagScale, SkyPilot. */
static const char *variable_of(void *from, const char *name)
{
    static const char *const PLACES[] = {"ENV_VARS", "experiment.envs", "envs"};
    struct yaml_reading *r = from;
    const char *value = NULL;
    for (size_t i = 0; i < sizeof PLACES / sizeof *PLACES && !value; i++)
        value = reading_text(r, arena_format(r->mem, "%s.%s", PLACES[i], name));
    return value;
}

static void read_sections(struct yaml_reading *r)
{
    char section[64];
    for (int i = 0; i < r->layers; i++) {
        r->below = r->list.count;
        for (const char *at = r->dialect->sections; next_word(&at, section, sizeof section);) {
            const struct yaml *map = yaml_at(r->layer[i].root, section);
            r->own = r->layer[i].own;
            if (map && map->key && r->own && !r->out->line)
                r->out->line = map->key_line;
            if (map)
                reading_settings(r, map, strcmp(section, ".") == 0 ? "" : section);
        }
    }
}

static void finish(struct yaml_reading *r)
{
    struct launch *l = r->out;
    bool chosen = /* no defaults among them */
        strcmp(r->dialect->name, "Megatron-LM test") == 0 && !is_on_recipe(r);
    if (!l->model && !chosen)
        dest_list_drop_defaults(&r->list);
    dest_list_drop_off(&r->list);
    if (strcmp(r->dialect->name, "NeMo file") == 0 ||
        strcmp(r->dialect->name, "Megatron-Bridge file") == 0)
        bridge_finish(&r->list);
    finish_world(l);
    l->line = l->line ? l->line : r->documents->line;
    reading_add_width(r);
    l->kind = r->dialect->name;
    l->count = r->list.count;
    l->word = r->list.word;
    l->unknowns = r->list.unknowns;
    l->unknown = r->list.unknown;
}

static bool read_dialect(struct yaml_reading *r)
{
    const struct yaml_dialect *d = r->dialect;
    if (*d->refused)
        return fail(r->err, ERROR_INPUT, "%s: this %s is not planned: %s", r->path, d->name,
                    d->refused) ||
               error_in_file(r->err);
    dest_list_init(&r->list, strcmp(d->source, "flags") == 0 ? DEST_LOG : DEST_OVERRIDE, r->mem);
    r->own = true;
    if (!*d->sections) {
        if (!(strcmp(d->name, "Primus file") == 0 ? primus_read(r) : neox_read(r)))
            return false;
    } else {
        read_world(r);
        read_names(r);
        read_folder(r);
        read_model_folder(r);
        note_recipe(r);
        note_tuner(r);
        launch_environment(r->out, variable_of, r, r->mem);
        read_sections(r);
    }
    finish(r);
    return !r->refused || fail(r->err, ERROR_INPUT, "%s", r->refused) || error_in_file(r->err);
}

static bool nothing_known(struct yaml_reading *r)
{
    return fail(
        r->err, ERROR_INPUT,
        "%s: no training is described: expected settings of Megatron-LM, FlagScale, GPT-NeoX, "
        "Primus, NeMo or Megatron-Bridge, or a job whose command starts a training",
        r->path);
}

/* Settings of a dialect, otherwise a command in it, otherwise names that we know. */
static bool read_documents(struct yaml_reading *r)
{
    const char *twice = NULL;
    bool manifest = false;
    for (const struct yaml *d = r->documents; d; d = d->next)
        manifest |= yaml_get(d, "apiVersion") && yaml_get(d, "kind");
    if (manifest)
        return job_read(r, false);
    if (r->documents->next)
        launch_note(r->out, arena_format(r->mem,
                                         "line %d: a second document, which is not read: the first "
                                         "counts",
                                         r->documents->next->line));
    reading_add_document(r, r->documents, "", true);
    r->dialect = dialect_of(r);
    const struct yaml *run = yaml_get(r->documents, "run");
    if (!r->dialect && run && run->kind == YAML_SCALAR)
        return job_read(r, false);
    if (r->dialect)
        return read_dialect(r);
    r->dialect = by_names(r, &twice);
    if (!r->dialect)
        return job_read(r, true) || nothing_known(r);
    if (twice)
        return fail(r->err, ERROR_INPUT,
                    "%s: %s stands there more than once, and which one counts is not known: give "
                    "the part of one training",
                    r->path, twice);
    note_part(r);
    return read_dialect(r);
}

bool yaml_launch_read(const char *path, const char *text, size_t length,
                      const struct script_env *env, int envs, bool follow, struct launch *out,
                      struct arena *mem, struct error *err)
{
    struct yaml_reading *r = arena_alloc(mem, sizeof *r);
    const char *end = text + length, *p = first_line(text, end);
    *out = (struct launch){.path = path};
    if (length > YAML_LONGEST)
        return fail(err, ERROR_INPUT, "%s: YAML of more than %d MiB describes no training", path,
                    YAML_LONGEST >> 20);
    if (is_template(p, end))
        return fail(err, ERROR_INPUT,
                    "%s: a template: fill it in first, as helm template and jinja do", path);
    *r = (struct yaml_reading){.path = path,
                               .env = env,
                               .envs = envs,
                               .follow = follow,
                               .out = out,
                               .mem = mem,
                               .err = err};
    dest_list_init(&r->list, DEST_LOG, mem);
    r->documents = yaml_parse_all(text, length, path, mem, err);
    return r->documents && read_documents(r);
}
