/* A batch script for Slurm. One type of GPU is a plain job; several are a heterogeneous one, a
 * component for each part of the plan in rank order. Nodes get their rank from the components'
 * node lists in this order, or from the user's list of hosts, by their name: Slurm's own numbers
 * follow its sorted lists. */
#include "export/job.h"

#include "base/str.h"
#include "cluster/cluster.h"

static void add_hosts(const struct export_job *j, int part, struct str *out)
{
    size_t first = 0;
    for (int i = 0; i < part; i++)
        first += (size_t)j->part[i].nodes;
    str_add(out, "#SBATCH --nodelist=");
    for (size_t i = 0; i < (size_t)j->part[part].nodes; i++)
        str_addf(out, "%s%s", i ? "," : "", j->host[first + i]);
    str_add(out, "\n");
}

/* Others use the rest of the node, so a job without these gets one CPU. What a node has for each of
 * its GPUs is the user's to know; most have this much. */
static void add_share(const struct export_job *j, const struct job_part *p, struct str *out)
{
    enum { CPUS = 8, MEMORY_GB = 64 };
    str_addf(out,
             "# Part of a node: as much as its GPUs should have, set these.\n"
             "#SBATCH --cpus-per-task=%d\n#SBATCH --mem=%dG\n",
             CPUS * (j->ranks ? 1 : p->per_node), MEMORY_GB * p->per_node);
}

static void add_component(const struct export_job *j, int part, struct str *out)
{
    const struct job_part *p = &j->part[part];
    str_addf(out,
             "#SBATCH --nodes=%lld\n#SBATCH --ntasks-per-node=%d\n#SBATCH --gpus-per-node=%d\n",
             (long long)p->nodes, j->ranks ? p->per_node : 1, p->per_node);
    if (p->whole)
        str_add(out, "#SBATCH --exclusive\n#SBATCH --mem=0\n");
    else
        add_share(j, p, out);
    if (j->hosts)
        add_hosts(j, part, out);
    else if (p->segment > 1) /* needs topology/block, which names racks as blocks */
        str_addf(out, "#SBATCH --segment=%d\n", p->segment);
    str_addf(out, "##SBATCH --partition=PARTITION # of nodes with %s\n", p->gpu->name);
    str_add(out, "##SBATCH --account=ACCOUNT\n");
}

/* Directives stand before the first command, and know no variables. */
static void add_directives(const struct export_job *j, struct str *out)
{
    str_addf(out,
             "#SBATCH --job-name=%s\n#SBATCH --output=%%x-%%j.out\n"
             "# Set these: a line with ## becomes one with #.\n"
             "##SBATCH --time=24:00:00\n",
             j->name);
    for (int i = 0; i < j->parts; i++) {
        if (i > 0)
            str_add(out, "#SBATCH hetjob\n");
        add_component(j, i, out);
    }
}

static void add_variables(const struct export_job *j, struct str *out)
{
    add_bash_variables(j, NULL, out);
    str_add(out, ": \"${CONTAINER_IMAGE:=}\" # for pyxis; empty: no container\n"
                 ": \"${CONTAINER_MOUNTS:=}\" # as in /data:/data,/code:/code\n"
                 "# Jobs that share a node do not meet at one port.\n"
                 ": \"${MASTER_PORT:=$((20000 + ${SLURM_JOB_ID:-0} % 10000))}\"\n");
}

/* HOSTS: names of all nodes in rank order. Slurm sorts its lists, so the user's own order counts
 * where there is one. */
static void add_host_list(const struct export_job *j, struct str *out)
{
    str_add(out, j->hosts ? "HOSTS='" : "HOSTS=$(");
    for (size_t i = 0; i < j->hosts; i++)
        str_addf(out, "%s%s", i ? " " : "", j->host[i]);
    if (!j->hosts && j->parts == 1)
        str_add(out, "scontrol show hostnames \"$SLURM_JOB_NODELIST\"");
    for (int i = 0; !j->hosts && j->parts > 1 && i < j->parts; i++)
        str_addf(out, "%sscontrol show hostnames \"$SLURM_JOB_NODELIST_HET_GROUP_%d\"",
                 i ? " &&\n    " : "", i);
    str_add(out, j->hosts ? "'\n" : ")\nHOSTS=${HOSTS//$'\\n'/ }\n");
    str_add(out, "MASTER_ADDR=${HOSTS%% *}\n"
                 "export HOSTS MASTER_ADDR MASTER_PORT TRAIN\n");
}

