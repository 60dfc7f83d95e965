#include "simulate/vary.h"

#include <assert.h>

static void set_residual(struct varied *v, int mesh, const struct residual *from)
{
    struct residual *r = &v->residual[mesh];
    residual_init(r);
    for (int i = 0; from && i < RESIDUALS; i++)
        r->value[i] = from->value[i];
}

/* Links between groups are told by their places in the cluster: all of it is copied. */
static void copy_meshes(struct varied *v, const struct scene *sc)
{
    assert(sc->cluster);
    v->cluster = *sc->cluster;
    v->meshes = *sc->meshes;
    for (int i = 0; i < v->meshes.count; i++) {
        struct node_group *g = &v->cluster.group[sc->meshes->mesh[i].group - sc->cluster->group];
        set_residual(v, i, g->residual);
        v->meshes.mesh[i].group = g;
    }
    for (int i = 0; i < v->meshes.count; i++)
        v->cluster.group[v->meshes.mesh[i].group - v->cluster.group].residual = &v->residual[i];
    v->scene.meshes = &v->meshes;
    v->scene.cluster = &v->cluster;
    v->scene.group = v->meshes.mesh[0].group;
}

void scene_vary(struct varied *v, const struct scene *sc, int mesh, const double times[RESIDUALS])
{
    int meshes = sc->meshes ? sc->meshes->count : 1;
    v->scene = *sc;
    if (sc->meshes) {
        copy_meshes(v, sc);
    } else {
        v->group = *sc->group;
        set_residual(v, 0, sc->group->residual);
        v->group.residual = &v->residual[0];
        v->scene.group = &v->group;
    }
    for (int m = 0; m < meshes; m++)
        for (int i = 0; i < RESIDUALS; i++)
            v->residual[m].value[i] *= mesh == ALL_MESHES || mesh == m ? times[i] : 1;
}
