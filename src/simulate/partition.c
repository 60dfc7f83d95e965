/* Building a partition: block costs, the shapes of the virtual stages, classes of alike ranks,
 * transfers. */
#include "simulate/partition.h"

#include "base/arena.h"
#include "cluster/cluster.h"
#include "cost/clock.h"
#include "cost/residual.h"
#include "simulate/host_memory.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* Picoseconds of a step must stay well below the largest int64. */
static const double LONGEST_S = 3e6;

enum stack scene_stack(const struct scene *sc)
{
    return stack_of(sc->te, sc->stock);
}

double scene_release(const struct scene *sc)
{
    return sc->release > 0 ? sc->release : RELEASE_HEAD;
}

struct costing scene_costing(const struct scene *sc, const struct node_group *g)
{
    struct costing on = {0};
    if (sc->costing)
        on = sc->costing[g->index];
    on.group = g;
    return on;
}

struct scene scene_on(const struct scene *sc, const struct node_group *g)
{
    struct scene one = *sc;
    one.group = g;
    one.meshes = NULL;
    one.part = scene_is_mixed(sc);
    return one;
}

bool scene_adds_wgrads(const struct scene *sc)
{
    return sc->te && !sc->switches.separate_wgrads;
}

bool scene_is_mixed(const struct scene *sc)
{
    return sc->part || sc->meshes;
}

/* How many GPUs a mixed job has on a type is not known here: it sits on consecutive nodes. */
struct costing placed_costing(const struct scene *sc, const struct node_group *g,
                              const struct strategy *s)
{
    struct costing on = scene_costing(sc, g);
    on.reach = reach_of(g, s, scene_is_mixed(sc) ? 0 : strategy_gpus(s));
    return on;
}

double most_imbalance(const struct model *m, const struct strategy *s)
{
    return m->experts > 0 ? s->ep * fmin(m->topk, (double)m->experts / s->ep) / m->topk : 1;
}

static double possible(const struct scene *sc, const struct strategy *s, double imbalance)
{
    return fmax(1, fmin(imbalance, most_imbalance(sc->model, s)));
}

struct scene scene_unreserved(const struct scene *sc)
{
    struct scene run = *sc;
    run.memory_imbalance = 0;
    return run;
}

bool scene_reserves(const struct scene *sc, const struct strategy *s)
{
    return sc->memory_imbalance > 0 &&
           possible(sc, s, sc->memory_imbalance) != possible(sc, s, sc->imbalance);
}

static int block_attention(const struct scene *sc, const struct strategy *s)
{
    enum stack stack = scene_stack(sc);
    const struct gpu *gpu = sc->group->gpu;
    bool flash = attention_is_flash(stack, s->attention, gpu, sc->attention_dropout > 0);
    if (attention_is_unfused(stack, s->attention, gpu))
        return ATTENTION_UNFUSED;
    return flash ? ATTENTION_FLASH : ATTENTION_AUTO;
}

/* Unfused attention does in every stack, and torch's kernel for old GPUs. */
static bool copies_groups(const struct scene *sc, const struct strategy *s)
{
    return block_attention(sc, s) == ATTENTION_UNFUSED ||
           (!sc->te && gpu_capability(sc->group->gpu) < FLASH_CAPABILITY);
}

/* Packs hold both sequences of a pair. */
int scene_sequences(const struct scene *sc, const struct strategy *s)
{
    bool packed = sc->dataset && sc->dataset->packing;
    return s->micro_batch * (packed ? 1 : task_sequences(sc->task));
}

struct block_shape block_shape_of(const struct scene *sc, const struct strategy *s,
                                  enum block_kind kind)
{
    return (struct block_shape){
        .model = sc->model,
        .kind = kind,
        .tp = s->tp,
        .cp = s->cp,
        .ep = s->ep,
        .etp = s->etp,
        .micro_batch = scene_sequences(sc, s),
        .seq_len = s->seq_len,
        .seq_parallel = s->seq_parallel,
        .tp_sync = s->tp_sync,
        .precision = s->precision,
        .cp_comm = s->cp_comm,
        .dispatcher = s->dispatcher,
        .grouped_gemm = s->grouped_gemm,
        .attention = block_attention(sc, s),
        .loss_fusion = s->loss_fusion,
        .loss_te = s->loss_te,
        .offload = sc->switches.offload,
        .expert_fusion = s->expert_fusion,
        .imbalance = possible(sc, s, sc->imbalance),
        .dropout = sc->hidden_dropout > 0,
        .attention_dropout = sc->attention_dropout > 0,
        .softmax_fp32 = sc->switches.softmax_fp32,
        .softmax_fused = sc->switches.softmax_fused,
        .te = sc->te,
        .separate_wgrads = sc->switches.separate_wgrads,
        .stock = sc->stock,
        .eager = strategy_on_hf(s),
        .liger = s->liger,
        .copies_groups = copies_groups(sc, s),
    };
}

