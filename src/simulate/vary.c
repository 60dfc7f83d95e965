#include "simulate/vary.h"

#include <assert.h>

static void set_residual(struct residual *r, const struct residual *from, const double *times)
{
    residual_init(r);
    for (int i = 0; from && i < RESIDUALS; i++)
        r->value[i] = from->value[i];
    for (int i = 0; times && i < RESIDUALS; i++)
        r->value[i] *= times[i];
}

void scene_vary(struct varied *v, const struct scene *sc, int mesh, const double times[RESIDUALS])
{
    int meshes = sc->meshes ? sc->meshes->count : 1;
    assert(mesh == ALL_MESHES || (mesh >= 0 && mesh < meshes));
    v->scene = *sc;
    v->scene.costing = v->costing;
    for (int m = 0; m < meshes; m++) {
        const struct node_group *g = sc->meshes ? sc->meshes->mesh[m].group : sc->group;
        struct costing *on = &v->costing[g->index];
        *on = scene_costing(sc, g);
        set_residual(&v->residual[m], on->residual, mesh == ALL_MESHES || mesh == m ? times : NULL);
        on->residual = &v->residual[m];
    }
}
