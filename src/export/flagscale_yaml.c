/* A configuration of FlagScale (da4935ec: its runner makes a flag of every key below train.system,
 * train.model and train.data, lists and switches included; keys between them only group). */
#include "export/job.h"

#include "base/str.h"

#include <string.h>

/* "--tensor-model-parallel-size" is the key tensor_model_parallel_size. */
static void add_key(const char *flag, struct str *out)
{
    for (flag += strspn(flag, "-"); *flag; flag++)
        str_add_bytes(out, *flag == '-' ? "_" : flag, 1);
}

/* A row of numbers, "[1,16,0]", is a list of its own. */
static void add_item(const char *word, struct str *out)
{
    if (word[0] == '[' && strspn(word + 1, "0123456789,") == strlen(word) - 2)
        str_add(out, word);
    else
        add_yaml_value(out, word);
}

static void add_flag(const char *const *words, size_t count, struct str *out)
{
    str_add(out, "      ");
    add_key(words[0], out);
    str_add(out, count > 2 ? ": [" : ": ");
    for (size_t i = 1; i < count; i++) {
        str_add(out, i > 1 ? ", " : "");
        add_item(words[i], out);
    }
    str_add(out, count > 2 ? "]\n" : count == 1 ? "true\n" : "\n");
}

static void add_section(const struct export_job *j, enum section section, struct str *out)
{
    for (size_t i = 0, end; i < j->flags; i = end) {
        end = flag_end(j->flag, j->flags, i);
        if (section_of(j->flag[i]) == section)
            add_flag(j->flag + i, end - i, out);
    }
}

static bool has_section(const struct export_job *j, enum section section)
{
    for (size_t i = 0; i < j->flags; i = flag_end(j->flag, j->flags, i))
        if (section_of(j->flag[i]) == section)
            return true;
    return false;
}

/* Keys that hold the flags of a section: names are free, they only group. */
static const struct {
    enum section section;
    const char *name;
} SYSTEM[] = {{SECTION_PARALLEL, "parallel"},
              {SECTION_PRECISION, "precision"},
              {SECTION_RECOMPUTE, "recompute"},
              {SECTION_OPTIMIZER, "optimizer_state"},
              {SECTION_PERF, "performance"}};

static void add_experiment(const struct export_job *j, struct str *out)
{
    str_add(out, "defaults:\n  - _self_\nexperiment:\n  exp_name: ");
    add_yaml_string(out, j->name);
    str_add(out, "\n  exp_dir: ");
    add_yaml_string(out, "./outputs"); /* set */
    str_add(out, " # set\n  task:\n    type: train\n    backend: megatron\n"
                 "    entrypoint: ./flagscale/train/train_gpt.py\n"
                 "  runner:\n    backend: torchrun\n    rdzv_backend: static\n");
    if (j->hostfile) {
        str_add(out, "    hostfile: ");
        add_yaml_string(out, j->hostfile);
        str_add(out, "\n");
    } else {
        str_add(out,
                "    hostfile: \"hostfile\" # set: astra export ... --hostfile FILE writes it\n");
    }
    str_add(out, "  envs:\n");
    for (size_t i = 0; i < j->envs; i++) {
        const char *equals = strchr(j->env[i], '=');
        str_addf(out, "    %.*s: ", (int)(equals - j->env[i]), j->env[i]);
        add_yaml_value(out, equals + 1);
        str_add(out, "\n");
    }
    if (!run_sets_connections(j))
        str_add(out, "    " RUN_CONNECTIONS ": " RUN_CONNECTIONS_DEFAULT "\n");
}

static void add_run(int groups, const char *indent, struct str *out)
{
    for (const struct run_row *r = NULL; (r = run_next(r, groups));) {
        str_add(out, indent);
        add_key(r->flag, out);
        str_addf(out, ": %s\n", *r->value ? r->value : "true");
    }
}

static void add_train(const struct export_job *j, struct str *out)
{
    str_add(out, "train:\n  system:\n");
    for (size_t i = 0; i < sizeof SYSTEM / sizeof *SYSTEM; i++)
        if (has_section(j, SYSTEM[i].section)) {
            str_addf(out, "    %s:\n", SYSTEM[i].name);
            add_section(j, SYSTEM[i].section, out);
        }
    str_add(out, "    logging:\n");
    add_run(RUN_LOG, "      ", out);
    str_add(out, "  model:\n    architecture:\n");
    add_section(j, SECTION_MODEL, out);
    str_add(out, "    batch:\n");
    add_section(j, SECTION_BATCH, out);
    str_add(out, "    run: # set these\n");
    add_run(RUN_LENGTH, "      ", out);
    str_add(out, "  data: # set data_path and the tokenizer; until then the data is made up\n");
    add_run(RUN_MOCK, "    ", out);
    add_run(RUN_EVAL, "    ", out);
}

bool export_flagscale(const struct export_job *j, struct str *out, struct error *err)
{
    if (!job_needs_no_module(j, "flagscale", err))
        return false;
    add_bash_about(j, out);
    add_experiment(j, out);
    add_train(j, out);
    str_add(out, "action: run\nhydra:\n  run:\n    dir: ${experiment.exp_dir}/hydra\n");
    return true;
}
