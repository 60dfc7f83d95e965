/* The section of every flag that a plan can have: by its parameter in megatron.def, or by its name
 * where a parameter takes several flags. */
#include "export/sections.h"

#include "strategy/strategy.h"

#include <string.h>

static const struct {
    enum param param;
    const char *flag;
} PARAM_FLAGS[] = {
#define MEGATRON(param, kind, flag, since) {PARAM_##param, flag},
#include "export/megatron.def"
};

static const enum section OF_PARAM[PARAMS] = {
    [PARAM_global_batch] = SECTION_BATCH,
    [PARAM_seq_len] = SECTION_BATCH,
    [PARAM_micro_batch] = SECTION_BATCH,
    [PARAM_precision] = SECTION_PRECISION,
    [PARAM_fp8_params] = SECTION_PRECISION,
    [PARAM_tp] = SECTION_PARALLEL,
    [PARAM_cp] = SECTION_PARALLEL,
    [PARAM_pp] = SECTION_PARALLEL,
    [PARAM_dp] = SECTION_PARALLEL,
    [PARAM_ep] = SECTION_PARALLEL,
    [PARAM_etp] = SECTION_PARALLEL,
    [PARAM_vpp] = SECTION_PARALLEL,
    [PARAM_split] = SECTION_PARALLEL,
    [PARAM_first_layers] = SECTION_PARALLEL,
    [PARAM_last_layers] = SECTION_PARALLEL,
    [PARAM_micro_batch_group] = SECTION_PARALLEL,
    [PARAM_seq_parallel] = SECTION_PARALLEL,
    [PARAM_cp_comm] = SECTION_PARALLEL,
    [PARAM_tp_overlap] = SECTION_PERF,
    [PARAM_p2p_scatter] = SECTION_PERF,
    [PARAM_tp_sync] = SECTION_PERF,
    [PARAM_p2p_overlap] = SECTION_PERF,
    [PARAM_dispatcher] = SECTION_PERF,
    [PARAM_moe_overlap] = SECTION_PERF,
    [PARAM_shared_overlap] = SECTION_PERF,
    [PARAM_cuda_graph] = SECTION_PERF,
    [PARAM_grouped_gemm] = SECTION_PERF,
    [PARAM_expert_fusion] = SECTION_PERF,
    [PARAM_attention] = SECTION_PERF,
    [PARAM_loss_fusion] = SECTION_PERF,
    [PARAM_loss_te] = SECTION_PERF,
    [PARAM_recompute] = SECTION_RECOMPUTE,
    [PARAM_recompute_method] = SECTION_RECOMPUTE,
    [PARAM_recompute_layers] = SECTION_RECOMPUTE,
    [PARAM_recompute_modules] = SECTION_RECOMPUTE,
    [PARAM_dist_opt] = SECTION_OPTIMIZER,
    [PARAM_fsdp] = SECTION_OPTIMIZER,
    [PARAM_optimizer_instances] = SECTION_OPTIMIZER,
    [PARAM_grad_bf16] = SECTION_OPTIMIZER,
    [PARAM_precision_aware] = SECTION_OPTIMIZER,
    [PARAM_main_grads_bf16] = SECTION_OPTIMIZER,
    [PARAM_moments_bytes] = SECTION_OPTIMIZER,
    [PARAM_optimizer_offload] = SECTION_OPTIMIZER,
    [PARAM_overlap_grad_reduce] = SECTION_OPTIMIZER,
    [PARAM_overlap_param_gather] = SECTION_OPTIMIZER,
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
            return OF_PARAM[PARAM_FLAGS[i].param];
    for (size_t i = 0; i < sizeof OTHERS / sizeof *OTHERS; i++)
        if (strcmp(OTHERS[i].flag, flag) == 0)
            return OTHERS[i].section;
    return SECTION_MODEL;
}

const char *section_name(enum section section)
{
    static const char *const names[SECTIONS] = {
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
