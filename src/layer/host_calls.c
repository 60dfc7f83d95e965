/* What issuing a block's operators costs the host: host_calls.def by operator. */
#include "layer/host_calls.h"

#include "model/model.h"

static const struct {
    double te, te_back, fp8, fp8_back, torch, torch_back, eager, eager_back;
} CALLS[] = {
#define HOST_CALL(id, ...) [CALL_##id] = {__VA_ARGS__},
#include "layer/host_calls.def"
#undef HOST_CALL
};

static const double US = 1e-6;

struct host_time host_call(enum host_call call, enum host_stack stack, bool fp8)
{
    if (stack == HOST_EAGER)
        return (struct host_time){US * CALLS[call].eager, US * CALLS[call].eager_back};
    if (stack == HOST_TORCH)
        return (struct host_time){US * CALLS[call].torch, US * CALLS[call].torch_back};
    return (struct host_time){US * (CALLS[call].te + (fp8 ? CALLS[call].fp8 : 0)),
                              US * (CALLS[call].te_back + (fp8 ? CALLS[call].fp8_back : 0))};
}

static enum host_call memory_call(int kind)
{
    switch (kind) {
    case MEMORY_RMS_NORM:
    case MEMORY_LAYER_NORM:
        return CALL_NORM;
    case MEMORY_ROPE:
        return CALL_ROPE;
    case MEMORY_EMBEDDING:
        return CALL_EMBEDDING;
    case MEMORY_LOSS_TORCH:
    case MEMORY_LOSS_MEGATRON:
        return CALL_LOSS;
    default:
        return CALL_PASS;
    }
}

static enum host_call call_of(const struct op *o)
{
    switch (o->kind) {
    case OP_GEMM:
    case OP_GROUPED:
        return CALL_PRODUCT;
    case OP_ATTENTION:
        return CALL_ATTENTION;
    case OP_SCORES:
        return CALL_SCORES;
    case OP_COMM:
        if (o->axis == AXIS_TP && o->comm != COMM_ALL_REDUCE)
            return CALL_SHARDED;
        return o->axis == AXIS_EP ? CALL_EXCHANGE : CALL_COMM;
    case OP_MEMORY:
    case OP_SCAN:
        break;
    }
    return memory_call(o->memory_kind);
}

static void add_calls(struct op *o, struct host_time t, double times)
{
    o->host_s += t.forward_s * times;
    o->host_back_s += t.back_s * times;
}

void host_issue(const struct block_shape *s, struct op *o)
{
    bool fp8 = precision_is_narrow(s->precision);
    enum host_stack stack = s->eager ? HOST_EAGER : s->te ? HOST_TE : HOST_TORCH;
    bool in_turn = o->experts && o->kind == OP_GEMM && (o->count > 1 || !s->te);
    o->host_s = o->host_back_s = 0;
    if (o->routes && (!s->te || s->grouped_gemm)) {
        add_calls(o, host_call(CALL_ROUTER, stack, fp8), 1);
    } else if (in_turn) {
        add_calls(o, host_call(CALL_EXPERT, stack, fp8), o->count);
    } else {
        add_calls(o, host_call(call_of(o), stack, fp8), 1);
        add_calls(o, host_call(CALL_PASS, stack, fp8), o->calls);
        if (o->kind == OP_GEMM && s->model->linear_bias)
            add_calls(o, host_call(CALL_BIAS, stack, fp8), 1);
        if (o->kind == OP_GROUPED)
            add_calls(o, host_call(CALL_GROUPED, stack, fp8), o->count);
    }
}
