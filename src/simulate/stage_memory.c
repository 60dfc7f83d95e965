/* What a rank holds when it is fullest. A stage runs its layers one after the other; each keeps
 * something for its backward, and what later ones keep is gone when an earlier one runs backward.
 * So one pass over them in forward order finds the peak: the most of (kept before it + its own
 * peak). */
#include "simulate/partition.h"

#include "base/arena.h"
#include "base/units.h"
#include "cluster/cluster.h"
#include "cost/residual.h"
#include "model/trained.h"
#include "simulate/host_memory.h"

#include <assert.h>
#include <math.h>

/* A piece of a stage, one micro-batch. */
struct kept {
    struct chunk_bytes bytes;
    enum memory_moment moment; /* of the peak */
};

/* `times` equal pieces behind what `k` has. */
static void run(struct kept *k, struct chunk_bytes piece, int times, enum memory_moment moment)
{
    if (times <= 0)
        return;
    double before = k->bytes.saved + (times - 1) * piece.saved;
    if (before + piece.forward > k->bytes.forward)
        k->bytes.forward = before + piece.forward;
    if (before + piece.peak > k->bytes.peak) {
        k->bytes.peak = before + piece.peak;
        k->moment = moment;
    }
    k->bytes.saved += times * piece.saved;
}

static struct chunk_bytes block_bytes(const struct block_cost *b)
{
    return (struct chunk_bytes){b->saved, b->forward, b->peak};
}

/* Layers that keep what `modules` do not recompute. A module's own peak stays: it is computed
 * again before its backward. What a kind keeps is worked out once: in hybrids it comes again and again. */
static void run_layers(const struct partition *f, const struct stage_shape *x, int from, int count,
                       int modules, struct kept *k)
{
    const struct model *m = f->scene->model;
    int at = x->has.first + from, end = at + count;
    struct chunk_bytes layer[MODEL_MAX_KINDS];
    bool known[MODEL_MAX_KINDS] = {false};
    for (int times; at < end; at += times) {
        int kind = m->layer[at];
        if (!known[kind]) {
            const struct block_cost *b = &f->mesh[x->mesh].costs->kind[kind];
            layer[kind] = block_bytes(b);
            layer[kind].saved -= block_dropped(b, modules);
            known[kind] = true;
        }
        times = layers_alike(m, at, end);
        run(k, layer[kind], times, MOMENT_layer);
    }
}

/* The first `count` layers, of which only the input of each group is kept. Backward computes a
 * group again, while the gradient of its output waits. */
static void run_groups(const struct partition *f, const struct stage_shape *x, int count, int group,
                       struct kept *k)
{
    double input = f->mesh[x->mesh].costs->boundary_bytes;
    for (int at = 0, size, times; at < count; at += size * times) {
        struct kept inside = {0};
        size = group < count - at ? group : count - at;
        int alike = layers_alike(f->scene->model, x->has.first + at, x->has.first + count);
        times = alike < size ? 1 : alike / size;
        run_layers(f, x, at, size, 0, &inside);
        struct chunk_bytes all = {input, input + inside.bytes.forward - inside.bytes.saved, 0};
        all.peak = input + fmax(inside.bytes.peak, inside.bytes.forward + input);
        all.forward = fmax(all.forward, input);
        run(k, all, times, MOMENT_recompute);
    }
    /* recomputed layers with experts sit in reference cycles: the gradients of their inputs stay
     * until Python collects them */
    if (f->scene->model->experts > 0 && count > 1)
        k->bytes.peak += (count - 1) * input;
}

static double te_workspace(const struct gpu *gpu)
{
    return gpu_capability(gpu) < 9 ? 4 * MIB : 32 * MIB;
}

/* Products that overlap tensor-parallel communication have three workspaces of their own (TE
 * cpp_extensions/gemm.py). */
static double overlap_workspaces(const struct partition *f, int mesh, const struct strategy *s)
{
    bool overlaps = f->scene->te && s->tp_overlap && s->tp > 1;
    return overlaps ? 3 * te_workspace(f->mesh[mesh].costing.group->gpu) : 0;
}

