/* What is said of where a plan's ranks lie: groups that leave the node or scale-up domain which could
 * hold them, and racks of which a part is used. */
#include "simulate/partition.h"

#include "base/arena.h"
#include "cluster/cluster.h"

#include <assert.h>

/* A kind of group that talks in every layer. */
struct kind {
    const char *name;
    int ranks, stride;
};

static void add_note(struct plan *p, struct arena *mem, const char *text)
{
    const char **more = arena_array(mem, (size_t)p->notes + 1, sizeof *more);
    for (int i = 0; i < p->notes; i++)
        more[i] = p->note[i];
    more[p->notes++] = text;
    p->note = more;
}

/* The first rank of the first group that is not in one piece of `reach`. */
static int64_t first_straddling(const struct kind *k, int64_t reach)
{
    int64_t block = (int64_t)k->ranks * k->stride, far = block - k->stride;
    for (int64_t start = 0; start < reach * block; start += block)
        for (int s = 0; s < k->stride; s++)
            if ((start + s) / reach != (start + s + far) / reach)
                return start + s;
    return 0;
}

/* Larger groups than a domain holds are on several; that is no news where they fill them. */
static void note_kind(const struct costing *on, int reach, const struct kind *k, struct plan *p,
                      struct arena *mem)
{
    const struct node_group *g = on->group;
    struct placement at = placement_on(on, k->ranks, k->stride, 0);
    bool uneven = at.most > at.per_node, fits = (int64_t)k->ranks * k->stride <= reach;
    if (k->ranks <= 1 || at.nodes <= 1 || !(uneven || fits))
        return;
    int64_t first = first_straddling(k, reach), last = first + (int64_t)(k->ranks - 1) * k->stride;
    const char *steps = k->stride > 1 ? arena_format(mem, " in steps of %d", k->stride) : "";
    add_note(p, mem,
             arena_format(
                 mem, "%s groups of %d straddle %s of %d GPUs: ranks %lld to %lld%s lie on %lld",
                 k->name, k->ranks, g->domain > g->per_node ? "racks" : "nodes", reach,
                 (long long)first, (long long)last, steps,
                 (long long)(last / reach - first / reach + 1)));
}

static void note_mesh(const struct scene *sc, const struct node_group *g, const struct strategy *s,
                      struct plan *p, struct arena *mem)
{
    const struct kind kinds[] = {{"tensor-parallel", s->tp, 1},
                                 {"context-parallel", s->cp, s->tp},
                                 {"expert tensor-parallel", s->etp, 1},
                                 {"expert-parallel", s->ep, s->etp}};
    int64_t gpus = scene_is_mixed(sc) ? 0 : p->gpus;
    int nodes = g->domain / g->per_node, used = domain_nodes(g, s, gpus);
    const struct costing on = placed_costing(sc, g, s);
    if (on.reach == REACH_ALL)
        return;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        note_kind(&on, on.reach, &kinds[i], p, mem);
    if (used > 0 && used < nodes)
        add_note(p, mem,
                 arena_format(mem, "sits on %d of the %d nodes of each rack (Slurm: --segment=%d)",
                              used, nodes, segment_of(g, s, gpus)));
}

void plan_note_seats(const struct scene *sc, struct plan *p, struct arena *mem)
{
    for (int i = 0; i < (sc->meshes ? sc->meshes->count : 1); i++) {
        const struct mesh *m = sc->meshes ? &sc->meshes->mesh[i] : NULL;
        struct strategy room;
        const struct strategy *s = m ? mesh_strategy(m, &p->strategy, &room) : &p->strategy;
        note_mesh(sc, m ? m->group : sc->group, s, p, mem);
    }
}
