/* On how many GPUs a launch runs: what torchrun, deepspeed, mpirun, srun and the #SBATCH headers say. */
#include "import/shell/script_parts.h"

#include <string.h>

const char *script_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

const char *script_option(const struct launch_word *word, int count, const char *name)
{
    const char *value = NULL;
    for (int i = 0; i < count; i++) {
        const char *w = word[i].text;
        size_t n = strcspn(w, "=");
        bool dashes = w[0] == '-' && w[1] == '-';
        if (!dashes && strcmp(w, name) == 0 && i + 1 < count)
            value = word[i + 1].text; /* -N 4 */
        else if (!dashes && strlen(name) == 2 && strncmp(w, name, 2) == 0 && w[2])
            value = w + 2; /* -N4 */
        if (!dashes || n != strlen(name))
            continue;
        bool same = true;
        for (size_t k = 2; k < n && same; k++)
            same = w[k] == name[k] || (w[k] == '_' && name[k] == '-');
        if (same && w[n])
            value = w + n + 1;
        else if (same && i + 1 < count)
            value = word[i + 1].text;
    }
    return value;
}

/* A whole number above 0; 0 = not there or not known. */
static int64_t count_of(const char *text)
{
    int64_t n;
    return text && parse_int(text, &n) && n >= 1 && n <= 1 << 24 ? n : 0;
}

/* "8", "h100:8" and "gpu:h100:8" are 8 GPUs, "gpu" is 1; of "gpu:8,nvme:1" the part that names
 * GPUs counts. */
static int64_t gpus_of(struct script *s, const char *text)
{
    for (size_t n; text && *text; text += n + (text[n] == ',')) {
        n = strcspn(text, ",");
        bool gres = strncmp(text, "gpu", 3) == 0 && strchr(":,(", text[3]);
        const char *part = arena_copy(s->mem, text, strcspn(text, ",("));
        const char *colon = strrchr(part, ':');
        if (strcmp(part, "gpu") == 0)
            return 1;
        if (gres || (!strchr(text, ',') && strncmp(text, "nvme", 4) != 0))
            return count_of(colon ? colon + 1 : part);
    }
    return 0;
}

/* Elastic "2:4" and ranges "2-4" of nodes are no number. */
static int64_t nodes_of(const char *text)
{
    return text && strpbrk(text, ":-") ? 0 : count_of(text);
}

static int64_t option_count(const struct launch_word *w, int count, const char *a, const char *b)
{
    const char *value = script_option(w, count, a);
    return count_of(value || !b ? value : script_option(w, count, b));
}

static bool has_launcher(const struct launch_word *w, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (strcmp(script_base_name(w[i].text), name) == 0)
            return true;
    return false;
}

static void set_world(struct launch *l, int64_t nodes, int64_t per_node)
{
    if (nodes < 1 || per_node < 1)
        return;
    l->nodes = nodes;
    l->per_node = per_node;
    l->gpus = nodes * per_node;
}

/* deepspeed starts a process for each GPU; without its numbers, on what a hostfile or the machine has. */
static void read_deepspeed(const struct launch_word *w, int count, struct launch *l)
{
    int64_t nodes = option_count(w, count, "--num-nodes", NULL);
    l->said_nodes = nodes;
    l->said_per_node = option_count(w, count, "--num-gpus", NULL);
    set_world(l, nodes || script_option(w, count, "--hostfile") ? nodes : 1, l->said_per_node);
}

/* So many processes in all, so many of them on a node. */
static void set_processes(struct launch *l, int64_t all, int64_t each)
{
    if (all && each && all % each == 0)
        set_world(l, all / each, each);
    else
        l->gpus = all;
}

static void read_mpi(const struct launch_word *w, int count, struct launch *l)
{
    int64_t each = option_count(w, count, "--npernode", "-ppn");
    set_processes(l, option_count(w, count, "-np", "-n"),
                  each ? each : option_count(w, count, "-npernode", "-N"));
}

/* MindSpore's launcher. */
static void read_msrun(const struct launch_word *w, int count, struct launch *l)
{
    set_processes(l, option_count(w, count, "--worker-num", NULL),
                  option_count(w, count, "--local-worker-num", NULL));
}

/* Processes, which are GPUs: torchrun starts them on each node, srun its tasks. */
void script_read_world(const struct script *s, const struct launch_word *w, int count,
                       struct launch *l)
{
    bool srun = has_launcher(w, count, "srun");
    l->segment = s->segment;
    bool torchrun = has_launcher(w, count, "torchrun") ||
                    has_launcher(w, count, "torch.distributed.run") ||
                    has_launcher(w, count, "torch.distributed.launch");
    const char *nodes_text = script_option(w, count, "--nodes");
    int64_t nodes = srun ? nodes_of(nodes_text ? nodes_text : script_option(w, count, "-N")) : 0;
    int64_t tasks = srun ? option_count(w, count, "--ntasks-per-node", NULL) : 0;
    int64_t all = srun ? option_count(w, count, "--ntasks", "-n") : 0;
    nodes = nodes ? nodes : s->nodes;
    tasks = tasks ? tasks : s->per_node;
    if (tasks == 1 && s->gpus > 1) /* what the one task starts is not seen */
        tasks = all = 0;
    if (torchrun) {
        const char *nnodes = script_option(w, count, "--nnodes");
        l->said_nodes = nnodes ? nodes_of(nnodes) : srun && nodes ? nodes : 1;
        l->said_per_node = option_count(w, count, "--nproc-per-node", NULL);
        set_world(l, l->said_nodes, l->said_per_node);
    } else if (has_launcher(w, count, "deepspeed")) {
        read_deepspeed(w, count, l);
    } else if (has_launcher(w, count, "mpirun") || has_launcher(w, count, "mpiexec")) {
        read_mpi(w, count, l);
    } else if (has_launcher(w, count, "msrun")) {
        read_msrun(w, count, l);
    } else if (srun && tasks) {
        set_world(l, nodes ? nodes : 1, tasks);
    } else if (srun && (all || s->tasks)) {
        all = all ? all : s->tasks;
        if (nodes && all % nodes == 0)
            set_world(l, nodes, all / nodes);
        else
            l->gpus = all;
    }
}

