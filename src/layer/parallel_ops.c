/* Attention beside a state space behind one norm, their outputs summed (Falcon-H1; Megatron-Bridge's falconh1_layer.py composes
 * Megatron's two modules so). Each gathers its input and reduces its output under tensor parallelism. */
#include "layer/ops_builder.h"

#include "model/model.h"

void parallel_block(struct ops_builder *b)
{
    b->normed = ops_input(b, PART_attention);
    ops_norm(b, "mixer norm", true);
    b->out[0].modules = 0; /* of both: nothing recomputes it alone */
    ops_state_space(b);
    ops_attention(b);
    /* the two are added */
    ops_pass(b, "mixer sum", MEMORY_RESIDUAL, b->residual, b->s->model->hidden)->temporary =
        b->stream;
}
