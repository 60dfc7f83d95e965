/* The MLP, which is also what a shared expert is. */
#include "layer/ops_builder.h"

#include "model/model.h"

/* Megatron compiles bias and activation into one kernel in both stacks. */
struct op *ops_activation(struct ops_builder *b, double tokens, double inner, double wide)
{
    bool gated = b->s->model->gated;
    struct op *o =
        ops_pass(b, "activation", gated ? MEMORY_SWIGLU_FUSED : MEMORY_GELU_FUSED, tokens, wide);
    o->saved = b->input * tokens * wide;
    o->temporary_back = HALF * tokens * (inner + wide);
    if (b->s->model->linear_bias)
        o->temporary_back += ops_bias_scratch(tokens, inner);
    return o;
}

/* Two products with the activation between them, `wide` = inner width on this rank. */
void ops_mlp(struct ops_builder *b, const char *up, const char *down, double wide, int modules)
{
    double inner = wide * (b->s->model->gated ? 2 : 1);
    struct op *first = ops_column(b, up, inner);
    first->modules = modules;
    first->saved = HALF * b->tokens * inner;
    ops_activation(b, b->tokens, inner, wide)->modules = modules;
    ops_row(b, down, wide)->modules = modules;
}

void mlp_block(struct ops_builder *b)
{
    const struct model *m = b->s->model;
    ops_mlp_norm(b);
    ops_enter(b, "mlp gather", MODULE_MLP);
    ops_mlp(b, "mlp up", "mlp down", (double)m->ffn / b->s->tp, MODULE_MLP);
    ops_exit(b, "mlp reduce", MODULE_MLP);
    if (m->post_norms)
        ops_norm(b, "mlp post norm", false);
}
