/* Whose layers a launch runs, by its flags: forks have their own. */
#include "import/shell/launch_translation.h"

#include "base/arena.h"
#include "base/str.h"

#include <string.h>

/* MindSpeed calls its own fused layers "local": Megatron's rules on local ones do not hold for them. */
static bool has_layers_of_mindspeed(const struct launch *l)
{
    static const char flags[] = "--use-fused-rmsnorm --use-fused-swiglu --use-fused-rotary-pos-emb";
    const char *impl = launch_value(l, "--transformer-impl");
    bool found = false;
    for (int i = 0; i < l->count; i++)
        found |= strncmp(l->word[i].text, "mindspeed", 9) == 0 || is_one_of(l->word[i].text, flags);
    return found && impl && strcmp(impl, "local") == 0;
}

/* Layers that another program defines; those of `astra export` are known, and local ones are spoken of later. */
static void note_spec(struct launch *l, bool mindspeed, struct arena *mem)
{
    const char *spec = launch_value(l, "--spec"), *impl = launch_value(l, "--transformer-impl");
    bool local = impl && strcmp(impl, "local") == 0 && !mindspeed;
    if (spec && strcmp(spec, TORCH_MODULE) != 0 && !local)
        launch_note(
            l, arena_format(mem,
                            "--spec %s: its layers are planned as Megatron's, which may be others",
                            spec));
}

const char *launch_fork(const struct launch *l)
{
    static const char *const FLAGS[] = {"--ai-framework",
                                        "--context-parallel-algo",
                                        "--handler-name",
                                        "--moe-alltoall-overlap-comm",
                                        "--moe-permutation-async-comm",
                                        "--no-shared-storage",
                                        "--reuse-fp32-param",
                                        "--swap-attention",
                                        "--use-ascend-coc",
                                        "--use-ascend-mc2",
                                        "--use-fused-ring-attention-update",
                                        "--use-fused-rmsnorm",
                                        "--use-fused-rotary-pos-emb",
                                        "--use-fused-swiglu"};
    if (l->program && strcmp(l->program, "megatron") == 0)
        return "ms-swift";
    if (l->program && strcmp(l->program, "primus") == 0)
        return "Primus";
    if (launch_mentions(l, "--actor-num-gpus-per-node"))
        return "slime";
    if (l->program && strcmp(l->program, "verl") == 0)
        return "verl";
    if (launch_mentions(l, "--deepspeed"))
        return "DeepSpeed";
    if (launch_mentions(l, "--optimizer-offload-policy"))
        return "Pai-Megatron-Patch";
    for (size_t i = 0; i < sizeof FLAGS / sizeof *FLAGS; i++)
        if (launch_mentions(l, FLAGS[i]))
            return "MindSpeed";
    return NULL;
}

static bool has_local_layers(const struct launch *l)
{
    const char *impl = launch_value(l, "--transformer-impl");
    return impl && strcmp(impl, "local") == 0;
}

/* Flags of releases whose layers were Megatron's own unless --transformer-impl said otherwise (until core 0.5): gone
 * since, or of a fork of one of these. */
static const char *flag_of_old_release(const struct launch *l)
{
    static const char *const FLAGS[] = {"--deepspeed",
                                        "--checkpoint-activations",
                                        "--checkpoint-num-layers",
                                        "--data-impl",
                                        "--DDP-impl",
                                        "--no-query-key-layer-scaling",
                                        "--model-parallel-size",
                                        "--activations-checkpoint-method",
                                        "--attention-head-type"};
    const char *legacy =
        "--use-legacy-models"; /* TransformerEngine's, unless they are said to be local */
    if (launch_mentions(l, legacy) && has_local_layers(l))
        return legacy;
    for (size_t i = 0; i < sizeof FLAGS / sizeof *FLAGS; i++)
        if (launch_mentions(l, FLAGS[i]))
            return FLAGS[i];
    return l->snapshot && strcmp(l->snapshot, "Megatron-LM-240201") < 0 ? l->snapshot : NULL;
}

static bool splits_sequence(const struct launch *l)
{
    return launch_number(l, "--ds-sequence-parallel-size", 1) > 1 ||
           launch_number(l, "--context-parallel-size", 1) > 1;
}

/* Without --transformer-impl theirs was "local". */
static void note_old_layers(struct launch *l, const char *flag, struct arena *mem)
{
    if (!launch_mentions(l, "--transformer-impl") || has_local_layers(l))
        launch_note(l,
                    arena_format(mem,
                                 "%s: of a release that builds its own layers, which are planned "
                                 "as TransformerEngine's: where Apex' fused kernels are missing "
                                 "a step is longer (-- --transformer-impl local)",
                                 flag));
}

/* ZeRO keeps gradients in the model's type unless its settings say another (get_data_types of deepspeed/runtime/engine.py);
 * without ZeRO those of bf16 are summed in fp32. */