/* A tied matrix on one rank: the head's gradient of it waits for the embedding's, unless it is
 * added as it is computed. */
static double tied_gradient(const struct partition *f, const struct stage_shape *x)
{
    const struct model *m = f->scene->model;
    int tp = f->mesh[x->mesh].strategy.tp;
    if (scene_adds_wgrads(f->scene) || !m->tied || !x->has.embedding || !x->has.head ||
        model_freezes_logits(m))
        return 0;
    return 2.0 * (double)model_head_params(m, model_padded_vocab(m, tp)) / tp;
}

static struct kept shape_kept(const struct partition *f, const struct strategy *all, int shape)
{
    const struct stage_shape *x = &f->shape[shape];
    const struct layer_costs *costs = f->mesh[x->mesh].costs;
    struct strategy room;
    const struct strategy *s = partition_strategy(f, x->mesh, all, &room);
    int whole = layers_again(s, x->has.layers);
    int group =
        s->recompute_method == METHOD_UNIFORM && s->recompute_layers > 1 ? s->recompute_layers : 1;
    struct kept k = {0};
    run(&k, block_bytes(&costs->embedding), x->has.embedding, MOMENT_embedding);
    run_groups(f, x, whole, group, &k);
    run_layers(f, x, whole, x->has.layers - whole, effective_modules(s), &k);
    k.bytes.peak += tied_gradient(f, x);
    struct chunk_bytes mtp = block_bytes(&costs->mtp);
    mtp.saved -= costs->mtp.offloaded;
    run(&k, mtp, x->has.mtp, MOMENT_mtp);
    struct chunk_bytes head = block_bytes(&costs->head);
    if (f->strategy.pp > 1) /* the input that came last and the one before it */
        head.forward += costs->boundary_bytes;
    if (f->scene->switches.batch_mask && scene_stack(f->scene) != STACK_TORCH)
        head.forward += (double)scene_sequences(f->scene, s) * s->seq_len * s->seq_len / s->cp;
    head.peak = fmax(head.peak, head.forward);
    run(&k, head, x->has.head, MOMENT_head);
    k.bytes.peak += overlap_workspaces(f, x->mesh, s);
    return k;
}

/* What a graph keeps apart from the allocator's other memory, of what a stage holds for backward. Of
 * layers: Megatron-LM's tests gpt3_moe_mcore_te_tp4_ep2_etp2_pp2_scoped_cudagraph and _dist_optimizer
 * differ by -2, 0 and 8 % of it. Of the whole step nobody says it: a stated figure with which every
 * run that NVIDIA published fits; they left room for 31 %. */
static const double GRAPH_KEEPS[] = {
    [GRAPH_NONE] = 0, [GRAPH_LOCAL] = 0.08, [GRAPH_TE] = 0.08, [GRAPH_STEP] = 0.20};

static double graph_factor(const struct strategy *s)
{
    return 1 + GRAPH_KEEPS[s->cuda_graph];
}

struct chunk_bytes shape_bytes(const struct partition *f, const struct strategy *all, int shape)
{
    struct chunk_bytes b = shape_kept(f, all, shape).bytes;
    double more = graph_factor(all);
    return (struct chunk_bytes){more * b.saved, more * b.forward, more * b.peak};
}

static struct fullest rank_fullest(const struct partition *f, const struct strategy *s, int rank,
                                   struct arena *mem)
{
    struct pass_times none = {0};
    struct pipeline p = pass_times_pipeline(f, s, &none);
    struct chunk_bytes *chunk = arena_array(mem, (size_t)s->vpp, sizeof *chunk);
    for (int v = 0; v < s->vpp; v++)
        chunk[v] = shape_kept(f, s, f->shape_of[v * s->pp + rank]).bytes;
    struct fullest most = pipeline_fullest(&p, rank, chunk);
    most.saved *= graph_factor(s);
    most.bytes *= graph_factor(s);
    return most;
}

