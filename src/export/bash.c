/* Pieces of bash that launch scripts share. */
#include "export/job.h"

#include "base/str.h"
#include "cluster/cluster.h"
#include "export/export.h"
#include "export/shell.h"

#include <string.h>

static void add_stages(const struct job_part *part, struct str *out)
{
    str_addf(out, "stage%s %d", part->stages > 1 ? "s" : "", part->first_stage);
    if (part->stages > 1)
        str_addf(out, " to %d", part->first_stage + part->stages - 1);
}

static void add_order(const struct export_job *j, struct str *out)
{
    int64_t node = 0;
    str_add(out, "# Nodes in rank order; stages meet their GPUs in this order only:\n");
    for (int i = 0; i < j->parts; node += j->part[i++].nodes) {
        const struct job_part *part = &j->part[i];
        str_addf(out, "#   node %lld", (long long)node);
        if (part->nodes > 1)
            str_addf(out, " to %lld", (long long)(node + part->nodes - 1));
        str_addf(out, ": %d %s%s, ", part->per_node, part->gpu->name,
                 part->nodes > 1 ? " each" : "");
        add_stages(part, out);
        str_add(out, "\n");
    }
}

void add_bash_about(const struct export_job *j, struct str *out)
{
    str_add(out, "# ");
    add_comment_text(out, j->title);
    str_addf(out, "\n# Flags of %s, written by astra export.\n", j->release);
    if (j->gap) {
        str_add(out, "# Not for training, only for timing: ");
        add_comment_text(out, j->gap);
        str_add(out, ".\n");
    }
    if (j->parts > 1)
        add_order(j, out);
}

void add_bash_variables(const struct export_job *j, const char *megatron, struct str *out)
{
    str_add(out,
            "# Set these, here or in the environment. Without DATA_PATH the run is a short one "
            "on\n# made-up data, for timing.\n");
    if (megatron)
        str_addf(out, ": \"${MEGATRON:=%s}\" # its folder in the image\n", megatron);
    else
        str_add(out, j->flagscale ? ": \"${FLAGSCALE:?the folder of FlagScale}\"\n"
                                  : ": \"${MEGATRON:?the folder of Megatron-LM}\"\n");
    for (const struct run_row *r = NULL; (r = run_next_variable(r, RUN_ALL));) {
        str_addf(out, ": \"${%s:=%s}\"", r->variable, r->value);
        str_addf(out, "%s%s\n", *r->help ? " # " : "", r->help);
    }
}

void add_bash_environment(const struct export_job *j, struct str *out)
{
    if (!run_sets_connections(j))
        str_add(out, "unset " RUN_CONNECTIONS "\n");
    for (size_t i = 0; i < j->envs; i++) {
        const char *value = strchr(j->env[i], '=') + 1;
        str_addf(out, "export %.*s", (int)(value - j->env[i]), j->env[i]);
        add_shell_word(out, value);
        str_add(out, "\n");
    }
}

void add_bash_module(const struct export_job *j, struct str *out)
{
    if (!j->module)
        return;
    str_add(out, "# What --spec names: attention, norms and AdamW that the plan counts on.\n"
                 "astra_module() {\n"
                 "    local folder\n"
                 "    folder=$(mktemp -d)\n"
                 "    cat >\"$folder/" EXPORT_MODULE ".py\" <<'ASTRA_END'\n");
    str_add(out, export_module());
    str_add(out, "ASTRA_END\n"
                 "    export PYTHONPATH=\"$folder${PYTHONPATH:+:$PYTHONPATH}\"\n"
                 "}\n");
}

static const char *job_program(const struct export_job *j)
{
    for (size_t i = 0; i < j->flags; i++)
        if (strcmp(j->flag[i], HYBRID_PATTERN) == 0)
            return HYBRID_PROGRAM;
    return "pretrain_gpt.py";
}

static void add_program(const struct export_job *j, struct str *out)
{
    if (j->flagscale)
        str_add(out, "export PYTHONPATH=\"$FLAGSCALE/third_party/Megatron-LM:$FLAGSCALE"
                     "${PYTHONPATH:+:$PYTHONPATH}\"\n"
                     "TRAIN=$FLAGSCALE/flagscale/train/train_gpt.py\n");
    else
        str_addf(out,
                 "export PYTHONPATH=\"$MEGATRON${PYTHONPATH:+:$PYTHONPATH}\"\n"
                 "TRAIN=$MEGATRON/%s\n",
                 job_program(j));
}

static void add_run_flag(const struct run_row *r, const char *before, struct str *out)
{
    str_addf(out, "%s%s", before, r->flag);
    if (*r->variable)
        str_addf(out, " \"$%s\"", r->variable);
    else if (*r->value)
        str_addf(out, " %s", r->value);
}

static void add_run(struct str *out)
{
    const struct run_row *r = NULL;
    const char *before = "";
    str_add(out, "RUN_ARGS=(\n");
    while ((r = run_next(r, RUN_ALWAYS))) {
        add_run_flag(r, "    ", out);
        str_add(out, "\n");
    }
    str_add(out,
            ")\n"
            "if [ -n \"$DATA_PATH\" ]; then\n"
            "    : \"${TOKENIZER_MODEL:?name or folder of the tokenizer that DATA_PATH needs}\"\n"
            "    read -ra DATA <<<\"$DATA_PATH\"\n"
            "    RUN_ARGS+=(--data-path \"${DATA[@]}\" --tokenizer-type \"$TOKENIZER_TYPE\")\n"
            "    RUN_ARGS+=(--tokenizer-model \"$TOKENIZER_MODEL\")\n"
            "else\n"
            "    RUN_ARGS+=(");
    for (; (r = run_next(r, RUN_MOCK)); before = " ")
        add_run_flag(r, before, out);
    str_add(out, ")\n"
                 "fi\n"
                 "if [ -n \"$CHECKPOINT\" ]; then\n"
                 "    RUN_ARGS+=(--save \"$CHECKPOINT\" --load \"$CHECKPOINT\")\n"
                 "    RUN_ARGS+=(--save-interval \"$SAVE_INTERVAL\")\n"
                 "fi\n");
}

