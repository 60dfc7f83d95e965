/* Scripts for bash: the flags alone, to be sourced, and a whole one that starts torchrun on one
 * node. */
#include "export/job.h"

#include "base/str.h"
#include "export/shell.h"

bool export_megatron_args(const struct export_job *j, struct str *out, struct error *err)
{
    (void)err;
    str_add(out, "# shellcheck shell=bash\n# shellcheck disable=SC2034\n");
    add_bash_about(j, out);
    str_add(out, "# To be sourced; MEGATRON_ARGS has all of them.\n");
    add_bash_environment(j, out);
    add_bash_module(j, out);
    str_add(out, j->module ? "astra_module\n" : "");
    add_shell_arrays(out, j->flag, j->flags, "");
    str_add(out, "MEGATRON_ARGS=(");
    add_shell_expansions(out, j->flag, j->flags, "\n    ");
    str_add(out, ")\n");
    return true;
}

static void add_node_variables(const struct export_job *j, struct str *out)
{
    if (j->nodes == 1)
        return;
    str_addf(out, ": \"${NODE_RANK:?rank of this node, 0 to %lld}\"\n", (long long)(j->nodes - 1));
    if (j->hosts) {
        str_add(out, ": \"${MASTER_ADDR:=");
        str_add(out, j->host[0]); /* has no character that bash knows */
        str_add(out, "}\" # node 0\n");
    } else {
        str_add(out, ": \"${MASTER_ADDR:?name or address of node 0}\"\n");
    }
    str_addf(out, ": \"${MASTER_PORT:=%d}\"\n", RUN_PORT);
}

static void add_start(const struct export_job *j, struct str *out)
{
    if (j->nodes == 1)
        str_addf(out, "exec torchrun --standalone --nproc-per-node %d \"$TRAIN\" \\\n    ",
                 j->part[0].per_node);
    else
        str_addf(
            out,
            "exec torchrun --nnodes %lld --nproc-per-node \"$GPUS\" --node-rank \"$NODE_RANK\" \\\n"
            "    --master-addr \"$MASTER_ADDR\" --master-port \"$MASTER_PORT\" \"$TRAIN\" \\\n    ",
            (long long)j->nodes);
    add_bash_words(j, out);
    if (j->flagscale)
        str_add(out, " \\\n    --hetero-current-device-type \"$DEVICE_TYPE\"");
    str_add(out, "\n");
}

bool export_torchrun(const struct export_job *j, struct str *out, struct error *err)
{
    (void)err;
    str_add(out, "#!/bin/bash\n");
    add_bash_about(j, out);
    str_add(out, j->nodes > 1 ? "# To be started on every node.\n" : "");
    str_add(out, "set -euo pipefail\n\n");
    add_bash_variables(j, NULL, out);
    add_node_variables(j, out);
    str_add(out, "\n");
    add_bash_settings(j, out);
    str_add(out, "\n");
    add_bash_module(j, out);
    str_add(out, j->module ? "astra_module\n" : "");
    if (j->nodes > 1 && job_is_even(j)) {
        str_addf(out, "GPUS=%d\n", j->part[0].per_node);
    } else if (j->nodes > 1) {
        add_bash_place(j, out);
        if (j->parts > 1)
            add_bash_check(out);
        str_add(out, j->parts > 1 ? "place \"$NODE_RANK\"\ncheck \"$NODE_RANK\"\n"
                                  : "place \"$NODE_RANK\"\n");
    }
    add_start(j, out);
    return true;
}