/* Offloaded activations of a rank at most: alive as long as what stays on the GPU is. */
static double rank_hosted(const struct partition *f, const struct strategy *s, int rank, bool least,
                          struct arena *mem)
{
    struct pass_times none = {0};
    if (!f->scene->switches.offload)
        return 0;
    struct pipeline p = pass_times_pipeline(f, s, &none);
    struct chunk_bytes *chunk = arena_array(mem, (size_t)s->vpp, sizeof *chunk);
    double smallest = INFINITY;
    for (int v = 0; v < s->vpp; v++) {
        double hosted = shape_hosted(f, s, f->shape_of[v * s->pp + rank]);
        chunk[v] = (struct chunk_bytes){hosted, hosted, hosted};
        smallest = fmin(smallest, hosted);
    }
    for (int v = 0; v < s->vpp && least; v++)
        chunk[v] = (struct chunk_bytes){smallest, smallest, smallest};
    return pipeline_fullest(&p, rank, chunk).saved;
}

/* The smallest of the chunks, without what is beside it. */
static struct chunk_bytes least_chunk(const struct chunk_bytes *chunk, int count)
{
    double saved = chunk[0].saved;
    for (int v = 1; v < count; v++)
        saved = fmin(saved, chunk[v].saved);
    return (struct chunk_bytes){saved, saved, saved};
}

static void find_memory(const struct partition *f, const struct strategy *s, struct arena *mem,
                        struct pass_times *t, bool least)
{
    size_t classes = (size_t)f->classes;
    struct chunk_bytes *shape = arena_array(mem, (size_t)f->shapes + (size_t)s->vpp, sizeof *shape);
    struct chunk_bytes *chunk = shape + f->shapes;
    struct pipeline p = pass_times_pipeline(f, s, t);
    t->activations = arena_array(mem, 3 * classes, sizeof *t->activations);
    t->temporary = t->activations + classes;
    t->hosted = t->activations + 2 * classes;
    for (int i = 0; i < f->shapes; i++)
        shape[i] = shape_kept(f, s, i).bytes;
    for (int c = 0; c < f->classes; c++) {
        for (int v = 0; v < s->vpp; v++)
            chunk[v] = shape[f->shape_of[v * s->pp + f->class[c].rank]];
        if (least && s->vpp > 1) {
            struct chunk_bytes small = least_chunk(chunk, s->vpp);
            for (int v = 0; v < s->vpp; v++)
                chunk[v] = small;
        }
        struct fullest most = pipeline_fullest(&p, f->class[c].rank, chunk);
        assert(most.saved >= -1 && most.bytes >= most.saved - 1);
        t->activations[c] = most.saved;
        t->temporary[c] = most.bytes - most.saved;
        t->hosted[c] = f->hosts ? rank_hosted(f, s, f->class[c].rank, least, mem) : 0;
    }
    pass_times_graph(f, s, t);
}

void pass_times_graph(const struct partition *f, const struct strategy *s, struct pass_times *t)
{
    double more = graph_factor(s);
    for (int c = 0; c < f->classes && s->cuda_graph != GRAPH_NONE; c++) {
        t->activations[c] *= more;
        t->temporary[c] *= more;
    }
}

void pass_times_memory(const struct partition *f, const struct strategy *s, struct arena *mem,
                       struct pass_times *t)
{
    find_memory(f, s, mem, t, false);
}

void pass_times_least_memory(const struct partition *f, const struct strategy *s, struct arena *mem,
                             struct pass_times *t)
{
    find_memory(f, s, mem, t, true);
}

/* Workspaces of cuBLAS, 32 MiB each: PyTorch's, one for each of the two threads that run forward
 * and backward (torch ranks hold 64 to 68 MiB beside their states before the first pass; before
 * Hopper 8 MiB are its default, and 32 what deterministic runs ask for);
 * TransformerEngine's own, 4 MiB before Hopper, and four more for grouped products (TE
 * cpp_extensions/gemm.py). */
