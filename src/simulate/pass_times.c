/* Seconds of each stage under the parameters of pass times. */
#include "simulate/partition.h"

#include "base/arena.h"
#include "cluster/cluster.h"
#include "cost/residual.h"
#include "layer/host_calls.h"
#include "simulate/expert_overlap.h"
#include "simulate/host_memory.h"

#include <assert.h>
#include <math.h>

/* What a second of a collective costs of which `exposed` shows and the rest slows compute. */
static double overlapped(double exposed, double tax)
{
    return exposed + tax * (1 - exposed);
}

int effective_modules(const struct strategy *s)
{
    return s->recompute == RECOMPUTE_SELECTIVE ? modules_once(s->recompute_modules) : 0;
}

/* Under --overlap-moe-expert-parallel-comm the host issues a layer in four pieces (attention,
 * dispatch, experts, combine), each with a stream to enter, an event to wait for and one to record,
 * tensors to detach and a backward call of its own (ScheduleNode in pipeline_parallel/utils.py).
 * Seconds of a piece, measured with such pieces on an H200's host; in fp8 each enters its own context
 * and quantises again: chosen on two runs (doc/accuracy.md). */
enum { OVERLAP_PIECES = 4, WEIGHT_PIECES = 2 };
static const double PIECE_FORWARD_S = 30e-6, PIECE_BACKWARD_S = 300e-6, PIECE_FP8_S = 320e-6;

/* What every pass of a pipeline stage pays for posting its transfers, hidden or not: two kernel
 * launches and a wait, estimated. It keeps virtual stages from looking free. */
static const double TRANSFER_FIXED_S = 15e-6;

int layers_again(const struct strategy *s, int layers)
{
    if (s->recompute != RECOMPUTE_FULL)
        return 0;
    if (s->recompute_method == METHOD_UNIFORM)
        return layers;
    return s->recompute_layers < layers ? s->recompute_layers : layers;
}

/* Seconds of running the first `count` layers of a stage once more. */
static double layers_again_s(const struct partition *f, int shape, int count)
{
    const struct model *m = f->scene->model;
    const struct stage_layers *x = &f->shape[shape].has;
    const struct block_cost *all = &f->sums[shape].layers;
    const struct layer_costs *costs = f->mesh[f->shape[shape].mesh].costs;
    double again_s = 0;
    if (count == 0)
        return 0;
    if (count == x->layers || m->kinds == 1)
        return (double)count / x->layers * (all->forward_s + all->forward_comm_s);
    for (int i = 0; i < count; i++) {
        const struct block_cost *b = &costs->kind[m->layer[x->first + i]];
        again_s += b->forward_s + b->forward_comm_s;
    }
    return again_s;
}

static double modules_again(const struct block_cost *b, int modules)
{
    double sum = 0;
    for (int m = 0; modules >> m; m++)
        if (modules >> m & 1)
            sum += b->again_s[m] + b->again_comm_s[m];
    return sum;
}

/* CUDA graphs of the whole step need no host. Those of layers leave out experts whose rows are not
 * known before routing, which is nearly all that a layer with experts costs the host. */
static bool host_issues(const struct partition *f, const struct strategy *s)
{
    return s->cuda_graph == GRAPH_NONE ||
           (s->cuda_graph != GRAPH_STEP && f->scene->model->experts > 0);
}

static double pass_s(const struct pass *p)
{
    double sum = p->compute_s + p->recompute_s;
    for (int a = 0; a < AXES; a++)
        sum += p->comm_s[a];
    return sum;
}

/* What a tensor-parallel collective costs the host under --tp-comm-overlap, of what it costs alone: its
 * chunks are issued with the product beside it. Chosen with a run of Qwen3 235B on H100 in view. */
static const double OVERLAPPED_CALLS = 0.4;

static void add_calls(struct host_time *t, struct host_time call, double times)
{
    t->forward_s += times * call.forward_s;
    t->back_s += times * call.back_s;
}

