/* A job: which commands it runs, with what variables, on how many nodes and GPUs. Kubernetes has them in containers,
 * around which replicas stand (PyTorchJob, TrainJob, MPIJob, JobSet, LeaderWorkerSet, Job ...), SkyPilot under run. Every
 * command is read as a script, and the one that starts the largest training counts. */
#include "import/yaml/yaml_parts.h"

#include "base/arena.h"
#include "base/str.h"

#include <string.h>

enum { COMMANDS_MOST = 64, ENVS_MOST = 512, DEEPEST = 64 };

struct job_command {
    const char *script;
    const struct yaml *around; /* whose variables it sees */
    int line;
};

struct yaml_job {
    struct yaml_reading *r;
    bool any; /* texts of any key may be commands */
    int commands;
    struct job_command command[COMMANDS_MOST];
    int64_t nodes, each, processes; /* 0 = not said */
    const char *kind;               /* of a manifest */
    int envs;
    struct script_env env[ENVS_MOST];
};

static int64_t count_of(struct yaml_reading *r, const struct yaml *node)
{
    int64_t n;
    const char *text = node && node->kind == YAML_SCALAR ? reading_value(r, node) : "";
    return parse_int(text, &n) && n > 0 && n <= 1 << 20 ? n : 0;
}

static void add_script(struct yaml_job *j, const char *script, const struct yaml *around, int line)
{
    if (script && j->commands < COMMANDS_MOST)
        j->command[j->commands++] = (struct job_command){script, around, line};
}

/* nvidia.com/gpu: 8 among the limits of a container. */
static int64_t gpus_in(struct yaml_reading *r, const struct yaml *limits)
{
    for (const struct yaml *m = limits && limits->kind == YAML_MAP ? limits->item : NULL; m;
         m = m->next)
        if (!m->replaced && strchr(m->key, '/') &&
            (strstr(m->key, "gpu") || strstr(m->key, "gaudi") || strstr(m->key, "Ascend")))
            return count_of(r, m);
    return 0;
}

static int64_t gpus_of(struct yaml_reading *r, const struct yaml *map)
{
    static const char *const PLACES[] = {"resources.limits", "resources.requests",
                                         "resourcesPerNode.limits", "resourcesPerNode.requests"};
    for (size_t i = 0; i < sizeof PLACES / sizeof *PLACES; i++) {
        int64_t n = gpus_in(r, yaml_at(map, PLACES[i]));
        if (n)
            return n;
    }
    return 0;
}

static void add_nodes(struct yaml_job *j, int64_t nodes, int64_t each)
{
    if (each == 0)
        return;
    j->nodes += nodes;
    j->each = j->each && j->each != each ? -1 : each;
}

/* "H100:8", {H100: 8}, or a list of such. */
static int64_t accelerators(struct yaml_reading *r, const struct yaml *node)
{
    int64_t n;
    if (node && node->kind == YAML_LIST)
        node = node->item;
    if (node && node->kind == YAML_MAP)
        return count_of(r, node->item);
    const char *text = node && node->kind == YAML_SCALAR ? reading_value(r, node) : NULL;
    const char *colon = text ? strrchr(text, ':') : NULL;
    if (!text)
        return 0;
    return colon && parse_int(colon + 1, &n) && n > 0 && n <= 1024 ? n : 1;
}

/* Containers that stand there so many times. */
static int64_t times(struct yaml_job *j, const struct yaml *map)
{
    static const char *const COUNTS[] = {"replicas", "parallelism", "numNodes"};
    int64_t factor = 1;
    for (size_t i = 0; i < sizeof COUNTS / sizeof *COUNTS; i++) {
        int64_t n = count_of(j->r, yaml_get(map, COUNTS[i]));
        factor *= n ? n : 1;
    }
    return factor <= 1 << 20 ? factor : 1 << 20;
}

