/* Seconds and activations of each stage under the timing parameters. */
#include "simulate/frame.h"

#include "base/arena.h"

#include <math.h>

/* What stays exposed of tensor-parallel collectives under --tp-comm-overlap and of expert all-to-all
 * under --overlap-moe-expert-parallel-comm: pipelined in chunks, the first and last of which show. */
static const double TP_OVERLAP_EXPOSED = 0.3, MOE_OVERLAP_EXPOSED = 0.25;

/* Modules inside a recomputed MoE layer are not recomputed twice. */
static int effective_modules(const struct strategy *s)
{
    if (s->recompute != RECOMPUTE_SELECTIVE)
        return 0;
    return s->recompute_modules & MODULE_MOE ? s->recompute_modules & ~(MODULE_MOE_ACT | MODULE_SHARED)
                                             : s->recompute_modules;
}

/* How many of a stage's layers are recomputed whole. */
static int layers_again(const struct strategy *s, int layers)
{
    if (s->recompute != RECOMPUTE_FULL)
        return 0;
    if (s->recompute_method == METHOD_UNIFORM)
        return layers;
    return s->recompute_layers < layers ? s->recompute_layers : layers;
}

static void add_block(const struct block_cost *b, const struct strategy *s, struct pass *forward,
                      struct pass *backward)
{
    double factor[AXES] = {[AXIS_TP] = s->tp_overlap ? TP_OVERLAP_EXPOSED : 1,
                           [AXIS_CP] = 1,
                           [AXIS_EP] = s->moe_overlap ? MOE_OVERLAP_EXPOSED : 1};
    forward->compute_s += b->forward_s;
    backward->compute_s += b->backward_s;
    for (int a = 0; a < AXES; a++) {
        forward->comm_s[a] += factor[a] * b->comm_s[a];
        backward->comm_s[a] += factor[a] * b->comm_back_s[a];
    }
}

static double seconds_again(const struct block_cost *b, int modules)
{
    double sum = 0;
    for (int m = 0; m < MODULES; m++)
        if (modules >> m & 1)
            sum += b->again_s[m] + b->again_comm_s[m];
    return sum;
}

static double bytes_dropped(const struct block_cost *b, int modules)
{
    double sum = 0;
    for (int m = 0; m < MODULES; m++)
        if (modules >> m & 1)
            sum += b->dropped[m];
    return sum;
}

void shape_passes(const struct frame *f, const struct strategy *s, const struct stage_shape *x,
                  struct pass *forward, struct pass *backward)
{
    const struct model *m = f->scene->model;
    int modules = effective_modules(s), whole = layers_again(s, x->layers);
    *forward = *backward = (struct pass){0};
    for (int i = 0; i < x->layers; i++) {
        const struct block_cost *b = &f->costs->kind[m->layer[x->first_layer + i]];
        add_block(b, s, forward, backward);
        backward->recompute_s += i < whole ? b->forward_s + b->forward_comm_s : seconds_again(b, modules);
    }
    if (x->embedding)
        add_block(&f->costs->embedding, s, forward, backward);
    if (x->head)
        add_block(&f->costs->head, s, forward, backward);
    for (int i = 0; i < x->mtp; i++)
        add_block(&f->costs->mtp, s, forward, backward);
}

/* Bytes a micro-batch leaves on a stage until its backward. */
static double shape_saved(const struct frame *f, const struct strategy *s, const struct stage_shape *x)
{
    const struct model *m = f->scene->model;
    int modules = effective_modules(s), whole = layers_again(s, x->layers);
    double inputs = whole, sum = 0;
    if (s->recompute_method == METHOD_UNIFORM && s->recompute_layers > 1)
        inputs = ceil((double)whole / s->recompute_layers);
    for (int i = whole; i < x->layers; i++) {
        const struct block_cost *b = &f->costs->kind[m->layer[x->first_layer + i]];
        sum += b->saved - bytes_dropped(b, modules);
    }
    sum += inputs * f->costs->boundary_bytes;
    sum += x->embedding ? f->costs->embedding.saved : 0;
    sum += x->head ? f->costs->head.saved : 0;
    return sum + x->mtp * f->costs->mtp.saved;
}

/* The most that is alive beside what is saved: an operator's temporaries, and what backward computes
 * again before it uses it. */