/* What shards parameters hooks into layers: FSDP2 into each, ZeRO-3 into every product of one. What is
 * recomputed is gathered once, and its products pass their hooks again. */
static void add_hooks(struct host_time *t, const struct strategy *s, int layers, int whole)
{
    enum { PRODUCTS = 7 }; /* q, k, v, their output, gate, up, down */
    struct host_time piece = host_call(CALL_PIECE, HOST_EAGER, false);
    if (s->engine == ENGINE_FSDP2)
        add_calls(t, host_call(CALL_UNIT, HOST_EAGER, false), layers);
    if (s->engine == ENGINE_ZERO3) {
        add_calls(t, piece, PRODUCTS * layers);
        t->back_s += piece.forward_s * PRODUCTS * whole;
    }
}

/* Seconds of the host for a stage's passes. A checkpoint keeps what restores the random state and
 * restores it; Megatron's own of whole layers (`te`) was in what the seconds of a call were chosen on.
 * CUDA graphs of layers replace what comes before the dispatch by one call. */
static struct host_time host_of(const struct partition *f, const struct strategy *s, int shape)
{
    const struct block_cost *l = &f->sums[shape].layers, *e = &f->sums[shape].ends;
    int layers = f->shape[shape].has.layers, modules = effective_modules(s);
    int whole = layers_again(s, layers);
    enum host_stack te = strategy_on_hf(s) ? HOST_EAGER : f->scene->te ? HOST_TE : HOST_TORCH;
    struct host_time t = {l->host_s + e->host_s, l->host_back_s + e->host_back_s};
    struct host_time checkpoint = host_call(CALL_CHECKPOINT, te, false);
    for (int m = 0; modules >> m; m++)
        if (modules >> m & 1) {
            add_calls(&t, checkpoint, (1 << m == MODULE_LAYERNORM ? 2 : 1) * layers);
            t.back_s += l->host_again_s[m];
        }
    if (layers > 0)
        t.back_s += l->host_s * whole / layers;
    add_calls(&t, checkpoint, te == HOST_TE ? 0 : whole);
    add_hooks(&t, s, layers, whole);
    if (s->pp > 1)
        add_calls(&t, host_call(s->vpp > 1 ? CALL_VIRTUAL : CALL_TRANSFER, te, false), 1);
    if (s->tp_overlap) {
        t.forward_s -= (1 - OVERLAPPED_CALLS) * l->host_tp_s;
        t.back_s -= (1 - OVERLAPPED_CALLS) * l->host_tp_back_s;
    }
    if (s->cuda_graph != GRAPH_NONE) {
        add_calls(&t, host_call(CALL_PASS, te, false), layers);
        t.forward_s -= l->graphed_s;
        t.back_s -= l->graphed_back_s;
    }
    return t;
}

/* Whether the host is ahead with the next pass while the GPU still has work of this one: nothing makes
 * it wait in between. Transfers between stages do (--batch-p2p-sync), and the counts of tokens that
 * experts get, unless passes are combined. Seen on ranks of the torch stack; the seconds of `te` were
 * chosen with passes that wait one by one. */
static bool host_runs_ahead(const struct partition *f, const struct strategy *s)
{
    return s->moe_overlap || (!f->scene->te && s->pp == 1 && f->scene->model->experts == 0);
}

/* Where the host runs ahead, a backward that takes longer gives it time for the next forward, which
 * then waits less: the two together never get shorter, but one of them may. What is recomputed is not
 * copied to the host: where passes wait for copies, more recompute may be faster. */
bool pass_times_grow(const struct partition *f, const struct strategy *s,
                     const struct pass_times *t)
{
    return !f->scene->switches.offload && (!t->waits || !host_runs_ahead(f, s));
}