static void plan_deepspeed_gradients(struct translation *t, struct launch *l, bool settings)
{
    int64_t stage = launch_number(l, "--zero-stage", 0);
    if (!launch_mentions(l, "--deepspeed") || !launch_mentions(l, "--bf16") || stage < 1 ||
        launch_mentions(l, "--accumulate-allreduce-grads-in-fp32") || l->zero_of_bf16)
        return;
    translation_first(t, "--grad-reduce-in-bf16", l->line);
    launch_note(l, settings
                       ? "gradients are planned in 16 bits, as ZeRO keeps those of bf16"
                       : "gradients are planned in 16 bits, as ZeRO keeps those of bf16 unless "
                         "data_types of its settings say another type");
}

/* DeepSpeed's pipeline deals layers that do not go into its stages, one more to some of them (partition_method
 * type:transformer of megatron/model/gpt_model.py); the first stages are taken for these. */
static void deal_layers(struct translation *t, const struct launch *l)
{
    enum { STAGES_MOST = 1024 };
    int64_t stages = launch_number(l, "--pipeline-model-parallel-size", 1);
    int64_t layers = launch_number(l, "--num-layers", -1);
    struct str s = {0};
    if (!launch_mentions(l, "--deepspeed") || launch_mentions(l, "--no-pipeline-parallel") ||
        launch_mentions(l, "--pp-partition-method") || stages < 2 || stages > STAGES_MOST ||
        layers < stages || layers % stages == 0)
        return;
    for (int64_t i = 0; i < stages; i++)
        str_addf(&s, "%st*%lld", i == 0 ? "E" : "|",
                 (long long)(layers / stages + (i < layers % stages)));
    str_add(&s, "L");
    translation_last(t, "--pipeline-model-parallel-layout", str_keep(&s, t->mem), l->line);
}

/* The last of every so many layers has experts, where Megatron's --moe-layer-freq N means the first
 * (get_num_experts_per_layer of megatron/model/transformer.py). */
static void space_experts(struct translation *t, const struct launch *l)
{
    enum { LAYERS_MOST = 4096 };
    int64_t every = launch_number(l, "--expert-interval", 2);
    int64_t layers = launch_number(l, "--num-layers", -1);
    struct str s = {0};
    if (every < 2 || every > layers || layers > LAYERS_MOST)
        return;
    for (int64_t i = 1; i <= layers; i++)
        str_addf(&s, "%s%d", i == 1 ? "[" : ",", i % every == 0);
    str_add(&s, "]");
    translation_last(t, "--moe-layer-freq", str_keep(&s, t->mem), l->line);
}

/* DeepSpeed's layers of experts exchange all to all (deepspeed/moe/sharded_moe.py). */
static void plan_deepspeed_experts(struct translation *t, const struct launch *l)
{
    const char *experts = launch_value(l, "--num-experts");
    if (!launch_mentions(l, "--deepspeed") || !launch_mentions(l, "--num-experts") ||
        launch_mentions(l, "--moe-token-dispatcher-type"))
        return;
    translation_first(t, "--moe-token-dispatcher-type", l->line);
    translation_first(t, "alltoall", l->line);
    if (!launch_mentions(l, "--topk")) {
        translation_first(t, "--moe-router-topk", l->line);
        translation_first(t, "1", l->line);
    }
    if (!experts || strcmp(experts, "1") != 0)
        space_experts(t, l);
}

/* Their attention was unfused unless flash attention was asked for. Runs of them are met with the other layers as
 * TransformerEngine's: Apex and Megatron had fused what took time (doc/evidence/accuracy.md, vTrain, BLOOM, SC21). */
static void plan_old_layers(struct translation *t, struct launch *l)
{
    static const char *const FLASH[] = {"--use-flash-attn", "--use-flash-attn-v1",
                                        "--use-flash-attn-v2", "--use-flash-attn-triton",
                                        "--attention-backend"};
    const char *flag = flag_of_old_release(l), *fork = flag ? launch_fork(l) : NULL;
    if (!flag)
        return;
    bool other = fork && strcmp(fork, "DeepSpeed") != 0, local = has_local_layers(l);
    bool fused =
        splits_sequence(l) || other || (launch_mentions(l, "--transformer-impl") && !local);
    if (!other && local) /* not those of today, whose attention is never flash */
        translation_last(t, "--transformer-impl", "transformer_engine", l->line);
    l->old_release = flag;
    if (!other)
        note_old_layers(l, flag, t->mem);
    for (size_t i = 0; i < sizeof FLASH / sizeof *FLASH; i++)
        fused |= launch_mentions(l, FLASH[i]);
    if (fused)
        return;
    translation_first(t, "--attention-backend", l->line);
    translation_first(t, "unfused", l->line);
    launch_note(l, arena_format(t->mem,
                                "%s: of a release whose attention is unfused unless flash "
                                "attention is asked for, which is planned so (-- "
                                "--attention-backend flash)",
                                flag));
}

