/* Plans of transformers' layers as a script that writes accelerate's configuration, and DeepSpeed's where there is
 * one, and launches with it. */
#include "export/job.h"

#include "base/str.h"
#include "export/shell.h"

#include <string.h>

enum { LAUNCHER = 2 }; /* "accelerate launch" */

static size_t index_of(const struct export_job *j, const char *word)
{
    size_t i = 0;
    while (i < j->flags && strcmp(j->flag[i], word) != 0)
        i++;
    return i;
}

static const char *value_of(const struct export_job *j, const char *flag)
{
    size_t i = index_of(j, flag);
    return i + 1 < j->flags ? j->flag[i + 1] : NULL;
}

/* The launcher's flags that begin so, as members of a section of that name. */
static void add_section(const struct export_job *j, const char *start, const char *name, size_t end,
                        struct str *out)
{
    bool any = false;
    for (size_t i = LAUNCHER; i + 1 < end; i++) {
        if (strncmp(j->flag[i], start, strlen(start)) != 0)
            continue;
        str_addf(out, "%s  %s: %s\n", any ? "" : name, j->flag[i] + 2, j->flag[i + 1]);
        any = true;
    }
}

static void add_yaml(const struct export_job *j, const char *deepspeed, size_t end, struct str *out)
{
    str_add(out, "cat >accelerate.yaml <<'END'\ncompute_environment: LOCAL_MACHINE\n");
    str_addf(out, "distributed_type: %s\n", deepspeed ? "DEEPSPEED" : "FSDP");
    str_addf(out, "mixed_precision: '%s'\n", value_of(j, "--mixed_precision"));
    str_addf(out, "num_machines: %lld\nnum_processes: %lld\nmachine_rank: 0\n", (long long)j->nodes,
             (long long)j->gpus);
    if (deepspeed)
        str_add(out, "deepspeed_config:\n  deepspeed_config_file: deepspeed.json\n"
                     "  zero3_init_flag: true\n");
    add_section(j, "--fsdp_", "fsdp_config:\n", end, out);
    add_section(j, "--parallelism_config_", "parallelism_config:\n", end, out);
    str_add(out, "END\n");
    if (deepspeed)
        str_addf(out, "cat >deepspeed.json <<'END'\n%s\nEND\n", deepspeed);
}

static void add_arguments(const struct export_job *j, size_t from, struct str *out)
{
    for (size_t i = from; i < j->flags; i++) {
        if (strcmp(j->flag[i], "--deepspeed") == 0) {
            i++;
            continue;
        }
        str_add(out, strncmp(j->flag[i], "--", 2) == 0 ? " \\\n    " : " ");
        add_shell_word(out, j->flag[i]);
    }
}

bool export_accelerate(const struct export_job *j, struct str *out, struct error *err)
{
    size_t module = index_of(j, "--module");
    if (!job_needs_even(j, "accelerate", err))
        return false;
    str_add(out, "#!/bin/bash\n");
    add_bash_about(j, out);
    str_add(out, j->nodes > 1 ? "# To be started on every node.\n" : "");
    str_add(out, "set -euo pipefail\n\n"
                 ": \"${DATASET:?name or folder of the data set}\"\n"
                 ": \"${OUTPUT:=output}\" # folder of the checkpoints\n");
    if (j->nodes > 1)
        str_addf(out,
                 ": \"${NODE_RANK:?rank of this node, 0 to %lld}\"\n"
                 ": \"${MASTER_ADDR:?name or address of node 0}\"\n"
                 ": \"${MASTER_PORT:=%d}\"\n",
                 (long long)(j->nodes - 1), RUN_PORT);
    str_add(out, "\n");
    add_bash_environment(j, out);
    add_yaml(j, value_of(j, "--deepspeed"), module, out);
    str_add(out, "exec accelerate launch --config_file accelerate.yaml");
    if (j->nodes > 1)
        str_add(out, " \\\n    --machine_rank \"$NODE_RANK\" --main_process_ip \"$MASTER_ADDR\" "
                     "--main_process_port \"$MASTER_PORT\"");
    add_arguments(j, module, out);
    str_add(out, " \\\n    --dataset_name \"$DATASET\" --output_dir \"$OUTPUT\"\n");
    return true;
}
