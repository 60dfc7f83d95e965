/* Which command starts the training, with what words, and on how many GPUs. A command is the more
 * likely the more of Megatron's flags stand behind its program; a name that begins with pretrain
 * says it outright. How many GPUs: what torchrun, srun and the #SBATCH headers say. */
#include "import/shell/script_parts.h"

#include "import/megatron/param_flags.h"
#include "import/megatron/words.h"

#include <string.h>

enum { PRETRAINS = 1000, LEAST_FLAGS = 3 };

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool ends_in(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n > m && strcmp(text + n - m, end) == 0;
}

/* The value of an option of a launcher, --name value or --name=value, - and _ alike; NULL = not
 * there. The last mention counts. */
static const char *option(const struct launch_word *word, int count, const char *name)
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
    const char *value = option(w, count, a);
    return count_of(value || !b ? value : option(w, count, b));
}

static bool has_launcher(const struct launch_word *w, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (strcmp(base_name(w[i].text), name) == 0)
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
    set_world(l, nodes || option(w, count, "--hostfile") ? nodes : 1, l->said_per_node);
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
static void read_world(const struct script *s, const struct launch_word *w, int count,
                       struct launch *l)
{
    bool srun = has_launcher(w, count, "srun");
    l->segment = s->segment;
    bool torchrun = has_launcher(w, count, "torchrun") ||
                    has_launcher(w, count, "torch.distributed.run") ||
                    has_launcher(w, count, "torch.distributed.launch");
    const char *nodes_text = option(w, count, "--nodes");
    int64_t nodes = srun ? nodes_of(nodes_text ? nodes_text : option(w, count, "-N")) : 0;
    int64_t tasks = srun ? option_count(w, count, "--ntasks-per-node", NULL) : 0;
    int64_t all = srun ? option_count(w, count, "--ntasks", "-n") : 0;
    nodes = nodes ? nodes : s->nodes;
    tasks = tasks ? tasks : s->per_node;
    if (tasks == 1 && s->gpus > 1) /* what the one task starts is not seen */
        tasks = all = 0;
    if (torchrun) {
        const char *nnodes = option(w, count, "--nnodes");
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

/* Words that are flags of Megatron's. */
static int known_flags(struct script *s, const struct launch_word *w, int count, int *first)
{
    int known = 0;
    for (int i = 0; i < count; i++) {
        char name[96];
        size_t n = strcspn(w[i].text, "=");
        if (n < 3 || n >= sizeof name || strncmp(w[i].text, "--", 2) != 0)
            continue;
        memcpy(name, w[i].text, n);
        name[n] = 0;
        if (words_most_values(launch_dashed(name, s->mem)) < 0)
            continue;
        if (known++ == 0)
            *first = i;
    }
    return known;
}

static bool is_override(const char *word)
{
    size_t n = strcspn(word, "=");
    return word[n] && word[0] != '-' && memchr(word, '.', n);
}

static int overrides_of(const struct launch_word *w, int count)
{
    int n = 0;
    for (int i = 0; i < count; i++)
        n += is_override(w[i].text);
    return n;
}

/* Lines of a script that is called are not those of the file at hand: the call stands for them. */
static void count_to_call(struct script *s, struct launch *l)
{
    struct launch_word *w = arena_array(s->mem, (size_t)l->count + 1, sizeof *w);
    for (int i = 0; i < l->count; i++)
        w[i] = (struct launch_word){l->word[i].text, s->called};
    l->word = w;
    l->line = s->called;
}

static void add_launch(struct script *s, const struct launch *l, int score)
{
    if (s->launches == SCRIPT_LAUNCHES)
        return;
    s->score[s->launches] = score;
    s->launch[s->launches] = *l;
    if (s->called)
        count_to_call(s, &s->launch[s->launches]);
    s->launches++;
}

/* Programs of Megatron-Bridge take all else from a recipe. */
static bool names_recipe(const struct launch_word *w, int count)
{
    for (int i = 0; i + 1 < count; i++)
        if (is_one_of(w[i].text, "--recipe -mr --model_recipe_name"))
            return true;
    return false;
}

/* Where `megatron sft` of ms-swift stands; -1 = nowhere. */
static int swift_at(const struct fields *f)
{
    for (int i = 0; i + 1 < f->count; i++)
        if (strcmp(base_name(f->word[i].text), "megatron") == 0 &&
            is_one_of(f->word[i + 1].text, "pt sft rlhf export"))
            return i;
    return -1;
}

/* ms-swift starts torchrun itself, by variables of the environment. */
static void read_swift_world(struct script *s, struct launch *l)
{
    const struct value *each = script_variable(s, "NPROC_PER_NODE", 14)->value;
    const struct value *nodes = script_variable(s, "NNODES", 6)->value;
    if (each && !l->gpus)
        set_world(l, nodes ? nodes_of(nodes->word[0].text) : 1, count_of(each->word[0].text));
}

/* Where the module of `python -m verl.trainer.main_ppo` stands; -1 = nowhere. */
static int module_at(const struct fields *f)
{
    for (int i = f->count - 2; i >= 0; i--) {
        const char *name = f->word[i + 1].text;
        size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_.0123456789");
        if (strcmp(f->word[i].text, "-m") == 0 && !name[n] && strchr(name, '.') &&
            strncmp(name, "torch.", 6) != 0)
            return i + 1;
    }
    return -1;
}

/* What is in front of the program counts most: env NAME=VALUE, docker run -e NAME=VALUE. */
struct surroundings {
    struct script *script;
    const struct fields *before;
};

static const char *variable_of(void *from, const char *name)
{
    const struct surroundings *e = from;
    size_t n = strlen(name);
    for (int i = e->before->count - 1; i >= 0; i--) {
        const char *w = e->before->word[i].text;
        if (strncmp(w, name, n) == 0 && w[n] == '=')
            return launch_is_known(w) ? w + n + 1 : NULL;
    }
    const struct variable *v = script_variable(e->script, name, n);
    const struct value *value = v->exported ? v->value : NULL;
    return value && value->count > 0 && launch_is_known(value->word[0].text) ? value->word[0].text
                                                                             : NULL;
}

/* A copy of Megatron-LM of a day, on the path that Python looks for modules on: "Megatron-LM-231007". */
static const char *snapshot_of(struct script *s)
{
    static const char name[] = "Megatron-LM-2", path[] = "PYTHONPATH";
    const struct value *v = script_variable(s, path, sizeof path - 1)->value;
    const char *at = v && v->count > 0 ? strstr(v->word[0].text, name) : NULL;
    const char *date = at ? at + sizeof name - 2 : NULL;
    return date && strspn(date, "0123456789") == 6 ? arena_copy(s->mem, at, sizeof name - 2 + 6)
                                                   : NULL;
}

void script_look_for_launch(struct script *s, const struct fields *f, int line)
{
    int program = 0, first = 0, swift = swift_at(f), module = swift >= 0 ? -1 : module_at(f);
    while (program < f->count && !ends_in(f->word[program].text, ".py"))
        program++;
    swift = swift < program ? swift : -1; /* behind them, a .py is a value */
    module = module < program ? module : -1;
    bool named = program < f->count && swift < 0 && module < 0;
    int begin = named ? program + 1 : 0;
    int known = known_flags(s, f->word + begin, f->count - begin, &first);
    if (module >= 0)
        program = module, begin = module + 1;
    else if (!named) /* a program that is not known */
        program = begin = swift >= 0 ? swift + 2 : first;
    const struct launch_word *rest = f->word + begin;
    int count = f->count - begin, overrides = overrides_of(rest, count);
    bool pretrains = named && strncmp(base_name(f->word[program].text), "pretrain", 8) == 0;
    if (known < LEAST_FLAGS && overrides < LEAST_FLAGS && !(pretrains && count > 0) && swift < 0 &&
        !names_recipe(rest, count))
        return;
    struct launch l = {.path = s->path,
                       .line = line,
                       .program = named         ? base_name(f->word[program].text)
                                  : module >= 0 ? f->word[program].text
                                  : swift < 0   ? NULL
                                  : strcmp(f->word[swift + 1].text, "export") == 0
                                      ? "megatron export"
                                      : "megatron",
                       .count = count,
                       .word = rest};
    struct fields before = {0};
    for (int i = 0; i < s->outer.count; i++)
        fields_add(&before, s->outer.word[i].text, 0, s);
    for (int i = 0; i < program; i++)
        fields_add(&before, f->word[i].text, 0, s);
    const char *settings = option(rest, count, "--deepspeed-config");
    l.snapshot = snapshot_of(s);
    l.deepspeed = settings ? script_file(s, settings) : NULL;
    read_world(s, before.word, before.count, &l);
    launch_environment(&l, variable_of, &(struct surroundings){s, &before}, s->mem);
    if (swift >= 0)
        read_swift_world(s, &l);
    add_launch(s, &l, known + overrides + (pretrains ? PRETRAINS : 0));
}

/* A list as it is; a text with flags in it as its words; NULL = neither. */
static const struct value *list_of(struct script *s, const struct value *v)
{
    struct fields f = {0};
    if (!v || v->array || v->count == 0)
        return v && v->array ? v : NULL;
    const char *p = v->word[0].text;
    if (!strstr(p, "--") || !script_spend(s, 1, strlen(p)))
        return NULL;
    for (p += strspn(p, " \t\n"); *p && !s->failed; p += strspn(p, " \t\n")) {
        size_t n = strcspn(p, " \t\n");
        fields_add(&f, arena_copy(s->mem, p, n), v->word[0].line, s);
        p += n;
    }
    return value_of_fields(s, &f);
}

/* A variable that holds flags. */
struct flag_list {
    const char *name;
    const struct value *value;
    int score;
};

enum { FLAG_LISTS = 32 };

static bool same_flag(const char *a, const char *b)
{
    size_t n = strcspn(a, "=");
    return n > 2 && strcspn(b, "=") == n && strncmp(a, b, n) == 0;
}

/* The words of a flag are the same in both lists. */
static bool same_words(const struct value *a, int i, const struct value *b, int k)
{
    do {
        if (strcmp(a->word[i].text, b->word[k].text) != 0)
            return false;
        i++, k++;
    } while (i < a->count && k < b->count && !words_is_flag(a->word[i].text) &&
             !words_is_flag(b->word[k].text));
    return (i == a->count || words_is_flag(a->word[i].text)) &&
           (k == b->count || words_is_flag(b->word[k].text));
}

/* Whether a flag says a parameter of the split or a field of the model. */
static bool is_of_plan(const char *flag)
{
    for (int i = 0; i < PARAMS; i++)
        if (PARAM_FLAGS[i].kind != NONE && same_flag(flag, PARAM_FLAGS[i].flag))
            return true;
    for (int i = 0; i < MODEL_FIELDS; i++)
        if (FIELD_FLAGS[i].kind != NONE && same_flag(flag, FIELD_FLAGS[i].flag))
            return true;
    return false;
}

/* How many flags of a list another one has too; -1 = one of the plan with other values: they are alternatives. */
static int shared_flags(const struct value *a, const struct value *b)
{
    int shared = 0;
    for (int i = 0; i < a->count; i++)
        for (int k = 0; words_is_flag(a->word[i].text) && k < b->count; k++) {
            if (!same_flag(a->word[i].text, b->word[k].text))
                continue;
            if (is_of_plan(a->word[i].text) && !same_words(a, i, b, k))
                return -1;
            shared++;
            break;
        }
    return shared;
}

static int flags_of(const struct value *v)
{
    int n = 0;
    for (int i = 0; i < v->count; i++)
        n += words_is_flag(v->word[i].text);
    return n;
}

static bool goes_before(const struct flag_list *a, const struct flag_list *b)
{
    int x = a->value->word[0].line, y = b->value->word[0].line;
    return x != y ? x < y : strcmp(a->name, b->name) < 0;
}

/* Those with the most flags first; then in the order of the file. */
static void keep_list(struct flag_list *list, int *count, struct flag_list l)
{
    int at = *count;
    while (at > 0 && (l.score > list[at - 1].score ||
                      (l.score == list[at - 1].score && goes_before(&l, &list[at - 1]))))
        at--;
    if (at == FLAG_LISTS)
        return;
    *count += *count < FLAG_LISTS;
    memmove(&list[at + 1], &list[at], (size_t)(*count - at - 1) * sizeof *list);
    list[at] = l;
}

/* Of the lists the first, and those that say more and nothing else of the same. Returns how many: a list that is put
 * together of others has the most, and leaves nothing to them. */
static int choose_lists(struct flag_list *list, int count)
{
    int kept = count > 0;
    for (int i = 1; i < count; i++) {
        const struct value *v = list[i].value;
        int left = words_is_flag(v->word[0].text) ? flags_of(v) : 0;
        for (int k = 0; k < kept && left > 0; k++) {
            int shared = shared_flags(v, list[k].value);
            left = shared < 0 ? 0 : left - shared;
        }
        if (left > 0)
            list[kept++] = list[i];
    }
    return kept;
}

static void plan_lists(struct script *s, const struct flag_list *list, int count)
{
    struct fields f = {0};
    struct str names = {0};
    for (int i = 0; i < count; i++) {
        str_addf(&names, "%s%s", i == 0 ? "" : i + 1 == count ? " and " : ", ", list[i].name);
        for (int k = 0; k < list[i].value->count; k++)
            fields_add(&f, list[i].value->word[k].text, list[i].value->word[k].line, s);
    }
    s->launches = 0;
    add_launch(s,
               &(struct launch){.path = s->path,
                                .listed = true,
                                .line = f.word[0].line,
                                .count = f.count,
                                .word = f.word},
               list[0].score);
    launch_note(&s->launch[0], arena_format(s->mem,
                                            "nothing is started: the flags of %s are planned, with "
                                            "Megatron's defaults for the rest",
                                            str_text(&names)));
    str_release(&names);
}

/* Files that only hold the flags, to be sourced by another, start nothing: then the variable that has the most of them
 * stands for the launch, with those that hold others. */
void script_look_for_flags(struct script *s)
{
    struct flag_list list[FLAG_LISTS];
    int count = 0, first = 0;
    for (size_t b = 0; b < s->buckets; b++)
        for (const struct variable *v = s->bucket[b]; v; v = v->next) {
            const struct value *value = list_of(s, v->value);
            int score = value && *v->name != '>'
                            ? known_flags(s, value->word, value->count, &first) +
                                  overrides_of(value->word, value->count)
                            : 0;
            if (score > 0)
                keep_list(list, &count, (struct flag_list){v->name, value, score});
        }
    if (count > 0 && list[0].score >= LEAST_FLAGS)
        plan_lists(s, list, choose_lists(list, count));
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
    const char *nodes = option(w, f->count, "--nodes");
    const char *gpus = option(w, f->count, "--gpus-per-node");
    return (struct word_part){nodes_of(nodes ? nodes : option(w, f->count, "-N")),
                              gpus_of(s, gpus ? gpus : option(w, f->count, "--gres")),
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