/* MindSpeed fuses attention where it is asked to (mindspeed_llm/core/transformer/custom_dot_product_attention.py). */
static void plan_mindspeed(struct translation *t, struct launch *l)
{
    const char *impl = launch_value(l, "--transformer-impl");
    if (!l->fork || strcmp(l->fork, "MindSpeed") != 0 || splits_sequence(l) ||
        launch_mentions(l, "--use-flash-attn") || launch_mentions(l, "--attention-backend") ||
        (impl && strcmp(impl, "transformer_engine") == 0))
        return;
    translation_first(t, "--attention-backend", l->line);
    translation_first(t, "unfused", l->line);
    launch_note(l, "MindSpeed without --use-flash-attn: attention is planned unfused (-- "
                   "--attention-backend flash)");
}

/* Programs of Pai-Megatron-Patch's first years build models of its own (megatron_patch/model), which fix what flags say
 * elsewhere; that of GLM-130B the width of its gated MLP. */
static void plan_patched_model(struct translation *t, struct launch *l)
{
    const char *program = l->program ? l->program : "";
    bool glm = strstr(program, "_megatron_glm130b") != NULL;
    int64_t hidden = launch_number(l, "--hidden-size", -1);
    if (strncmp(program, "pretrain_megatron_", 18) != 0 &&
        strncmp(program, "finetune_megatron_", 18) != 0)
        return;
    if (glm && hidden > 0)
        translation_last(t, "--ffn-hidden-size",
                         arena_format(t->mem, "%lld", (long long)(4 * hidden * 2 / 3)), l->line);
    launch_note(l, arena_format(t->mem,
                                "%s builds Pai-Megatron-Patch's own model%s: what its code fixes "
                                "(biases, norms, mask) is planned as the flags say",
                                program, glm ? ", with a gated MLP of 8/3 of the width" : ""));
}

static void plan_unfused(struct translation *t, struct launch *l)
{
    if (!l->unfused || launch_mentions(l, "--attention-backend"))
        return;
    translation_first(t, "--attention-backend", l->line);
    translation_first(t, "unfused", l->line);
    launch_note(l, "NVTE_FLASH_ATTN=0 and NVTE_FUSED_ATTN=0 in the environment: attention is "
                   "planned unfused (-- --attention-backend flash)");
}

/* There --recompute-num-layers was 1 unless it was given. */
static void add_old_defaults(struct translation *t, const struct launch *l)
{
    if (launch_mentions(l, "--recompute-method") && !launch_mentions(l, "--recompute-num-layers") &&
        flag_of_old_release(l)) {
        translation_first(t, "--recompute-num-layers", l->line);
        translation_first(t, "1", l->line);
    }
}

/* MindSpeed repeats key-value heads before the exchange of Ulysses (--kv-head-repeat-before-uly-alltoall), where Megatron
 * refuses: rules are Megatron's. */
static void note_ulysses(struct launch *l, struct arena *mem)
{
    const char *algorithm = launch_value(l, "--context-parallel-algo");
    if (!algorithm || strcmp(algorithm, "ulysses_cp_algo") != 0)
        return;
    const char *fork = launch_fork(l);
    int64_t tp = launch_number(l, "--tensor-model-parallel-size", 1);
    int64_t cp = launch_number(l, "--context-parallel-size", 1);
    int64_t groups = launch_number(l, "--num-query-groups", 0);
    if (!fork || strcmp(fork, "MindSpeed") != 0 || tp < 1 || cp < 2 || groups < 1)
        return;
    int64_t heads = groups > tp ? groups / tp : 1;
    if (heads % cp != 0)
        launch_note(l,
                    arena_format(mem,
                                 "--context-parallel-algo ulysses_cp_algo: MindSpeed repeats "
                                 "the key-value heads, %lld of a rank, for the %lld ranks of "
                                 "the context, which Megatron's rules refuse: it runs there, and "
                                 "sends more than is planned",
                                 (long long)heads, (long long)cp));
}

void translation_layers(struct translation *t, struct launch *l)
{
    note_spec(l, has_layers_of_mindspeed(l), t->mem);
    plan_old_layers(t, l);
    plan_deepspeed_experts(t, l);
    deal_layers(t, l);
    plan_deepspeed_gradients(t, l, l->deepspeed != NULL);
    plan_mindspeed(t, l);
    plan_patched_model(t, l);
    plan_unfused(t, l);
    add_old_defaults(t, l);
    note_ulysses(l, t->mem);
    if (!has_layers_of_mindspeed(l))
        return;
    translation_last(t, "--transformer-impl", "transformer_engine", 0);
    launch_note(l, "--transformer-impl local: MindSpeed's fused layers are planned as "
                   "TransformerEngine's");
}
