/* Building a partition: the shapes of the virtual stages, classes of alike ranks, transfers. */
#include "simulate/partition.h"

#include "base/arena.h"
#include "cluster/cluster.h"
#include "cost/residual.h"
#include "simulate/host_memory.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* Picoseconds of a step must stay well below the largest int64. */
static const double LONGEST_S = 3e6;

static bool same_shape(const struct model *m, const struct stage_shape *a,
                       const struct stage_shape *b)
{
    const struct stage_layers *x = &a->has, *y = &b->has;
    if (x->layers != y->layers || a->mesh != b->mesh || x->embedding != y->embedding ||
        x->head != y->head || x->mtp != y->mtp)
        return false;
    return m->kinds == 1 ||
           memcmp(&m->layer[x->first], &m->layer[y->first], (size_t)x->layers) == 0;
}

/* Newest first: neighbours are alike. */
static int shape_index(struct partition *f, const struct stage_shape *x)
{
    for (int i = f->shapes - 1; i >= 0; i--)
        if (same_shape(f->scene->model, x, &f->shape[i]))
            return i;
    assert(f->shapes < LAYOUT_MAX_STAGES);
    f->shape[f->shapes] = *x;
    return f->shapes++;
}

static void find_shapes(struct partition *f)
{
    const struct layout *l = &f->layout;
    f->shapes = 0;
    for (int i = 0; i < l->stages; i++) {
        struct stage_shape x = {{l->first[i], l->layers[i], i == 0, i == l->loss_stage,
                                 i == l->mtp_stage ? f->scene->model->mtp : 0},
                                f->mesh_of[i % f->strategy.pp]};
        f->shape_of[i] = (uint16_t)shape_index(f, &x);
    }
}

int layers_alike(const struct model *m, int first, int end)
{
    int n = 1;
    while (m->kinds > 1 && first + n < end && m->layer[first + n] == m->layer[first])
        n++;
    return m->kinds == 1 ? end - first : n;
}

/* Layers of one kind are a multiple, wherever they are: only the bytes alive depend on the order. Hybrids have a run in
 * nearly every layer, and three or four kinds. */
static void sum_layers(const struct partition *f, const struct stage_shape *x,
                       struct stage_sums *out)
{
    const struct model *m = f->scene->model;
    const struct block_cost *kind = f->mesh[x->mesh].costs->kind;
    int end = x->has.first + x->has.layers, count[MODEL_MAX_KINDS] = {0};
    double saved = 0, forward = 0, peak = 0;
    memset(out, 0, sizeof *out);
    for (int i = x->has.first, n; i < end; i += n) {
        const struct block_cost *one = &kind[m->layer[i]];
        n = layers_alike(m, i, end);
        double before = saved + (n - 1) * one->saved;
        forward = before + one->forward > forward ? before + one->forward : forward;
        peak = before + one->peak > peak ? before + one->peak : peak;
        saved += n * one->saved;
        count[m->layer[i]] += n;
    }
    for (int k = 0; k < m->kinds; k++)
        if (count[k] > 0)
            block_cost_add_times(&out->layers, &kind[k], count[k]);
    out->layers.forward = forward;
    out->layers.peak = peak;
}

static void sum_shape(struct partition *f, int i)
{
    const struct stage_shape *x = &f->shape[i];
    const struct layer_costs *costs = f->mesh[x->mesh].costs;
    sum_layers(f, x, &f->sums[i]);
    if (x->has.embedding)
        block_cost_add(&f->sums[i].ends, &costs->embedding);
    if (x->has.head)
        block_cost_add(&f->sums[i].ends, &costs->head);
    for (int k = 0; k < x->has.mtp; k++)
        block_cost_add(&f->sums[i].ends, &costs->mtp);
}

struct rank_params shape_params(const struct partition *f, const struct stage_shape *x)
{
    struct rank_params out = {0};
    rank_params_add_known(&out, f->scene->model, &f->mesh[x->mesh].strategy, &x->has, f->scene->te,
                          f->mesh[x->mesh].layer);
    return out;
}

static void find_sums(struct partition *f)
{
    for (int i = 0; i < f->shapes; i++) {
        sum_shape(f, i);
        f->sums[i].params = shape_params(f, &f->shape[i]);
    }
}

void partition_set_shape(struct partition *f, int shape, const struct stage_shape *x)
{
    f->shape[shape] = *x;
    sum_shape(f, shape);
}

/* Of all chunks of a rank. */
static struct rank_params rank_params_of(const struct partition *f, int rank)
{
    struct rank_params out = {0};
    for (int i = rank; i < f->layout.stages; i += f->strategy.pp) {
        struct stage_shape x = f->shape[f->shape_of[i]];
        rank_params_add_known(&out, f->scene->model, &f->mesh[x.mesh].strategy, &x.has,
                              f->scene->te, f->mesh[x.mesh].layer);
    }
    return out;
}

