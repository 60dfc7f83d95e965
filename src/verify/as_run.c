/* The strategy as one rank alone runs it. What cannot be there is switched off where the rank does
 * the same work without it; its prediction is made without it too. */
#include "verify/verify.h"

#include "model/model.h"

/* Any value but `to`. */
enum { OTHER = -1 };

static const struct {
    enum param param;
    int from, to;
    bool te; /* with TransformerEngine as well */
    const char *note;
} CHANGES[] = {
    {PARAM_tp_overlap, 1, 0, true,
     "tp_overlap is off: user buffers need the other ranks; collectives take no time here anyway"},
    {PARAM_dispatcher, DISPATCH_FLEX, DISPATCH_ALLTOALL, true,
     "dispatcher is alltoall instead of flex, which does not run without the other ranks"},
    {PARAM_cuda_graph, OTHER, GRAPH_NONE, false,
     "cuda_graph is none: graphs need TransformerEngine; the host may show where it would not"},
    {PARAM_expert_fusion, 1, 0, false, "expert_fusion is off: it is TransformerEngine's"},
    {PARAM_grouped_gemm, 1, 0, false,
     "grouped_gemm is off: without TransformerEngine experts run one after the other"},
    {PARAM_attention, ATTENTION_FLASH, ATTENTION_AUTO, false,
     "attention is what the stack has, not TransformerEngine's flash kernel"},
    {PARAM_attention, ATTENTION_FUSED, ATTENTION_AUTO, false,
     "attention is what the stack has, not TransformerEngine's fused kernel"},
    {PARAM_loss_te, 1, 0, false, "loss_te is off: the fused loss is Megatron's"},
};

/* What the harness puts in place of TransformerEngine does other work. */
static const struct {
    enum param param;
    int value;
    const char *why;
} REFUSED[] = {
    {PARAM_attention, ATTENTION_UNFUSED,
     "attention is unfused, which TransformerEngine and the local stack have; the torch stack runs "
     "a flash kernel"},
};

/* Attention of Megatron's own layers does what the model asks for. */
static const char *refusal(const struct model *m, const struct strategy *s)
{
    for (size_t i = 0; i < sizeof REFUSED / sizeof *REFUSED; i++)
        if (strategy_get(s, REFUSED[i].param) == REFUSED[i].value)
            return REFUSED[i].why;
    if (m->window > 0 && m->window < s->seq_len)
        return "the model has sliding windows, which attention of the torch stack ignores";
    if (m->sinks)
        return "the model has attention sinks, which attention of the torch stack ignores";
    return NULL;
}

bool verify_as_run(const struct model *m, enum stack stack, struct strategy *s,
                   struct verify_report *out, struct arena *mem, const char **why)
{
    bool te = stack == STACK_TE;
    *why = stack == STACK_TORCH ? refusal(m, s) : NULL;
    if (*why)
        return false;
    for (size_t i = 0; i < sizeof CHANGES / sizeof *CHANGES; i++) {
        int value = strategy_get(s, CHANGES[i].param);
        bool fits = CHANGES[i].from == OTHER ? value != CHANGES[i].to : value == CHANGES[i].from;
        if (!fits || (te && !CHANGES[i].te))
            continue;
        strategy_set(s, CHANGES[i].param, CHANGES[i].to);
        verify_note(out, mem, CHANGES[i].note);
    }
    return true;
}