/* A pass takes at least as long as the host needs to issue it; both together, where it runs ahead. */
static void wait_for_host(const struct partition *f, const struct strategy *s, int shape,
                          struct pass *forward, struct pass *backward)
{
    struct host_time t = host_of(f, s, shape);
    const struct costing *on = &f->mesh[f->shape[shape].mesh].costing;
    double slow = residual_of(on, RESIDUAL_host) / on->group->host_speed;
    int layers = f->shape[shape].has.layers;
    double pieces = s->moe_overlap ? OVERLAP_PIECES * layers : 0;
    double weights =
        s->delay_wgrad ? WEIGHT_PIECES * layers : 0; /* no backward call of their own */
    double fp8_s = precision_is_narrow(s->precision) ? PIECE_FP8_S : 0;
    t.forward_s *= 1 + task_forwards(f->scene->task);
    t.forward_s += pieces * (PIECE_FORWARD_S + fp8_s);
    t.back_s += pieces * (PIECE_BACKWARD_S + fp8_s) + weights * PIECE_FORWARD_S;
    double late = slow * t.forward_s - pass_s(forward),
           late_back = slow * t.back_s - pass_s(backward);
    if (host_runs_ahead(f, s)) {
        double both = fmax(0, late + late_back);
        late = fmin(both, fmax(0, late));
        late_back = both - late;
    }
    forward->compute_s += fmax(0, late);
    backward->compute_s += fmax(0, late_back);
    forward->waits = late > 0;
    backward->waits = late_back > 0;
}

/* Copies through pinned memory on an H200's machine, of PCIe's nominal bandwidth
 * (doc/evidence/offload.md). */
static const double COPY_EFFICIENCY = 0.85;

/* Activations go to the host beside the forward pass and come back beside the backward pass of the
 * same layers, on a stream of their own: neither is shorter than its copies. */
static void wait_for_copies(const struct partition *f, const struct strategy *all, int shape,
                            struct pass *forward, struct pass *backward)
{
    const struct gpu *g = f->mesh[f->shape[shape].mesh].costing.group->gpu;
    double copies_s = shape_hosted(f, all, shape) / (1e9 * gpu_host_gbs(g) * COPY_EFFICIENCY);
    forward->compute_s += fmax(0, copies_s - pass_s(forward));
    backward->compute_s += fmax(0, copies_s - pass_s(backward));
}

/* What the rank with the longest samples takes longer. */
static double late_s(const struct partition *f, double compute_s, double attention_s)
{
    return f->late.rows * (compute_s - attention_s) + f->late.pairs * attention_s;
}

double shape_late_s(const struct partition *f, int shape)
{
    const struct block_cost *l = &f->sums[shape].layers, *e = &f->sums[shape].ends;
    double passes = 1 + task_forwards(f->scene->task);
    return passes * late_s(f, l->forward_s + e->forward_s, l->attention_s) +
           late_s(f, l->backward_s + e->backward_s, l->attention_back_s);
}

/* Passes that no backward one follows: of a reference model, of the policy before it is trained. */
static void add_forwards(const struct partition *f, struct pass *forward)
{
    double passes = 1 + task_forwards(f->scene->task);
    forward->compute_s *= passes;
    for (int a = 0; a < AXES; a++)
        forward->comm_s[a] *= passes;
}

void shape_passes(const struct partition *f, const struct strategy *all, int shape,
                  struct pass *forward, struct pass *backward)
{
    const struct block_cost *l = &f->sums[shape].layers, *e = &f->sums[shape].ends;
    struct strategy room;
    const struct strategy *s = partition_strategy(f, f->shape[shape].mesh, all, &room);
    int whole = layers_again(s, f->shape[shape].has.layers), modules = effective_modules(s);
    double factor[AXES] = {[AXIS_TP] =
                               s->tp_overlap ? overlapped(TP_OVERLAP_EXPOSED, OVERLAP_TAX) : 1,
                           [AXIS_CP] = 1,
                           [AXIS_EP] = overlapped(1 - experts_hidden(f, s, l), SENDING_TAX)};
    forward->compute_s =
        l->forward_s + e->forward_s + late_s(f, l->forward_s + e->forward_s, l->attention_s);
    backward->compute_s = l->backward_s + e->backward_s +
                          late_s(f, l->backward_s + e->backward_s, l->attention_back_s);
    forward->recompute_s = 0;
    forward->waits = backward->waits = false;
    backward->recompute_s = layers_again_s(f, shape, whole) + modules_again(l, modules);
    for (int a = 0; a < AXES; a++) {
        forward->comm_s[a] = factor[a] * (l->comm_s[a] + e->comm_s[a]);
        backward->comm_s[a] = factor[a] * (l->comm_back_s[a] + e->comm_back_s[a]);
    }
    add_forwards(f, forward);
    if (host_issues(f, s))
        wait_for_host(f, s, shape, forward, backward);
    if (f->scene->switches.offload)
        wait_for_copies(f, all, shape, forward, backward);
}