static double workspace_bytes(const struct partition *f, const struct gpu *gpu, bool torch_products)
{
    const double one = 32 * MIB, own = te_workspace(gpu);
    bool grouped = f->scene->model->experts > 0 && f->strategy.grouped_gemm;
    if (!f->scene->te)
        return 2 * one;
    return own + (torch_products ? 2 * one : 0) + (grouped ? 4 * own : 0);
}

/* Megatron's own attention keeps one buffer for its scores that it never reads. */
static double scores_buffer(const struct partition *f, const struct strategy *s)
{
    double seq = s->seq_len;
    return f->scene->stock
               ? 2.0 * scene_sequences(f->scene, s) * f->scene->model->heads / s->tp * seq * seq
               : 0;
}

/* Inputs of the logits' product and gradients of its output that wait for its weight gradient
 * (LinearWithGradAccumulationAndAsyncCommunication in tensor_parallel/layers.py). */
static double deferred_bytes(const struct partition *f, const struct strategy *s)
{
    const struct model *m = f->scene->model;
    double tokens = (double)scene_sequences(f->scene, s) * s->seq_len / s->cp;
    if (model_freezes_logits(m))
        return 0;
    double waiting = fmin(f->scene->switches.deferred_wgrads, (double)f->micro_batches);
    double logits = (double)model_outputs(m, s->tp) / s->tp;
    return waiting * 2 * tokens * (logits + (double)m->hidden / (s->seq_parallel ? s->tp : 1));
}

/* What two layers offload: one's on its way to the host, while that of another comes back. */
static double copied_bytes(const struct model *m, const struct layer_costs *costs)
{
    double most = 0;
    for (int k = 0; k < m->kinds; k++)
        most = fmax(most, costs->kind[k].offloaded);
    return 2 * most;
}

/* What DeepEP receives into (csrc/legacy/config.hpp of DeepEP, with its settings for large groups and the
 * 20 SMs that Megatron asks for): from the GPUs of a node, and from those with the same place on other
 * nodes, twice. HybridEP is taken to need as much. */
static double flex_bytes(const struct model *m, const struct strategy *s)
{
    enum { CHANNELS = 10, PEERS = 8, ROWS = 720, REMOTE_ROWS = 128 };
    double width = m->moe_latent ? m->moe_latent : m->hidden;
    double ranks = (double)s->ep * s->etp, row = 2.0 * width + 128 * (8 + 4 + 4);
    if (m->experts == 0 || s->dispatcher != DISPATCH_FLEX || ranks <= 1)
        return 0;
    double rows = ranks <= PEERS ? 256 : ranks <= 64 ? 288 : ROWS;
    double remote = ranks > PEERS ? 2 * REMOTE_ROWS * ranks / PEERS : 0;
    return CHANNELS * row * (rows * fmin(ranks, PEERS) + remote);
}

/* What stays beside states and activations: workspaces, unread weight gradients; the gradient that
 * goes back to the stage before, interleaved also an output that was just sent and an input that
 * came early; the buffer that products gather their input into (`te` has its own
 * but for the logits), and that of the all-gather dispatcher. */
double rank_buffers(const struct partition *f, int mesh, bool first, bool last)
{
    const struct partition_mesh *own = &f->mesh[mesh];
    const struct strategy *s = &own->strategy;
    const struct model *m = f->scene->model;
    double one = own->costs->boundary_bytes, sum = s->vpp > 1 ? 3 * one : first ? 0 : one;
    sum += workspace_bytes(f, own->costing.group->gpu, last || m->experts > 0);
    sum += scores_buffer(f, s) + copied_bytes(m, own->costs);
    sum += own->costs->dummies + (last ? own->costs->head_dummies + deferred_bytes(f, s) : 0);
    if (s->seq_parallel && s->tp > 1 && (last || !f->scene->te))
        sum += one * s->tp;
    if (m->experts > 0 && s->ep * s->etp > 1 && s->dispatcher == DISPATCH_ALLGATHER)
        sum += one * s->ep * s->etp;
    return sum + flex_bytes(m, s);
}