/* Of a LeaderWorkerSet: one leader, and workers for the rest of its size. */
static int64_t group_times(struct yaml_job *j, const struct yaml *map, const char *key)
{
    int64_t size = count_of(j->r, yaml_get(map, "size"));
    if (!size || strcmp(key, "workerTemplate") != 0)
        return 1;
    return yaml_get(map, "leaderTemplate") && size > 1 ? size - 1 : size;
}

static void read_processes(struct yaml_job *j, const struct yaml *map)
{
    static const char *const NAMES[] = {"nprocPerNode", "numProcPerNode", "slotsPerWorker"};
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        int64_t n = count_of(j->r, yaml_get(map, NAMES[i]));
        j->processes = n ? n : j->processes;
    }
}

static bool is_script_key(const char *key)
{
    return is_one_of(key, "run script script_setup cmd commands entrypoint train.sh");
}

/* A text that may be a script: several words, with flags or a program. */
static bool looks_like_script(const struct yaml *m)
{
    return m->kind == YAML_SCALAR && strpbrk(m->text, " \n") &&
           (strstr(m->text, "--") || strstr(m->text, ".py") || strstr(m->text, ".sh"));
}

/* Lines of a list, each a command. */
static const char *script_of_list(struct yaml_reading *r, const struct yaml *list)
{
    struct str s = {0};
    int line = 1;
    for (const struct yaml *e = list->item; e; e = e->next) {
        if (e->kind != YAML_SCALAR)
            continue;
        const char *text = script_of_text(r, e);
        for (int n = 1; *text && n < line; n += *text++ == '\n')
            continue;
        for (const char *p = text; *p; p++)
            line += *p == '\n';
        str_addf(&s, "%s\n", text);
        line++;
    }
    return str_keep(&s, r->mem);
}

static void take_member(struct yaml_job *j, const struct yaml *map, const struct yaml *m)
{
    bool named = is_script_key(m->key);
    if (is_one_of(m->key, "command args")) /* read with the container */
        return;
    if (m->kind == YAML_SCALAR && (named || j->any || !m->plain) && looks_like_script(m))
        add_script(j, script_of_text(j->r, m), map, m->key_line);
    else if (m->kind == YAML_LIST && named)
        add_script(j, script_of_list(j->r, m), map, m->key_line);
}

static void walk(struct yaml_job *j, const struct yaml *node, int64_t factor, int depth)
{
    if (depth > DEEPEST || node->kind == YAML_SCALAR || factor > 1 << 20)
        return;
    if (node->kind == YAML_LIST) {
        for (const struct yaml *e = node->item; e; e = e->next)
            walk(j, e, factor, depth + 1);
        return;
    }
    const struct yaml *command = yaml_get(node, "command"), *args = yaml_get(node, "args");
    factor *= times(j, node);
    read_processes(j, node);
    add_nodes(j, factor, gpus_of(j->r, node));
    if (command || args)
        add_script(j, script_of_command(j->r, command, args), node,
                   command ? command->key_line : args->key_line);
    for (const struct yaml *m = node->item; m; m = m->next) {
        if (m->replaced)
            continue;
        take_member(j, node, m);
        walk(j, m, factor * group_times(j, node, m->key), depth + 1);
    }
}

static void set_env(struct yaml_job *j, const char *name, const char *value)
{
    if (j->envs < ENVS_MOST && launch_is_known(value))
        j->env[j->envs++] = (struct script_env){.name = name, .value = value, .weak = true};
}

static void set_count(struct yaml_job *j, const char *name, int64_t n)
{
    if (n > 0)
        set_env(j, name, arena_format(j->r->mem, "%lld", (long long)n));
}

static bool is_name(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    return *name && strspn(name, letters) == strlen(name) && !strchr("0123456789", *name);
}

/* [{name: A, value: 1}] of a container, {A: 1} of others. */
static void read_env(struct yaml_job *j, const struct yaml *list)
{
    for (const struct yaml *e = list && list->kind != YAML_SCALAR ? list->item : NULL; e;
         e = e->next) {
        const struct yaml *name = list->kind == YAML_LIST ? yaml_get(e, "name") : NULL;
        const struct yaml *value = name ? yaml_get(e, "value") : e;
        const char *text = name && name->kind == YAML_SCALAR ? name->text : e->key;
        if (text && is_name(text) && value && value->kind == YAML_SCALAR && !e->replaced)
            set_env(j, text, reading_value(j->r, value));
    }
}

