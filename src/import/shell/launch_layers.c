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
                                        "--activations-checkpoint-method"};
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
    if (!launch_mentions(l, "--transformer-impl"))
        launch_note(l,
                    arena_format(mem,
                                 "%s: of a release that builds its own layers, which are planned "
                                 "as TransformerEngine's: where Apex' fused kernels are missing "
                                 "a step is longer (-- --transformer-impl local)",
                                 flag));
}

/* DeepSpeed's layers of experts exchange all to all (deepspeed/moe/sharded_moe.py). */
static void plan_deepspeed_experts(struct translation *t, const struct launch *l)
{
    if (!launch_mentions(l, "--deepspeed") || !launch_mentions(l, "--num-experts") ||
        launch_mentions(l, "--moe-token-dispatcher-type"))
        return;
    translation_first(t, "--moe-token-dispatcher-type", l->line);
    translation_first(t, "alltoall", l->line);
}

/* Their attention was unfused unless flash attention was asked for. Runs of them are met with the other layers as
 * TransformerEngine's: Apex and Megatron had fused what took time (doc/evidence/accuracy.md, vTrain, BLOOM, SC21). */
static void plan_old_layers(struct translation *t, struct launch *l)
{
    static const char *const FLASH[] = {"--use-flash-attn",    "--use-flash-attn-v1",
                                        "--use-flash-attn-v2", "--use-flash-attn-triton",
                                        "--attention-backend", "--transformer-impl"};
    const char *flag = flag_of_old_release(l), *fork = flag ? launch_fork(l) : NULL;
    if (!flag)
        return;
    bool other = fork && strcmp(fork, "DeepSpeed") != 0;
    bool fused = splits_sequence(l) || other;
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
    plan_unfused(t, l);
    add_old_defaults(t, l);
    note_ulysses(l, t->mem);
    if (!has_layers_of_mindspeed(l))
        return;
    translation_last(t, "--transformer-impl", "transformer_engine", 0);
    launch_note(l, "--transformer-impl local: MindSpeed's fused layers are planned as "
                   "TransformerEngine's");
}
