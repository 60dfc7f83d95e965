/* What a strategy is on each mesh of a mixed job. */
#include "strategy/mesh.h"

#include <assert.h>

const struct strategy *mesh_strategy(const struct mesh *m, const struct strategy *s,
                                     struct strategy *room)
{
    if (!m->own)
        return s;
    *room = *s;
#define X(name) room->name = m->name;
    MESH_TABLE(X)
#undef X
    if (room->tp == 1)
        room->seq_parallel = room->tp_overlap = 0;
    return room;
}

int64_t mesh_stage_gpus(const struct mesh *m, const struct strategy *s)
{
    struct strategy room;
    const struct strategy *own = mesh_strategy(m, s, &room);
    assert(own->tp >= 1 && own->cp >= 1 && own->dp >= 1);
    return (int64_t)own->tp * own->cp * own->dp;
}

int64_t mesh_list_gpus(const struct mesh_list *l, const struct strategy *s)
{
    int64_t sum = 0;
    assert(l->count >= 1 && l->count <= MESHES_MAX);
    for (int i = 0; i < l->count; i++)
        sum += l->mesh[i].stages * mesh_stage_gpus(&l->mesh[i], s);
    return sum;
}

int mesh_list_complexity(const struct mesh_list *l, const struct strategy *s)
{
    enum { TYPE_POINTS = 3 };
    int most = 0;
    for (int i = 0; i < l->count; i++) {
        struct strategy room;
        int own = strategy_complexity(mesh_strategy(&l->mesh[i], s, &room));
        most = own > most ? own : most;
    }
    return most + TYPE_POINTS * (l->count - 1);
}

bool mesh_list_uniform(const struct mesh_list *l)
{
    for (int i = 0; i < l->count; i++)
        if (l->mesh[i].own)
            return false;
    return true;
}