/* What the operators set themselves, then the job, then the user. */
static void prepare_env(struct yaml_job *j, const struct yaml *around)
{
    static const char *const PLACES[] = {"env", "envs", "environment", "variables"};
    j->envs = 0;
    set_count(j, "PET_NNODES", j->nodes);
    set_count(j, "PET_NPROC_PER_NODE", j->each);
    set_count(j, "SKYPILOT_NUM_NODES", j->nodes);
    set_count(j, "SKYPILOT_NUM_GPUS_PER_NODE", j->each);
    if (j->kind && strcmp(j->kind, "PyTorchJob") == 0)
        set_count(j, "WORLD_SIZE", j->nodes);
    for (size_t i = 0; i < sizeof PLACES / sizeof *PLACES; i++)
        read_env(j, yaml_get(around, PLACES[i]));
    for (int i = 0; i < j->r->envs && j->envs < ENVS_MOST; i++)
        j->env[j->envs++] = j->r->env[i];
}

static void add_world(struct yaml_job *j, struct launch *l)
{
    int64_t each = j->each > 0 ? j->each : 0;
    if (!j->nodes || !each)
        return;
    if (l->gpus && l->gpus != j->nodes * each)
        launch_note(l, arena_format(j->r->mem,
                                    "the command starts %lld processes, the job has %lld GPUs: "
                                    "those of the job count",
                                    (long long)l->gpus, (long long)(j->nodes * each)));
    l->nodes = j->nodes;
    l->per_node = each;
    l->gpus = j->nodes * each;
}

/* The largest training that a command starts; the first trouble where none does. */
static bool read_commands(struct yaml_job *j, struct error *trouble)
{
    struct yaml_reading *r = j->r;
    bool found = false;
    for (int i = 0; i < j->commands; i++) {
        struct launch l;
        struct error err = {0};
        const char *text = j->command[i].script;
        prepare_env(j, j->command[i].around);
        if (!script_read(r->path, text, strlen(text), j->env, j->envs,
                         r->follow ? SCRIPT_FOLLOWS : 0, &l, r->mem, &err)) {
            *trouble = i == 0 ? err : *trouble;
            continue;
        }
        if (!found || l.count > r->out->count)
            *r->out = l;
        r->out->is_script = false;
        found = true;
    }
    return found;
}

bool job_read(struct yaml_reading *r, bool any)
{
    struct yaml_job *j = arena_alloc(r->mem, sizeof *j);
    struct error trouble = {0};
    const struct yaml *root = r->documents;
    const char *name = yaml_get(root, "apiVersion") ? "Kubernetes manifest"
                       : yaml_get(root, "run")      ? "SkyPilot file"
                                                    : "job in YAML";
    j->r = r;
    j->any = any;
    for (const struct yaml *d = root; d; d = d->next) {
        const struct yaml *kind = yaml_get(d, "kind");
        if (kind && kind->kind == YAML_SCALAR && strcmp(kind->text, "ConfigMap") != 0)
            j->kind = kind->text;
        walk(j, d, 1, 0);
    }
    int64_t nodes = count_of(r, yaml_get(root, "num_nodes"));
    int64_t each = accelerators(r, yaml_at(root, "resources.accelerators"));
    add_nodes(j, nodes ? nodes : 1, each);
    j->each = j->each ? j->each : j->processes;
    if (!read_commands(j, &trouble)) {
        if (any)
            return false;
        return fail(r->err, ERROR_INPUT,
                    "%s: no training is started by the %d commands of this %s: expected one with "
                    "pretrain_gpt.py or another program and Megatron's flags behind it; a script "
                    "that it runs from elsewhere can be given itself",
                    r->path, j->commands, name);
    }
    r->out->kind = name;
    add_world(j, r->out);
    return true;
}
