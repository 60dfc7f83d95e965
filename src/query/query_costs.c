/* Gives the groups of the pool their learned times. */
#include "query/query.h"

#include "cost/group_costs.h"
#include "cost/learned.h"
#include "model/model.h"

void query_drop_costs(struct query *q)
{
    for (int i = 0; i < CLUSTER_MAX_GROUPS; i++) {
        group_costs_free(q->costs[i]);
        q->costs[i] = NULL;
    }
    for (int i = 0; i < q->cluster.groups; i++)
        q->cluster.group[i].costs = NULL;
}

bool query_models(struct query *q, struct error *err)
{
    return q->learned || learned_load(&q->learned, q->efficiency, err);
}

bool query_costs(struct query *q, int g, struct error *err)
{
    struct node_group *group = &q->cluster.group[g];
    unsigned models = 1u << FAMILY_GEMM | 1u << FAMILY_ATTENTION | 1u << FAMILY_MEMORY |
                      1u << MODEL_COMM | (q->model.experts > 0 ? 1u << FAMILY_GROUPED : 0);
    if (!query_residuals(q, err))
        return false;
    if (group->costs)
        return true;
    if (!query_models(q, err) || !learned_ready(q->learned, models, err) ||
        !group_costs_new(&q->costs[g], group, q->learned, err))
        return false;
    group->costs = q->costs[g];
    return true;
}

bool query_costs_hold(const struct query *q, struct error *err)
{
    for (int i = 0; i < CLUSTER_MAX_GROUPS; i++)
        if (q->costs[i] && group_costs_failed(q->costs[i], err))
            return false;
    return true;
}

bool query_fit(const struct query *q, struct error *err)
{
    if (q->measured.count == 0)
        return fail(err, ERROR_INPUT,
                    "no measurements are given: astra fit PROFILE.csv --into FOLDER; "
                    "tools/profile/profile.py measures a GPU");
    if (!q->into)
        return fail(err, ERROR_INPUT, "where the models go is not said: add --into FOLDER");
    return true;
}
