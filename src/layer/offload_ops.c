/* Which of a block's tensors fine-grained offloading sends to the host: what the named modules keep
 * for their backward (fine_grained_activation_offload.py). */
#include "layer/ops.h"

#include "base/units.h"
#include "model/model.h"

#include <string.h>

/* Smaller tensors stay: 2^20 elements is Megatron's default, of 16 bits each. */
static const double LEAST_BYTES = 2 * MIB;

static const struct {
    int module;
    const char *op; /* whose output it is that the module keeps */
} KEPT[] = {
    {OFFLOAD_QKV_LINEAR, "attention norm"},
    {OFFLOAD_CORE_ATTN, "qkv"},
    {OFFLOAD_CORE_ATTN, "qk norm"},
    {OFFLOAD_CORE_ATTN, "kv up"},
    {OFFLOAD_CORE_ATTN, "q up"},
    {OFFLOAD_CORE_ATTN, "core attention"},
    {OFFLOAD_ATTN_PROJ, "attention out"},
    {OFFLOAD_EXPERT_FC1, "sort by expert"},
    {OFFLOAD_MOE_ACT, "expert up"},
};

/* The stream, input of a norm. The norm of attention is part of the product behind it but for MLA; that
 * of a dense MLP always, which cannot be named. */
static int stream_module(const struct block_shape *s)
{
    if (s->kind == BLOCK_ATTENTION)
        return s->model->mla ? OFFLOAD_ATTN_NORM : OFFLOAD_QKV_LINEAR;
    return s->kind == BLOCK_MOE ? OFFLOAD_MLP_NORM : 0;
}

static int module_of(const struct block_shape *s, const char *op)
{
    if (strcmp(op, "residual") == 0)
        return stream_module(s);
    for (size_t i = 0; i < sizeof KEPT / sizeof *KEPT; i++)
        if (strcmp(op, KEPT[i].op) == 0)
            return KEPT[i].module;
    return 0;
}

void mark_offloaded(const struct block_shape *s, struct op *ops, int count)
{
    for (int i = 0; i < count && s->offload; i++)
        if (ops[i].saved >= LEAST_BYTES && s->offload & module_of(s, ops[i].name))
            ops[i].offloaded = ops[i].saved;
}