const struct sequence_work *scene_work(const struct scene *sc, const struct strategy *s,
                                       struct sequence_work *room)
{
    if (!sc->dataset)
        return NULL;
    *room = dataset_work(sc->dataset, scene_sequences(sc, s), s->cp);
    return room;
}

/* Blocks of a model: feed-forward parts, embedding, MTP, head, the mixer of each kind of layer; feed-forward parts
 * of layers that stay in 16 bits. */
enum {
    MLP,
    EXPERTS,
    EMBEDDING,
    MTP,
    HEAD,
    MIXER,
    WIDE_MLP = MIXER + MODEL_MAX_KINDS,
    WIDE_EXPERTS,
    BLOCKS
};

struct blocks {
    struct op op[BLOCKS * OPS_MAX];
    struct op_time time[BLOCKS * OPS_MAX];
    int first[BLOCKS], count[BLOCKS]; /* operators of each; count 0: the model has no such block */
    int ops, narrow_ops;              /* operators of wide blocks are behind the others */
};

static void add_block(struct blocks *b, int block, const struct block_shape *shape)
{
    b->first[block] = b->ops;
    assert(b->ops <= (BLOCKS - 1) * OPS_MAX);
    b->count[block] = block_ops(shape, b->op + b->ops);
    b->ops += b->count[block];
}

static bool has_layers(const struct model *m, enum feed feed, bool wide)
{
    for (int k = 0; k < m->kinds; k++)
        if (m->kind[k].feed == feed && m->kind[k].wide == wide)
            return true;
    return false;
}

static void collect_mixers(const struct model *m, struct block_shape shape, bool wide,
                           struct blocks *b)
{
    for (int k = 0; k < m->kinds; k++) {
        shape.kind = mixer_block(m->kind[k].mixer);
        shape.window = m->kind[k].window;
        if (shape.kind != BLOCK_NONE && m->kind[k].wide == wide)
            add_block(b, MIXER + k, &shape);
    }
}

/* What has 16 bits in any format: layers that stay wide, and the logits, whose product is PyTorch's
 * (tensor_parallel ColumnParallelLinear). The head comes last. */
static void collect_wide(const struct model *m, struct block_shape shape, struct blocks *b)
{
    shape.precision = layer_precision(shape.precision, true);
    collect_mixers(m, shape, true, b);
    for (int feed = 0; feed < FEED_NONE; feed++) {
        shape.kind = feed_block((enum feed)feed);
        if (has_layers(m, (enum feed)feed, true))
            add_block(b, WIDE_MLP + feed, &shape);
    }
    shape.kind = BLOCK_HEAD;
    add_block(b, HEAD, &shape);
}

/* All operators first, so that what has to be predicted is predicted in one batch for each format. */
static void collect_blocks(const struct model *m, struct block_shape shape, struct blocks *b)
{
    static const enum block_kind KINDS[] = {
        [MLP] = BLOCK_MLP, [EXPERTS] = BLOCK_MOE, [EMBEDDING] = BLOCK_EMBEDDING, [MTP] = BLOCK_MTP};
    const bool has[] = {[MLP] = has_layers(m, FEED_MLP, false),
                        [EXPERTS] = has_layers(m, FEED_MOE, false),
                        [EMBEDDING] = true,
                        [MTP] = m->mtp > 0};
    for (int i = 0; i < HEAD; i++) {
        shape.kind = KINDS[i];
        if (has[i])
            add_block(b, i, &shape);
    }
    collect_mixers(m, shape, false, b);
    b->narrow_ops = b->ops;
    collect_wide(m, shape, b);
}

static void sum_block(const struct blocks *b, int block, struct block_cost *out)
{
    int first = b->first[block];
    block_cost_sum(b->op + first, b->time + first, (size_t)b->count[block], out);
}

/* Of the experts' block the bytes it must have room for. What is offloaded stays so whatever the rows: a
 * tensor that is large enough on the fullest rank alone is not. */
static void reserve_experts(const struct scene *sc, const struct strategy *s,
                            const struct blocks *b, int block, struct block_cost *out)
{
    static const struct op_time none[OPS_MAX];
    struct block_shape shape = block_shape_of(sc, s, BLOCK_MOE);
    struct op op[OPS_MAX];
    struct block_cost bytes;
    shape.imbalance = possible(sc, s, sc->memory_imbalance);
    shape.precision = layer_precision(s->precision, block == WIDE_EXPERTS);
    int count = block_ops(&shape, op);
    assert(count == b->count[block]);
    for (int i = 0; i < count; i++)
        op[i].offloaded = b->op[b->first[block] + i].offloaded > 0 ? op[i].saved : 0;
    block_cost_sum(op, none, (size_t)count, &bytes);
    block_cost_take_bytes(out, &bytes);
}

/* Bytes of one 16-bit tensor for each distinct shape of weight among the products of some blocks.
 * Where weight gradients are added as they are computed (`te`), the product's backward still has to
 * return a gradient: one that is never read, made once per shape and kept for ever
 * (get_dummy_wgrad in TE's module/base.py). The router's product is PyTorch's. */
