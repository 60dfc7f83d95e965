/* How a plan is launched: the order of its nodes, its environment, its flags. */
#include "model/trained.h"
#include "report/text/plan_text.h"

#include "base/str.h"
#include "cluster/cluster.h"
#include "export/export.h"
#include "report/plan_words.h"
#include "report/report.h"
#include "report/text/typeset.h"

#include <limits.h>

/* The same line on every node: ranks follow the order of the nodes. */
#define RENDEZVOUS "\\\n    --node-rank \"$NODE_RANK\" --master-addr \"$MASTER_ADDR\" \\\n    "

/* Says how many processes there are, where every node has the same number. */
static void add_launcher(const struct plan *p, struct str *out)
{
    struct plan_part part[MESHES_MAX];
    int parts = plan_parts(p, part);
    int64_t nodes = 0;
    bool same = true;
    for (int i = 0; i < parts; i++) {
        nodes += part[i].nodes;
        same = same && part[i].per_node == part[0].per_node && part[i].gpus % part[i].per_node == 0;
    }
    if (nodes == 1)
        str_addf(out, "torchrun --standalone --nproc-per-node %d ", part[0].per_node);
    else if (same)
        str_addf(out, "torchrun --nnodes %lld --nproc-per-node %d " RENDEZVOUS, (long long)nodes,
                 part[0].per_node);
    else
        str_addf(out, "torchrun --nnodes %lld --nproc-per-node \"$GPUS_OF_THIS_NODE\" " RENDEZVOUS,
                 (long long)nodes);
    str_add(out, plan_on_flagscale(p)   ? "flagscale/train/train_gpt.py"
                 : p->model->pattern[0] ? HYBRID_PROGRAM
                                        : "pretrain_gpt.py");
}

/* Whose ranks are sorted by the types of the hostfile, not by the order of the nodes. */
static void print_hostfile(const struct plan *p, const struct report_style *style,
                           struct arena *mem, struct str *out)
{
    struct plan_part part[MESHES_MAX];
    int parts = plan_parts(p, part);
    str_add(out, "  ");
    if (plan_meshes_differ(p))
        typeset_wrap(style, "The types of GPU run differently, which stock Megatron does not.", 2,
                     out);
    if (plan_meshes_differ(p))
        str_add(out, "  ");
    typeset_wrap(style,
                 "With FlagScale every node adds --hetero-current-device-type; its runner takes it "
                 "from the hostfile, a line for each node:",
                 2, out);
    for (int i = 0; i < parts; i++)
        str_addf(out, "    HOST slots=%d type=%s (%lld node%s)\n", part[i].per_node,
                 export_device_type(p->meshes, i, mem), (long long)part[i].nodes,
                 part[i].nodes > 1 ? "s" : "");
}

/* Stages of a mixed job meet their GPUs only if the nodes are ranked in this order. */
static void print_node_order(const struct plan *p, const struct report_style *style,
                             struct str *out)
{
    struct plan_part part[MESHES_MAX];
    int parts = plan_parts(p, part);
    int64_t node = 0;
    struct str text = {0};
    if (parts < 2)
        return;
    str_add(&text, "Order of the nodes:");
    for (int i = 0; i < parts; node += part[i++].nodes) {
        str_addf(&text, "%s %lld", i ? "," : "", (long long)node);
        if (part[i].nodes > 1)
            str_addf(&text, " to %lld", (long long)(node + part[i].nodes - 1));
        int64_t rest = part[i].gpus % part[i].per_node;
        str_addf(&text, " with %d %s%s", part[i].per_node, part[i].group->gpu->name,
                 part[i].nodes > 1 ? " each" : "");
        if (rest > 0)
            str_addf(&text, ", of the last one %lld", (long long)rest);
    }
    str_add(out, "  ");
    typeset_wrap(style, str_text(&text), 2, out);
    str_release(&text);
}

static void print_environment(const struct plan *p, struct arena *mem, struct str *out)
{
    const char **env;
    size_t count;
    plan_environment(p, mem, &env, &count);
    for (size_t i = 0; i < count; i++)
        str_addf(out, "  export %s\n", env[i]);
}

/* The words have their launcher; each of several nodes adds who it is. */
static void print_accelerate(const struct plan *p, const char *const *words, size_t count,
                             const struct report_style *style, struct str *out)
{
    enum { LAUNCHER = 2 };
    str_addf(out, "  %s %s", words[0], words[1]);
    if (p->gpus > p->group->per_node)
        str_add(out, " --machine_rank \"$NODE_RANK\" --main_process_ip \"$MASTER_ADDR\" "
                     "--main_process_port 29500");
    str_add(out, " \\\n");
    add_shell_lines(words + LAUNCHER, count - LAUNCHER, style, out);
    str_add(out, "  add --dataset_name and --output_dir\n");
}

/* Megatron-LM's own trainer trains all of a model. */
static void print_adapters_launch(const struct plan *p, const struct report_style *style,
                                  struct str *out)
{
    typeset_heading(style, "Launch plan 1", out);
    str_add(out, "  ");
    typeset_wrap(
        style,
        p->model->frozen_bits ? "nothing that Astra writes for trains beside 4-bit weights"
        : p->model->lora
            ? p->model->lora_whole
                  ? "--export swift writes a job for ms-swift; Megatron-LM has no adapters"
                  : "--export bridge writes overrides for Megatron-Bridge, and for ms-swift "
                    "a plan with --train ...,framework=swift and --export swift; Megatron-LM "
                    "has no adapters"
            : "--export swift writes a job for ms-swift; Megatron-LM freezes nothing",
        2, out);
}

static void print_megatron(const struct plan *p, const char *const *words, size_t count,
                           const struct report_style *style, struct str *out)
{
    str_add(out, "  ");
    add_launcher(p, out);
    str_add(out, " \\\n");
    add_shell_lines(words, count, style, out);
    if (plan_stack_kind(p) == STACK_TORCH)
        str_add(out, "  " EXPORT_MODULE ".py comes with astra export; PYTHONPATH must have its "
                     "folder\n");
}

static void print_gap(const char *gap, const struct report_style *style, struct str *out)
{
    if (!gap)
        return;
    str_add(out, "  Only for timing: ");
    typeset_wrap(style, gap, 2, out);
}

void print_launch(const struct plan *p, const struct report_style *style, struct arena *mem,
                  struct str *out)
{
    bool hf = strategy_on_hf(&p->strategy), all = model_trains_all(p->model);
    const char **words, *data = export_data_gap(p, hf || !all, mem);
    size_t count;
    if (!plan_flags(p, mem, &words, &count)) {
        if (model_lacks(p->model))
            str_addf(out, "\nNothing launches plan 1: %s.\n", model_lacks(p->model));
        return;
    }
    if (!all && !hf) {
        print_adapters_launch(p, style, out);
        print_gap(data, style, out);
        return;
    }
    typeset_heading(
        style, "Launch plan 1 (data, learning rate and length of the run are yours to add)", out);
    if (plan_on_flagscale(p))
        print_hostfile(p, style, mem, out);
    else
        print_node_order(p, style, out);
    print_environment(p, mem, out);
    if (hf)
        print_accelerate(p, (const char *const *)words, count, style, out);
    else
        print_megatron(p, (const char *const *)words, count, style, out);
    const char *untold = hf ? NULL : export_untold_text(p->model, INT_MAX, mem);
    print_gap(export_join_gaps(untold, data, mem), style, out);
}
