/* A plan as a call of `megatron sft` of ms-swift, which takes the model from Hugging Face: swift.def has the pairs. */
#include "export/job.h"

#include "base/str.h"
#include "export/shell.h"
#include "model/trained.h"

#include <string.h>

enum swift_kind { VALUE, LIST, ON, OFF, SKIP };

static const struct swift_pair {
    const char *flag;
    enum swift_kind kind;
    const char *name, *unset;
} PAIRS[] = {
#define SWIFT(flag, kind, name, unset) {flag, kind, name, unset},
#include "export/swift.def"
};
static const struct swift_pair DEEPEP = {"", ON, "moe_enable_deepep", ""};
enum { PAIR_COUNT = sizeof PAIRS / sizeof *PAIRS };

static const struct swift_pair *pair_of(const char *flag)
{
    for (size_t i = 0; i < PAIR_COUNT; i++)
        if (strcmp(PAIRS[i].flag, flag) == 0)
            return &PAIRS[i];
    return NULL;
}

static bool has_flag(const struct export_job *j, const char *flag)
{
    for (size_t i = 0; i < j->flags; i++)
        if (strcmp(j->flag[i], flag) == 0)
            return true;
    return false;
}

static void add_argument(const struct swift_pair *p, const char *const *words, size_t count,
                         struct str *out)
{
    if (p->kind == SKIP)
        return;
    str_addf(out, " \\\n    --%s", p->name);
    if (p->kind == ON || p->kind == OFF)
        str_add(out, p->kind == ON ? " true" : " false");
    for (size_t i = 1; p->kind <= LIST && i < count; i++) {
        str_add(out, " ");
        add_shell_word(out, words[i]);
    }
}

static void add_plan(const struct export_job *j, struct str *out, struct str *lost)
{
    for (size_t i = 0, end; i < j->flags; i = end) {
        const struct swift_pair *p = pair_of(j->flag[i]);
        if (strcmp(j->flag[i], "--moe-flex-dispatcher-backend") == 0 && i + 1 < j->flags &&
            strcmp(j->flag[i + 1], "deepep") == 0)
            p = &DEEPEP;
        end = flag_end(j->flag, j->flags, i);
        if (p)
            add_argument(p, j->flag + i, end - i, out);
        else if (section_of(j->flag[i]) != SECTION_MODEL) /* ms-swift has the model's config.json */
            for (size_t k = i; k < end; k++)
                str_addf(lost, "%s%s%s", k > i ? " " : "#   ", j->flag[k], k + 1 < end ? "" : "\n");
    }
    if (j->vpp > 1)
        str_addf(out, " \\\n    --virtual_pipeline_model_parallel_size %d", j->vpp);
    for (size_t i = 0; i < PAIR_COUNT; i++)
        if (*PAIRS[i].unset && !has_flag(j, PAIRS[i].flag))
            str_addf(out, " \\\n    %s", PAIRS[i].unset);
}

static void add_adapters(const struct model *m, struct str *out)
{
    str_addf(out, " \\\n    --tuner_type %s", m->lora ? "lora" : "full");
    if (!m->lora)
        return;
    str_addf(out, " \\\n    --lora_rank %d --lora_alpha %d --lora_dropout %s --target_modules",
             m->lora, 2 * m->lora, m->lora_dropout ? "0.05" : "0");
    for (int i = 0; i < TARGETS; i++)
        if (model_adapts(m, (enum lora_target)i))
            str_addf(out, " %s", model_target_name((enum lora_target)i));
}

/* Prefixes and patterns of Megatron's names of parameters. */
static void add_frozen(const struct model *m, struct str *out)
{
    static const char *const NAMES[PARTS] = {
        [PART_embedding] = "embedding",
        [PART_attention] = "self_attention|input_layernorm|mixer",
        [PART_mlp] = "mlp.linear_fc|shared_experts|pre_mlp_layernorm",
        [PART_experts] = "mlp.experts",
        [PART_router] = "mlp.router",
        [PART_head] = "output_layer|final_layernorm",
    };
    const char *between = " \\\n    --freeze_parameters_regex '";
    for (int i = 0; i < PARTS && !m->lora; i++)
        if (model_freezes(m, (enum model_part)i)) {
            str_addf(out, "%s%s", between, NAMES[i]);
            between = "|";
        }
    str_add(out, m->lora || model_trains_all(m) ? "" : "'");
}

static bool fits(const struct export_job *j, struct error *err)
{
    const struct model *m = j->model;
    if (m->frozen_bits)
        return fail(err, ERROR_INPUT,
                    "swift: `megatron sft` trains beside no 4-bit weights: plan with bits=16");
    if (m->lora && !m->lora_whole && (j->tp > 1 || m->experts))
        return fail(err, ERROR_INPUT,
                    "swift: the plan lays adapters out as Megatron-Bridge does; plan with "
                    "--train ...,framework=swift, or use --to bridge");
    if (!j->te)
        return fail(err, ERROR_INPUT,
                    "swift: it trains with TransformerEngine: plan with --stack te");
    return true;
}

bool export_swift(const struct export_job *j, struct str *out, struct error *err)
{
    struct str lost = {0};
    if (!job_needs_megatron(j, "swift", err) || !job_needs_even(j, "swift", err) || !fits(j, err))
        return false;
    str_add(out, "#!/bin/bash\n");
    add_bash_about(j, out);
    str_addf(out,
             "# A call of ms-swift (https://github.com/modelscope/ms-swift).%s\n"
             "set -euo pipefail\n\n"
             ": \"${MODEL:?its Hugging Face id, or a folder with its weights}\"\n"
             ": \"${DATASET:?what --dataset takes}\"\n"
             ": \"${EPOCHS:=1}\"\n: \"${LR:=1e-4}\"\n: \"${OUTPUT:=output}\"\n",
             j->nodes > 1 ? " To be started on every node." : "");
    add_bash_environment(j, out);
    str_addf(out, "export NPROC_PER_NODE=%d\n", j->part[0].per_node);
    if (j->nodes > 1)
        str_addf(out,
                 "export NNODES=%lld\n: \"${NODE_RANK:?rank of this node, 0 to %lld}\"\n"
                 ": \"${MASTER_ADDR:?name or address of node 0}\"\nexport NODE_RANK MASTER_ADDR\n",
                 (long long)j->nodes, (long long)j->nodes - 1);
    str_add(out,
            "\nexec megatron sft \\\n    --model \"$MODEL\" --use_hf true --dataset \"$DATASET\" "
            "\\\n    --num_train_epochs \"$EPOCHS\" --lr \"$LR\" --output_dir \"$OUTPUT\"");
    str_add(out, j->packed ? " \\\n    --packing true" : "");
    add_adapters(j->model, out);
    add_frozen(j->model, out);
    add_plan(j, out, &lost);
    str_add(out, "\n");
    if (lost.length)
        str_addf(out, "# Flags that ms-swift has no argument for:\n%s", str_text(&lost));
    str_release(&lost);
    return true;
}