static double dummy_bytes(const struct blocks *b, int from, int to)
{
    double sum = 0;
    for (int i = from; i < to; i++) {
        const struct op *o = &b->op[i];
        bool counts = (o->kind == OP_GEMM || o->kind == OP_GROUPED) && !o->frozen && !o->adapter &&
                      !o->no_back && strcmp(o->name, "router") != 0;
        for (int j = from; counts && j < i; j++)
            counts = !(b->op[j].kind == o->kind && b->op[j].n == o->n && b->op[j].k == o->k);
        sum += counts ? 2 * o->n * o->k : 0;
    }
    return sum;
}

static void find_dummies(const struct blocks *b, struct layer_costs *out)
{
    int head = b->first[HEAD];
    out->head_dummies = dummy_bytes(b, head, b->ops);
    out->dummies = dummy_bytes(b, 0, head);
}

static void predict_blocks(const struct costing *on, int precision, bool te, struct blocks *b)
{
    int wide = b->ops - b->narrow_ops;
    cost_predict(on, precision, te, b->op, (size_t)b->narrow_ops, b->time);
    cost_predict(on, layer_precision(precision, true), te, b->op + b->narrow_ops, (size_t)wide,
                 b->time + b->narrow_ops);
}

/* The same operators with full sequences say what they need. */
static void take_bytes(const struct model *m, struct block_shape shape, struct blocks *b)
{
    struct blocks full = {.ops = 0};
    shape.work = NULL;
    collect_blocks(m, shape, &full);
    assert(full.ops == b->ops);
    for (int i = 0; i < b->ops; i++) {
        b->op[i].saved = full.op[i].saved;
        b->op[i].temporary = full.op[i].temporary;
        b->op[i].temporary_back = full.op[i].temporary_back;
        b->op[i].offloaded = full.op[i].offloaded;
        b->op[i].stays = full.op[i].stays;
    }
}

void layer_costs_of(const struct scene *sc, const struct strategy *s, struct layer_costs *out)
{
    int reach[REACHES], seat = layer_seat(sc, s, reach);
    layer_costs_at(sc, s, reach[seat], out);
}

int layer_seat(const struct scene *sc, const struct strategy *s, int reach[REACHES])
{
    int seat = reaches_of(sc->group, s, reach) - 1;
    if (seat == 0)
        return seat;
    int here = placed_costing(sc, sc->group, s).reach;
    return here == reach[0] ? 0 : here == REACH_ALL ? seat : 1; /* any part of a domain will do */
}

void layer_costs_at(const struct scene *sc, const struct strategy *s, int reach,
                    struct layer_costs *out)
{
    const struct model *m = sc->model;
    struct block_shape shape = block_shape_of(sc, s, BLOCK_EMBEDDING);
    struct sequence_work room;
    struct blocks b;                        /* large: only what is counted is filled */
    struct block_cost feed[2][FEEDS] = {0}; /* of wide layers or not */
    struct costing on = scene_costing(sc, sc->group);
    bool fp8 = precision_is_narrow(shape.precision);
    double own = residual_of(&on, RESIDUAL_compute);
    on.reach = reach;
    b.ops = 0;
    memset(b.count, 0, sizeof b.count);
    memset(b.first, 0, sizeof b.first);
    shape.work = scene_work(sc, s, &room);
    collect_blocks(m, shape, &b);
    predict_blocks(&on, shape.precision, sc->te, &b);
    if (shape.work)
        take_bytes(m, shape, &b);
    shape.work = NULL;
    for (int wide = 0; wide < 2; wide++) {
        int mlp = wide ? WIDE_MLP : MLP, experts = wide ? WIDE_EXPERTS : EXPERTS;
        sum_block(&b, mlp, &feed[wide][FEED_MLP]);
        sum_block(&b, experts, &feed[wide][FEED_MOE]);
        if (scene_reserves(sc, s) && b.count[experts] > 0)
            reserve_experts(sc, s, &b, experts, &feed[wide][FEED_MOE]);
    }
    for (int k = 0; k < m->kinds; k++) {
        const struct layer_kind *kind = &m->kind[k];
        sum_block(&b, MIXER + k, &out->kind[k]);
        block_cost_add(&out->kind[k], &feed[kind->wide][kind->feed]);
        out->clock[k] = clock_block(sc->group->gpu, fp8 && !kind->wide, own, &out->kind[k]);
    }
    sum_block(&b, EMBEDDING, &out->embedding);
    sum_block(&b, HEAD, &out->head);
    clock_block(sc->group->gpu, false, own, &out->head);
    sum_block(&b, MTP, &out->mtp);
    if (m->mtp > 0) {
        for (int i = 0; i < m->mtp_layers; i++)
            block_cost_add(&out->mtp, &out->kind[m->mtp_layer[i]]);
        block_cost_add(&out->mtp, &out->head);
    }
    out->boundary_bytes = boundary_bytes(&shape);
    out->dummies = out->head_dummies = 0;
    if (scene_adds_wgrads(sc))
        find_dummies(&b, out);
}

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
