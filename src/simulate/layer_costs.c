/* Costs of a model's blocks under a strategy: their operators, predicted at once and summed. */
#include "simulate/partition.h"

#include "cluster/cluster.h"
#include "cost/clock.h"
#include "cost/residual.h"

#include <assert.h>
#include <string.h>

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
    shape.imbalance = scene_imbalance(sc, s, sc->memory_imbalance);
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