/* ms-swift starts torchrun itself, by variables of the environment. */
void script_read_swift_world(struct script *s, struct launch *l)
{
    const struct value *each = script_variable(s, "NPROC_PER_NODE", 14)->value;
    const struct value *nodes = script_variable(s, "NNODES", 6)->value;
    if (each && !l->gpus)
        set_world(l, nodes ? nodes_of(nodes->word[0].text) : 1, count_of(each->word[0].text));
}

/* A header's option and its value, as words. */
static int split_header(struct script *s, const char *p, const char *end, struct fields *f,
                        int line)
{
    while (p < end) {
        const char *from = p;
        while (p < end && *p != ' ' && *p != '\t' && *p != '\r')
            p++;
        if (p > from && *from == '#') /* a comment behind it */
            break;
        if (p > from)
            fields_add(f, arena_copy(s->mem, from, (size_t)(p - from)), line, s);
        while (p < end && (*p == ' ' || *p == '\t' || *p == '\r'))
            p++;
    }
    return f->count;
}

/* One part of a job: nodes that are alike. */
struct word_part {
    int64_t nodes, gpus, per_node, tasks; /* per_node: tasks, which may be one for all GPUs */
    int64_t segment;
};

static struct word_part part_of(struct script *s, const struct fields *f)
{
    const struct launch_word *w = f->word;
    const char *nodes = script_option(w, f->count, "--nodes");
    const char *gpus = script_option(w, f->count, "--gpus-per-node");
    return (struct word_part){nodes_of(nodes ? nodes : script_option(w, f->count, "-N")),
                              gpus_of(s, gpus ? gpus : script_option(w, f->count, "--gres")),
                              option_count(w, f->count, "--ntasks-per-node", NULL),
                              option_count(w, f->count, "--ntasks", "-n"),
                              option_count(w, f->count, "--segment", NULL)};
}

static void set_number(struct script *s, const char *name, int64_t n)
{
    struct variable *v = script_variable(s, name, strlen(name));
    v->exported = true;
    if (n > 0 && !v->value)
        v->value = value_of_text(s, arena_format(s->mem, "%lld", (long long)n), 0);
}

/* Slurm's own variables follow from the headers. */
static void set_slurm(struct script *s)
{
    set_number(s, "SLURM_NNODES", s->nodes);
    set_number(s, "SLURM_JOB_NUM_NODES", s->nodes);
    set_number(s, "SLURM_GPUS_PER_NODE", s->gpus);
    set_number(s, "SLURM_GPUS_ON_NODE", s->gpus);
    set_number(s, "SLURM_NTASKS_PER_NODE", s->per_node);
    set_number(s, "SLURM_NTASKS", s->tasks ? s->tasks : s->nodes * s->per_node);
}

void script_read_options(struct script *s, const struct launch_word *word, int count)
{
    struct fields f = {.count = count, .word = (struct launch_word *)word};
    struct word_part p = part_of(s, &f);
    s->nodes = p.nodes ? p.nodes : s->nodes;
    s->gpus = p.gpus ? p.gpus : s->gpus;
    s->per_node = p.per_node ? p.per_node : s->per_node;
    s->tasks = p.tasks ? p.tasks : s->tasks;
}

static void end_part(struct script *s, struct fields *f, int *parts)
{
    struct word_part p = part_of(s, f);
    s->gpus = *parts == 0 || s->gpus == p.gpus ? p.gpus : 0;
    s->nodes = *parts == 0 || (s->nodes && p.nodes) ? s->nodes + p.nodes : 0;
    s->per_node = *parts == 0 || s->per_node == p.per_node ? p.per_node : 0;
    s->tasks = p.tasks;
    s->segment = *parts == 0 ? p.segment : 0;
    ++*parts;
    *f = (struct fields){0};
}

void script_read_headers(struct script *s, const char *text, size_t length)
{
    static const char mark[] = "#SBATCH";
    const char *end = text + length;
    struct fields f = {0};
    int line = 0, parts = 0;
    bool any = false;
    for (const char *p = text; p < end && (*p == '#' || *p == '\n' || *p == '\r');) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        stop = stop ? stop : end;
        line++;
        if ((size_t)(stop - p) > sizeof mark && memcmp(p, mark, sizeof mark - 1) == 0) {
            any = true;
            split_header(s, p + sizeof mark, stop, &f, line);
            if (f.count && strcmp(f.word[f.count - 1].text, "hetjob") == 0) {
                f.count--;
                end_part(s, &f, &parts);
            }
        }
        p = stop + (stop < end);
    }
    if (!any)
        return;
    end_part(s, &f, &parts);
    if (parts == 1)
        set_slurm(s);
}