/* Of experts' communication all may hide behind compute, or none. */
static double least_exposed(const double comm_s[AXES], bool hides)
{
    return overlapped(TP_OVERLAP_EXPOSED, OVERLAP_TAX) * comm_s[AXIS_TP] + comm_s[AXIS_CP] +
           overlapped(!hides, SENDING_TAX) * comm_s[AXIS_EP];
}

double block_least_backward_s(const struct block_cost *b, bool hides)
{
    return b->backward_s + least_exposed(b->comm_back_s, hides);
}

double block_least_s(const struct block_cost *b, bool hides)
{
    return b->forward_s + least_exposed(b->comm_s, hides) + block_least_backward_s(b, hides);
}

/* Posting, and what a hidden transfer slows the pass beside it: the shortest of the ranks', the
 * same for all. */
double transfer_fixed_s(const struct partition *f, const struct strategy *s)
{
    int64_t shortest = f->send[0];
    if (f->strategy.pp == 1)
        return 0;
    for (int r = 1; r < f->strategy.pp; r++)
        shortest = f->send[r] < shortest ? f->send[r] : shortest;
    return TRANSFER_FIXED_S + (s->p2p_overlap ? OVERLAP_TAX * (double)shortest / TICKS_PER_S : 0);
}

static int64_t ticks(double fixed_s, const struct pass *p)
{
    double sum = pass_s(p) + fixed_s;
    assert(sum >= 0);
    return llround(sum * TICKS_PER_S);
}

void shape_ticks(const struct partition *f, const struct strategy *all, int shape, double fixed_s,
                 int64_t *forward, int64_t *backward)
{
    struct pass fw, bw;
    shape_passes(f, all, shape, &fw, &bw);
    *forward = ticks(fixed_s, &fw);
    *backward = ticks(fixed_s, &bw);
}

struct pipeline pass_times_pipeline(const struct partition *f, const struct strategy *s,
                                    const struct pass_times *t)
{
    assert(s->pp == f->strategy.pp && s->vpp == f->strategy.vpp);
    int group = s->micro_batch_group > 0 ? s->micro_batch_group : s->pp;
    return (struct pipeline){s->pp,
                             s->vpp,
                             group,
                             f->micro_batches,
                             !s->p2p_overlap,
                             t->stage_forward,
                             t->stage_backward,
                             f->send};
}

/* Own work of each class, and the passes that must reach its first rank before. */
static void sum_classes(const struct partition *f, const struct strategy *s, struct pass_times *t)
{
    int64_t fill = 0;
    int rank = 0;
    t->bound = 0;
    for (int c = 0; c < f->classes; c++) {
        for (; rank < f->class[c].rank; rank++)
            fill += t->forward[f->shape_of[rank]] + f->send[rank];
        assert(rank == f->class[c].rank); /* classes are in the order of their first ranks */
        t->fill[c] = fill;
        t->rank_forward[c] = t->rank_backward[c] = 0;
        for (int stage = rank; stage < f->layout.stages; stage += s->pp) {
            t->rank_forward[c] += t->forward[f->shape_of[stage]];
            t->rank_backward[c] += t->backward[f->shape_of[stage]];
        }
        int64_t own = fill + f->micro_batches * (t->rank_forward[c] + t->rank_backward[c]);
        t->bound = own > t->bound ? own : t->bound;
    }
}

