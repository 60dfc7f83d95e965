#include "verify/verify.h"

#include "cost/residual_file.h"
#include "query/query.h"

static bool plan_has_factors(const struct query *q, const struct plan *p)
{
    for (int i = 0; i < p->stages; i++)
        if (query_residual(q, p->stage[i].group->gpu, plan_stack_kind(p)))
            return true;
    return false;
}

static bool is_noted(const struct verify_report *r, int stage)
{
    for (int i = 0; i < stage; i++)
        if (r->stage[i].predicted_for == r->stage[stage].predicted_for)
            return true;
    return false;
}

bool verify_note_factors(const struct query *q, struct verify_report *r, struct arena *mem,
                         struct error *err)
{
    enum stack stack = plan_stack_kind(r->run);
    bool any = q->given->profile && plan_has_factors(q, r->plan);
    for (int i = 0; q->given->profile && i < r->stages; i++) {
        const struct gpu *gpu = r->stage[i].predicted_for;
        bool has = query_residual(q, gpu, stack) != NULL;
        any |= has;
        if (!has && !is_noted(r, i))
            verify_note(r, mem,
                        arena_format(mem, "the profile has nothing about %s with stack %s",
                                     gpu->name, stack_name(stack)));
    }
    return !q->given->profile || !q->given->profile->name || any ||
           query_no_residual(q, r->stage[0].predicted_for, stack, err);
}