static void add_torchrun(const struct export_job *j, struct str *out)
{
    str_addf(
        out,
        "    exec torchrun --nnodes %lld --nproc-per-node \"$GPUS\" --node-rank \"$node\" \\\n"
        "        --master-addr \"$MASTER_ADDR\" --master-port \"$MASTER_PORT\" \"$TRAIN\" \"$@\"",
        (long long)j->nodes);
}

static void add_rank(const struct export_job *j, struct str *out)
{
    str_addf(out,
             "    export RANK=$((FIRST_RANK + SLURM_LOCALID)) WORLD_SIZE=%lld\n"
             "    export LOCAL_RANK=$SLURM_LOCALID LOCAL_WORLD_SIZE=$GPUS\n"
             "    exec python3 \"$TRAIN\" \"$@\"",
             (long long)j->gpus);
}

/* What every task of srun runs; its text travels with the command. */
static void add_task(const struct export_job *j, struct str *out)
{
    add_bash_place(j, out);
    add_bash_module(j, out);
    if (j->parts > 1)
        add_bash_check(out);
    str_add(out, "task() {\n"
                 "    local hosts node=0\n"
                 "    set -euo pipefail\n"
                 "    read -ra hosts <<<\"$HOSTS\"\n"
                 "    while [ \"${hosts[node]-$SLURMD_NODENAME}\" != \"$SLURMD_NODENAME\" ]; do\n"
                 "        node=$((node + 1))\n"
                 "    done\n"
                 "    if [ \"$node\" -eq ${#hosts[@]} ]; then\n"
                 "        echo \"node $SLURMD_NODENAME is none of: $HOSTS\" >&2\n"
                 "        exit 1\n"
                 "    fi\n"
                 "    place \"$node\"\n");
    str_add(out, j->module ? "    astra_module\n" : "");
    if (j->parts > 1)
        str_add(out, "    [ \"$SLURM_LOCALID\" -gt 0 ] || check \"$node\"\n");
    if (j->ranks)
        add_rank(j, out);
    else
        add_torchrun(j, out);
    if (j->flagscale)
        str_add(out, " --hetero-current-device-type \"$DEVICE_TYPE\"");
    str_add(out, "\n}\n");
}

static void add_srun(const struct export_job *j, struct str *out)
{
    str_add(out, "SRUN=(srun --kill-on-bad-exit=1 --cpu-bind=none");
    if (j->parts > 1)
        str_addf(out, " --het-group=0-%d", j->parts - 1);
    str_add(out,
            ")\n"
            "if [ -n \"$CONTAINER_IMAGE\" ]; then\n"
            "    SRUN+=(--container-image \"$CONTAINER_IMAGE\")\n"
            "    [ -z \"$CONTAINER_MOUNTS\" ] || SRUN+=(--container-mounts \"$CONTAINER_MOUNTS\")\n"
            "fi\n");
    str_addf(
        out,
        "\"${SRUN[@]}\" bash -c \"$(declare -f place %s%stask); task \\\"\\$@\\\"\" task \\\n    ",
        j->parts > 1 ? "check " : "", j->module ? "astra_module " : "");
    add_bash_words(j, out);
    str_add(out, "\n");
}

/* With a task for each rank Slurm deals tasks evenly, which leaves no node emptier. */
static bool tasks_are_even(const struct export_job *j, struct error *err)
{
    for (int i = 0; j->ranks && i < j->parts; i++)
        if (j->part[i].last_node < j->part[i].per_node)
            return fail(err, ERROR_INPUT,
                        "--launcher srun: the last node with %s has %d ranks, the others have %d; "
                        "use --launcher torchrun",
                        j->part[i].gpu->name, j->part[i].last_node, j->part[i].per_node);
    return true;
}

bool export_slurm(const struct export_job *j, struct str *out, struct error *err)
{
    if (!tasks_are_even(j, err))
        return false;
    str_add(out, "#!/bin/bash\n");
    add_directives(j, out);
    add_bash_about(j, out);
    str_add(out, "set -euo pipefail\n\n");
    add_variables(j, out);
    str_add(out, "\n");
    add_bash_settings(j, out);
    str_add(out, "\n");
    add_host_list(j, out);
    add_task(j, out);
    add_srun(j, out);
    return true;
}
