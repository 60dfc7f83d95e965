/* Experts: routed, sent, computed, sent back; and the shared one. */
#include "layer/ops_builder.h"

#include "model/model.h"

#include <math.h>
#include <stddef.h>

/* What routing keeps of each token and expert: an int64 index, a probability, a logit, and a byte
 * that tells whether it goes there (moe_utils.py: permute, topk_routing_with_score_function). */
enum { ROUTER_BYTES = 8 + HALF + HALF + 1 };

/* Fused permutation (`te`) keeps an int32 map of two entries per token and expert instead. */
enum { PERMUTE_BYTES = 8 };

double parts_reached(const struct model *m, int parts)
{
    double share = m->router_groups > 0 && m->group_topk > 0 && parts % m->router_groups == 0
                       ? (double)m->group_topk / m->router_groups
                       : 1;
    double experts = share * m->experts, reached = share * parts, missed = 1;
    for (int i = 0; i < m->topk; i++) /* none of the topk lies in one part */
        missed *= fmax(0, experts - experts / reached - i) / (experts - i);
    return reached * (1 - missed);
}

static bool sends_once(const struct block_shape *s)
{
    return s->dispatcher == DISPATCH_FLEX;
}

/* Rows of each token that travel: topk copies, or with `flex` (DeepEP, HybridEP) one to each rank
 * that has an expert of the token. */
static double copies_sent(const struct block_shape *s)
{
    return sends_once(s) ? parts_reached(s->model, s->ep) : s->model->topk;
}

/* Width of what is sent to experts: theirs, behind a latent projection. */
static double routed_width(const struct model *m)
{
    return m->moe_latent ? m->moe_latent : m->hidden;
}

/* Dispatch and combine: rows of this rank's tokens go to the ranks that hold their experts.
 * All-gather moves every token to every rank of the group instead. */
static void add_dispatch(struct ops_builder *b, const char *name, bool combine)
{
    const struct block_shape *s = b->s;
    const struct model *m = s->model;
    double row = HALF * routed_width(m);
    if (s->dispatcher == DISPATCH_ALLGATHER)
        ops_comm(b, name, combine ? COMM_REDUCE_SCATTER : COMM_ALL_GATHER, AXIS_EP,
                 row * b->residual * s->ep, s->ep, s->etp, MODULE_MOE);
    else
        ops_comm(b, name, COMM_ALL_TO_ALL, AXIS_EP, row * b->residual * copies_sent(s), s->ep,
                 s->etp, MODULE_MOE);
    if (s->ep > 1 && sends_once(s))
        b->out[b->count - 1].routed = m;
    if (s->etp > 1)
        ops_comm(b, name, combine ? COMM_REDUCE_SCATTER : COMM_ALL_GATHER, AXIS_TP,
                 row * b->residual * m->topk * s->etp, s->etp, 1, MODULE_MOE);
}

/* Brings rows into another order, which reads and writes each once. */
static struct op *add_permute(struct ops_builder *b, const char *name, double rows)
{
    struct op *o = ops_pass(b, name, MEMORY_PERMUTE, rows, routed_width(b->s->model));
    o->modules = MODULE_MOE;
    return o;
}

/* Bytes of a pass that makes `rows` of fewer, or sums them up: the backward of either is the
 * forward of the other. */
static double spread_bytes(const struct ops_builder *b, double rows, double fewer)
{
    return HALF * (rows + fewer) * routed_width(b->s->model);
}

/* Topk copies of every token, and back. With `flex` the kernel that sends them does that. */
static void add_copies(struct ops_builder *b)
{
    const struct model *m = b->s->model;
    if (sends_once(b->s))
        return;
    struct op *o = add_permute(b, "permute", b->residual * m->topk);
    o->bytes_back = spread_bytes(b, o->m, b->residual);
}

static void sum_copies(struct ops_builder *b)
{
    const struct model *m = b->s->model;
    if (sends_once(b->s))
        return;
    struct op *o = add_permute(b, "unpermute", b->residual * m->topk);
    o->bytes = spread_bytes(b, o->m, b->residual);
}

/* The experts of one rank. One grouped product works on all at once; one after the other
 * (`torch`), gradients between the products are of one expert at a time, and what the other
 * experts kept stays. */
struct experts {
    double rows;        /* that reach them */
    double wide, inner; /* of one expert on this rank */
    double count, turns;
};