/* Outside parts grow with the framework's; the same sum as memory_device. */
static double device_bytes(const struct scene *sc, const struct strategy *s, double framework)
{
    struct memory_use use = {{[MEMORY_temporary] = framework}};
    memory_outside(&use, s, sc->te);
    return memory_device(&use);
}

double scene_limit(const struct scene *sc)
{
    return sc->group->usable_bytes * (1 - sc->memory_margin);
}

/* What the framework may allocate of some of the device's memory: the rest grows with it. */
struct framework_share {
    double fixed, slope;
};

static struct framework_share share_of(const struct scene *sc, const struct strategy *s)
{
    const struct costing on = scene_costing(sc, sc->group);
    double fixed = device_bytes(sc, s, 0), slope = device_bytes(sc, s, GIB) - fixed;
    assert(fixed >= 0 && slope > 0);
    return (struct framework_share){fixed, slope / GIB * residual_of(&on, RESIDUAL_memory)};
}

double framework_limit(const struct scene *sc, const struct strategy *s)
{
    struct framework_share share = share_of(sc, s);
    return (scene_limit(sc) - share.fixed) / share.slope;
}

void mesh_set_limits(struct partition_mesh *m, const struct scene *sc)
{
    struct framework_share share = share_of(sc, &m->strategy);
    m->limit = (scene_limit(sc) - share.fixed) / share.slope;
    m->crowded = (CROWDED * scene_limit(sc) - share.fixed) / share.slope / m->limit;
}

double rank_fullness(const struct partition *f, int mesh, double fullest,
                     const struct rank_state *st, double buffers, double stretch)
{
    double steps = st->bytes + fmax(fullest, st->step_bytes) + buffers;
    double bytes = fmax(steps, st->setup_bytes), limit = f->mesh[mesh].limit;
    /* otherwise context and NCCL are too much */
    return limit > 0 ? bytes * stretch / limit : HOPELESS;
}

double partition_host_fullness(const struct partition *f, const struct pass_times *t,
                               const struct state *st)
{
    double most = 0;
    for (int c = 0; f->hosts && c < f->classes; c++)
        most =
            fmax(most, host_fullness(&f->mesh[f->class[c].mesh], st->host_bytes[c], t->hosted[c]));
    return most;
}

static double class_fullness(const struct partition *f, const struct pass_times *t,
                             const struct state *st, int c)
{
    struct rank_state own = {st->bytes[c], st->step_bytes[c], st->setup_bytes[c],
                             st->host_bytes[c]};
    return rank_fullness(f, f->class[c].mesh, t->activations[c] + t->temporary[c], &own,
                         f->class[c].buffers, st->stretch);
}

double partition_fullness(const struct partition *f, const struct pass_times *t,
                          const struct state *st)
{
    double most = partition_host_fullness(f, t, st);
    for (int c = 0; c < f->classes; c++)
        most = fmax(most, class_fullness(f, t, st, c));
    return most;
}

bool partition_crowded(const struct partition *f, const struct pass_times *t,
                       const struct state *st)
{
    for (int c = 0; c < f->classes; c++)
        if (class_fullness(f, t, st, c) > f->mesh[f->class[c].mesh].crowded)
            return true;
    return false;
}

/* Before there are buffers and an optimizer: what memory_of_setup adds up. */
static void fill_setup(const struct partition *f, const struct strategy *all, int c, double bytes,
                       struct plan_stage *out)
{
    struct strategy room;
    const struct strategy *s = partition_strategy(f, f->class[c].mesh, all, &room);
    struct memory_use states = {{0}}, *use = &out->memory;
    memory_of_states(&f->class[c].params, s, &states);
    *use = (struct memory_use){{0}};
    use->part[MEMORY_weights] = fmin(bytes, states.part[MEMORY_weights]);
    bytes -= use->part[MEMORY_weights];
    use->part[MEMORY_gradients] = fmin(bytes, states.part[MEMORY_gradients]);
    use->part[MEMORY_temporary] = bytes - use->part[MEMORY_gradients];
    out->moment = MOMENT_setup;
}