/* Part of a rank's passes in which its NICs send: collectives that leave the node, and transfers. */
static double sending_of(const struct partition *f, const struct strategy *s,
                         const struct pass_times *t, const double nic_s[], int c)
{
    int rank = f->class[c].rank, before = rank == 0 ? s->pp - 1 : rank - 1;
    double busy = (double)(t->rank_forward[c] + t->rank_backward[c]), sum = 0;
    for (int stage = rank; stage < f->layout.stages; stage += s->pp)
        sum += nic_s[f->shape_of[stage]] * TICKS_PER_S;
    sum += s->vpp * ((f->send_crosses[rank] ? (double)f->send[rank] : 0) +
                     (f->send_crosses[before] ? (double)f->send[before] : 0));
    return busy > 0 ? fmin(1, sum / busy) : 0;
}

static double nic_seconds(const bool crosses[AXES], const struct pass *fw, const struct pass *bw)
{
    double sum = 0;
    for (int a = 0; a < AXES; a++)
        sum += crosses[a] ? fw->comm_s[a] + bw->comm_s[a] : 0;
    return sum;
}

void pass_times_of(const struct partition *f, const struct strategy *s, struct arena *mem,
                   struct pass_times *t)
{
    size_t classes = (size_t)f->classes, shapes = (size_t)f->shapes;
    int64_t *ints = arena_array(mem, 2 * shapes + 3 * classes, sizeof *ints);
    t->forward = ints;
    t->backward = ints + shapes;
    t->rank_forward = ints + 2 * shapes;
    t->rank_backward = t->rank_forward + classes;
    t->fill = t->rank_backward + classes;
    t->sending = arena_array(mem, classes + shapes, sizeof *t->sending);
    t->exact = t->waits = false;
    double fixed_s = transfer_fixed_s(f, s), *nic_s = t->sending + classes;
    for (int i = 0; i < f->shapes; i++) {
        struct pass fw, bw;
        shape_passes(f, s, i, &fw, &bw);
        t->forward[i] = ticks(fixed_s, &fw);
        t->backward[i] = ticks(fixed_s, &bw);
        t->waits |= fw.waits || bw.waits;
        nic_s[i] = nic_seconds(f->mesh[f->shape[i].mesh].crosses, &fw, &bw);
    }
    sum_classes(f, s, t);
    for (int c = 0; c < f->classes; c++)
        t->sending[c] = sending_of(f, s, t, nic_s, c);
}

void pass_times_stages(const struct partition *f, const struct strategy *s, struct arena *mem,
                       struct pass_times *t)
{
    size_t stages = (size_t)f->layout.stages;
    t->stage_forward = arena_array(mem, 2 * stages, sizeof *t->stage_forward);
    t->stage_backward = t->stage_forward + stages;
    for (int i = 0; i < f->layout.stages; i++) {
        t->stage_forward[i] = t->forward[f->shape_of[i]];
        t->stage_backward[i] = t->backward[f->shape_of[i]];
    }
    struct pipeline p = pass_times_pipeline(f, s, t);
    int64_t sharper = pipeline_lower_bound(&p, NULL);
    t->bound = sharper > t->bound ? sharper : t->bound;
}

void pass_times_run(const struct partition *f, const struct strategy *s, struct arena *mem,
                    struct pass_times *t)
{
    struct pipeline p = pass_times_pipeline(f, s, t);
    size_t pp = (size_t)s->pp, marks = s->vpp > 1 ? pp * (size_t)s->vpp : 0;
    t->end = arena_array(mem, pp + 3 * marks, sizeof *t->end);
    t->marks = (struct pipeline_marks){t->end + pp, t->end + pp + marks, t->end + pp + 2 * marks};
    int64_t latest = pipeline_run_marked(&p, t->end, marks ? &t->marks : NULL);
    assert(latest >= t->bound);
    (void)latest;
    t->exact = true;
}
