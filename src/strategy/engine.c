/* What engines other than Megatron-LM leave open: transformers' layers, which Trainer, TRL and others run under
 * PyTorch FSDP2 or DeepSpeed ZeRO, split over data-parallel ranks alone. */
#include "strategy/strategy.h"

bool strategy_on_hf(const struct strategy *s)
{
    return s->engine != ENGINE_MEGATRON;
}

bool engine_varies(enum param p)
{
    switch (p) {
    case PARAM_dp:
    case PARAM_micro_batch:
    case PARAM_recompute: /* gradient checkpointing, and what goes with it */
    case PARAM_grad_bf16: /* the optimizer, on the host or not */
    case PARAM_reshard:
    case PARAM_param_offload:
        return true;
    default:
        return false;
    }
}

/* ZeRO-2 shards gradients and optimizer, the others parameters too. Collectives that overlap are counted
 * beside the passes (FSDP), so that what is left to reduce and gather is exposed. */
int engine_value(int engine, enum param p)
{
    if (p == PARAM_dist_opt)
        return 1;
    if (p == PARAM_fsdp)
        return engine == ENGINE_ZERO2 ? FSDP_OPTIM_GRADS : FSDP_FULL;
    return param_info(p)->init;
}

const char *engine_title(int engine)
{
    static const char *const TITLES[] = {[ENGINE_MEGATRON] = "Megatron-LM",
                                         [ENGINE_FSDP2] = "transformers with PyTorch FSDP2",
                                         [ENGINE_ZERO2] = "transformers with DeepSpeed ZeRO-2",
                                         [ENGINE_ZERO3] = "transformers with DeepSpeed ZeRO-3"};
    return TITLES[engine];
}
