/* Plans of the latest answer as plain values. */
#include "astra.h"

#include "export/export.h"
#include "run/commands.h"

#include <string.h>

size_t astra_plan_count(const struct astra *a)
{
    if (a->kind == ANSWER_SEARCH)
        return (size_t)a->report.best;
    return a->kind == ANSWER_PLAN || a->kind == ANSWER_EXPLAIN;
}

static const struct plan *plan_at(const struct astra *a, size_t i)
{
    if (i >= astra_plan_count(a))
        return NULL;
    return a->kind == ANSWER_SEARCH ? &a->report.plan[i] : &a->plan;
}

bool astra_plan_get(const struct astra *a, size_t index, struct astra_plan *out)
{
    const struct plan *p = plan_at(a, index);
    if (!p)
        return false;
    const struct strategy *s = &p->strategy;
    *out = (struct astra_plan){
        .tp = s->tp,
        .cp = s->cp,
        .pp = s->pp,
        .vpp = s->vpp,
        .dp = s->dp,
        .ep = s->ep,
        .etp = s->etp,
        .micro_batch = s->micro_batch,
        .global_batch = s->global_batch,
        .seq_len = s->seq_len,
        .gpus = (long)p->gpus,
        .feasible = p->feasible,
        .step_s = p->step_s,
        .tokens_per_s = p->tokens_per_s,
        .tokens_per_s_per_gpu = p->tokens_per_s_per_gpu,
        .tflops_per_gpu = p->tflops_per_gpu,
        .mfu = p->mfu,
        .expected_error = p->expected_error,
        .usd_per_mtoken = p->usd_per_mtoken,
    };
    for (int i = 0; i < p->stages; i++)
        if (p->stage[i].device_bytes > out->device_bytes) {
            out->device_bytes = p->stage[i].device_bytes;
            out->peak_bytes = p->stage[i].peak_bytes;
        }
    return true;
}

const char *const *astra_plan_flags(struct astra *a, size_t index)
{
    const struct plan *p = plan_at(a, index);
    const char **flags = NULL;
    size_t count = 0;
    if (!p)
        return NULL;
    if (!plan_flags(p, &a->mem, &flags, &count)) {
        fail(&a->error, ERROR_INFEASIBLE, "no flags describe the plan: its layers cannot be split");
        return NULL;
    }
    const char **list = arena_array(&a->mem, count + 1, sizeof *list);
    if (count > 0)
        memcpy(list, flags, count * sizeof *list);
    return list;
}