/* Megatron clamps both halves of the input and joins them again before the fused activation
 * (weighted_bias_quick_geglu_impl): two eager operators forward, two backward, and a copy that the
 * activation keeps. */
static struct op *add_clamp(struct ops_builder *b, double elements)
{
    struct op *o = ops_add(b, "clamp", OP_MEMORY);
    o->memory_kind = o->memory_kind_back = MEMORY_COPY;
    o->bytes = 4 * HALF * elements;
    o->bytes_back = 5 * HALF * elements;
    o->saved = HALF * elements;
    o->modules = MODULE_MOE | MODULE_MOE_ACT;
    return o;
}

/* The bias of the second product, times each row's probability, is added expert by expert, and the
 * pieces are joined (TEGroupedMLP._apply_bias): a product, a sum and a copy forward; backward two
 * products that are summed along rows and columns, and a copy. */
static void add_expert_bias(struct ops_builder *b, double elements)
{
    struct op *o = ops_add(b, "expert bias", OP_MEMORY);
    o->memory_kind = o->memory_kind_back = MEMORY_COPY;
    o->bytes = 6 * HALF * elements;
    o->bytes_back = 8 * HALF * elements;
    o->modules = MODULE_MOE;
}

struct expert_ops {
    struct op *up, *clamp, *act, *down; /* clamp NULL where there is none */
};

/* What the backward of the experts holds beside what those before keep. */
static void hold_for_experts(const struct ops_builder *b, const struct experts *x,
                             const struct expert_ops *o)
{
    double hidden = routed_width(b->s->model), turn = x->rows / x->turns, rest = 1 - 1 / x->turns;
    bool wgrads = !ops_adds_wgrads(b->s) && !model_freezes(b->s->model, PART_experts);
    double weight = wgrads ? HALF * hidden : 0, incoming = HALF * x->rows * hidden;
    double held = x->turns > 1 ? incoming : 0, clamped = o->clamp ? o->clamp->saved : 0;
    o->up->temporary_back += held + rest * (o->up->saved + clamped + o->act->saved) +
                             HALF * turn * (x->inner + hidden) + weight * x->inner;
    if (o->clamp)
        o->clamp->temporary_back = held + rest * o->act->saved + 2 * HALF * turn * x->inner;
    o->act->temporary_back = held + rest * o->act->saved + HALF * turn * (x->inner + x->wide) +
                             (b->s->model->linear_bias ? ops_bias_scratch(turn, x->inner) : 0);
    o->down->temporary_back += incoming + HALF * turn * x->wide + weight * x->wide;
}

static void set_expert_product(struct op *o, const struct experts *x, bool grouped)
{
    o->kind = grouped ? OP_GROUPED : OP_GEMM;
    o->count = x->count;
    o->modules = MODULE_MOE;
    o->experts = true;
    o->temporary_back = 0; /* hold_for_experts() */
}

static void add_expert_products(struct ops_builder *b, const struct experts *x)
{
    const struct model *m = b->s->model;
    bool grouped = b->s->te && b->s->grouped_gemm;
    bool fused = grouped && b->s->expert_fusion && precision_is_narrow(b->s->precision);
    struct expert_ops o = {
        .up = ops_gemm(b, "expert up", x->rows / x->count, x->inner, routed_width(m))};
    o.up->saved = HALF * x->rows * x->inner;
    set_expert_product(o.up, x, grouped);
    o.up->fused_out = fused;
    ops_train(b, o.up, PART_experts, TARGET_fc1, CUT_OUT, false);
    if (m->clamped && !fused)
        o.clamp = add_clamp(b, x->rows * x->inner);
    o.act = ops_activation(b, PART_experts, x->rows, x->inner, x->wide);
    if (!m->gated) /* also before each row's probability is multiplied in: no kernel does both */
        o.act->saved += HALF * x->rows * x->wide;
    o.down = ops_gemm(b, "expert down", x->rows / x->count, routed_width(m), x->wide);
    set_expert_product(o.down, x, grouped);
    o.down->fused_in = fused;
    ops_train(b, o.down, PART_experts, TARGET_fc2, CUT_IN, false);
    if (m->linear_bias && grouped && !fused)
        add_expert_bias(b, x->rows * routed_width(m));
    o.act->modules = MODULE_MOE | MODULE_MOE_ACT;
    hold_for_experts(b, x, &o);
    if (fused) { /* inside the products */
        o.act->memory_kind = o.act->memory_kind_back = MEMORY_COPY;
        o.act->m = o.act->n = o.act->bytes = o.act->bytes_back = 0;
    }
}

