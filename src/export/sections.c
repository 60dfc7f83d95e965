/* The section of every flag that a plan can have: by its parameter in megatron.def, or by its name
 * where a parameter takes several flags. */
#include "export/job.h"

#include <string.h>

static const struct {
    enum param param;
    const char *flag;
} PARAM_FLAGS[] = {
#define MEGATRON(param, kind, flag, since) {PARAM_##param, flag},
#include "import/megatron/megatron.def"
};

/* Flags that come with a parameter and are no line of megatron.def. */
static const struct {
    const char *flag;
    enum section section;
} OTHERS[] = {
    {"--fp16", SECTION_PRECISION},
    {"--fp8-format", SECTION_PRECISION},
    {"--fp8-recipe", SECTION_PRECISION},
    {"--num-layers-per-virtual-pipeline-stage", SECTION_PARALLEL},
    {"--account-for-embedding-in-pipeline-split", SECTION_PARALLEL},
    {"--account-for-loss-in-pipeline-split", SECTION_PARALLEL},
    {"--enable-hetero", SECTION_PARALLEL},
    {"--hetero-device-types", SECTION_PARALLEL},
    {"--hetero-process-meshes", SECTION_PARALLEL},
    {"--hetero-pipeline-layer-split", SECTION_PARALLEL},
    {"--expert-tensor-parallel-size-per-process-mesh", SECTION_PARALLEL},
    {"--use-partial-reduce-for-shared-embedding", SECTION_PARALLEL},
    {"--recompute-granularity-per-stage-micro-batch", SECTION_RECOMPUTE},
    {"--recompute-method-per-stage-micro-batch", SECTION_RECOMPUTE},
    {"--recompute-num-layers-per-stage-micro-batch", SECTION_RECOMPUTE},
    {"--accumulate-allreduce-grads-in-fp32", SECTION_OPTIMIZER},
    {"--exp-avg-sq-dtype", SECTION_OPTIMIZER},
    {"--optimizer-cpu-offload", SECTION_OPTIMIZER},
    {"--use-megatron-fsdp", SECTION_OPTIMIZER},
    {"--ckpt-format", SECTION_OPTIMIZER},
    {"--init-model-with-meta-device", SECTION_OPTIMIZER},
    {"--spec", SECTION_PERF},
    {"--transformer-impl", SECTION_PERF},
    {"--no-persist-layer-norm", SECTION_PERF},
    {"--no-gradient-accumulation-fusion", SECTION_PERF},
    {"--no-masked-softmax-fusion", SECTION_PERF},
    {"--no-rope-fusion", SECTION_PERF},
};

enum section section_of(const char *flag)
{
    for (size_t i = 0; i < sizeof PARAM_FLAGS / sizeof *PARAM_FLAGS; i++)
        if (strcmp(PARAM_FLAGS[i].flag, flag) == 0)
            return param_info(PARAM_FLAGS[i].param)->section;
    for (size_t i = 0; i < sizeof OTHERS / sizeof *OTHERS; i++)
        if (strcmp(OTHERS[i].flag, flag) == 0)
            return OTHERS[i].section;
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
