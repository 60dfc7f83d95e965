/* The MLP, which is also what a shared expert is. */
#include "layer/ops_builder.h"

#include "model/model.h"

/* Megatron compiles bias and activation into one kernel in both stacks; transformers multiplies by the
 * gate in an operator of its own. */
struct op *ops_activation(struct ops_builder *b, enum model_part part, double tokens, double inner,
                          double wide)
{
    bool gated = b->s->model->gated;
    struct op *o =
        ops_pass(b, "activation", gated ? MEMORY_SWIGLU_FUSED : MEMORY_GELU_FUSED, tokens, wide);
    o->saved = ops_input(b, part) * tokens * wide;
    o->temporary_back = HALF * tokens * (inner + wide);
    if (ops_unfused(b->s)) {
        o->memory_kind = o->memory_kind_back = gated ? MEMORY_SWIGLU : MEMORY_GELU;
        o->saved += gated ? HALF * tokens * wide : 0; /* between activation and gate */
        o->temporary_back += gated ? HALF * tokens * wide : 0;
        o->calls = gated;
    }
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
    first->calls = b->s->eager && b->s->model->gated ? 2 : 0; /* another module */
    ops_train(b, first, PART_mlp, TARGET_fc1, CUT_OUT, false);
    ops_activation(b, PART_mlp, b->tokens, inner, wide)->modules = modules;
    struct op *second = ops_row(b, down, wide);
    second->modules = modules;
    ops_train(b, second, PART_mlp, TARGET_fc2, CUT_IN, false);
}

void mlp_block(struct ops_builder *b)
{
    const struct model *m = b->s->model;
    b->normed = ops_input(b, PART_mlp);
    ops_mlp_norm(b);
    ops_enter(b, "mlp gather", MODULE_MLP);
    ops_mlp(b, "mlp up", "mlp down", (double)m->ffn / b->s->tp, MODULE_MLP);
    ops_exit(b, "mlp reduce", MODULE_MLP);
    if (m->post_norms)
        ops_norm(b, "mlp post norm", false);
}
