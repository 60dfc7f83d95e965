/* A task of SkyPilot. All its nodes have the same GPUs. */
#include "export/job.h"

#include "base/str.h"
#include "cluster/cluster.h"
#include "export/shell.h"

#include <string.h>

/* Names that SkyPilot has for a type, the one of most clouds first; those with a * are patterns. */
static const char *sky_name(const struct gpu *gpu, struct error *err)
{
    static const struct {
        const char *name, *gpu;
    } names[] = {
#define NAME(cloud, accelerator, instance, gpu) {accelerator, gpu},
#include "price/price_names.def"
#undef NAME
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i].gpu, gpu->name) == 0 && !strchr(names[i].name, '*'))
            return names[i].name;
    fail(err, ERROR_INPUT, "skypilot: its catalogs have no %s", gpu->name);
    return NULL;
}

static void add_envs(struct str *out)
{
    str_add(out, "envs: # set these; without DATA_PATH the data is made up, for timing\n"
                 "  MEGATRON: \"~/Megatron-LM\"\n");
    for (const struct run_row *r = NULL; (r = run_next_variable(r, RUN_ALL));)
        str_addf(out, "  %s: \"%s\"\n", r->variable, r->value);
}

static void add_run_block(const struct export_job *j, struct str *out)
{
    struct str run = {0};
    str_add(&run, "set -euo pipefail\nMEGATRON=${MEGATRON/#\\~/$HOME}\n");
    add_bash_settings(j, &run);
    add_bash_module(j, &run);
    str_add(&run, j->module ? "astra_module\n" : "");
    str_addf(
        &run,
        "MASTER_ADDR=$(head -n 1 <<<\"$SKYPILOT_NODE_IPS\")\n"
        "exec torchrun --nnodes %lld --nproc-per-node %d --node-rank \"$SKYPILOT_NODE_RANK\" \\\n"
        "    --master-addr \"$MASTER_ADDR\" --master-port %d \"$TRAIN\" \\\n    ",
        (long long)j->nodes, j->part[0].per_node, RUN_PORT);
    add_bash_words(j, &run);
    str_add(&run, "\n");
    str_add(out, "run: |\n");
    add_indented(out, str_text(&run), "  ");
    str_release(&run);
}

bool export_skypilot(const struct export_job *j, struct str *out, struct error *err)
{
    const char *name = NULL;
    if (!job_needs_one_type(j, "skypilot", err) || !job_needs_even(j, "skypilot", err) ||
        !(name = sky_name(j->part[0].gpu, err)))
        return false;
    add_bash_about(j, out);
    str_add(out, "name: ");
    add_yaml_string(out, j->name);
    str_addf(out, "\nnum_nodes: %lld\nresources:\n  accelerators: \"%s:%d\"\n", (long long)j->nodes,
             name, j->part[0].per_node);
    str_addf(out, "  image_id: \"docker:" RUN_IMAGE "\" # %s\n", run_image_needs(j));
    str_add(out, j->nodes > 1 ? "  network_tier: best # EFA, InfiniBand, GPUDirect: what there is\n"
                              : "");
    add_envs(out);
    str_addf(out,
             "setup: |\n  MEGATRON=${MEGATRON/#\\~/$HOME}\n"
             "  [ -d \"$MEGATRON\" ] || git clone %shttps://github.com/NVIDIA/Megatron-LM "
             "\"$MEGATRON\"\n",
             j->branch);
    add_run_block(j, out);
    return true;
}