void add_bash_settings(const struct export_job *j, struct str *out)
{
    add_bash_environment(j, out);
    add_program(j, out);
    str_add(out, "\n");
    add_shell_arrays(out, j->flag, j->flags, "");
    add_run(out);
}

/* The word of a GPU's name that the driver's name of it has too: A100, H100, 4090. */
static const char *driver_word(const struct gpu *gpu, size_t *length)
{
    const char *name = strncmp(gpu->name, "RTX", 3) == 0 ? gpu->name + 3 : gpu->name;
    name += *name == '-';
    size_t digits = strspn(name, "0123456789");
    *length = digits ? digits : strcspn(name, "-");
    return name;
}

static bool shares_word(const struct export_job *j, const struct gpu *gpu)
{
    size_t n, m;
    const char *word = driver_word(gpu, &n);
    for (int i = 0; i < j->parts; i++) {
        const char *other = driver_word(j->part[i].gpu, &m);
        if (j->part[i].gpu != gpu && n == m && strncmp(word, other, n) == 0)
            return true;
    }
    return false;
}

/* The word alone is enough, and holds whatever else a driver says, where no other type of the job
 * has it too. */
static void add_driver_pattern(const struct export_job *j, const struct gpu *gpu, struct str *out)
{
    static const struct {
        const char *gpu, *pattern;
    } names[] = {
#define DRIVER(gpu, pattern) {gpu, pattern},
#include "export/driver_names.def"
#undef DRIVER
    };
    size_t length;
    const char *word = driver_word(gpu, &length);
    for (size_t i = 0; i < sizeof names / sizeof *names && shares_word(j, gpu); i++)
        if (strcmp(names[i].gpu, gpu->name) == 0) {
            add_shell_word(out, names[i].pattern);
            return;
        }
    str_add_bytes(out, word, length);
}

static void add_row(const struct export_job *j, int part, int64_t node, int gpus, int64_t rank,
                    const char *indent, struct str *out)
{
    const struct job_part *p = &j->part[part];
    str_addf(out, "%sGPUS=%d\n", indent, gpus);
    if (j->ranks && rank == 0)
        str_addf(out, "%sFIRST_RANK=$(($1 * %d))\n", indent, gpus);
    else if (j->ranks)
        str_addf(out, "%sFIRST_RANK=$((%lld + ($1 - %lld) * %d))\n", indent, (long long)rank,
                 (long long)node, gpus);
    if (j->parts > 1) {
        str_addf(out, "%sGPU_TYPE=", indent);
        add_driver_pattern(j, p->gpu, out);
        str_add(out, "\n");
    }
    if (j->flagscale) {
        str_addf(out, "%sDEVICE_TYPE=", indent);
        add_shell_word(out, p->type);
        str_add(out, "\n");
    }
}

/* Rows of alike nodes: those of a part, and its last node where it is less full. */
void add_bash_place(const struct export_job *j, struct str *out)
{
    const char *word = "if";
    int64_t node = 0, rank = 0;
    bool even = job_is_even(j);
    str_add(out, "# What the node of this rank has: GPUs in use, its first rank, their type.\n"
                 "place() {\n");
    for (int i = 0; i < j->parts; i++) {
        const struct job_part *p = &j->part[i];
        int64_t whole = p->nodes - (p->last_node < p->per_node);
        for (int last = 0; last < 2; last++) {
            int64_t nodes = last ? p->nodes - whole : whole;
            int gpus = last ? p->last_node : p->per_node;
            if (nodes == 0)
                continue;
            if (!even)
                str_addf(out, "    %s [ \"$1\" -lt %lld ]; then\n", word,
                         (long long)(node + nodes));
            add_row(j, i, node, gpus, rank, even ? "    " : "        ", out);
            node += nodes;
            rank += nodes * gpus;
            word = "elif";
        }
    }
    if (!even)
        str_addf(out,
                 "    else\n        echo \"node $1: the plan has nodes 0 to %lld\" >&2\n"
                 "        exit 1\n    fi\n",
                 (long long)(node - 1));
    str_add(out, "}\n");
}

void add_bash_check(struct str *out)
{
    str_add(out, "# A node of the wrong type would run the stages of another.\n"
                 "check() {\n"
                 "    local names\n"
                 "    command -v nvidia-smi >/dev/null || return 0\n"
                 "    names=$(nvidia-smi --query-gpu=name --format=csv,noheader | sort -u)\n"
                 "    if ! grep -qwE \"$GPU_TYPE\" <<<\"$names\"; then\n"
                 "        echo \"node $1 should have $GPU_TYPE, it has: $names\" >&2\n"
                 "        exit 1\n"
                 "    fi\n"
                 "}\n");
}

void add_bash_words(const struct export_job *j, struct str *out)
{
    add_shell_expansions(out, j->flag, j->flags, " \\\n    ");
    str_add(out, " \"${RUN_ARGS[@]}\"");
}
