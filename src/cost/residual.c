#include "cost/residual.h"

#include "cost/cost.h"

static const char *const NAMES[RESIDUALS] = {
#define X(name, help) #name,
    RESIDUAL_TABLE(X)
#undef X
};

const char *residual_name(enum residual_factor f)
{
    return NAMES[f];
}

bool residual_runs_have(const struct residual_runs *r, bool experts, int precision)
{
    return (r->models >> experts & 1) && (r->precisions >> precision & 1);
}

void residual_init(struct residual *r)
{
    *r = (struct residual){0};
    for (int i = 0; i < RESIDUALS; i++)
        r->value[i] = 1;
}

double residual_of(const struct costing *on, enum residual_factor f)
{
    return on->residual ? on->residual->value[f] : 1;
}

double residual_of_comm(const struct costing *on, int nodes)
{
    return residual_of(on, nodes > 1 ? RESIDUAL_inter : RESIDUAL_intra);
}

bool residual_times_fitted(const struct costing *on)
{
    bool any = false;
    for (int i = 0; on->residual && i < RESIDUAL_TIMES; i++)
        any |= on->residual->fitted[i];
    return any;
}