/* Forward, all of it still referenced when the experts are done: copied rows as sent, rows as
 * received and the experts' outputs; with several experts also before and after sorting; then the
 * sum, and the shared expert's output. */
static double routed_bytes(const struct ops_builder *b, const struct experts *x)
{
    const struct block_shape *s = b->s;
    double row = HALF * routed_width(s->model), sent = row * b->residual * s->model->topk;
    if (s->dispatcher == DISPATCH_ALLGATHER) /* the sum has a row for every token of the group */
        sent = row * b->residual * s->ep * s->etp;
    double received = row * x->rows, out = b->stream * (s->model->shared_ffn > 0 ? 2 : 1);
    if (x->count <= 1)
        return sent + received + out;
    return sent + 2 * received + received / s->etp * (s->etp > 1 ? 2 : 1) + out;
}

static void add_shared_expert(struct ops_builder *b)
{
    const struct block_shape *s = b->s;
    if (s->model->shared_ffn == 0)
        return;
    ops_enter(b, "shared gather", MODULE_MOE | MODULE_SHARED);
    ops_mlp(b, "shared up", "shared down", (double)s->model->shared_ffn / s->tp,
            MODULE_MOE | MODULE_SHARED);
    ops_exit(b, "shared reduce", MODULE_MOE | MODULE_SHARED);
}

void moe_block(struct ops_builder *b)
{
    const struct block_shape *s = b->s;
    const struct model *m = s->model;
    struct experts x = {.rows = b->residual * m->topk * s->etp * s->imbalance,
                        .wide = (double)m->expert_ffn / s->etp,
                        .count = (double)m->experts / s->ep};
    x.inner = x.wide * (m->gated ? 2 : 1);
    x.turns = s->te && s->grouped_gemm ? 1 : x.count;
    bool wide = m->shared_ffn || m->moe_latent;
    b->normed = fmax(ops_input(b, PART_router), wide ? ops_input(b, PART_mlp) : 0);
    ops_mlp_norm(b);
    add_shared_expert(b);
    struct op *router = ops_gemm(b, "router", b->residual, m->experts, m->hidden);
    router->modules = MODULE_MOE;
    router->routes = true;
    router->saved = (ROUTER_BYTES + (s->te ? PERMUTE_BYTES : 0)) * b->residual * m->experts;
    router->frozen = model_freezes(m, PART_router);
    if (m->moe_latent) { /* whole on every rank, of the stream's tokens */
        struct op *down = ops_gemm(b, "latent down", b->residual, m->moe_latent, m->hidden);
        down->modules = MODULE_MOE;
        ops_train(b, down, PART_mlp, TARGETS, CUT_NONE, false);
    }
    add_copies(b);
    add_dispatch(b, "dispatch", false);
    struct op *sort = add_permute(b, "sort by expert", x.rows);
    sort->saved = ops_input(b, PART_experts) * x.rows * routed_width(m);
    add_expert_products(b, &x);
    struct op *unsort = add_permute(b, "unsort", x.rows);
    if (sends_once(s)) /* of the rows that came, one for each of this rank's experts; and back */
        sort->bytes = sort->bytes_back = unsort->bytes = unsort->bytes_back =
            spread_bytes(b, x.rows, x.rows * copies_sent(s) / m->topk);
    unsort->temporary = routed_bytes(b, &x);
    if (s->dispatcher == DISPATCH_ALLGATHER) /* and its gradient */
        unsort->temporary_back = HALF * routed_width(m) * (b->residual * s->ep * s->etp + x.rows);
    add_dispatch(b, "combine", true);
    sum_copies(b);
    if (m->moe_latent) {
        struct op *up = ops_gemm(b, "latent up", b->residual, m->hidden, m->moe_latent);
        up->modules = MODULE_MOE;
        up->saved = ops_input(b, PART_mlp) * b->residual * m->moe_latent;
        ops_train(b, up, PART_mlp, TARGETS, CUT_NONE, false);
    }
    if (m->post_norms)
        ops_norm(b, "mlp post norm", false);
}
