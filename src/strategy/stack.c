/* Software stacks by name, and which of them runs attention through memory where. */
#include "strategy/strategy.h"

#include "cluster/cluster.h"

#include <string.h>

static const char *const NAMES[] = {
    [STACK_TE] = "te", [STACK_TORCH] = "torch", [STACK_LOCAL] = "local"};

const char *stack_name(enum stack stack)
{
    return NAMES[stack];
}

bool stack_find(const char *name, enum stack *out)
{
    for (int i = STACK_TE; i <= STACK_LOCAL; i++)
        if (strcmp(name, NAMES[i]) == 0) {
            *out = (enum stack)i;
            return true;
        }
    return false;
}

enum stack stack_of(bool te, bool stock)
{
    return te ? STACK_TE : stock ? STACK_LOCAL : STACK_TORCH;
}

/* FlashAttention and cuDNN's kernels begin with compute capability 8.0 (TransformerEngine:
 * attention/dot_product_attention/utils.py); torch's SDPA has a kernel for older GPUs. */
bool attention_is_unfused(enum stack stack, int attention, const struct gpu *gpu)
{
    if (stack != STACK_TE)
        return stack == STACK_LOCAL;
    return attention == ATTENTION_UNFUSED || attention == ATTENTION_LOCAL ||
           (attention == ATTENTION_AUTO && gpu_capability(gpu) < FLASH_CAPABILITY);
}

/* Both can: before Hopper flash-attn is taken, later cuDNN (get_attention_backend in the same file).
 * On Blackwell cuDNN's dropout is not deterministic (common/fused_attn/fused_attn.cpp), so that
 * flash-attn, which keeps more, is what deterministic runs with dropout get. */
bool attention_is_flash(enum stack stack, int attention, const struct gpu *gpu, bool dropout)
{
    double capability = gpu_capability(gpu);
    if (stack != STACK_TE || attention_is_unfused(stack, attention, gpu))
        return false;
    return attention == ATTENTION_FLASH ||
           (attention == ATTENTION_AUTO && (capability < 9 || (capability >= 10 && dropout)));
}