/* Seconds of every pass of every stage in one step, one after the other, everything recomputed:
 * more than any schedule takes. */
static double longest_step(const struct partition *f)
{
    double sum = 0;
    for (int i = 0; i < f->layout.stages; i++) {
        const struct block_cost *both[] = {&f->sums[f->shape_of[i]].layers,
                                           &f->sums[f->shape_of[i]].ends};
        for (int k = 0; k < 2; k++) {
            sum += 2 * both[k]->forward_s + both[k]->backward_s + both[k]->forward_comm_s;
            for (int a = 0; a < AXES; a++)
                sum += both[k]->comm_s[a] + both[k]->comm_back_s[a];
        }
    }
    return sum * (double)f->micro_batches;
}

static bool same_class(const struct partition *f, int a, int b)
{
    for (int i = 0; i < f->layout.stages; i += f->strategy.pp)
        if (f->shape_of[i + a] != f->shape_of[i + b])
            return false;
    return true;
}

static void find_classes(struct partition *f)
{
    f->classes = 0;
    for (int r = 0; r < f->strategy.pp; r++) {
        int c = f->classes - 1;
        while (c >= 0 && !same_class(f, r, f->class[c].rank))
            c--;
        if (c < 0) {
            c = f->classes++;
            f->class[c].rank = r;
            f->class[c].mesh = f->mesh_of[r];
            f->class[c].params = rank_params_of(f, r);
            f->class[c].buffers =
                rank_buffers(f, f->mesh_of[r], r == 0, f->layout.loss_stage % f->strategy.pp == r);
        }
        f->class_of[r] = (uint16_t)c;
    }
    assert(f->classes >= 1 && f->class[0].rank == 0);
}

/* Seconds of sending a micro-batch's tensor from or to a rank, as its own network does it. */
static double send_time(const struct partition_mesh *m, enum nearness near)
{
    const struct strategy *s = &m->strategy;
    struct placement p = placement_of_pair(m->costing.group, near);
    double cut = s->seq_parallel || !s->p2p_scatter ? 1 : s->tp;
    return comm_time(&m->costing, COMM_SEND, m->costs->boundary_bytes / cut, p);
}

/* Between two meshes the slower side decides, and the link between their groups. */
static double crossing_time(const struct cluster *cluster, const struct partition_mesh *a,
                            const struct partition_mesh *b)
{
    double own = fmax(send_time(a, OTHER_NODE), send_time(b, OTHER_NODE));
    double link_bs = cluster ? cluster_between(cluster, a->costing.group, b->costing.group) : 0;
    double bytes = fmax(a->costs->boundary_bytes, b->costs->boundary_bytes);
    double slower = fmax(residual_of_comm(&a->costing, 2), residual_of_comm(&b->costing, 2));
    return link_bs > 0 ? fmax(own, slower * bytes / link_bs) : own;
}

int64_t crossing_ticks(const struct cluster *cluster, const struct partition_mesh *a,
                       const struct partition_mesh *b)
{
    return llround(crossing_time(cluster, a, b) * TICKS_PER_S);
}

enum nearness pair_nearness(const struct partition_mesh *m, int from, int to)
{
    int64_t block = (int64_t)m->strategy.tp * m->strategy.cp * m->strategy.dp;
    return nearness_of(&m->costing, block, from, to);
}

int64_t send_ticks(const struct partition_mesh *m, enum nearness near)
{
    return llround(send_time(m, near) * TICKS_PER_S);
}

/* Rank r to the next, the last to the first. */
static void find_sends(struct partition *f)
{
    int pp = f->strategy.pp;
    for (int r = 0; r < pp; r++) {
        int to = (r + 1) % pp;
        const struct partition_mesh *a = &f->mesh[f->mesh_of[r]], *b = &f->mesh[f->mesh_of[to]];
        enum nearness near =
            a == b ? pair_nearness(a, r - a->first_rank, to - a->first_rank) : OTHER_NODE;
        f->send_crosses[r] = pp > 1 && near == OTHER_NODE;
        f->send[r] = pp == 1  ? 0
                     : a == b ? send_ticks(a, near)
                              : crossing_ticks(f->scene->cluster, a, b);
        assert(f->send[r] >= 0);
    }
}

const struct strategy *partition_strategy(const struct partition *f, int mesh,
                                          const struct strategy *s, struct strategy *room)
{
    return f->scene->meshes ? mesh_strategy(&f->scene->meshes->mesh[mesh], s, room) : s;
}

/* Groups that talk in passes, as layer_ops.c lays them. */
static void find_crossing(struct partition_mesh *m)
{
    const struct strategy *s = &m->strategy;
    const struct {
        int ranks, stride;
    } GROUP[AXES] = {
        [AXIS_TP] = {s->tp, 1}, [AXIS_CP] = {s->cp, s->tp}, [AXIS_EP] = {s->ep, s->etp}};
    for (int a = 0; a < AXES; a++)
        m->crosses[a] = placement_on(&m->costing, GROUP[a].ranks, GROUP[a].stride, 0).nodes > 1;
}