static void fill_steps(const struct partition *f, const struct strategy *all, int rank,
                       struct arena *mem, struct plan_stage *out)
{
    int c = f->class_of[rank];
    struct strategy room;
    const struct strategy *s = partition_strategy(f, f->class[c].mesh, all, &room);
    struct fullest most = rank_fullest(f, all, rank, mem);
    bool muon = f->scene->switches.newton_steps > 0;
    double step = memory_of_step(&f->class[c].params, s, f->scene->stock, muon);
    struct memory_use *use = &out->memory;
    *use = (struct memory_use){{0}};
    memory_of_states(&f->class[c].params, s, use);
    use->part[MEMORY_activations] = step > most.bytes ? 0 : most.saved;
    use->part[MEMORY_temporary] = step > most.bytes ? step : most.bytes - most.saved;
    use->part[MEMORY_buffers] =
        f->class[c].buffers + state_buffers(f, f->class[c].mesh, &f->class[c].params, all);
    out->moment = step > most.bytes
                      ? MOMENT_step
                      : shape_kept(f, all, f->shape_of[most.chunk * s->pp + rank]).moment;
}

/* What the framework allocates, and when most; before a residual factor. */
static void fill_framework(const struct partition *f, const struct strategy *all, int rank,
                           struct arena *mem, struct plan_stage *out)
{
    struct strategy room;
    const struct strategy *s = partition_strategy(f, f->mesh_of[rank], all, &room);
    double setup =
        memory_of_setup(&f->class[f->class_of[rank]].params, s, f->scene->switches.whole_init);
    const struct partition_mesh *own = &f->mesh[f->mesh_of[rank]];
    double limit = own->limit;
    fill_steps(f, all, rank, mem, out);
    if (setup > memory_peak(&out->memory))
        fill_setup(f, all, f->class_of[rank], setup, out);
    out->fullness = limit > 0 ? memory_peak(&out->memory) / limit : HOPELESS;
    double states = host_of_states(&f->class[f->class_of[rank]].params, s);
    double hosted = rank_hosted(f, all, rank, false, mem);
    out->host_bytes = host_of_node(own, states, hosted);
    out->host_fullness = host_fullness(own, states, hosted);
    out->fits = out->fullness <= 1 && out->host_fullness <= 1;
}

void partition_stage_memory(const struct partition *f, const struct strategy *all, int rank,
                            struct arena *mem, struct plan_stage *out)
{
    struct strategy room;
    const struct strategy *s = partition_strategy(f, f->mesh_of[rank], all, &room);
    const struct partition_mesh *own = &f->mesh[f->mesh_of[rank]];
    fill_framework(f, all, rank, mem, out);
    for (int i = 0; i < MEMORY_PARTS; i++)
        out->memory.part[i] *= residual_of(&own->costing, RESIDUAL_memory);
    memory_outside(&out->memory, s, f->scene->te);
    out->peak_bytes = memory_peak(&out->memory);
    out->device_bytes = memory_device(&out->memory);
    for (int i = 0; i < MEMORY_PARTS; i++)
        assert(out->memory.part[i] >= -1);
    assert(out->device_bytes >= out->peak_bytes);
}

/* The allocator's reserve of it is part of it, so that the other parts are those of the run. */
void partition_stage_reserve(const struct partition *judged, const struct strategy *all, int rank,
                             struct arena *mem, struct plan_stage *out)
{
    struct strategy room;
    struct plan_stage then = *out;
    int mesh = judged->mesh_of[rank];
    const struct strategy *s = partition_strategy(judged, mesh, all, &room);
    fill_framework(judged, all, rank, mem, &then);
    double all_bytes =
        memory_peak(&then.memory) * residual_of(&judged->mesh[mesh].costing, RESIDUAL_memory);
    double more = fmax(0, all_bytes - out->peak_bytes) * (1 + memory_reserve(s, judged->scene->te));
    out->memory.part[MEMORY_expert_reserve] = more;
    out->device_bytes = memory_device(&out->memory);
    out->fits = then.fits;
    out->fullness = then.fullness;
    out->host_bytes = then.host_bytes;
    out->host_fullness = then.host_fullness;
}
