#include "cost/residual.h"

#include "cluster/cluster.h"

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

double residual_of(const struct node_group *g, enum residual_factor f)
{
    return g->residual ? g->residual->value[f] : 1;
}

double residual_of_comm(const struct node_group *g, int nodes)
{
    return residual_of(g, nodes > 1 ? RESIDUAL_inter : RESIDUAL_intra);
}

bool residual_times_fitted(const struct node_group *g)
{
    bool any = false;
    for (int i = 0; g->residual && i < RESIDUAL_TIMES; i++)
        any |= g->residual->fitted[i];
    return any;
}
