/* A scene whose groups have other residual factors: what a plan would be with them. */
#pragma once

#include "cluster/cluster.h"
#include "cost/residual.h"
#include "simulate/partition.h"

/* Holds what `scene` looks at; must not move. Nodes, model, learned times and all else are the
 * original scene's. No factor counts as fitted: plans in it say nothing of residuals. */
struct varied {
    struct scene scene;
    struct costing costing[CLUSTER_MAX_GROUPS]; /* those of the scene's groups count */
    struct residual residual[MESHES_MAX];       /* by mesh */
};

enum { ALL_MESHES = -1 };

/* The factors of one mesh, or of all, multiplied by `times`. */
void scene_vary(struct varied *, const struct scene *, int mesh, const double times[RESIDUALS]);