static double shape_temporary(const struct frame *f, const struct strategy *s, const struct stage_shape *x)
{
    const struct model *m = f->scene->model;
    int modules = effective_modules(s), whole = layers_again(s, x->layers);
    double group = s->recompute_method == METHOD_UNIFORM ? s->recompute_layers : 1, most = 0;
    if (group > x->layers)
        group = x->layers;
    for (int i = 0; i < x->layers; i++) {
        const struct block_cost *b = &f->costs->kind[m->layer[x->first_layer + i]];
        double again = i < whole ? group * b->saved : bytes_dropped(b, modules);
        most = fmax(most, again + fmax(b->temporary, b->temporary_back));
    }
    if (x->head)
        most = fmax(most, fmax(f->costs->head.temporary, f->costs->head.temporary_back));
    return x->mtp ? fmax(most, fmax(f->costs->mtp.temporary, f->costs->mtp.temporary_back)) : most;
}

static int64_t ticks(const struct pass *p)
{
    double sum = p->compute_s + p->recompute_s;
    for (int a = 0; a < AXES; a++)
        sum += p->comm_s[a];
    return llround(sum * TICKS_PER_S);
}

struct pipeline timing_pipeline(const struct frame *f, const struct strategy *s, const struct timing *t)
{
    int group = s->micro_batch_group > 0 ? s->micro_batch_group : s->pp;
    return (struct pipeline){s->pp, s->vpp, group, f->micro_batches, !s->p2p_overlap, t->forward, t->backward,
                             f->send};
}

static void timing_classes(const struct frame *f, const struct strategy *s, const double *saved,
                           const double *temporary, double *chunk, struct timing *t)
{
    struct pipeline p = timing_pipeline(f, s, t);
    int64_t fill = 0;
    int rank = 0;
    for (int c = 0; c < f->classes; c++) {
        for (; rank < f->class[c].rank; rank++)
            fill += t->forward[rank] + f->send[rank];
        t->fill[c] = fill;
        t->rank_forward[c] = t->rank_backward[c] = 0;
        t->temporary[c] = 0;
        for (int v = 0; v < s->vpp; v++) {
            int stage = v * s->pp + rank, x = f->shape_of[stage];
            t->rank_forward[c] += t->forward[stage];
            t->rank_backward[c] += t->backward[stage];
            chunk[v] = saved[x];
            t->temporary[c] = fmax(t->temporary[c], temporary[x]);
        }
        t->activations[c] = pipeline_peak_bytes(&p, rank, chunk);
    }
}

void timing_of(const struct frame *f, const struct strategy *s, struct arena *mem, struct timing *t)
{
    size_t stages = (size_t)f->layout.stages, classes = (size_t)f->classes, shapes = (size_t)f->shapes;
    int64_t *ints = arena_array(mem, 2 * stages + 3 * classes + (size_t)s->pp + 2 * shapes, sizeof *ints);
    double *reals = arena_array(mem, 2 * classes + 2 * shapes + (size_t)s->vpp, sizeof *reals);
    int64_t *forward = ints + 2 * stages + 3 * classes + s->pp, *backward = forward + shapes;
    double *saved = reals + 2 * classes, *temporary = saved + shapes;
    t->forward = ints;
    t->backward = ints + stages;
    t->rank_forward = ints + 2 * stages;
    t->rank_backward = t->rank_forward + classes;
    t->fill = t->rank_backward + classes;
    t->end = t->fill + classes;
    t->activations = reals;
    t->temporary = reals + classes;
    t->exact = false;
    for (int i = 0; i < f->shapes; i++) {
        struct pass fw, bw;
        shape_passes(f, s, &f->shape[i], &fw, &bw);
        forward[i] = ticks(&fw);
        backward[i] = ticks(&bw);
        saved[i] = shape_saved(f, s, &f->shape[i]);
        temporary[i] = shape_temporary(f, s, &f->shape[i]);
    }
    for (int i = 0; i < f->layout.stages; i++) {
        t->forward[i] = forward[f->shape_of[i]];
        t->backward[i] = backward[f->shape_of[i]];
    }
    timing_classes(f, s, saved, temporary, temporary + shapes, t);
    struct pipeline p = timing_pipeline(f, s, t);
    t->bound = pipeline_lower_bound(&p, NULL);
}

void timing_run(const struct frame *f, const struct strategy *s, struct timing *t)
{
    struct pipeline p = timing_pipeline(f, s, t);
    pipeline_run(&p, t->end);
    t->exact = true;
}