static void set_mesh(struct partition *f, int i, const struct node_group *g,
                     const struct layer_costs *costs, int first, int stages)
{
    const struct scene one = scene_on(f->scene, g);
    struct partition_mesh *m = &f->mesh[i];
    struct strategy room;
    assert(i < MESHES_MAX && costs && first + stages <= f->strategy.pp);
    m->costs = costs;
    m->first_rank = first;
    m->strategy = *partition_strategy(f, i, &f->strategy, &room);
    m->costing = placed_costing(f->scene, g, &m->strategy);
    mesh_set_limits(m, &one);
    f->hosts |= g->host_bytes > 0;
    m->host_ranks = host_ranks(g, strategy_gpus(&m->strategy) / f->strategy.pp * stages);
    find_crossing(m);
    memset(m->layer, 0, sizeof m->layer);
    for (int k = 0; k < f->scene->model->kinds; k++)
        rank_params_add_layer(&m->layer[k], f->scene->model, k, &m->strategy, f->scene->te);
    for (int r = first; r < first + stages; r++)
        f->mesh_of[r] = (uint8_t)i;
}

/* False when the meshes have other ranks than the pipeline. */
static bool set_meshes(struct partition *f, const struct layer_costs *const costs[])
{
    const struct mesh_list *l = f->scene->meshes;
    int rank = 0, pp = f->strategy.pp;
    f->meshes = l ? l->count : 1;
    f->hosts = false;
    for (int i = 0; l && i < l->count; i++)
        rank += l->mesh[i].stages;
    if (l && rank != pp)
        return false;
    rank = 0;
    for (int i = 0; l && i < l->count; rank += l->mesh[i++].stages)
        set_mesh(f, i, l->mesh[i].group, costs[i], rank, l->mesh[i].stages);
    if (!l)
        set_mesh(f, 0, f->scene->group, costs[0], 0, pp);
    return true;
}

/* Ranks that exchange tokens of experts wait for each other in every micro-batch, all of them once a step. */
static struct lateness find_lateness(const struct partition *f)
{
    const struct dataset *d = f->scene->dataset;
    const struct strategy *s = &f->strategy;
    double together = fmax(1, (double)s->ep * s->etp / ((double)s->tp * s->cp));
    if (!d)
        return (struct lateness){0, 0};
    struct lateness each = dataset_late(d, scene_sequences(f->scene, s), together, 1);
    struct lateness step =
        dataset_late(d, scene_sequences(f->scene, s), s->dp / together, (double)f->micro_batches);
    return (struct lateness){each.rows + step.rows, each.pairs + step.pairs};
}

bool partition_init(struct partition *f, const struct scene *sc,
                    const struct layer_costs *const costs[], const struct strategy *s,
                    const struct layout *layout, struct error *err)
{
    f->scene = sc;
    f->strategy = *s;
    if (!set_meshes(f, costs))
        return fail(err, ERROR_INFEASIBLE, "the pool's stages are not the pipeline's %d", s->pp);
    f->micro_batches = strategy_micro_batches(s);
    if (s->split == SPLIT_LAYOUT) {
        assert(layout);
        f->layout = *layout;
        if (!layout_keeps_choices(layout, sc->model, err))
            return false;
    } else if (!layout_of(&f->layout, sc->model, s, err)) {
        return false;
    }
    if (f->micro_batches < 1)
        return fail(err, ERROR_INFEASIBLE,
                    "global batch %d is no multiple of micro-batch %d x dp %d", s->global_batch,
                    s->micro_batch, s->dp);
    assert(f->layout.stages == s->pp * s->vpp);
    assert(s->optimizer_instances >= 1);
    f->late = find_lateness(f);
    find_shapes(f);
    find_sums(f);
    if (longest_step(f) > LONGEST_S)
        return fail(err, ERROR_INFEASIBLE,
                    "one step would take weeks: a smaller global batch or sequence is needed");
    find_classes(f);
    find_sends(f);
    return true;
}

struct partition *partition_new(const struct scene *sc, const struct strategy *s,
                                const struct layout *layout, struct arena *mem, struct error *err)
{
    struct partition *f = arena_alloc(mem, sizeof *f);
    const struct layer_costs *costs[MESHES_MAX];
    int meshes = sc->meshes ? sc->meshes->count : 1;
    for (int i = 0; i < meshes; i++) {
        struct layer_costs *made = arena_alloc(mem, sizeof *made);
        const struct mesh *m = sc->meshes ? &sc->meshes->mesh[i] : NULL;
        const struct scene one = scene_on(sc, m ? m->group : sc->group);
        struct strategy room;
        layer_costs_of(&one, m ? mesh_strategy(m, s, &room) : s, made);
        costs[i] = made;
    }
    return partition_init(f, sc, costs, s, layout, err) ? f : NULL;
}
