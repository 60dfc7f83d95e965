/* The section of every flag that a plan can have: by its parameter in megatron.def, or by its name
 * where a parameter takes several flags. */
#include "export/job.h"

#include "base/str.h"
#include "import/megatron/param_flags.h"

#include <string.h>

/* Flags that come with a parameter and are no line of megatron.def. */
static const char *const OTHERS[SECTION_COUNT] = {
    [SECTION_PRECISION] = "--fp16 --fp8-format --fp8-recipe --fp4-format --fp4-param-gather",
    [SECTION_PARALLEL] =
        "--num-layers-per-virtual-pipeline-stage --account-for-embedding-in-pipeline-split "
        "--account-for-loss-in-pipeline-split --enable-hetero --hetero-device-types "
        "--hetero-process-meshes --hetero-pipeline-layer-split "
        "--expert-tensor-parallel-size-per-process-mesh "
        "--use-partial-reduce-for-shared-embedding",
    [SECTION_RECOMPUTE] = "--recompute-granularity-per-stage-micro-batch "
                          "--recompute-method-per-stage-micro-batch "
                          "--recompute-num-layers-per-stage-micro-batch",
    [SECTION_OPTIMIZER] =
        "--accumulate-allreduce-grads-in-fp32 --exp-avg-sq-dtype --optimizer-cpu-offload "
        "--use-megatron-fsdp --ckpt-format --init-model-with-meta-device",
    [SECTION_PERF] =
        "--moe-flex-dispatcher-backend --moe-router-dtype --cuda-graph-modules "
        "--no-check-for-nan-in-loss-and-grad "
        "--moe-expert-rank-capacity-factor --moe-paged-stash --moe-mlp-glu-interleave-size "
        "--spec --transformer-impl --no-persist-layer-norm "
        "--no-gradient-accumulation-fusion --no-masked-softmax-fusion --no-rope-fusion "
        "--no-create-attention-mask-in-dataloader",
};

enum section section_of(const char *flag)
{
    for (int i = 0; i < PARAMS; i++)
        if (strcmp(PARAM_FLAGS[i].flag, flag) == 0)
            return param_info(PARAM_FLAGS[i].param)->section;
    for (int i = 0; i < SECTION_COUNT; i++)
        if (OTHERS[i] && is_one_of(flag, OTHERS[i]))
            return (enum section)i;
    return SECTION_MODEL;
}

const char *section_name(enum section section)
{
    static const char *const names[SECTION_COUNT] = {
        [SECTION_MODEL] = "MODEL_ARGS",         [SECTION_BATCH] = "BATCH_ARGS",
        [SECTION_PARALLEL] = "PARALLEL_ARGS",   [SECTION_PRECISION] = "PRECISION_ARGS",
        [SECTION_RECOMPUTE] = "RECOMPUTE_ARGS", [SECTION_OPTIMIZER] = "OPTIMIZER_ARGS",
        [SECTION_PERF] = "PERF_ARGS",
    };
    return names[section];
}

size_t flag_end(const char *const *words, size_t count, size_t i)
{
    for (i++; i < count && words[i][0] != '-';)
        i++;
    return i;
}
