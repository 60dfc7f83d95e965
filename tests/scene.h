/* One model on one pool, as most tests of plans need it. Needs cmocka.h before it. */
#pragma once

#include "cluster/cluster.h"
#include "must.h"
#include "price/rent.h"
#include "simulate/partition.h"

static struct arena mem;
static struct model model;
static struct cluster cluster;
static struct rent rent[CLUSTER_MAX_GROUPS];

static void load(const char *name, const char *pool)
{
    struct error err = {0};
    must(model_load(&model, name, &mem, &err) && cluster_load(&cluster, pool, &mem, &err), &err);
    rents_init(rent, &cluster, "cluster file");
}

static struct scene scene(void)
{
    return (struct scene){.model = &model,
                          .group = &cluster.group[0],
                          .te = true,
                          .memory_margin = 0.04,
                          .imbalance = 1,
                          .rent = rent};
}
